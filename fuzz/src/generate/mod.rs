//! Random functions of core IR over every operation, legal by construction.
//!
//! A program is made for one call: every length and every scalar parameter has a value there (the
//! *witness*), and each bound is an expression that fits then. So every shape rule holds in that
//! call, and a refusal because of one is a failure. Cost is known alike: programs that would take
//! the interpreter long are not made.

mod arrays;
mod calls;
mod cost;
mod filters;
mod host;
mod iterate;
mod loops;
mod parts;
mod reduce;
mod results;
mod scalars;

pub use calls::Call;
pub use scalars::{is_binary_of_users, is_unary_of_users};

use crate::rng::Rng;
use crate::values;
use arraygpu_compiler::Result;
use arraygpu_compiler::build::Builder;
use arraygpu_compiler::core::{Function, Graph, Lambda, NodeId, Op, Param, StencilHint, Type};
use arraygpu_compiler::loc::{Loc, LocStack};
use arraygpu_compiler::scalar::{Lit, Ty};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;

/// What a program may be made of that is more than one operation, or that the compiler must refuse.
pub const CONSTRUCTS: [&str; 36] = [
    "a chain of scalars",
    "a condition of a reduction",
    "a condition of an iteration",
    "a function in place of no steps",
    "a part replaced",
    "a row at any index",
    "a row of an element",
    "a row that the host knows",
    "a scalar from outside of an iteration",
    "a step in a step",
    "the number of a step",
    "collected states",
    "contraction",
    "E0209: a bound of data",
    "E0310: a slice that never fits",
    "E0401: a stored part of an element",
    "filter",
    "fold to another type",
    "fold of tuples",
    "gather",
    "loop of an element",
    "matrix product",
    "rows and their reductions",
    "nine states",
    "padded: clamp",
    "padded: constant",
    "padded: mirror",
    "padded: wrap",
    "product in an element",
    "reduction of tuples",
    "scan of tuples",
    "several states",
    "staged window",
    "values in the order of keys",
    "weighted sum",
    "window",
];

/// A function, and the call that it is made for.
#[derive(Clone, Debug)]
pub struct Program {
    /// The function's name.
    pub seed: u64,
    /// The function.
    pub function: Function,
    /// The extents of each array parameter in the witness; of scalars none.
    pub extents: Vec<Vec<i64>>,
    /// The scalar parameters' values in the witness.
    pub scalars: Vec<Option<Lit>>,
    /// What the compiler must say of it, if it must refuse it.
    pub refused: Option<&'static str>,
    /// Which of [`CONSTRUCTS`] were made, needed or not.
    pub constructs: BTreeSet<&'static str>,
}

/// A variable that runs over the indices of an axis of this extent.
#[derive(Clone, Copy)]
struct Index {
    var: NodeId,
    extent: NodeId,
}

/// What was in scope.
struct Scope(usize, usize, usize);

/// A function in the making; steps of iterations have their own.
struct Gen<'r> {
    rng: &'r mut Rng,
    b: Builder,
    /// The witness of each parameter.
    extents: Vec<Vec<i64>>,
    values: Vec<Option<Lit>>,
    /// What the host knows in the witness.
    known: HashMap<NodeId, Lit>,
    costs: HashMap<NodeId, f64>,
    /// Arrays in scope, innermost last.
    arrays: Vec<NodeId>,
    scalars: Vec<NodeId>,
    indices: Vec<Index>,
    /// Types that most values have.
    types: Vec<Ty>,
    /// Closures around.
    nest: usize,
    /// Iterations around.
    inside: usize,
    /// Reads and divisions may leave a record.
    wild: bool,
    /// The budget: nodes, and the interpreter's work.
    most_nodes: usize,
    most_work: f64,
    work: f64,
    refused: Option<&'static str>,
    constructs: BTreeSet<&'static str>,
    line: u32,
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let types = (0..1 + rng.below(3)).map(|_| rng.pick(&Ty::ALL)).collect::<Vec<_>>();
    let classes = classes(&mut rng);
    let (params, extents) = parameters(&types, &classes, &mut rng);
    let scalars = params.iter().map(|p| {
        let value = match p.ty.elem {
            Ty::I64 if !rng.one_in(8) => Lit::i64(rng.between(-2, 9)),
            ty => values::element(ty, &mut rng),
        };
        p.ty.is_scalar().then_some(value)
    });
    let scalars: Vec<_> = scalars.collect();
    let mut function = Function::new(&format!("f{seed}"), params);
    function.fast = rng.one_in(8);
    function.tensor_cores = seed % 8 == 5;
    function.stencil = rng.one_in(4).then(|| rng.pick(&StencilHint::ALL).0);
    let mut g = Gen::new(function, extents.clone(), scalars.clone(), types, &mut rng);
    let most = if g.rng.one_in(8) { 8 } else { 3 };
    let results = 1 + g.rng.below(most);
    g.body();
    g.results(results);
    let (refused, constructs) = (g.refused, g.constructs);
    Program { seed, function: g.b.function, extents, scalars, refused, constructs }
}

/// Lengths that arrays share: few elements mostly, now and then around the sizes of tiles, columns
/// and panels.
fn classes(rng: &mut Rng) -> Vec<i64> {
    const SMALL: [i64; 14] = [0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17];
    const MIDDLE: [i64; 9] = [31, 33, 63, 64, 65, 127, 128, 129, 300];
    const LARGE: [i64; 8] = [511, 513, 2047, 2048, 2049, 2176, 4097, 4500];
    let mut all: Vec<i64> = (0..3).map(|_| rng.pick(&SMALL)).collect();
    // few programs have empty arrays
    if all.contains(&0) && !rng.one_in(3) {
        all.iter_mut().for_each(|n| *n = (*n).max(1));
    }
    match rng.below(16) {
        0 => all.push(rng.pick(&LARGE)),
        1..=3 => all.push(rng.pick(&MIDDLE)),
        _ => {}
    }
    all
}

/// The most elements of an array.
const MOST_ELEMENTS: i64 = 6000;

fn parameters(types: &[Ty], classes: &[i64], rng: &mut Rng) -> (Vec<Param>, Vec<Vec<i64>>) {
    const NAMES: [&str; 12] = ["x", "y", "a", "b", "s9", "n_x", "t0", "x_stride", "i", "out", "r0", "len"];
    let (mut params, mut extents): (Vec<Param>, Vec<Vec<i64>>) = (Vec::new(), Vec::new());
    let many = match rng.below(16) {
        0 => 6 + rng.below(10),
        _ => 2 + rng.below(4),
    };
    for i in 0..many {
        let rank = if i == 0 { 1 + rng.below(3) } else { rng.pick(&[0, 0, 1, 1, 1, 2, 2, 3]) };
        let ty = match rng.below(5) {
            0 => rng.pick(&Ty::ALL),
            1 => Ty::I64,
            _ => rng.pick(types),
        };
        let mut shape: Vec<i64> = (0..rank).map(|_| rng.pick(classes)).collect();
        while shape.iter().product::<i64>() > MOST_ELEMENTS {
            let largest = (0..rank).max_by_key(|k| shape[*k]).unwrap_or(0);
            shape[largest] = classes[0];
            if classes[0] > 17 {
                shape[largest] = 1;
            }
        }
        let name = rng.pick(&NAMES);
        let taken = |name: &str| params.iter().any(|p| p.name == name);
        let name = if taken(name) { format!("{name}{i}_") } else { name.into() };
        params.push(Param { name, ty: Type::array(ty, rank) });
        extents.push(shape);
    }
    (params, extents)
}

impl<'r> Gen<'r> {
    fn new(
        function: Function,
        extents: Vec<Vec<i64>>,
        values: Vec<Option<Lit>>,
        types: Vec<Ty>,
        rng: &'r mut Rng,
    ) -> Gen<'r> {
        let most_nodes = match rng.below(16) {
            0 => 400,
            1..=4 => 120,
            _ => 60,
        };
        let most_work = if rng.one_in(24) { 120_000.0 } else { 4000.0 };
        let elements: i64 =
            extents.iter().filter(|e| !e.is_empty()).map(|e| e.iter().product::<i64>()).max().unwrap_or(1);
        let wild = rng.one_in(6);
        let mut g = Gen {
            rng,
            b: Builder::new(function).with_bounds_as_written(),
            extents,
            values,
            known: HashMap::default(),
            costs: HashMap::default(),
            arrays: Vec::new(),
            scalars: Vec::new(),
            indices: Vec::new(),
            types,
            nest: 0,
            inside: 0,
            wild,
            most_nodes,
            most_work: f64::max(most_work, 12.0 * elements as f64),
            work: 0.0,
            refused: None,
            constructs: BTreeSet::new(),
            line: 0,
        };
        for (i, p) in g.b.function.params.clone().iter().enumerate() {
            let list = if p.ty.is_scalar() { &mut g.scalars } else { &mut g.arrays };
            list.push(NodeId(i as u32));
        }
        g
    }

    fn graph(&mut self) -> &mut Graph {
        self.b.graph()
    }

    fn ty(&self, n: NodeId) -> Type {
        self.b.ty(n)
    }

    fn is_closed(&self, n: NodeId) -> bool {
        self.b.function.graph.is_closed(n)
    }

    /// Begins a new source line for the nodes that follow.
    fn next_line(&mut self) {
        self.line += 1;
        let loc = Loc { file: "random.rs".into(), line: self.line, column: 1 };
        self.b.at(LocStack::one(loc));
    }

    fn add(&mut self, op: Op) -> NodeId {
        self.next_line();
        ok(self.b.node(op))
    }

    fn lit(&mut self, l: Lit) -> NodeId {
        self.add(Op::Const(l))
    }

    fn int(&mut self, n: i64) -> NodeId {
        self.lit(Lit::i64(n))
    }

    /// Whether the budget is spent.
    fn is_full(&self) -> bool {
        self.b.function.graph.len() > self.most_nodes
    }

    fn note(&mut self, construct: &'static str) {
        debug_assert!(CONSTRUCTS.contains(&construct), "{construct}");
        self.constructs.insert(construct);
    }

    fn some_type(&mut self) -> Ty {
        if self.rng.one_in(4) { self.rng.pick(&Ty::ALL) } else { self.rng.pick(&self.types) }
    }

    /// A function of variables of these types; `extents` are what they run over, if they are
    /// indices.
    fn lambda(
        &mut self,
        types: &[Ty],
        extents: &[NodeId],
        body: impl FnOnce(&mut Self, &[NodeId]) -> NodeId,
    ) -> Lambda {
        let scope = Scope(self.arrays.len(), self.scalars.len(), self.indices.len());
        self.nest += 1;
        let vars: Vec<_> = types.iter().map(|ty| self.graph().fresh_var(*ty)).collect();
        let nodes: Vec<NodeId> = vars.iter().map(|v| v.1).collect();
        self.scalars.extend(&nodes);
        self.indices
            .extend(nodes.iter().zip(extents).map(|(var, extent)| Index { var: *var, extent: *extent }));
        let body = body(self, &nodes);
        self.nest -= 1;
        self.arrays.truncate(scope.0);
        self.scalars.truncate(scope.1);
        self.indices.truncate(scope.2);
        let vars: Vec<_> = vars.iter().zip(types).map(|(v, ty)| (v.0, *ty)).collect();
        self.graph().close(&vars, body)
    }
}

/// What is legal by construction is not refused.
#[track_caller]
fn ok<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|e| panic!("a legal construct is refused: {e}"))
}
