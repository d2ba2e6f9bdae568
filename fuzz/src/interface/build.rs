//! Calls that build functions, and programs of them.

use super::checks::{done, gives, out};
use super::{Shared, Thread, pointer};
use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::ptr::{null, without_provenance_mut};
use std::sync::Mutex;

pub(super) type Done = Result<bool, String>;

/// The most nodes of a builder: more would take time and test nothing new.
const NODES: usize = 60;
const NAMES: &[&CStr] = &[c"f", c"x", c"result", c"a_1", c"saxpy"];
const OPERATORS: &[&CStr] = &[
    c"add", c"sub", c"div", c"min", c"max", c"exp", c"sqrt", c"neg", c"abs", c"lt", c"eq", c"and", c"select",
    c"mul_add",
];

/// What is known about a node: enough to make most calls valid.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sort {
    /// A node of any sort.
    Any,
    /// A small number of elements.
    Size,
    /// A scalar of f32.
    Scalar,
    Vector,
    Matrix,
}

/// A function under construction.
pub(super) struct Building {
    pub builder: *mut AgpuBuilder,
    nodes: Vec<(Sort, AgpuNode)>,
    /// What the program is called with.
    kinds: Vec<(AgpuArgKind, Sort)>,
}

fn programs(s: &Shared) -> &Mutex<Vec<usize>> {
    &s.programs
}

impl Thread<'_> {
    /// A builder of this thread's, or a handle that is none.
    pub(super) fn builder(&mut self) -> (*mut AgpuBuilder, Option<usize>) {
        if self.building.is_empty() || self.rng.one_in(16) {
            return (without_provenance_mut(self.junk()), None);
        }
        let at = self.rng.below(self.building.len());
        (self.building[at].builder, Some(at))
    }

    /// A node of that builder and sort; sometimes one of another sort or builder, or an invalid
    /// one.
    pub(super) fn node(&mut self, of: Option<usize>, sort: Sort) -> AgpuNode {
        let of = if self.rng.one_in(24) { self.building.len().checked_sub(1) } else { of };
        let sort = if self.rng.one_in(12) { Sort::Any } else { sort };
        let invented = self.rng.bits();
        let Some(at) = of.filter(|_| !self.rng.one_in(24)) else { return invented };
        let fits = |(s, _): &&(Sort, AgpuNode)| sort == Sort::Any || *s == sort;
        let fitting: Vec<AgpuNode> = self.building[at].nodes.iter().filter(fits).map(|n| n.1).collect();
        if fitting.is_empty() { invented } else { self.rng.pick(&fitting) }
    }

    /// Makes a node of a sort.
    fn made(
        &mut self,
        at: Option<usize>,
        sort: Sort,
        make: impl FnOnce(*mut AgpuNode) -> AgpuStatus,
    ) -> Done {
        let node = out(self, make)?;
        if let Some(node) = node {
            self.keep_node(at, sort, node);
        }
        Ok(node.is_some())
    }

    /// Keeps a node for later calls.
    pub(super) fn keep_node(&mut self, at: Option<usize>, sort: Sort, node: AgpuNode) {
        let Some(at) = at else { return };
        let i = self.rng.below(NODES);
        let nodes = &mut self.building[at].nodes;
        nodes.push((sort, node));
        if nodes.len() > NODES {
            nodes.swap_remove(i);
        }
    }

    /// Keeps a builder that has these nodes.
    pub(super) fn begun(&mut self, builder: *mut AgpuBuilder, nodes: &[(Sort, AgpuNode)]) {
        self.building.push(Building { builder, nodes: nodes.to_vec(), kinds: vec![] });
    }

    /// New variables of f32, and a value of them.
    pub(super) fn lambda(&mut self, of: Option<usize>, n: usize) -> ([AgpuNode; 2], AgpuNode) {
        let (mut variables, mut body) = ([0; 2], 0);
        let Some(at) = of.filter(|_| !self.rng.one_in(8)) else {
            return ([0; 2].map(|_: u8| self.node(of, Sort::Any)), self.node(of, Sort::Any));
        };
        let (builder, ty) = (self.building[at].builder, MaybeUninit::new(AgpuType::AgpuF32));
        // SAFETY: a builder, places for the results; what fails leaves 0, which is no node.
        unsafe {
            for variable in &mut variables[..n] {
                agpu_builder_variable(builder, ty, variable);
            }
            let operands = [variables[0], variables[n - 1]];
            agpu_builder_apply(builder, c"add".as_ptr(), operands.as_ptr(), 2, &mut body);
        }
        (variables, body)
    }
}

pub(super) fn create(t: &mut Thread) -> Done {
    if t.building.len() > 3 && t.rng.one_in(2) {
        // there are enough builders: one is freed
        let last = t.building.pop().map_or(std::ptr::null_mut(), |b| b.builder);
        // SAFETY: handles are checked.
        done(unsafe { agpu_builder_free(last) }, true)?;
    }
    let name = t.text(NAMES);
    // SAFETY: NULL or a text, a place for the result or none.
    let Some(builder) = out(t, |out| unsafe { agpu_builder_create(pointer(name), out) })? else {
        return Ok(false);
    };
    t.building.push(Building { builder, nodes: vec![], kinds: vec![] });
    // parameters must come first: most builders have one of each sort, and a size
    if !t.rng.one_in(8) {
        for rank in [0, 1, 2] {
            parameter(t, t.building.len() - 1, rank)?;
        }
        size(t, t.building.len() - 1)?;
    }
    Ok(true)
}

pub(super) fn free(t: &mut Thread) -> Done {
    let (builder, at) =
        if t.building.len() > 2 { t.builder() } else { (without_provenance_mut(t.junk()), None) };
    at.map(|at| t.building.swap_remove(at));
    // SAFETY: handles are checked.
    done(unsafe { agpu_builder_free(builder) }, true)
}

pub(super) fn at(t: &mut Thread) -> Done {
    let (builder, file, line) = (t.builder().0, t.text(&[c"a.cpp", c"b/c.py"]), t.int() as i32);
    // SAFETY: as above, and NULL or a text.
    done(unsafe { agpu_builder_at(builder, pointer(file), line) }, true)
}

pub(super) fn at_column(t: &mut Thread) -> Done {
    let (builder, file) = (t.builder().0, t.text(&[c"a.cpp", c"b/c.py"]));
    let [line, column] = [t.int() as i32, t.int() as i32];
    // SAFETY: as above.
    done(unsafe { agpu_builder_at_column(builder, pointer(file), line, column) }, true)
}

pub(super) fn word(t: &mut Thread) -> Done {
    let (builder, word) = (t.builder().0, t.text(&[c"with_len", c"+, *", c""]));
    // SAFETY: as above.
    done(unsafe { agpu_builder_word(builder, pointer(word)) }, true)
}

pub(super) fn fast_math(t: &mut Thread) -> Done {
    let (builder, on) = (t.builder().0, t.rng.one_in(2));
    // SAFETY: as above.
    done(unsafe { agpu_builder_fast_math(builder, on) }, true)
}

pub(super) fn tensor_cores(t: &mut Thread) -> Done {
    let (builder, on) = (t.builder().0, t.rng.one_in(2));
    // SAFETY: as above.
    done(unsafe { agpu_builder_tensor_cores(builder, on) }, true)
}

/// A parameter of f32.
fn parameter(t: &mut Thread, at: usize, rank: i32) -> Done {
    let (builder, ty) = (t.building[at].builder, MaybeUninit::new(AgpuType::AgpuF32));
    let sort = [Sort::Scalar, Sort::Vector, Sort::Matrix][rank as usize];
    // SAFETY: as above.
    let made = t.made(Some(at), sort, |out| unsafe { agpu_builder_param(builder, null(), ty, rank, out) })?;
    if made {
        let kind = if rank == 0 { AgpuArgKind::AgpuArgScalar } else { AgpuArgKind::AgpuArgView };
        t.building[at].kinds.push((kind, sort));
    }
    Ok(made)
}

pub(super) fn param(t: &mut Thread) -> Done {
    let ((builder, at), name) = (t.builder(), t.text(NAMES));
    let (ty, rank) = (t.number(13), t.rng.pick(&[0, 1, 1, 1, 2, 3, 4, -1]));
    let make = |out: *mut AgpuNode| {
        // SAFETY: as above; a place for the result, or none.
        unsafe { agpu_builder_param(builder, pointer(name), ty, rank, out) }
    };
    let made = t.made(at, Sort::Any, make)?;
    if let (true, Some(at)) = (made, at) {
        let kind = if rank == 0 { AgpuArgKind::AgpuArgScalar } else { AgpuArgKind::AgpuArgView };
        t.building[at].kinds.push((kind, Sort::Any));
    }
    Ok(made)
}

/// A constant that may be a number of elements, or an index.
fn size(t: &mut Thread, at: usize) -> Done {
    let (builder, value) = (t.building[at].builder, t.rng.between(0, 3));
    let (ty, value) = (MaybeUninit::new(AgpuType::AgpuI64), (&raw const value).cast());
    let make = |out: *mut AgpuNode| {
        // SAFETY: as above, and a number of that type.
        unsafe { agpu_builder_constant(builder, ty, value, out) }
    };
    t.made(Some(at), Sort::Size, make)
}

pub(super) fn constant(t: &mut Thread) -> Done {
    let (builder, at) = t.builder();
    if let Some(at) = at.filter(|_| t.rng.one_in(2)) {
        return size(t, at);
    }
    let (ty, value) = (t.number(13), t.rng.bits());
    let value = if t.rng.one_in(16) { null() } else { (&raw const value).cast() };
    let make = |out: *mut AgpuNode| {
        // SAFETY: as above, and the bits of a number of the widest type.
        unsafe { agpu_builder_constant(builder, ty, value, out) }
    };
    t.made(at, Sort::Any, make)
}

pub(super) fn variable(t: &mut Thread) -> Done {
    let ((builder, at), ty) = (t.builder(), t.number(13));
    // SAFETY: as above.
    t.made(at, Sort::Any, |out| unsafe { agpu_builder_variable(builder, ty, out) })
}

pub(super) fn apply(t: &mut Thread) -> Done {
    let ((builder, at), op) = (t.builder(), t.text(OPERATORS));
    // most operators take two numbers
    let sort = t.rng.pick(&[Sort::Scalar, Sort::Vector, Sort::Matrix, Sort::Any]);
    let operands = [(); 3].map(|()| t.node(at, sort));
    let count = t.rng.pick(&[1, 2, 2, 2, 2, 3, 0, -1]);
    let list = if t.rng.one_in(16) { null() } else { operands.as_ptr() };
    let is_number = op.is_some_and(|op| [c"add", c"sub", c"div", c"min", c"max"].contains(&op));
    let make = |out: *mut AgpuNode| {
        // SAFETY: as above, and as many operands.
        unsafe { agpu_builder_apply(builder, pointer(op), list, count, out) }
    };
    t.made(at, if is_number { sort } else { Sort::Any }, make)
}

pub(super) fn cast(t: &mut Thread) -> Done {
    let ((builder, at), ty) = (t.builder(), t.number(13));
    let value = t.node(at, Sort::Scalar);
    // SAFETY: as above.
    t.made(at, Sort::Any, |out| unsafe { agpu_builder_cast(builder, ty, value, out) })
}

pub(super) fn map(t: &mut Thread) -> Done {
    let (builder, at) = t.builder();
    let n = 1 + t.rng.below(2);
    let ((variables, body), arrays) = (t.lambda(at, n), [(); 2].map(|()| t.node(at, Sort::Vector)));
    let count = if t.rng.one_in(12) { t.rng.pick(&[0, -1, i32::MIN]) } else { n as i32 };
    let make = |out: *mut AgpuNode| {
        // SAFETY: as above, and two variables and arrays.
        unsafe { agpu_builder_map(builder, variables.as_ptr(), arrays.as_ptr(), count, body, out) }
    };
    t.made(at, Sort::Vector, make)
}

pub(super) fn generate(t: &mut Thread) -> Done {
    let (builder, at) = t.builder();
    let (extents, mut variables) = ([(); 3].map(|()| t.node(at, Sort::Size)), [0; 3]);
    let (rank, body) = (t.rng.pick(&[1, 1, 1, 2, 2, 3, 0, -1, i32::MIN]), t.node(at, Sort::Scalar));
    for variable in &mut variables {
        let ty = MaybeUninit::new(AgpuType::AgpuI64);
        // SAFETY: handles are checked; what fails leaves 0, which is no node.
        unsafe { agpu_builder_variable(builder, ty, variable) };
    }
    let make = |out: *mut AgpuNode| {
        // SAFETY: as above, and three extents and variables.
        unsafe { agpu_builder_generate(builder, extents.as_ptr(), variables.as_ptr(), rank, body, out) }
    };
    let sort = match rank {
        1 => Sort::Vector,
        2 => Sort::Matrix,
        _ => Sort::Any,
    };
    t.made(at, sort, make)
}

pub(super) fn reduce(t: &mut Thread) -> Done {
    let (builder, at) = t.builder();
    let (([left, right], body), array) = (t.lambda(at, 2), t.node(at, Sort::Vector));
    let init = t.node(at, Sort::Scalar);
    let make = |out: *mut AgpuNode| {
        // SAFETY: as above.
        unsafe { agpu_builder_reduce(builder, left, right, body, init, array, out) }
    };
    t.made(at, Sort::Scalar, make)
}

pub(super) fn reduce_axis(t: &mut Thread) -> Done {
    let ((builder, at), axis) = (t.builder(), t.rng.pick(&[0, 0, 1, 2, -1]));
    let (([left, right], body), array) = (t.lambda(at, 2), t.node(at, Sort::Matrix));
    let init = t.node(at, Sort::Scalar);
    let make = |out: *mut AgpuNode| {
        // SAFETY: as above.
        unsafe { agpu_builder_reduce_axis(builder, left, right, body, init, array, axis, out) }
    };
    t.made(at, Sort::Vector, make)
}

pub(super) fn fold(t: &mut Thread) -> Done {
    let (builder, at) = t.builder();
    let (([accumulator, element], body), array) = (t.lambda(at, 2), t.node(at, Sort::Vector));
    let init = t.node(at, Sort::Scalar);
    let make = |out: *mut AgpuNode| {
        // SAFETY: as above.
        unsafe { agpu_builder_fold(builder, accumulator, element, body, init, array, out) }
    };
    t.made(at, Sort::Scalar, make)
}

pub(super) fn length(t: &mut Thread) -> Done {
    let ((builder, at), axis) = (t.builder(), t.rng.pick(&[0, 0, 1, 3, -1]));
    let array = t.node(at, Sort::Vector);
    // SAFETY: as above.
    t.made(at, Sort::Size, |out| unsafe { agpu_builder_length(builder, array, axis, out) })
}

/// Calls that make a node of others and numbers: their arguments in order, each with its sort, and
/// what they make.
macro_rules! of_nodes {
    ($name:ident = $function:ident($($arg:ident: $sort:ident),*) -> $made:ident) => {
        pub(super) fn $name(t: &mut Thread) -> Done {
            let (builder, at) = t.builder();
            $(let $arg = of_nodes!(t, at, $sort);)*
            // SAFETY: handles and nodes are checked; a place for the result, or none.
            let make = |out: *mut AgpuNode| unsafe { $function(builder, $($arg,)* out) };
            t.made(at, Sort::$made, make)
        }
    };
    ($t:ident, $at:ident, Axis) => { $t.rng.pick(&[0, 0, 0, 1, 2, -1, i32::MAX]) };
    ($t:ident, $at:ident, $sort:ident) => { $t.node($at, Sort::$sort) };
}

of_nodes!(dot = agpu_builder_dot(x: Vector, y: Vector) -> Scalar);
of_nodes!(squared_deviations = agpu_builder_squared_deviations(array: Vector) -> Scalar);
of_nodes!(matmul = agpu_builder_matmul(x: Matrix, y: Matrix) -> Matrix);
of_nodes!(slice = agpu_builder_slice(array: Vector, axis: Axis, start: Size, stop: Size, stride: Size) -> Vector);
of_nodes!(reverse = agpu_builder_reverse(array: Vector, axis: Axis) -> Vector);
of_nodes!(transpose = agpu_builder_transpose(array: Matrix, first: Axis, second: Axis) -> Matrix);
of_nodes!(pick = agpu_builder_pick(array: Matrix, axis: Axis, index: Size) -> Vector);
of_nodes!(spread = agpu_builder_spread(array: Vector, axis: Axis, n: Size) -> Matrix);
of_nodes!(iota = agpu_builder_iota(n: Size) -> Any);
of_nodes!(fill = agpu_builder_fill(n: Size, value: Scalar) -> Vector);
of_nodes!(bind = agpu_builder_bind(value: Scalar) -> Scalar);
of_nodes!(stage = agpu_builder_stage(value: Scalar) -> Scalar);
of_nodes!(materialize = agpu_builder_materialize(array: Vector) -> Vector);

pub(super) fn read(t: &mut Thread) -> Done {
    let (builder, at) = t.builder();
    let (array, index) = (t.node(at, Sort::Vector), [(); 3].map(|()| t.node(at, Sort::Size)));
    let rank = t.rng.pick(&[1, 1, 1, 2, 3, 0, -1]);
    let make = |out: *mut AgpuNode| {
        // SAFETY: as above, and three indices.
        unsafe { agpu_builder_read(builder, array, index.as_ptr(), rank, out) }
    };
    t.made(at, Sort::Scalar, make)
}

pub(super) fn result(t: &mut Thread) -> Done {
    let ((builder, at), name) = (t.builder(), if t.rng.one_in(2) { None } else { t.text(NAMES) });
    let sort = t.rng.pick(&[Sort::Scalar, Sort::Vector, Sort::Matrix, Sort::Any]);
    let value = t.node(at, sort);
    // SAFETY: as above, and NULL or a text.
    let ok = done(unsafe { agpu_builder_result(builder, pointer(name), value) }, true)?;
    if let (true, Some(at)) = (ok, at) {
        let is_scalar = sort == Sort::Scalar;
        let kind = if is_scalar { AgpuArgKind::AgpuArgResultScalar } else { AgpuArgKind::AgpuArgResultNew };
        t.building[at].kinds.push((kind, sort));
    }
    Ok(ok)
}

pub(super) fn compile(t: &mut Thread) -> Done {
    let (builder, at) = t.builder();
    // SAFETY: as above.
    let made = out::<*mut AgpuProgram>(t, |out| unsafe { agpu_builder_compile(builder, out) })?;
    let Some(program) = made else { return Ok(false) };
    t.keep(programs, program);
    if let Some(at) = at {
        run_as_built(t, at, program)?;
    }
    Ok(true)
}

/// Calls a program with arguments that mostly fit.
fn run_as_built(t: &mut Thread, at: usize, program: *mut AgpuProgram) -> Done {
    let kinds: Vec<AgpuArgKind> = t.building[at].kinds.iter().map(|k| k.0).collect();
    let mut views = Vec::new();
    for (_, sort) in t.building[at].kinds.clone() {
        let rank = match sort {
            Sort::Vector => 1,
            Sort::Matrix => 2,
            _ => {
                views.push(t.view());
                continue;
            }
        };
        let (ty, mut buffer) = (MaybeUninit::new(AgpuType::AgpuF32), std::ptr::null_mut());
        // SAFETY: two extents, a place for the result.
        unsafe { agpu_buffer_create_array(t.safe, ty, rank as i32, [3i64, 3].as_ptr(), &mut buffer) };
        t.buffers.push(buffer);
        views.push(AgpuView::new(buffer, 0, &[3, 3][..rank], &[3, 1][2 - rank..]));
    }
    let call = AgpuCall::on(t.safe, std::ptr::null_mut());
    // SAFETY: as above, and arguments whose memory is this thread's.
    t.with_views(&kinds, &views, |args, n| unsafe { agpu_program_run(program, &call, args, n) })
}

/// Random arguments, which seldom fit.
fn some_kinds(t: &mut Thread) -> Vec<AgpuArgKind> {
    let all = [
        AgpuArgKind::AgpuArgScalar,
        AgpuArgKind::AgpuArgView,
        AgpuArgKind::AgpuArgView,
        AgpuArgKind::AgpuArgResultScalar,
        AgpuArgKind::AgpuArgResultNew,
    ];
    (0..t.rng.below(4)).map(|_| t.rng.pick(&all)).collect()
}

pub(super) fn program_run(t: &mut Thread) -> Done {
    if !t.building.is_empty() && t.rng.one_in(2) {
        // a program of an unfinished function of this thread, which is built further
        let (at, mut program) = (t.rng.below(t.building.len()), std::ptr::null_mut());
        // SAFETY: a builder, a place for the result.
        if unsafe { agpu_builder_compile(t.building[at].builder, &mut program) } == AgpuStatus::AgpuOk {
            t.keep(programs, program);
            return run_as_built(t, at, program);
        }
    }
    let (program, call, kinds) = (t.handle(programs), t.call(), some_kinds(t));
    let call = if t.rng.one_in(3) { null() } else { &raw const call };
    // SAFETY: as above.
    t.with_args(&kinds, |args, n| unsafe { agpu_program_run(program, call, args, n) })
}

pub(super) fn program_free(t: &mut Thread) -> Done {
    let program = t.handle(programs);
    // SAFETY: handles are checked.
    let freed = done(unsafe { agpu_program_free(program) }, true)?;
    t.forget(programs, freed, program);
    Ok(freed)
}

pub(super) fn program_kernels(t: &mut Thread) -> Done {
    let program = t.handle(programs);
    // SAFETY: as above; a place for the result, or none.
    gives::<i32>(t, |out| unsafe { agpu_program_kernels(program, out) })
}

pub(super) fn program_text(t: &mut Thread) -> Done {
    let stages = [c"core", c"fused", c"plan", c"kernel", c"c", c"ptx", c"cuda", c"explain", c"first_ptx"];
    let (program, stage) = (t.handle(programs), t.text(&stages));
    // SAFETY: as above, and NULL or a text.
    gives::<*const c_char>(t, |out| unsafe { agpu_program_text(program, pointer(stage), out) })
}

pub(super) fn program_remember(t: &mut Thread) -> Done {
    let (program, key, length) = (t.handle(programs), t.rng.below(20) as u64, t.rng.pick(&[8, 8, 8, 0, -1]));
    // SAFETY: as above, and a key of eight bytes.
    done(unsafe { agpu_program_remember(program, (&raw const key).cast(), length) }, true)
}

pub(super) fn run_remembered(t: &mut Thread) -> Done {
    let (key, call, kinds) = (t.rng.below(20) as u64, t.call(), some_kinds(t));
    let key: *const u64 = if t.rng.one_in(16) { null() } else { &key };
    let mut known = 2u8;
    // SAFETY: as above; a bool is a byte.
    let run =
        |args, n| unsafe { agpu_run_remembered(key.cast(), 8, &call, args, n, (&raw mut known).cast()) };
    let ok = t.with_args(&kinds, run)?;
    if ok == (known == 2) { Err(format!("`known` is {known}")) } else { Ok(ok) }
}
