//! The type of an operation from its operands: the typing rules of core IR.

use super::bins;
use super::{Form, Graph, Lambda, MAX_RANK, NodeId, Op, ScanPart, Type, tuples};
use crate::scalar::Ty;

/// Returns the type of `op`, or what is wrong with it.
pub fn infer(g: &Graph, op: &Op) -> Result<Type, String> {
    let scalar = |n: NodeId, what: &str| match g.ty(n) {
        _ if matches!(g.op(n), Op::Tuple(_)) => Err(format!("{what} must be a scalar, not a tuple")),
        t if t.is_scalar() => Ok(t.elem),
        t => Err(format!("{what} must be a scalar, not {t}")),
    };
    let index = |n: NodeId, what: &str| match g.ty(n) {
        t if t == Type::scalar(Ty::I64) => Ok(()),
        t => Err(format!("{what} must be an i64 scalar, not {t}")),
    };
    let array = |n: NodeId, what: &str| match g.ty(n) {
        t if t.rank > 0 => Ok(t),
        t => Err(format!("{what} must be an array, not {t}")),
    };
    let digits = |n: NodeId| match g.ty(n) {
        t if t == Type::vector(Ty::I32) => Ok(()),
        t => Err(format!("the digits must be a vector of i32, not {t}")),
    };
    let axis = |n: NodeId, axis: u8, what: &str| match array(n, what)? {
        t if axis < t.rank => Ok(t),
        t => Err(format!("{what} has no axis {axis}: it is {t}")),
    };
    let same = |a: Ty, b: Ty, what: &str| {
        if a == b { Ok(()) } else { Err(format!("{what} have the types {a} and {b}")) }
    };
    let of_elements = |l: &Lambda, types: &[Ty], what: &str| {
        if l.params.iter().map(|p| p.1).ne(types.iter().copied()) {
            let list = types.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ");
            return Err(format!("{what}'s function must take ({list})"));
        }
        match g.op(l.body) {
            Op::Tuple(_) => Ok(g.ty(l.body).elem),
            _ => scalar(l.body, "the function's result"),
        }
    };
    // the elements of an array that may have tuples
    let elements = |n: NodeId, what: &str| {
        array(n, what)?;
        Ok::<_, String>(tuples::types_of_elements(g, n))
    };
    // the components of a tuple, or a scalar
    let components = |n: NodeId, what: &str| match g.op(n) {
        Op::Tuple(_) => Ok(tuples::types(g, n)),
        _ => scalar(n, what).map(|ty| vec![ty]),
    };
    // a function from (T, U) to T, whose operands may be tuples; returns the type of a component of T
    let operator = |l: &Lambda, first: &[Ty], second: &[Ty], which: u32, what: &str| {
        if l.params.iter().map(|p| &p.1).ne(first.iter().chain(second)) {
            let list = first.iter().chain(second).map(|t| t.name()).collect::<Vec<_>>().join(", ");
            return Err(format!("{what}'s function must take ({list})"));
        }
        let result = components(l.body, "the function's result")?;
        if result != first {
            return Err(format!("{what}'s accumulator and its function's result differ in type"));
        }
        let ty = first.get(which as usize).ok_or_else(|| format!("{what} has no component {which}"))?;
        Ok(Type::scalar(*ty))
    };

    Ok(match op {
        Op::Const(l) => Type::scalar(l.ty),
        Op::Param(i) => *g.params().get(*i as usize).ok_or_else(|| format!("there is no parameter {i}"))?,
        Op::Var(_, ty) => Type::scalar(*ty),
        Op::Turn | Op::Checked => Type::scalar(Ty::I64),
        Op::Unary(op, a) => {
            let ty = scalar(*a, "the operand")?;
            if !op.accepts(ty) {
                return Err(refusal(op.name(), ty, |ty| op.accepts(ty)));
            }
            Type::scalar(op.result(ty))
        }
        Op::Binary(op, a, b) => {
            let ty = scalar(*a, "the operand")?;
            let other = scalar(*b, "the operand")?;
            if other != ty {
                return Err(format!("the operands of {op} have the types {ty} and {other}"));
            }
            if !op.accepts(ty) {
                return Err(refusal(op.name(), ty, |ty| op.accepts(ty)));
            }
            Type::scalar(op.result(ty))
        }
        Op::MulAdd(a, b, c) => {
            let ty = scalar(*a, "the operand")?;
            same(ty, scalar(*b, "the operand")?, "the factors of mul_add")?;
            same(ty, scalar(*c, "the operand")?, "the operands of mul_add")?;
            if ty == Ty::Bool {
                return Err("mul_add does not take bool".into());
            }
            Type::scalar(ty)
        }
        Op::Select(c, a, b) => {
            same(scalar(*c, "the condition")?, Ty::Bool, "bool and the condition")?;
            let ty = scalar(*a, "the arm")?;
            same(ty, scalar(*b, "the arm")?, "the arms of select")?;
            Type::scalar(ty)
        }
        Op::Cast(ty, a) => scalar(*a, "the operand").map(|_| Type::scalar(*ty))?,
        Op::Stage(a) => scalar(*a, "the operand of stage").map(Type::scalar)?,
        Op::Len(x, a) => axis(*x, *a, "the operand of len").map(|_| Type::scalar(Ty::I64))?,
        Op::At(x, indices) | Op::Elem(x, indices) => {
            let ty = array(*x, "the array")?;
            if indices.len() != usize::from(ty.rank) {
                return Err(format!("{ty} takes {} indices, not {}", ty.rank, indices.len()));
            }
            indices.iter().try_for_each(|i| index(*i, "the index"))?;
            Type::scalar(ty.elem)
        }
        Op::Within(i, n) => {
            index(*i, "the index")?;
            index(*n, "the length")?;
            Type::scalar(Ty::Bool)
        }
        Op::Leave(label, _) => match scalar(*label, "the label")? {
            Ty::U32 => Type::scalar(Ty::Bool),
            ty => return Err(format!("the label is {ty}, not u32")),
        },
        Op::Map(l, srcs) => {
            if srcs.is_empty() {
                return Err("map needs an array".into());
            }
            if srcs.iter().any(|s| tuples::has_tuples(g, *s)) {
                return Err("map takes arrays of scalars".into());
            }
            let types = srcs.iter().map(|s| array(*s, "map's argument")).collect::<Result<Vec<_>, _>>()?;
            let rank = types[0].rank;
            if types.iter().any(|t| t.rank != rank) {
                return Err("map's arguments differ in rank".into());
            }
            let types: Vec<Ty> = types.iter().map(|t| t.elem).collect();
            Type { elem: of_elements(l, &types, "map")?, rank }
        }
        Op::Generate(extents, l) => {
            if !(1..=MAX_RANK).contains(&extents.len()) {
                return Err(format!("generate takes 1 to {MAX_RANK} extents, not {}", extents.len()));
            }
            extents.iter().try_for_each(|n| index(*n, "the length"))?;
            Type::array(of_elements(l, &vec![Ty::I64; extents.len()], "generate")?, extents.len())
        }
        Op::Slice { src, axis: a, start, stop, stride } => {
            for (n, what) in [(start, "start"), (stop, "stop"), (stride, "stride")] {
                index(*n, what)?;
            }
            axis(*src, *a, "the operand of slice")?
        }
        Op::Reverse(x, a) => axis(*x, *a, "the operand of reverse")?,
        Op::Permute(x, axes) => {
            let ty = array(*x, "the operand of permute")?;
            let mut sorted = axes.clone();
            sorted.sort_unstable();
            if sorted.iter().copied().ne(0..ty.rank) {
                return Err(format!("{axes:?} is no order of the axes of {ty}"));
            }
            ty
        }
        Op::Pick { src, axis: a, index: i } => {
            index(*i, "the index")?;
            let ty = axis(*src, *a, "the operand of pick")?;
            if ty.rank == 1 {
                return Err("pick takes a matrix or more".into());
            }
            Type { rank: ty.rank - 1, ..ty }
        }
        Op::Spread { src, axis, n } => {
            index(*n, "the length")?;
            let ty = array(*src, "the operand of spread")?;
            if *axis > ty.rank || usize::from(ty.rank) == MAX_RANK {
                return Err(format!("{ty} cannot get a new axis {axis}"));
            }
            Type { rank: ty.rank + 1, ..ty }
        }
        Op::Materialize(x) => array(*x, "the operand")?,
        Op::Iota(n) => index(*n, "the length").map(|_| Type::vector(Ty::I64))?,
        Op::Fill(n, v) => {
            index(*n, "the length")?;
            Type::vector(scalar(*v, "the value")?)
        }
        Op::Tuple(all) => {
            if all.is_empty() {
                return Err("a tuple has some components".into());
            }
            all.iter().try_for_each(|c| scalar(*c, "the component of a tuple").map(|_| ()))?;
            Type::scalar(g.ty(all[0]).elem)
        }
        Op::Reduce { join, init, src, which } | Op::ReduceOrdered { join, init, src, which } => {
            let types = elements(*src, "the operand of reduce")?;
            if types != components(*init, "the initial value")? {
                return Err("initial value and elements differ in type".into());
            }
            operator(join, &types, &types, *which, "reduce")?
        }
        Op::Scan { part, join, init, src, which } => {
            let types = elements(*src, "the operand of scan")?;
            if g.ty(*src).rank != 1 {
                return Err(format!("scan takes a vector, not {}", g.ty(*src)));
            }
            match part {
                ScanPart::Totals => index(*init, "the number of tiles")?,
                ScanPart::Tiles if elements(*init, "what stands before tiles")? == types => {}
                ScanPart::Whole | ScanPart::Before if components(*init, "the initial value")? == types => {}
                _ => return Err("initial value and elements differ in type".into()),
            }
            Type::vector(operator(join, &types, &types, *which, "scan")?.elem)
        }
        Op::Argsort(x) => match g.ty(*x) {
            t if t.rank == 1 && !tuples::has_tuples(g, *x) => Type::vector(Ty::I64),
            t => return Err(format!("argsort takes a vector of scalars, not {t}")),
        },
        Op::Place { at, src } => {
            same(array(*at, "the places")?.elem, Ty::I64, "places and indices")?;
            match (g.ty(*at).rank, g.ty(*src)) {
                (1, t) if t.rank == 1 && !tuples::has_tuples(g, *src) => t,
                (_, t) => return Err(format!("place takes vectors, not {t}")),
            }
        }
        Op::Bins { op, parts, count, at, src } => {
            index(*parts, "the number of parts")?;
            index(*count, "the number of bins")?;
            same(array(*at, "the destinations")?.elem, Ty::I64, "destinations and indices")?;
            match (g.ty(*at).rank, g.ty(*src)) {
                (1, t) if t.rank == 1 && !tuples::has_tuples(g, *src) => {
                    if !bins::is_joined(*op, t.elem) {
                        return Err(format!("bins do not join {} by {op}", t.elem));
                    }
                    Type::array(t.elem, 2)
                }
                (_, t) => return Err(format!("bins take vectors, not {t}")),
            }
        }
        Op::Put { at, src, base, after } => {
            same(array(*at, "the destinations")?.elem, Ty::I64, "destinations and indices")?;
            same(array(*after, "the test")?.elem, Ty::Bool, "a test and truth values")?;
            let vectors = [at, src, base, after].iter().all(|x| g.ty(**x).rank == 1);
            if !vectors || tuples::has_tuples(g, *src) || tuples::has_tuples(g, *base) {
                return Err("put takes vectors of scalars".into());
            }
            same(g.ty(*src).elem, g.ty(*base).elem, "elements and those that they replace")?;
            g.ty(*src)
        }
        Op::DigitCounts { count, tiles, digits: list } => {
            index(*count, "the number of counters")?;
            index(*tiles, "the number of tiles")?;
            digits(*list)?;
            Type::vector(Ty::I32)
        }
        Op::ByDigit { tiles, digits: list, begins, src } => {
            index(*tiles, "the number of tiles")?;
            digits(*list)?;
            same(array(*begins, "the places")?.elem, Ty::I64, "places and indices")?;
            match (g.ty(*begins).rank, g.ty(*src)) {
                (1, t) if t.rank == 1 && !tuples::has_tuples(g, *src) => t,
                (_, t) => return Err(format!("by_digit takes vectors, not {t}")),
            }
        }
        Op::Dot { init, a, b } | Op::PanelDot { init, a, b } => {
            let ty = scalar(*init, "the initial value")?;
            let (a, b) = (array(*a, "the operand of dot")?, array(*b, "the operand of dot")?);
            if a.rank != b.rank {
                return Err("the operands of dot differ in rank".into());
            }
            same(ty, a.elem, "initial value and elements")?;
            same(ty, b.elem, "initial value and elements")?;
            // products of halves would be rounded one by one; sums of halves accumulate in f32
            // instead
            if ty == Ty::Bool || ty.is_half() {
                return Err(format!("dot does not take {ty}"));
            }
            Type::scalar(ty)
        }
        Op::SquaredDeviations { init, src } => {
            let ty = scalar(*init, "the initial value")?;
            same(ty, array(*src, "the operand of squared_deviations")?.elem, "initial value and elements")?;
            if !matches!(ty, Ty::F32 | Ty::F64) {
                return Err(format!("squared_deviations does not take {ty}"));
            }
            Type::scalar(ty)
        }
        Op::Fold { step, init, src, which } => {
            let types = elements(*src, "the operand of fold")?;
            operator(step, &components(*init, "the initial value")?, &types, *which, "fold")?
        }
        Op::Loop { step, which, count, init } => {
            index(*count, "the number of steps")?;
            let states = init.iter().map(|n| scalar(*n, "the state")).collect::<Result<Vec<_>, _>>()?;
            let takes: Vec<Ty> = [Ty::I64].into_iter().chain(states.iter().copied()).collect();
            of_elements(step, &takes, "loop")?;
            let Op::Tuple(all) = g.op(step.body) else {
                return Err("the loop's function must give a tuple".into());
            };
            let gives = [Ty::Bool].into_iter().chain(states.iter().copied());
            if all.iter().map(|n| g.ty(*n).elem).ne(gives) {
                return Err("the loop's function must give a condition and the next states".into());
            }
            match *which as usize {
                w if w < states.len() => Type::scalar(states[w]),
                w if w == states.len() => Type::scalar(Ty::I64),
                w => return Err(format!("there is no state {w}")),
            }
        }
        Op::Iterate { which, form, count, args, .. } => {
            index(*count, "the number of steps")?;
            let state = args.get(*which as usize).ok_or_else(|| format!("there is no state {which}"))?;
            let ty = array(*state, "the state")?;
            match form {
                Form::Each if usize::from(ty.rank) == MAX_RANK => {
                    return Err(format!("{ty} cannot be collected along a new axis"));
                }
                Form::Each => Type { rank: ty.rank + 1, ..ty },
                Form::Last | Form::Until(_) => ty,
            }
        }
    })
}

/// Returns the message for an operator that does not accept a type, with the types that it accepts.
fn refusal(op: &str, ty: Ty, accepts: impl Fn(Ty) -> bool) -> String {
    let takes: Vec<&str> = Ty::ALL.into_iter().filter(|ty| accepts(*ty)).map(Ty::name).collect();
    format!("{op} does not take {ty}: it takes {}", takes.join(", "))
}
