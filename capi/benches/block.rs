//! Compares the block interpreter with the same kernels compiled by the system's C compiler: `cargo
//! bench -p arraygpu-capi --bench block`.
//!
//! It runs on one thread. ARRAYGPU_CPU_LEVEL chooses the level of both (default v3).
#![allow(missing_docs)]

use arraygpu_capi::abi::{AgpuCpuKernel, AgpuKernelArgs};
use arraygpu_capi::block::Block;
use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{self, Compiled, Targets};
use arraygpu_compiler::package::cc;
use arraygpu_compiler::plan::{Launch, Place, ScalarArg, host};
use arraygpu_compiler::scalar::Lit;
use std::ffi::c_void;
use std::time::Instant;

/// A function of vectors and scalars, with its arguments.
struct Case {
    name: &'static str,
    text: &'static str,
    /// The extents of each array parameter, for n elements in all.
    extents: fn(i64) -> Vec<i64>,
    sizes: &'static [i64],
}

const CASES: &[Case] = &[
    Case {
        name: "saxpy",
        text: include_str!("block/saxpy.core"),
        extents: |n| vec![n],
        sizes: &[16 << 10, 128 << 10, 16 << 20],
    },
    Case {
        name: "expr3",
        text: include_str!("block/expr3.core"),
        extents: |n| vec![n],
        sizes: &[4 << 10, 16 << 10, 128 << 10, 16 << 20],
    },
    Case {
        name: "rmse",
        text: include_str!("block/rmse.core"),
        extents: |n| vec![n],
        sizes: &[16 << 10, 128 << 10, 16 << 20],
    },
    Case {
        name: "sum",
        text: include_str!("block/sum.core"),
        extents: |n| vec![n],
        sizes: &[16 << 10, 16 << 20],
    },
    Case {
        name: "black_scholes",
        text: include_str!("block/black_scholes.core"),
        extents: |n| vec![n],
        sizes: &[16 << 10, 4 << 20],
    },
    Case {
        name: "sine",
        text: include_str!("block/sine.core"),
        extents: |n| vec![n],
        sizes: &[16 << 10, 1 << 20],
    },
    Case {
        name: "column_sums",
        text: include_str!("block/column_sums.core"),
        extents: |n| vec![n / 256, 256],
        sizes: &[64 << 10, 4 << 20],
    },
    Case {
        name: "row_sums",
        text: include_str!("block/row_sums.core"),
        extents: |n| vec![n / 256, 256],
        sizes: &[64 << 10, 4 << 20],
    },
    Case { name: "pairs", text: include_str!("block/pairs.core"), extents: |n| vec![n], sizes: &[1000] },
    Case { name: "matmul", text: include_str!("block/matmul.core"), extents: |n| vec![n, n], sizes: &[256] },
    Case {
        name: "in_order",
        text: include_str!("block/in_order.core"),
        extents: |n| vec![n],
        sizes: &[1 << 20],
    },
];

/// The memory of one launch.
struct Call {
    launch: Launch,
    arrays: Vec<*mut c_void>,
    strides: Vec<i64>,
    scalars: Vec<u64>,
    slots: Vec<*mut c_void>,
    scratch: Vec<*mut c_void>,
    records: Vec<i64>,
    tiles: i64,
    _memory: Vec<Vec<u64>>,
}

impl Call {
    fn new(compiled: &Compiled, extents: &[i64]) -> Call {
        let plan = &compiled.functions[0].plan;
        let launch = plan.launches().next().expect("a launch").clone();
        let mut values = Vec::new();
        host::evaluate(plan, false, |_, axis| extents[axis as usize], |_| Lit::f32(0.25), &mut values);
        let int = |h: &arraygpu_compiler::plan::HostId| values[h.0 as usize].as_i64();
        let n: i64 = launch.domain.iter().map(int).product();
        let tiles = (n + i64::from(launch.grain) - 1) / i64::from(launch.grain);
        let mut memory = Vec::new();
        let mut make = |bytes: usize, fill: bool| {
            let mut words = vec![0u64; bytes.div_ceil(8) + 16];
            if fill {
                // These are floats between 1 and 2.
                words.iter_mut().enumerate().for_each(|(i, w)| {
                    let bits =
                        |k: usize| 0x3f80_0000 + ((i * 2 + k) as u64).wrapping_mul(2654435761) % 0x80_0000;
                    *w = bits(0) | bits(1) << 32;
                });
            }
            memory.push(words);
            memory.last_mut().expect("just made").as_mut_ptr().cast::<c_void>()
        };
        let count: i64 = extents.iter().product();
        let arrays: Vec<_> = launch
            .arrays
            .iter()
            .map(|(p, _)| make(8 * count.max(n) as usize, matches!(p, Place::Param(_))))
            .collect();
        let slots = launch.slots.iter().map(|_| make(8, false)).collect();
        let scratch = launch.scratch.iter().map(|_| make(8 * tiles as usize, false)).collect();
        let scalar = |s: &ScalarArg| match s {
            ScalarArg::Host(h) => values[h.0 as usize].bits,
            ScalarArg::Stride(_, axis) => {
                if usize::from(*axis) + 1 < extents.len() {
                    extents[1] as u64
                } else {
                    1
                }
            }
        };
        let scalars = launch.scalars.iter().map(scalar).collect();
        let strides = vec![1; arrays.len()];
        let records = vec![i64::MAX; launch.sites.len()];
        Call { launch, arrays, strides, scalars, slots, scratch, records, tiles, _memory: memory }
    }

    fn args(&mut self) -> AgpuKernelArgs {
        AgpuKernelArgs {
            reserved: [std::ptr::null(); 2],
            arrays: self.arrays.as_ptr(),
            strides: self.strides.as_ptr(),
            scalars: self.scalars.as_ptr(),
            slots: self.slots.as_ptr(),
            scratch: self.scratch.as_ptr(),
            records: self.records.as_mut_ptr(),
        }
    }
}

/// Returns nanoseconds: the minimum of several runs.
fn time(mut f: impl FnMut()) -> f64 {
    f();
    let start = Instant::now();
    f();
    let turns = (20_000_000 / start.elapsed().as_nanos().max(1)).clamp(1, 1000);
    let run = |_| {
        let start = Instant::now();
        (0..turns).for_each(|_| f());
        start.elapsed().as_nanos() as f64 / turns as f64
    };
    (0..9).map(run).fold(f64::MAX, f64::min)
}

fn main() {
    let level = std::env::var("ARRAYGPU_CPU_LEVEL").unwrap_or("v3".into());
    // SAFETY: there are no other threads yet.
    unsafe { std::env::set_var("ARRAYGPU_CPU_LEVEL", &level) };
    let only = std::env::args().nth(1).filter(|a| !a.starts_with('-'));
    println!(
        "{:>14} {:>10} {:>12} {:>12} {:>7} {:>10}",
        "", "elements", "compiled ns", "blocks ns", "ratio", "lowered us"
    );
    for case in CASES.iter().filter(|c| only.as_ref().is_none_or(|o| c.name == o)) {
        let f = parse::parse(case.text).expect("a function").remove(0);
        let compiled =
            driver::compile_for("t", vec![f], Targets { cpu: true, cuda: false }).expect("compiles");
        let folder = tempfile::tempdir().expect("a folder");
        let compiler = cc::Compiler::find(false).expect("a C compiler");
        let library = compiler.shared(&compiled.c_files, &level.parse().expect("a level"), folder.path());
        let library = library.expect("it compiles");
        // SAFETY: these are our own kernels, without initialisers.
        let library = unsafe { libloading::Library::new(&library) }.expect("loads");
        // SAFETY: the file ends with a table of that name and type.
        let table: *const AgpuCpuKernel =
            unsafe { *library.get(format!("t_cpu_{level}").as_bytes()).expect("a table") };
        // SAFETY: the table has an entry for each kernel.
        let native = unsafe { &*table };
        let start = Instant::now();
        let variants = compiled.kernels[0].cpu.as_ref().expect("variants for CPUs");
        let block = Block::new(&variants.contiguous.kernel);
        let once = variants.finish().map(|k| Block::new(&k));
        let lowered = start.elapsed().as_nanos() as f64 / 1e3;
        for n in case.sizes {
            let mut call = Call::new(&compiled, &(case.extents)(*n));
            let (tiles, finish, args) = (call.tiles, call.launch.finish, call.args());
            let one = time(|| {
                // SAFETY: the arguments belong to the kernel.
                unsafe {
                    native.contiguous.expect("a kernel")(&args, 0, tiles);
                    if finish {
                        native.finish.expect("a kernel")(&args, 0, tiles);
                    }
                }
            });
            let other = time(|| {
                // SAFETY: as above.
                unsafe {
                    block.main(&args, 0, tiles);
                    if finish {
                        once.as_ref().expect("an end").finish(&args, 0, tiles);
                    }
                }
            });
            println!(
                "{:>14} {n:>10} {one:>12.0} {other:>12.0} {:>7.2} {lowered:>10.0}",
                case.name,
                other / one
            );
        }
    }
}
