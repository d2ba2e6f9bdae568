//! The type of an operation from its operands: the typing rules of core IR.

mod operands;

use super::bins;
use super::{Form, Graph, Lambda, MAX_RANK, NodeId, Op, ScanPart, Type, tuples};
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use operands::{Joined, Operands, refusal, same};

/// Returns the type of `op`, or what is wrong with it.
pub fn infer(g: &Graph, op: &Op) -> Result<Type, String> {
    let t = Operands(g);
    match op {
        Op::Const(l) => Ok(Type::scalar(l.ty)),
        Op::Param(i) => {
            g.params().get(*i as usize).copied().ok_or_else(|| format!("there is no parameter {i}"))
        }
        Op::Var(_, ty) => Ok(Type::scalar(*ty)),
        Op::Turn | Op::Checked => Ok(Type::scalar(Ty::I64)),
        Op::Unary(op, a) => t.unary(*op, *a),
        Op::Binary(op, a, b) => t.binary(*op, *a, *b),
        Op::MulAdd(a, b, c) => t.mul_add([*a, *b, *c]),
        Op::Select(c, a, b) => t.select(*c, [*a, *b]),
        Op::Cast(ty, a) => t.scalar(*a, "the operand").map(|_| Type::scalar(*ty)),
        Op::Stage(a) => t.scalar(*a, "the operand of stage").map(Type::scalar),
        Op::Len(x, axis) => t.axis(*x, *axis, "the operand of len").map(|_| Type::scalar(Ty::I64)),
        Op::At(x, indices) | Op::Elem(x, indices) => t.element(*x, indices),
        Op::Within(i, n, _) => t.within(*i, *n),
        Op::Leave(label, _) => t.leave(*label),
        Op::Map(f, srcs) => t.map(f, srcs),
        Op::Generate(extents, f) => t.generate(extents, f),
        Op::Slice { src, axis, start, stop, stride } => t.slice((*src, *axis), [*start, *stop, *stride]),
        Op::Reverse(x, axis) => t.axis(*x, *axis, "the operand of reverse"),
        Op::Permute(x, axes) => t.permute(*x, axes),
        Op::Pick { src, axis, index } => t.pick((*src, *axis), *index),
        Op::Spread { src, axis, n } => t.spread((*src, *axis), *n),
        Op::Materialize(x) => t.array(*x, "the operand"),
        Op::Iota(n) => t.index(*n, "the length").map(|()| Type::vector(Ty::I64)),
        Op::Fill(n, v) => t.fill(*n, *v),
        Op::Tuple(all) => t.tuple(all),
        Op::Reduce { join, init, src, which } | Op::ReduceOrdered { join, init, src, which } => {
            t.reduce((join, *which), *init, *src)
        }
        Op::Scan { part, join, init, src, which } => t.scan(part, (join, *which), *init, *src),
        Op::Argsort(x) => t.argsort(*x),
        Op::Place { at, src } => t.moved("place", (*at, "the places"), *src, "places and indices"),
        Op::Bins { op, parts, count, at, src } => t.bins(*op, [*parts, *count], *at, *src),
        Op::Put { at, src, base, after } => t.put(*at, [*src, *base], *after),
        Op::DigitCounts { count, tiles, digits } => t.digit_counts([*count, *tiles], *digits),
        Op::DigitEnds { digits, tiles, counts } => t.digit_ends([*digits, *tiles], *counts),
        Op::ByDigit { tiles, digits, ends, src } => t.by_digit(*tiles, *digits, *ends, *src),
        Op::Dot { init, a, b } | Op::PanelDot { init, a, b } => t.dot(*init, [*a, *b]),
        Op::SquaredDeviations { init, src } => t.squared_deviations(*init, *src),
        Op::Fold { step, init, src, which } => t.fold((step, *which), *init, *src),
        Op::Loop { step, which, count, init } => t.loop_of(step, *which, *count, init),
        Op::Iterate { which, form, count, args, .. } => t.iterate(*which, form, *count, args),
    }
}

/// The rules of scalars.
impl Operands<'_> {
    fn unary(&self, op: UnaryOp, a: NodeId) -> Result<Type, String> {
        let ty = self.scalar(a, "the operand")?;
        if !op.accepts(ty) {
            return Err(refusal(op.name(), ty, |ty| op.accepts(ty)));
        }
        Ok(Type::scalar(op.result(ty)))
    }

    fn binary(&self, op: BinaryOp, a: NodeId, b: NodeId) -> Result<Type, String> {
        let ty = self.scalar(a, "the operand")?;
        let other = self.scalar(b, "the operand")?;
        if other != ty {
            return Err(format!("the operands of {op} have the types {ty} and {other}"));
        }
        if !op.accepts(ty) {
            return Err(refusal(op.name(), ty, |ty| op.accepts(ty)));
        }
        Ok(Type::scalar(op.result(ty)))
    }

    fn mul_add(&self, [a, b, c]: [NodeId; 3]) -> Result<Type, String> {
        let ty = self.scalar(a, "the operand")?;
        same(ty, self.scalar(b, "the operand")?, "the factors of mul_add")?;
        same(ty, self.scalar(c, "the operand")?, "the operands of mul_add")?;
        if ty == Ty::Bool {
            return Err("mul_add does not take bool".into());
        }
        Ok(Type::scalar(ty))
    }

    fn select(&self, c: NodeId, [a, b]: [NodeId; 2]) -> Result<Type, String> {
        same(self.scalar(c, "the condition")?, Ty::Bool, "bool and the condition")?;
        let ty = self.scalar(a, "the arm")?;
        same(ty, self.scalar(b, "the arm")?, "the arms of select")?;
        Ok(Type::scalar(ty))
    }

    fn element(&self, x: NodeId, indices: &[NodeId]) -> Result<Type, String> {
        let ty = self.array(x, "the array")?;
        if indices.len() != usize::from(ty.rank) {
            return Err(format!("{ty} takes {} indices, not {}", ty.rank, indices.len()));
        }
        indices.iter().try_for_each(|i| self.index(*i, "the index"))?;
        Ok(Type::scalar(ty.elem))
    }

    fn within(&self, i: NodeId, n: NodeId) -> Result<Type, String> {
        self.index(i, "the index")?;
        self.index(n, "the length")?;
        Ok(Type::scalar(Ty::Bool))
    }

    fn leave(&self, label: NodeId) -> Result<Type, String> {
        match self.scalar(label, "the label")? {
            Ty::U32 => Ok(Type::scalar(Ty::Bool)),
            ty => Err(format!("the label is {ty}, not u32")),
        }
    }

    fn tuple(&self, all: &[NodeId]) -> Result<Type, String> {
        let Some(first) = all.first() else { return Err("a tuple has some components".into()) };
        all.iter().try_for_each(|c| self.scalar(*c, "the component of a tuple").map(|_| ()))?;
        Ok(Type::scalar(self.0.ty(*first).elem))
    }

    fn loop_of(&self, step: &Lambda, which: u32, count: NodeId, init: &[NodeId]) -> Result<Type, String> {
        self.index(count, "the number of steps")?;
        let states = init.iter().map(|n| self.scalar(*n, "the state")).collect::<Result<Vec<_>, _>>()?;
        let takes: Vec<Ty> = [Ty::I64].into_iter().chain(states.iter().copied()).collect();
        self.result(step, &takes, "loop")?;
        let Op::Tuple(all) = self.0.op(step.body) else {
            return Err("the loop's function must give a tuple".into());
        };
        let gives = [Ty::Bool].into_iter().chain(states.iter().copied());
        if all.iter().map(|n| self.0.ty(*n).elem).ne(gives) {
            return Err("the loop's function must give a condition and the next states".into());
        }
        match which as usize {
            w if w < states.len() => Ok(Type::scalar(states[w])),
            w if w == states.len() => Ok(Type::scalar(Ty::I64)),
            w => Err(format!("there is no state {w}")),
        }
    }
}

/// The rules of arrays.
impl Operands<'_> {
    fn map(&self, f: &Lambda, srcs: &[NodeId]) -> Result<Type, String> {
        if srcs.is_empty() {
            return Err("map needs an array".into());
        }
        if srcs.iter().any(|s| tuples::has_tuples(self.0, *s)) {
            return Err("map takes arrays of scalars".into());
        }
        let types = srcs.iter().map(|s| self.array(*s, "map's argument")).collect::<Result<Vec<_>, _>>()?;
        let rank = types[0].rank;
        if types.iter().any(|t| t.rank != rank) {
            return Err("map's arguments differ in rank".into());
        }
        let types: Vec<Ty> = types.iter().map(|t| t.elem).collect();
        Ok(Type { elem: self.result(f, &types, "map")?, rank })
    }

    fn generate(&self, extents: &[NodeId], f: &Lambda) -> Result<Type, String> {
        if !(1..=MAX_RANK).contains(&extents.len()) {
            return Err(format!("generate takes 1 to {MAX_RANK} extents, not {}", extents.len()));
        }
        extents.iter().try_for_each(|n| self.index(*n, "the length"))?;
        Ok(Type::array(self.result(f, &vec![Ty::I64; extents.len()], "generate")?, extents.len()))
    }

    fn slice(&self, (src, axis): (NodeId, u8), [start, stop, stride]: [NodeId; 3]) -> Result<Type, String> {
        for (n, what) in [(start, "start"), (stop, "stop"), (stride, "stride")] {
            self.index(n, what)?;
        }
        self.axis(src, axis, "the operand of slice")
    }

    fn permute(&self, x: NodeId, axes: &[u8]) -> Result<Type, String> {
        let ty = self.array(x, "the operand of permute")?;
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if sorted.iter().copied().ne(0..ty.rank) {
            return Err(format!("{axes:?} is no order of the axes of {ty}"));
        }
        Ok(ty)
    }

    fn pick(&self, (src, axis): (NodeId, u8), index: NodeId) -> Result<Type, String> {
        self.index(index, "the index")?;
        let ty = self.axis(src, axis, "the operand of pick")?;
        if ty.rank == 1 {
            return Err("pick takes a matrix or more".into());
        }
        Ok(Type { rank: ty.rank - 1, ..ty })
    }

    fn spread(&self, (src, axis): (NodeId, u8), n: NodeId) -> Result<Type, String> {
        self.index(n, "the length")?;
        let ty = self.array(src, "the operand of spread")?;
        if axis > ty.rank || usize::from(ty.rank) == MAX_RANK {
            return Err(format!("{ty} cannot get a new axis {axis}"));
        }
        Ok(Type { rank: ty.rank + 1, ..ty })
    }

    fn fill(&self, n: NodeId, v: NodeId) -> Result<Type, String> {
        self.index(n, "the length")?;
        Ok(Type::vector(self.scalar(v, "the value")?))
    }

    fn iterate(&self, which: u32, form: &Form, count: NodeId, args: &[NodeId]) -> Result<Type, String> {
        self.index(count, "the number of steps")?;
        let state = args.get(which as usize).ok_or_else(|| format!("there is no state {which}"))?;
        let ty = self.array(*state, "the state")?;
        match form {
            Form::Each if usize::from(ty.rank) == MAX_RANK => {
                Err(format!("{ty} cannot be collected along a new axis"))
            }
            Form::Each => Ok(Type { rank: ty.rank + 1, ..ty }),
            Form::Last | Form::Or(_) | Form::Until(_) => Ok(ty),
        }
    }
}

/// The rules of reductions, and of scans.
impl Operands<'_> {
    fn reduce(&self, join: Joined, init: NodeId, src: NodeId) -> Result<Type, String> {
        let types = self.elements(src, "the operand of reduce")?;
        if types != self.components(init, "the initial value")? {
            return Err("initial value and elements differ in type".into());
        }
        self.operator(join, &types, &types, "reduce")
    }

    fn scan(&self, part: &ScanPart, join: Joined, init: NodeId, src: NodeId) -> Result<Type, String> {
        let types = self.elements(src, "the operand of scan")?;
        if self.0.ty(src).rank != 1 {
            return Err(format!("scan takes a vector, not {}", self.0.ty(src)));
        }
        match part {
            ScanPart::Totals => self.index(init, "the number of tiles")?,
            ScanPart::Tiles if self.elements(init, "what stands before tiles")? == types => {}
            ScanPart::Whole | ScanPart::Before if self.components(init, "the initial value")? == types => {}
            _ => return Err("initial value and elements differ in type".into()),
        }
        Ok(Type::vector(self.operator(join, &types, &types, "scan")?.elem))
    }

    fn dot(&self, init: NodeId, [a, b]: [NodeId; 2]) -> Result<Type, String> {
        let ty = self.scalar(init, "the initial value")?;
        let [a, b] = [self.array(a, "the operand of dot")?, self.array(b, "the operand of dot")?];
        if a.rank != b.rank {
            return Err("the operands of dot differ in rank".into());
        }
        same(ty, a.elem, "initial value and elements")?;
        same(ty, b.elem, "initial value and elements")?;
        // products of halves would be rounded one by one; sums of halves accumulate in f32 instead
        if ty == Ty::Bool || ty.is_half() {
            return Err(format!("dot does not take {ty}"));
        }
        Ok(Type::scalar(ty))
    }

    fn squared_deviations(&self, init: NodeId, src: NodeId) -> Result<Type, String> {
        let ty = self.scalar(init, "the initial value")?;
        same(ty, self.array(src, "the operand of squared_deviations")?.elem, "initial value and elements")?;
        if !matches!(ty, Ty::F32 | Ty::F64) {
            return Err(format!("squared_deviations does not take {ty}"));
        }
        Ok(Type::scalar(ty))
    }

    fn fold(&self, step: Joined, init: NodeId, src: NodeId) -> Result<Type, String> {
        let types = self.elements(src, "the operand of fold")?;
        self.operator(step, &self.components(init, "the initial value")?, &types, "fold")
    }
}

/// The rules of sorts, and of elements that go to destinations.
impl Operands<'_> {
    fn argsort(&self, x: NodeId) -> Result<Type, String> {
        match self.0.ty(x) {
            t if t.rank == 1 && !tuples::has_tuples(self.0, x) => Ok(Type::vector(Ty::I64)),
            t => Err(format!("argsort takes a vector of scalars, not {t}")),
        }
    }

    /// Returns the type of a vector of scalars whose elements go to these places.
    fn moved(&self, word: &str, (at, what): (NodeId, &str), src: NodeId, both: &str) -> Result<Type, String> {
        let at = self.indices(at, what, both)?;
        match (at.rank, self.0.ty(src)) {
            (1, t) if t.rank == 1 && !tuples::has_tuples(self.0, src) => Ok(t),
            (_, t) => Err(format!("{word} takes vectors, not {t}")),
        }
    }

    fn bins(
        &self,
        op: BinaryOp,
        [parts, count]: [NodeId; 2],
        at: NodeId,
        src: NodeId,
    ) -> Result<Type, String> {
        self.index(parts, "the number of parts")?;
        self.index(count, "the number of bins")?;
        let at = self.indices(at, "the destinations", "destinations and indices")?;
        match (at.rank, self.0.ty(src)) {
            (1, t) if t.rank == 1 && !tuples::has_tuples(self.0, src) => match bins::is_joined(op, t.elem) {
                true => Ok(Type::array(t.elem, 2)),
                false => Err(format!("bins do not join {} by {op}", t.elem)),
            },
            (_, t) => Err(format!("bins take vectors, not {t}")),
        }
    }

    fn put(&self, at: NodeId, [src, base]: [NodeId; 2], after: NodeId) -> Result<Type, String> {
        self.indices(at, "the destinations", "destinations and indices")?;
        same(self.array(after, "the test")?.elem, Ty::Bool, "a test and truth values")?;
        let vectors = [at, src, base, after].iter().all(|x| self.0.ty(*x).rank == 1);
        if !vectors || tuples::has_tuples(self.0, src) || tuples::has_tuples(self.0, base) {
            return Err("put takes vectors of scalars".into());
        }
        same(self.0.ty(src).elem, self.0.ty(base).elem, "elements and those that they replace")?;
        Ok(self.0.ty(src))
    }

    fn digit_counts(&self, [count, tiles]: [NodeId; 2], digits: NodeId) -> Result<Type, String> {
        self.index(count, "the number of counters")?;
        self.index(tiles, "the number of tiles")?;
        self.digits(digits)?;
        Ok(Type::vector(Ty::I32))
    }

    fn digit_ends(&self, [digits, tiles]: [NodeId; 2], counts: NodeId) -> Result<Type, String> {
        self.index(digits, "the number of digits")?;
        self.index(tiles, "the number of tiles")?;
        match self.0.ty(counts) {
            t if t == Type::vector(Ty::I32) => Ok(Type::vector(Ty::I64)),
            t => Err(format!("the counts must be a vector of i32, not {t}")),
        }
    }

    fn by_digit(&self, tiles: NodeId, digits: NodeId, ends: NodeId, src: NodeId) -> Result<Type, String> {
        self.index(tiles, "the number of tiles")?;
        self.digits(digits)?;
        self.moved("by_digit", (ends, "the sums of counts"), src, "sums and indices")
    }
}
