//! Reads the text form of plans. The text may be malformed: every index in it is checked.

use super::{
    ANY_LENGTH, Access, Check, HostId, HostOp, HostRule, Launch, Place, Plan, Repeat, ScalarArg, Slot, State,
    Step,
};
use crate::core::{MAX_RANK, Rule, TILE, Type};
use crate::error::{Error, Result};
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use crate::text::Cursor;

/// Reads all plans of a text, in order.
pub fn parse(text: &str) -> Result<Vec<Plan>> {
    let mut c = Cursor::new(text)?;
    let mut plans = Vec::new();
    while !c.is_done() {
        let p = plan(&mut c)?;
        check(&p)?;
        plans.push(p);
    }
    Ok(plans)
}

/// Reads the text of one plan.
pub fn one(text: &str) -> Result<Plan> {
    let mut c = Cursor::new(text)?;
    let p = plan(&mut c)?;
    if !c.is_done() {
        return Err(c.error("a plan ends before"));
    }
    check(&p)?;
    Ok(p)
}

fn plan(c: &mut Cursor) -> Result<Plan> {
    c.expect("plan")?;
    let mut p = Plan { name: c.global()?, ..Plan::default() };
    c.expect("{")?;
    while !c.eat("}") {
        if let Some(crate::text::Token::Value(_)) = c.peek() {
            if c.value()? != p.host.len().to_string() {
                return Err(c.error("host scalars are numbered in order"));
            }
            c.expect(":")?;
            let ty = c.elem()?;
            c.expect("=")?;
            p.host.push((ty, host_op(c)?));
            continue;
        }
        match c.word()?.as_str() {
            "param" => p.params.push(slot(c)?),
            "result" => p.results.push(slot(c)?),
            "temp" => p.temps.push(slot(c)?),
            "require" => p.rules.push(rule(c)?),
            "alloc" => p.steps.push(Step::Alloc(index(c)?)),
            "free" => p.steps.push(Step::Free(index(c)?)),
            "launch" => p.steps.push(Step::Launch(launch(c)?)),
            "repeat" => p.steps.push(Step::Repeat(repeat(c)?)),
            "instead" => {
                c.expect("of")?;
                p.steps.push(Step::Instead(index(c)?));
            }
            w => return Err(c.error(format!("`{w}` starts no line of a plan"))),
        }
    }
    Ok(p)
}

fn index(c: &mut Cursor) -> Result<u32> {
    let n = c.number()?;
    u32::try_from(n).map_err(|_| c.error("the number is too large"))
}

fn axis(c: &mut Cursor) -> Result<u8> {
    let n = c.number()?;
    u8::try_from(n).map_err(|_| c.error("there are not so many axes"))
}

fn host(c: &mut Cursor) -> Result<HostId> {
    let name = c.value()?;
    name.parse().map(HostId).map_err(|_| c.error(format!("%{name} is not a host scalar")))
}

/// Reads the word and host scalars with commas between them, or nothing.
fn hosts(c: &mut Cursor, word: &str) -> Result<Vec<HostId>> {
    let mut list = Vec::new();
    if c.eat(word) {
        list.push(host(c)?);
        while c.eat(",") {
            list.push(host(c)?);
        }
    }
    Ok(list)
}

fn slot(c: &mut Cursor) -> Result<Slot> {
    let name = c.word()?;
    c.expect(":")?;
    let ty = c.ty()?;
    Ok(Slot { name, ty, extents: hosts(c, "extent")? })
}

fn host_op(c: &mut Cursor) -> Result<HostOp> {
    let name = c.word()?;
    let next = |c: &mut Cursor| -> Result<HostId> {
        c.expect(",")?;
        host(c)
    };
    Ok(match name.as_str() {
        "const" => HostOp::Const(c.literal()?.ok_or_else(|| c.error("expected a literal"))?),
        "len" => HostOp::Len(index(c)?, if c.eat("axis") { axis(c)? } else { 0 }),
        "arg" => HostOp::Arg(index(c)?),
        "turn" => HostOp::Turn(index(c)?),
        "checked" => HostOp::Checked,
        "cast" => HostOp::Cast(c.elem()?, host(c)?),
        "mul_add" => HostOp::MulAdd(host(c)?, next(c)?, next(c)?),
        "select" => HostOp::Select(host(c)?, next(c)?, next(c)?),
        name => {
            if let Some(op) = UnaryOp::parse(name) {
                HostOp::Unary(op, host(c)?)
            } else if let Some(op) = BinaryOp::parse(name) {
                HostOp::Binary(op, host(c)?, next(c)?)
            } else {
                return Err(c.error(format!("`{name}` is no operator")));
            }
        }
    })
}

fn rule(c: &mut Cursor) -> Result<HostRule> {
    let name = c.word()?;
    let rule =
        Rule::ALL.iter().find(|r| r.1 == name).ok_or_else(|| c.error(format!("`{name}` is no rule")))?.0;
    let a = host(c)?;
    c.expect(",")?;
    Ok(HostRule { rule, a, b: host(c)?, subject: c.string()?, loc: c.string()? })
}

fn place(c: &mut Cursor) -> Result<Place> {
    Ok(match c.word()?.as_str() {
        "param" => Place::Param(index(c)?),
        "result" => Place::Result(index(c)?),
        "temp" => Place::Temp(index(c)?),
        w => return Err(c.error(format!("`{w}` is no place"))),
    })
}

fn launch(c: &mut Cursor) -> Result<Launch> {
    let mut l = Launch {
        kernel: index(c)?,
        name: c.word()?,
        domain: hosts(c, "over")?,
        segment: if c.eat("of") { Some(host(c)?) } else { None },
        sequential: c.eat("sequential"),
        cost: 0,
        grain: TILE as u32,
        lengths: ANY_LENGTH,
        arrays: Vec::new(),
        flat: Vec::new(),
        scalars: Vec::new(),
        slots: Vec::new(),
        scratch: Vec::new(),
        computes: Vec::new(),
        sites: Vec::new(),
        finish: false,
        guarded: false,
    };
    c.expect("cost")?;
    l.cost = index(c)?;
    if c.eat("grain") {
        l.grain = index(c)?;
        // the number of units of work is a quotient by the grain, so the grain must not be 0
        if l.grain == 0 || i64::from(l.grain) > TILE {
            return Err(c.error("a grain has 1 to 2048 elements"));
        }
    }
    for (word, length) in ["from", "to"].into_iter().zip(&mut l.lengths) {
        if c.eat(word) {
            *length = index(c)?;
        }
    }
    c.expect("{")?;
    while !c.eat("}") {
        match c.word()?.as_str() {
            "pointwise" => l.arrays.push((place(c)?, Access::Pointwise)),
            "read" => l.arrays.push((place(c)?, Access::Anywhere)),
            "write" => l.arrays.push((place(c)?, Access::Write)),
            "flat" => l.flat.push(index(c)?),
            "in" => l.scalars.push(ScalarArg::Host(host(c)?)),
            "stride" => {
                let array = index(c)?;
                c.expect(",")?;
                l.scalars.push(ScalarArg::Stride(array, axis(c)?));
            }
            "slot" => l.slots.push(place(c)?),
            "scratch" => l.scratch.push(c.elem()?),
            "computes" => l.computes.push((place(c)?, c.string()?)),
            "site" => l.sites.push(c.string()?),
            "finish" => l.finish = true,
            "guarded" => l.guarded = true,
            w => return Err(c.error(format!("`{w}` starts no line of a launch"))),
        }
    }
    Ok(l)
}

fn repeat(c: &mut Cursor) -> Result<Repeat> {
    let count = host(c)?;
    let turn = if c.eat("turn") { Some(host(c)?) } else { None };
    let each = c.eat("each");
    let check = match c.eat("check") {
        true => {
            let steps = index(c)?;
            c.expect("every")?;
            let every = index(c)?;
            c.expect("writes")?;
            Some(Check { steps, every, number: place(c)? })
        }
        false => None,
    };
    c.expect("steps")?;
    let body = index(c)?;
    c.expect("else")?;
    let mut r = Repeat { count, turn, each, check, body, otherwise: index(c)?, states: Vec::new() };
    c.expect("{")?;
    while !c.eat("}") {
        c.expect("state")?;
        let current = index(c)?;
        c.expect("to")?;
        let next = index(c)?;
        c.expect("from")?;
        let from = place(c)?;
        c.expect("into")?;
        let to = place(c)?;
        c.expect("spare")?;
        r.states.push(State { from, to, spare: index(c)?, current, next });
    }
    Ok(r)
}

/// Checks all types and indices, so that the runtime may use indices without checks.
fn check(p: &Plan) -> Result<()> {
    let bad = |what: &str| Err(Error::user("E0103", format!("plan @{}: {what}", p.name)));
    let param = |i: u32| p.params.get(i as usize).map(|s| s.ty);
    for (i, (ty, op)) in p.host.iter().enumerate() {
        let at = |h: HostId| if (h.0 as usize) < i { Some(p.host[h.0 as usize].0) } else { None };
        let actual = match *op {
            HostOp::Const(l) => Some(l.ty),
            HostOp::Len(k, axis) => param(k).filter(|t| axis < t.rank).map(|_| Ty::I64),
            HostOp::Arg(k) => param(k).filter(|t| t.is_scalar()).map(|t| t.elem),
            HostOp::Turn(_) | HostOp::Checked => Some(Ty::I64),
            HostOp::Unary(op, a) => at(a).filter(|t| op.accepts(*t)).map(|t| op.result(t)),
            HostOp::Binary(op, a, b) => {
                at(a).filter(|t| at(b) == Some(*t) && op.accepts(*t)).map(|t| op.result(t))
            }
            HostOp::MulAdd(a, b, c) => {
                at(a).filter(|t| at(b) == Some(*t) && at(c) == Some(*t) && *t != Ty::Bool)
            }
            HostOp::Select(c, a, b) => at(a).filter(|t| at(b) == Some(*t) && at(c) == Some(Ty::Bool)),
            HostOp::Cast(to, a) => at(a).map(|_| to),
        };
        if actual != Some(*ty) {
            return bad(&format!("host scalar %{i} is ill-typed"));
        }
    }
    let count = |h: HostId| p.host.get(h.0 as usize).is_some_and(|v| v.0 == Ty::I64);
    let extent = |s: &Slot| {
        s.extents.len() == usize::from(s.ty.rank)
            && s.extents.iter().all(|h| count(*h))
            && s.ty.rank <= MAX_RANK as u8
    };
    if !p.results.iter().chain(&p.temps).all(extent) || !p.rules.iter().all(|r| count(r.a) && count(r.b)) {
        return bad("an extent or a rule is no i64 host scalar");
    }
    let slot = |place: Place| match place {
        Place::Param(i) => p.params.get(i as usize),
        Place::Result(i) => p.results.get(i as usize),
        Place::Temp(i) => p.temps.get(i as usize),
    };
    // the number of the step past the check and the body of the last iteration with a check: launches before it may
    // be guarded
    let mut ends_guarded = 0u64;
    for (at, step) in p.steps.iter().enumerate() {
        let ok = match step {
            Step::Repeat(r) => {
                if let Some(c) = r.check {
                    let end = at as u64 + 1 + u64::from(c.steps) + u64::from(r.body);
                    ends_guarded = ends_guarded.max(end);
                }
                let ty = |pl: Place| slot(pl).map(|s| s.ty);
                let fits = |s: &State| {
                    let temps = [s.spare, s.current, s.next].map(|t| ty(Place::Temp(t)));
                    let from = ty(s.from).filter(|t| !t.is_scalar());
                    let to = from.map(|t| Type { rank: t.rank + u8::from(r.each), ..t });
                    from.is_some() && ty(s.to) == to && temps.iter().all(|t| *t == from)
                };
                let checks = r.check.is_none_or(|c| {
                    let is_number = ty(c.number) == Some(Type::vector(Ty::I64));
                    is_number && c.every > 0 && !r.each && is_whole(&p.steps[at + 1..], c.steps as usize)
                });
                // the check's steps come first
                let first = at + 1 + r.check.map_or(0, |c| c.steps as usize);
                let is_turn =
                    |h: HostId| p.host.get(h.0 as usize).is_some_and(|v| matches!(v.1, HostOp::Turn(_)));
                count(r.count)
                    && r.turn.is_none_or(is_turn)
                    && r.states.iter().all(fits)
                    && r.body > 0
                    && checks
                    && p.steps.len() >= first + r.body as usize
                    && is_whole(&p.steps[first..], r.body as usize)
                    && is_whole(&p.steps[first + r.body as usize..], r.otherwise as usize)
            }
            Step::Instead(others) => {
                let [Step::Launch(l), behind @ ..] = &p.steps[at + 1..] else {
                    return bad("no launch is instead of others");
                };
                // an alternative must not read scalars that another launch computes: all of its slots are outputs
                let is_written = |slot: &Place| l.computes.iter().any(|(place, _)| place == slot);
                l.slots.iter().all(is_written) && is_whole(behind, *others as usize)
            }
            Step::Alloc(t) | Step::Free(t) => p.temps.get(*t as usize).is_some_and(|t| !t.ty.is_scalar()),
            Step::Launch(l) => {
                let rank =
                    |i: u32| l.arrays.get(i as usize).and_then(|(pl, _)| slot(*pl)).map_or(0, |s| s.ty.rank);
                let scalar = |s: &ScalarArg| match s {
                    ScalarArg::Host(h) => (h.0 as usize) < p.host.len(),
                    ScalarArg::Stride(i, axis) => *axis < rank(*i),
                };
                l.domain.len() <= MAX_RANK
                    && (!l.guarded || ends_guarded > at as u64)
                    && l.domain.iter().chain(&l.segment).all(|n| count(*n))
                    && l.scalars.iter().all(scalar)
                    && (l.scratch.is_empty() || l.segment.is_some() || i64::from(l.grain) == TILE)
                    && l.flat.iter().all(|i| rank(*i) > 1)
                    && l.arrays.iter().all(|(pl, _)| slot(*pl).is_some_and(|s| s.ty.rank > 0))
                    && l.computes.iter().all(|(pl, _)| slot(*pl).is_some())
                    && l.slots.iter().all(|pl| slot(*pl).is_some_and(|s| s.ty.is_scalar()))
            }
        };
        if !ok {
            return bad("a step names something that is not there");
        }
    }
    Ok(())
}

/// Whether there are at least `body` steps, and all steps that belong to one of the first `body` steps are among
/// these.
fn is_whole(steps: &[Step], body: usize) -> bool {
    let inside = |(i, s): (usize, &Step)| i + 1 + s.inside() <= body;
    body <= steps.len() && steps[..body].iter().enumerate().all(inside)
}
