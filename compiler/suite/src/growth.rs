//! Programs that grow: for each kind, a function whose number of operations is proportional to `n`.
//! The benchmark of compile time (`compiler/benches/growth.rs`) and the tests on counts
//! (`compiler/suite/tests/growth.rs`) compile them at several sizes.

use arraygpu_compiler::build::{Boundary, Builder};
use arraygpu_compiler::core::{Function, NodeId, Op, Output, Param, Type, Var};
use arraygpu_compiler::loc::{Loc, LocStack};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// What a program consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// A chain of maps of one operation each.
    Maps,
    /// One map whose element is a chain of operations.
    Element,
    /// A chain of windows of three neighbours, each shorter than the one before.
    Stencils,
    /// A chain of windows of three neighbours with repeated edges.
    Padded,
    /// A chain of sines.
    Sines,
    /// A chain of exponentials, logarithms and divisions.
    Functions,
    /// A chain of stored arrays, each of one operation.
    Stored,
    /// A chain of joins with parameters and with the array before the last one.
    Zips,
    /// A chain of choices.
    Selects,
    /// A chain of reads at computed indices.
    Gathers,
    /// A chain of stored reads at computed indices.
    StoredGathers,
    /// A chain of products of one matrix with a vector.
    Nests,
    /// A chain of stored windows.
    StoredStencils,
    /// A chain of stored windows with repeated edges.
    StoredPadded,
    /// A chain of stored products of one matrix with a vector.
    StoredNests,
    /// As many results, each a map.
    Results,
    /// As many sums, each a result.
    Sums,
    /// A chain of operations on a scalar parameter, which the host computes.
    Scalars,
    /// As many parameters, added.
    Parameters,
    /// `e + a * c` of C++, whose headers build it node by node.
    Expressions,
    /// A prefix ladder, `z.at(i) + z.at(i - d)`, whose second read may be outside.
    UnprovenLadder,
    /// A chain of reads at indices that are data.
    UnprovenGathers,
    /// The same, each of whose arrays the author stores as a result.
    UnprovenResults,
    /// A chain of divisions of integers by what may be 0.
    Divisions,
}

impl Growth {
    /// Makes the program with `n` repetitions.
    pub fn program(self, n: usize) -> Function {
        let mut p = Program::new(self, n);
        for k in 0..n {
            p.b.at(LocStack::one(Loc { file: "growth.rs".into(), line: k as u32 + 1, column: 1 }));
            p.step(k);
        }
        p.finish()
    }
}

struct Program {
    kind: Growth,
    b: Builder,
    /// The parameters: vectors `x` and `y`, a matrix `m`, a scalar `s`; or many vectors.
    params: Vec<NodeId>,
    /// The variable of a program that is one element.
    variable: Option<(Var, NodeId)>,
    /// The value so far, and the one before it.
    last: [NodeId; 2],
    results: Vec<NodeId>,
}

const X: usize = 0;
const Y: usize = 1;
const M: usize = 2;
const S: usize = 3;

impl Program {
    fn new(kind: Growth, n: usize) -> Program {
        let param = |name: &str, rank| Param { name: name.into(), ty: Type::array(Ty::F32, rank) };
        let params = match kind {
            Growth::Parameters => (0..n.max(1)).map(|i| param(&format!("x{i}"), 1)).collect(),
            Growth::UnprovenGathers | Growth::UnprovenResults => {
                vec![param("x", 1), Param { name: "p".into(), ty: Type::array(Ty::I64, 1) }]
            }
            Growth::Divisions => vec![Param { name: "x".into(), ty: Type::array(Ty::I64, 1) }],
            _ => vec![param("x", 1), param("y", 1), param("m", 2), param("s", 0)],
        };
        let nodes: Vec<NodeId> = (0..params.len() as u32).map(NodeId).collect();
        let mut b = Builder::new(Function::new("grown", params));
        let variable = (kind == Growth::Element).then(|| b.graph().fresh_var(Ty::F32));
        let first = match kind {
            Growth::Scalars => nodes[S],
            _ => variable.map_or(nodes[X], |v| v.1),
        };
        Program { kind, b, params: nodes, variable, last: [first; 2], results: Vec::new() }
    }

    fn step(&mut self, k: usize) {
        let x = self.last[0];
        let next = match self.kind {
            Growth::Maps | Growth::Stored => self.map(x, |p, x| p.arithmetic(k, x)),
            Growth::Element => {
                let value = self.arithmetic(k, x);
                if k % 8 == 7 { self.choice(k, value) } else { value }
            }
            Growth::Stencils | Growth::StoredStencils => self.window(x),
            Growth::Padded | Growth::StoredPadded => {
                let one = self.b.number(1);
                let wide = self.b.pad(x, 0, [one, one], &Boundary::Clamp).expect("it is a vector");
                self.window(wide)
            }
            Growth::Sines => self.map(x, |p, x| p.node(Op::Unary(UnaryOp::Sin, x))),
            Growth::Functions => self.map(x, |p, x| p.function(k, x)),
            Growth::Zips => {
                let with = match k % 3 {
                    0 => self.params[X],
                    1 => self.params[Y],
                    _ => self.last[1],
                };
                let op = [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Sub][k / 3 % 3];
                self.zip(op, x, with)
            }
            Growth::Selects => self.map(x, |p, x| p.choice(k, x)),
            Growth::Gathers | Growth::StoredGathers => self.gather(x, k),
            Growth::Nests | Growth::StoredNests => self.product(x),
            Growth::Results => {
                let x = self.params[X];
                let next = self.map(x, |p, x| p.arithmetic(k, x));
                self.results.push(next);
                next
            }
            Growth::Sums => {
                let x = self.params[X];
                let next = self.map(x, |p, x| p.arithmetic(k, x));
                let sum = self.sum(next);
                self.results.push(sum);
                next
            }
            Growth::Scalars => self.arithmetic(k, x),
            Growth::Parameters => self.zip(BinaryOp::Add, x, self.params[k]),
            Growth::Expressions => {
                let (y, factor) = (self.params[Y], self.lit(k as f32));
                let product = self.map(y, |p, y| p.node(Op::Binary(BinaryOp::Mul, y, factor)));
                self.zip(BinaryOp::Add, x, product)
            }
            Growth::UnprovenLadder => self.generated(x, |p, i| {
                let back = p.b.number(1 + k as i64 % 8);
                let before = p.node(Op::Binary(BinaryOp::Sub, i, back));
                [i, before]
            }),
            Growth::UnprovenGathers => self.at_data(x),
            Growth::UnprovenResults => {
                let next = self.at_data(x);
                self.results.push(next);
                next
            }
            Growth::Divisions => self.divided(k, x),
        };
        let is_stored = matches!(
            self.kind,
            Growth::Stored
                | Growth::StoredGathers
                | Growth::StoredStencils
                | Growth::StoredPadded
                | Growth::StoredNests
        );
        self.last = [if is_stored { self.node(Op::Materialize(next)) } else { next }, x];
    }

    fn finish(mut self) -> Function {
        if let Some((var, _)) = self.variable {
            let lambda = self.b.graph().close(&[(var, Ty::F32)], self.last[0]);
            let x = self.params[X];
            self.last[0] = self.b.map("map", lambda, vec![x]).expect("it is an array");
        }
        if self.kind == Growth::Scalars {
            let s = self.last[0];
            let x = self.params[X];
            self.last[0] = self.map(x, |p, x| p.node(Op::Binary(BinaryOp::Mul, x, s)));
        }
        if self.results.is_empty() {
            self.results.push(self.last[0]);
        }
        let mut f = self.b.function;
        let outputs = self.results.iter().enumerate();
        f.results = outputs.map(|(i, r)| Output { name: format!("r{i}"), value: *r }).collect();
        f
    }

    fn node(&mut self, op: Op) -> NodeId {
        self.b.node(op).expect("the program is well-typed")
    }

    fn lit(&mut self, x: f32) -> NodeId {
        self.b.graph().lit(Lit::f32(x))
    }

    /// One operation, another one in each repetition.
    fn arithmetic(&mut self, k: usize, x: NodeId) -> NodeId {
        let c = self.lit(1.0 + k as f32 / 1024.0);
        let op = [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Sub][k % 3];
        self.node(Op::Binary(op, x, c))
    }

    fn function(&mut self, k: usize, x: NodeId) -> NodeId {
        match k % 4 {
            0 => self.node(Op::Unary(UnaryOp::Exp, x)),
            1 => {
                let c = self.lit(1.5 + k as f32);
                self.node(Op::Binary(BinaryOp::Div, x, c))
            }
            2 => {
                let c = self.lit(0.25 + k as f32);
                self.node(Op::Binary(BinaryOp::Add, x, c))
            }
            _ => self.node(Op::Unary(UnaryOp::Log, x)),
        }
    }

    fn choice(&mut self, k: usize, x: NodeId) -> NodeId {
        let c = self.lit(k as f32 / 64.0);
        let is_less = self.node(Op::Binary(BinaryOp::Lt, x, c));
        let (a, b) = (self.arithmetic(k, x), self.arithmetic(k + 1, x));
        self.node(Op::Select(is_less, a, b))
    }

    fn map(&mut self, x: NodeId, f: impl FnOnce(&mut Self, NodeId) -> NodeId) -> NodeId {
        let (var, node) = self.b.graph().fresh_var(Ty::F32);
        let body = f(self, node);
        let lambda = self.b.graph().close(&[(var, Ty::F32)], body);
        self.b.map("map", lambda, vec![x]).expect("it is an array")
    }

    fn zip(&mut self, op: BinaryOp, a: NodeId, b: NodeId) -> NodeId {
        let lambda = self.b.graph().lambda(&[Ty::F32; 2], |g, v| g.add(Op::Binary(op, v[0], v[1])));
        self.b.map("zip_with", lambda, vec![a, b]).expect("they are vectors")
    }

    /// A weighted sum of three neighbours.
    fn window(&mut self, x: NodeId) -> NodeId {
        let n = self.b.extents(x)[0];
        let parts: Vec<NodeId> = (0..3)
            .map(|i| {
                let [start, one, back] = [i, 1, i - 2].map(|k| self.b.number(k));
                let stop = self.node(Op::Binary(BinaryOp::Add, n, back));
                self.b.slice("window", x, 0, [start, stop, one]).expect("it is a vector")
            })
            .collect();
        let half = self.lit(0.5);
        let lambda = self.b.graph().lambda(&[Ty::F32; 3], |g, v| {
            let sum = g.add(Op::Binary(BinaryOp::Add, v[0], v[2]));
            g.add(Op::MulAdd(sum, half, v[1]))
        });
        self.b.map("windows", lambda, parts).expect("they are vectors")
    }

    /// The elements of `x` in another order.
    fn gather(&mut self, x: NodeId, k: usize) -> NodeId {
        let n = self.b.extents(x)[0];
        let (var, i) = self.b.graph().fresh_var(Ty::I64);
        let factor = self.b.number(2 * k as i64 + 3);
        let one = self.b.number(1);
        let product = self.node(Op::Binary(BinaryOp::Mul, i, factor));
        let least = self.node(Op::Binary(BinaryOp::Max, n, one));
        let at = self.node(Op::Binary(BinaryOp::Rem, product, least));
        let value = self.node(Op::At(x, vec![at]));
        let body = self.arithmetic(k, value);
        let lambda = self.b.graph().close(&[(var, Ty::I64)], body);
        self.b.generate("generate", vec![n], lambda).expect("its length is one of an array")
    }

    /// Sums of two elements, at indices that `of` returns.
    fn generated(&mut self, x: NodeId, of: impl FnOnce(&mut Self, NodeId) -> [NodeId; 2]) -> NodeId {
        let n = self.b.extents(x)[0];
        let (var, i) = self.b.graph().fresh_var(Ty::I64);
        let read = of(self, i).map(|at| self.node(Op::At(x, vec![at])));
        let body = self.node(Op::Binary(BinaryOp::Add, read[0], read[1]));
        let lambda = self.b.graph().close(&[(var, Ty::I64)], body);
        self.b.generate("generate", vec![n], lambda).expect("its length is one of an array")
    }

    /// Sums of an element and of another one, whose index is data.
    fn at_data(&mut self, x: NodeId) -> NodeId {
        let p = self.params[Y];
        self.generated(x, |program, i| [i, program.node(Op::At(p, vec![i]))])
    }

    /// Divides an integer by each element.
    fn divided(&mut self, k: usize, x: NodeId) -> NodeId {
        let (var, node) = self.b.graph().fresh_var(Ty::I64);
        let of = self.b.number(1000 + k as i64);
        let body = self.node(Op::Binary(BinaryOp::Div, of, node));
        let lambda = self.b.graph().close(&[(var, Ty::I64)], body);
        self.b.map("map", lambda, vec![x]).expect("it is an array")
    }

    fn sum(&mut self, x: NodeId) -> NodeId {
        let zero = self.lit(0.0);
        let join = self.b.graph().lambda(&[Ty::F32; 2], |g, v| g.add(Op::Binary(BinaryOp::Add, v[0], v[1])));
        self.node(Op::Reduce { join, init: zero, src: x, which: 0 })
    }

    /// The product of the matrix and a vector, half of it.
    fn product(&mut self, x: NodeId) -> NodeId {
        let m = self.params[M];
        let rows = self.b.extents(m)[0];
        let (var, i) = self.b.graph().fresh_var(Ty::I64);
        let row = self.b.pick("row", m, 0, i, true).expect("it is a matrix");
        let products = self.zip(BinaryOp::Mul, row, x);
        let sum = self.sum(products);
        let half = self.lit(0.5);
        let body = self.node(Op::Binary(BinaryOp::Mul, sum, half));
        let lambda = self.b.graph().close(&[(var, Ty::I64)], body);
        self.b.generate("generate", vec![rows], lambda).expect("its length is one of an array")
    }
}
