//! Prints the text form of plans.

use super::{ANY_LENGTH, Access, HostId, HostOp, Launch, Place, Plan, Repeat, ScalarArg, Slot, State, Step};
use crate::core::TILE;
use crate::text::quote;
use std::fmt::{self, Display, Formatter};

impl Display for HostId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl Display for HostOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            HostOp::Const(l) => write!(f, "const {l}"),
            HostOp::Len(p, 0) => write!(f, "len {p}"),
            HostOp::Len(p, axis) => write!(f, "len {p} axis {axis}"),
            HostOp::Arg(p) => write!(f, "arg {p}"),
            HostOp::Turn(i) => write!(f, "turn {i}"),
            HostOp::Checked => write!(f, "checked"),
            HostOp::Unary(op, a) => write!(f, "{op} {a}"),
            HostOp::Binary(op, a, b) => write!(f, "{op} {a}, {b}"),
            HostOp::MulAdd(a, b, c) => write!(f, "mul_add {a}, {b}, {c}"),
            HostOp::Select(a, b, c) => write!(f, "select {a}, {b}, {c}"),
            HostOp::Cast(ty, a) => write!(f, "cast {ty} {a}"),
        }
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Place::Param(i) => write!(f, "param {i}"),
            Place::Result(i) => write!(f, "result {i}"),
            Place::Temp(i) => write!(f, "temp {i}"),
        }
    }
}

/// Prints the word and host scalars with commas between them, or nothing.
fn list(f: &mut Formatter<'_>, word: &str, list: &[HostId]) -> fmt::Result {
    for (i, h) in list.iter().enumerate() {
        write!(f, "{}{h}", if i == 0 { word } else { ", " })?;
    }
    Ok(())
}

fn slot(f: &mut Formatter<'_>, kind: &str, s: &Slot) -> fmt::Result {
    write!(f, "  {kind} {}: {}", s.name, s.ty)?;
    list(f, " extent ", &s.extents)?;
    writeln!(f)
}

fn launch(f: &mut Formatter<'_>, l: &Launch) -> fmt::Result {
    write!(f, "  launch {} {}", l.kernel, l.name)?;
    list(f, " over ", &l.domain)?;
    if let Some(n) = l.segment {
        write!(f, " of {n}")?;
    }
    if l.sequential {
        write!(f, " sequential")?;
    }
    write!(f, " cost {}", l.cost)?;
    if i64::from(l.grain) != TILE {
        write!(f, " grain {}", l.grain)?;
    }
    let [least, most] = l.lengths;
    if least > ANY_LENGTH[0] {
        write!(f, " from {least}")?;
    }
    if most < ANY_LENGTH[1] {
        write!(f, " to {most}")?;
    }
    writeln!(f, " {{")?;
    for (place, access) in &l.arrays {
        let how = match access {
            Access::Pointwise => "pointwise",
            Access::Anywhere => "read",
            Access::Write => "write",
        };
        writeln!(f, "    {how} {place}")?;
    }
    for i in &l.flat {
        writeln!(f, "    flat {i}")?;
    }
    for s in &l.scalars {
        match s {
            ScalarArg::Host(h) => writeln!(f, "    in {h}")?,
            ScalarArg::Stride(array, axis) => writeln!(f, "    stride {array}, {axis}")?,
        }
    }
    for p in &l.slots {
        writeln!(f, "    slot {p}")?;
    }
    for ty in &l.scratch {
        writeln!(f, "    scratch {ty}")?;
    }
    for (place, loc) in &l.computes {
        writeln!(f, "    computes {place} {}", quote(loc))?;
    }
    for s in &l.sites {
        writeln!(f, "    site {}", quote(s))?;
    }
    if l.finish {
        writeln!(f, "    finish")?;
    }
    if l.guarded {
        writeln!(f, "    guarded")?;
    }
    writeln!(f, "  }}")
}

fn repeat(f: &mut Formatter<'_>, r: &Repeat) -> fmt::Result {
    let turn = r.turn.map_or(String::new(), |t| format!(" turn {t}"));
    let each = if r.each { " each" } else { "" };
    let check = r
        .check
        .map_or(String::new(), |c| format!(" check {} every {} writes {}", c.steps, c.every, c.number));
    writeln!(f, "  repeat {}{turn}{each}{check} steps {} else {} {{", r.count, r.body, r.otherwise)?;
    for State { from, to, spare, current, next } in &r.states {
        writeln!(f, "    state {current} to {next} from {from} into {to} spare {spare}")?;
    }
    writeln!(f, "  }}")
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "plan @{} {{", self.name)?;
        for p in &self.params {
            slot(f, "param", p)?;
        }
        for (i, (ty, op)) in self.host.iter().enumerate() {
            writeln!(f, "  %{i}: {ty} = {op}")?;
        }
        for r in &self.results {
            slot(f, "result", r)?;
        }
        for t in &self.temps {
            slot(f, "temp", t)?;
        }
        for r in &self.rules {
            writeln!(
                f,
                "  require {} {}, {} {} {}",
                r.rule.name(),
                r.a,
                r.b,
                quote(&r.subject),
                quote(&r.loc)
            )?;
        }
        for step in &self.steps {
            match step {
                Step::Alloc(t) => writeln!(f, "  alloc {t}")?,
                Step::Free(t) => writeln!(f, "  free {t}")?,
                Step::Launch(l) => launch(f, l)?,
                Step::Repeat(r) => repeat(f, r)?,
                Step::Instead(n) => writeln!(f, "  instead of {n}")?,
            }
        }
        writeln!(f, "}}")
    }
}
