//! Kernels in the block interpreter behind the table of a package: a function for each place of the table, which runs whatever is there now.

use arraygpu_capi::abi::{AgpuCpuKernel, AgpuKernelArgs, AgpuKernelFn};
use arraygpu_capi::block::Block;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::Kernel;
use arraygpu_compiler::schedule::CpuVariant;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// Kernels of a program, at most.
const PLACES: usize = 160;

/// The versions of each kernel.
static BLOCKS: [RwLock<[Option<&'static Block>; 4]>; PLACES] = [const { RwLock::new([None; 4]) }; PLACES];

/// One program at a time has the places.
static HELD: Mutex<()> = Mutex::new(());

/// Has the places while it lives.
pub struct Held(#[allow(dead_code, reason = "it is held")] MutexGuard<'static, ()>);

unsafe extern "C" fn run<const PLACE: usize, const VERSION: usize>(
    args: *const AgpuKernelArgs,
    begin: i64,
    end: i64,
) {
    let block = BLOCKS[PLACE].read().unwrap()[VERSION].expect("a kernel");
    // SAFETY: the runtime calls it with the kernel's own arguments; it has found a level.
    unsafe { block.main(&*args, begin, end) };
}

unsafe extern "C" fn finish<const PLACE: usize>(args: *const AgpuKernelArgs, begin: i64, end: i64) {
    let block = BLOCKS[PLACE].read().unwrap()[3].expect("a kernel");
    // SAFETY: as above.
    unsafe { block.finish(&*args, begin, end) };
}

const fn entry<const PLACE: usize>() -> [AgpuKernelFn; 4] {
    [Some(run::<PLACE, 0>), Some(run::<PLACE, 1>), Some(run::<PLACE, 2>), Some(finish::<PLACE>)]
}

macro_rules! entries {
    ($($place:literal)*) => { [$(entry::<$place>()),*] };
}

#[rustfmt::skip]
static ENTRIES: [[AgpuKernelFn; 4]; PLACES] = entries! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
    38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72
    73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105
    106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131
    132 133 134 135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157
    158 159
};

/// Puts the program's kernels into the places.
pub fn hold(compiled: &Compiled) -> (Held, *const AgpuCpuKernel) {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(compiled.kernels.len() <= PLACES, "{} kernels", compiled.kernels.len());
    let table = compiled.kernels.iter().enumerate().map(|(i, kernel)| {
        // launches that are instead of others may be for GPUs only
        let Some(v) = &kernel.cpu else { return AgpuCpuKernel::NONE };
        let leaked = |k: &Kernel| &*Box::leak(Box::new(Block::new(k)));
        let block = |v: &CpuVariant| leaked(&v.kernel);
        let contiguous = block(&v.contiguous);
        // as `backend/c` fills the table
        let in_place =
            v.in_place.as_ref().map(block).or(v.contiguous.kernel.main.as_ref().map(|_| contiguous));
        let once = v.finish().as_ref().map(leaked);
        *BLOCKS[i].write().unwrap() = [Some(contiguous), in_place, v.strided.as_ref().map(block), once];
        let [a, b, c, d] = ENTRIES[i];
        let main = v.contiguous.kernel.main.is_some();
        AgpuCpuKernel {
            contiguous: a.filter(|_| main),
            in_place: b.filter(|_| main),
            strided: c.filter(|_| v.strided.is_some()),
            finish: d.filter(|_| v.contiguous.kernel.finish.is_some()),
            ..AgpuCpuKernel::NONE
        }
    });
    let table: Vec<AgpuCpuKernel> = table.collect();
    (Held(held), table.leak().as_ptr())
}
