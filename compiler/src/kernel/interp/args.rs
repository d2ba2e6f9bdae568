//! The arguments of a launch, and the check that they fit the kernel.

use super::fault::{Check, Fault, FaultKind};
use super::memory::{Id, Memory};
use crate::kernel::Kernel;
use crate::scalar::{Lit, Ty};

/// The grid of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// The number of blocks.
    pub blocks: u32,
    /// The value of `span`.
    pub span: u32,
}

/// The location of an array: element i is element `offset + i * stride` of an allocation. Several
/// arrays may share one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayArg {
    /// The allocation, of the array's element type.
    pub memory: Id,
    /// The position of element 0 in the allocation, in elements.
    pub offset: u64,
    /// The distance between elements, in elements; it may be negative or 0.
    pub stride: i64,
    /// Number of elements.
    pub len: u64,
}

/// The arguments of a launch, in the kernel's order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Args {
    /// Arrays.
    pub arrays: Vec<ArrayArg>,
    /// Scalars by value.
    pub ins: Vec<Lit>,
    /// Scalars in device memory: allocations of one element.
    pub slots: Vec<Id>,
    /// Scratch arrays.
    pub scratch: Vec<Id>,
    /// The counters of arrivals (u32), if there are any; all must be 0.
    pub counters: Option<Id>,
    /// The guard of a guarded kernel: an allocation of i64, and the number of its element.
    pub guard: Option<(Id, u64)>,
}

/// Checks the numbers, types and extents of all arguments.
pub(super) fn check(k: &Kernel, grid: Grid, memory: &Memory, args: &Args) -> Check<()> {
    let fault = |message: String| {
        let kind = FaultKind::Arguments;
        Err(Box::new(Fault { kind, kernel: k.name.clone(), message, at: None, other: None }))
    };
    let counts = |what: &str, wanted: usize, got: usize| {
        if wanted == got { Ok(()) } else { fault(format!("{got} {what}, the kernel has {wanted}")) }
    };
    if k.threads == 0 {
        return fault("a kernel for the CPU".into());
    }
    counts("arrays", k.arrays.len(), args.arrays.len())?;
    counts("scalars", k.ins.len(), args.ins.len())?;
    counts("slots", k.slots.len(), args.slots.len())?;
    counts("scratch arrays", k.scratch.len(), args.scratch.len())?;
    let is =
        |id: Id, ty: Ty, least: usize| memory.holds(id) && memory.at(id).ty == ty && memory.len(id) >= least;
    for (a, arg) in k.arrays.iter().zip(&args.arrays) {
        if !is(arg.memory, a.ty, 0) {
            return fault(format!("array {} is no {}", a.name, a.ty));
        }
        let last = i128::from(arg.offset) + i128::from(arg.stride) * (i128::from(arg.len) - 1);
        let end = memory.len(arg.memory) as i128;
        if arg.len > 0 && !((0..end).contains(&last) && i128::from(arg.offset) < end) {
            return fault(format!("array {} leaves its memory of {end} elements: {arg:?}", a.name));
        }
        if !a.strided && arg.stride != 1 {
            return fault(format!("array {} has the stride {}", a.name, arg.stride));
        }
    }
    if let Some(((name, ty), l)) = k.ins.iter().zip(&args.ins).find(|(i, l)| i.1 != l.ty) {
        return fault(format!("{name} is no {ty}, but {l}"));
    }
    if let Some((s, _)) = k.slots.iter().zip(&args.slots).find(|(s, id)| !is(**id, s.ty, 1)) {
        return fault(format!("slot {} is no {}", s.name, s.ty));
    }
    if let Some(((name, ty), _)) = k.scratch.iter().zip(&args.scratch).find(|(s, id)| !is(**id, s.1, 0)) {
        return fault(format!("scratch {name} is no {ty}"));
    }
    match args.guard {
        None if k.is_guarded => return fault("a guarded kernel has no guard".into()),
        Some(_) if !k.is_guarded => return fault("the kernel takes no guard".into()),
        Some((id, at)) if !is(id, Ty::I64, at as usize + 1) => return fault("the guard is no i64".into()),
        _ => {}
    }
    if !grid.blocks.is_multiple_of(k.cluster.max(1)) {
        return fault(format!("{} blocks in clusters of {}", grid.blocks, k.cluster));
    }
    match args.counters {
        Some(id) if !is(id, Ty::U32, 0) => fault("the counters are no u32".into()),
        _ => Ok(()),
    }
}

/// Whether the guard says that the launch does nothing. The arguments were checked.
pub(super) fn is_stopped(k: &Kernel, memory: &Memory, args: &Args) -> Check<bool> {
    let Some((id, at)) = args.guard else { return Ok(false) };
    match memory.get(id, at as usize) {
        Some(number) => Ok(number.as_i64() >= 0),
        None => {
            let (kind, message) = (FaultKind::Unwritten, "the guard was never written".into());
            Err(Box::new(Fault { kind, kernel: k.name.clone(), message, at: None, other: None }))
        }
    }
}

/// Checks that counters are 0, which must hold before and after each launch.
pub(super) fn check_counters(k: &Kernel, memory: &Memory, args: &Args, when: &str) -> Check<()> {
    let Some(id) = args.counters else { return Ok(()) };
    let value = |i: usize| memory.get(id, i).map(|l| l.bits);
    match (0..memory.len(id)).find(|i| value(*i) != Some(0)) {
        None => Ok(()),
        Some(i) => {
            let found = value(i).map_or("not set".into(), |v| format!("at {v}"));
            let message = format!("counter {i} is {found} {when} the launch");
            let kind = FaultKind::Counter;
            Err(Box::new(Fault { kind, kernel: k.name.clone(), message, at: None, other: None }))
        }
    }
}
