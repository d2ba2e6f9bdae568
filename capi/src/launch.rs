//! One launch on the CPU: its arguments, the variant of its kernel, and its tiles.

use crate::abi::AgpuKernelArgs;
use crate::context::Context;
use crate::cpu::{Code, Variant};
use crate::error::{INTERNAL, Result, error};
use crate::log::{self, log};
use crate::memory::ALIGN;
use crate::module::Loaded;
use crate::places::{elements, place_of, scalar, writes_an_input};
use crate::pool;
use crate::span::AXES;
use crate::workspace::{LaunchArgs, Workspace};
use arraygpu_compiler::counted;
use arraygpu_compiler::plan::{Access, Launch, Place, Plan};
use std::ffi::c_void;

/// Returns the number of tiles of a launch.
pub(crate) fn tiles(launch: &Launch, ws: &Workspace) -> Result<i64> {
    let grain = i64::from(launch.grain);
    elements(launch, ws).map(|n| if n == 0 { 0 } else { (n - 1) / grain + 1 })
}

/// Returns the size of one scratch array in bytes.
pub(crate) fn scratch_bytes(tiles: i64, size: usize) -> i64 {
    // This cannot overflow: the number of tiles is at most 2^52.
    (tiles * size as i64 + ALIGN as i64 - 1) / ALIGN as i64 * ALIGN as i64
}

/// A launch whose arguments are filled in.
pub(crate) struct Ready {
    tiles: i64,
    /// The kernel, unless there are no tiles.
    main: Option<Code>,
    finish: Option<Code>,
    /// The work of a tile. `None` if the tiles are computed in order.
    work: Option<i64>,
}

impl Ready {
    /// Runs the launch.
    ///
    /// # Safety
    /// The arguments, and the slots of error records, are those of the launch.
    pub unsafe fn run(&self, a: &LaunchArgs, records: &mut [i64], context: &Context) -> Result<()> {
        let args = AgpuKernelArgs {
            arrays: a.arrays.as_ptr(),
            strides: a.strides.as_ptr(),
            scalars: a.scalars.as_ptr(),
            slots: a.slots.as_ptr(),
            scratch: a.scratch.as_ptr(),
            records: records.as_mut_ptr(),
            reserved: [std::ptr::null(); 2],
        };
        context.host.launches.add_one();
        if let Some(main) = self.main {
            // SAFETY: the kernel belongs to the launch (the package's promise), whose arrays were checked and stay
            // pinned.
            unsafe { pool::run(&context.host.workers, main, &args, self.tiles, self.work) }?;
        }
        if let Some(finish) = self.finish {
            // SAFETY: as above, after all tiles.
            unsafe { finish.run(&args, 0, self.tiles) };
        }
        Ok(())
    }
}

/// Fills in the arguments of a launch, which are then in the workspace.
pub(crate) fn prepare(
    loaded: &Loaded,
    plan: &Plan,
    launch: &Launch,
    mut scratch: *mut u8,
    ws: &mut Workspace,
) -> Result<Ready> {
    let tiles = tiles(launch, ws)?;
    let a = &mut ws.launch;
    a.arrays.clear();
    a.strides.clear();
    let span = |array: usize| &ws.spans[place_of(plan, launch.arrays[array].0)];
    for span in (0..launch.arrays.len()).map(span) {
        a.arrays.push(span.base.cast::<c_void>());
        a.strides.push(span.strides[AXES - 1]);
    }
    a.scalars.clear();
    a.scalars.extend(launch.scalars.iter().map(|s| scalar(*s, &ws.host, span)));
    a.slots.clear();
    let words = ws.words.as_mut_ptr();
    a.slots.extend(launch.slots.iter().map(|p| words.wrapping_add(place_of(plan, *p)).cast::<c_void>()));
    a.scratch.clear();
    for ty in &launch.scratch {
        a.scratch.push(scratch.cast());
        scratch = scratch.wrapping_add(scratch_bytes(tiles, ty.size()) as usize);
    }
    let chosen = variant(plan, launch, ws);
    if log::wants(log::Level::Warn) {
        tell(plan, launch, tiles, chosen, ws);
    }
    let work = launch.work(launch.segment.map(|n| ws.host[n.0 as usize].as_i64()));
    Ok(Ready {
        tiles,
        main: if tiles > 0 { Some(code(loaded, launch, chosen)?) } else { None },
        finish: if launch.finish { Some(code(loaded, launch, Variant::Finish)?) } else { None },
        work: (!launch.sequential).then_some(work),
    })
}

/// Logs a launch, and why its fastest variant does not run.
#[cold]
fn tell(plan: &Plan, launch: &Launch, tiles: i64, variant: Variant, ws: &Workspace) {
    log!(Debug, "{}: {}, {variant:?}", launch.name, counted(tiles, "tile"));
    let strided = |(i, (place, _)): (usize, &(Place, Access))| {
        let span = &ws.spans[place_of(plan, *place)];
        let is_dense = if launch.flat.contains(&(i as u32)) { span.is_flat() } else { span.is_contiguous() };
        (!is_dense).then(|| format!("{} (strides {:?})", plan.slot(*place).name, span.distances()))
    };
    let strided: Vec<String> = launch.arrays.iter().enumerate().filter_map(strided).collect();
    if !strided.is_empty() {
        log!(Warn, "{} runs its slower version for arrays with strides: {}", launch.name, strided.join(", "));
    }
}

/// The kernel's variant: contiguous unless neighbours do not lie side by side or an array that it writes is one that
/// it reads.
pub(crate) fn variant(plan: &Plan, launch: &Launch, ws: &Workspace) -> Variant {
    let span = |array: usize| &ws.spans[place_of(plan, launch.arrays[array].0)];
    let is_dense = launch.flat.iter().all(|i| span(*i as usize).is_flat());
    if !is_dense || !(0..launch.arrays.len()).all(|array| span(array).is_contiguous()) {
        Variant::Strided
    } else if writes_an_input(launch, ws) {
        Variant::InPlace
    } else {
        Variant::Contiguous
    }
}

fn code(loaded: &Loaded, launch: &Launch, variant: Variant) -> Result<Code> {
    let missing = || error(INTERNAL, format!("kernel {} has no version {variant:?}", launch.name));
    loaded.code(launch.kernel, variant)?.ok_or_else(missing)
}
