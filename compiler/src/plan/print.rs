//! The text form of plans.

use super::{Access, HostId, HostOp, Launch, Place, Plan, Slot, Step};
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
            HostOp::Len(p) => write!(f, "len {p}"),
            HostOp::Arg(p) => write!(f, "arg {p}"),
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

fn slot(f: &mut Formatter<'_>, kind: &str, s: &Slot) -> fmt::Result {
    write!(f, "  {kind} {}: {}", s.name, s.ty)?;
    if let Some(n) = s.extent {
        write!(f, " extent {n}")?;
    }
    writeln!(f)
}

fn launch(f: &mut Formatter<'_>, l: &Launch) -> fmt::Result {
    write!(f, "  launch {} {}", l.kernel, l.name)?;
    if let Some(n) = l.domain {
        write!(f, " over {n}")?;
    }
    if l.sequential {
        write!(f, " sequential")?;
    }
    writeln!(f, " cost {} {{", l.cost)?;
    for (place, access) in &l.arrays {
        let how = match access {
            Access::Pointwise => "pointwise",
            Access::Anywhere => "read",
            Access::Write => "write",
        };
        writeln!(f, "    {how} {place}")?;
    }
    for h in &l.scalars {
        writeln!(f, "    in {h}")?;
    }
    for p in &l.slots {
        writeln!(f, "    slot {p}")?;
    }
    for ty in &l.scratch {
        writeln!(f, "    scratch {ty}")?;
    }
    for s in &l.sites {
        writeln!(f, "    site {}", quote(s))?;
    }
    if l.finish {
        writeln!(f, "    finish")?;
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
            }
        }
        writeln!(f, "}}")
    }
}
