//! Shapes in words: what the lengths of parameters and results must be, read from the plan.

use crate::core::Rule;
use crate::plan::{HostId, HostOp, Plan, Step};
use crate::scalar::BinaryOp;

/// How tightly an operator binds: what stands inside one that binds more tightly needs parentheses.
fn binding(op: BinaryOp) -> Option<(&'static str, u8)> {
    Some(match op {
        BinaryOp::Mul => ("*", 3),
        BinaryOp::Div => ("/", 3),
        BinaryOp::Rem => ("%", 3),
        BinaryOp::Add => ("+", 2),
        BinaryOp::Sub => ("-", 2),
        BinaryOp::Eq => ("==", 1),
        BinaryOp::Ne => ("!=", 1),
        BinaryOp::Lt => ("<", 1),
        BinaryOp::Le => ("<=", 1),
        BinaryOp::Gt => (">", 1),
        BinaryOp::Ge => (">=", 1),
        _ => return None,
    })
}

/// A host scalar as an expression of the parameters: `len(xs) - 14`.
pub fn expression(plan: &Plan, id: HostId) -> String {
    render(plan, id, 0)
}

fn render(plan: &Plan, id: HostId, outer: u8) -> String {
    let name = |p: u32| plan.params.get(p as usize).map_or("?", |s| s.name.as_str());
    let call = |f: &str, args: &[HostId]| {
        let args: Vec<_> = args.iter().map(|&a| render(plan, a, 0)).collect();
        format!("{f}({})", args.join(", "))
    };
    match plan.host[id.0 as usize].1 {
        HostOp::Const(l) => l.as_int().map_or_else(|| l.to_string(), |i| i.to_string()),
        HostOp::Len(p, axis) => plan.length(p, axis),
        HostOp::Arg(p) => name(p).to_string(),
        HostOp::Cast(_, a) => render(plan, a, outer),
        HostOp::Unary(op, a) => call(op.name(), &[a]),
        HostOp::MulAdd(a, b, c) => call("mul_add", &[a, b, c]),
        HostOp::Select(a, b, c) => call("select", &[a, b, c]),
        HostOp::Binary(op, a, b) => match (binding(op), constant(plan, b)) {
            // what passes normalised to the addition of a negative constant
            (Some(("+", p)), Some(c)) if c < 0 && c != i64::MIN => {
                wrap(format!("{} - {}", render(plan, a, p), -c), p < outer)
            }
            (Some((sign, p)), _) => {
                wrap(format!("{} {sign} {}", render(plan, a, p), render(plan, b, p + 1)), p < outer)
            }
            (None, _) => call(op.name(), &[a, b]),
        },
    }
}

fn wrap(text: String, parentheses: bool) -> String {
    if parentheses { format!("({text})") } else { text }
}

fn constant(plan: &Plan, id: HostId) -> Option<i64> {
    if let HostOp::Const(l) = plan.host[id.0 as usize].1 { l.as_int() } else { None }
}

/// The vector parameter whose length it is.
fn length_of(plan: &Plan, id: HostId) -> Option<usize> {
    match plan.host[id.0 as usize].1 {
        HostOp::Len(p, _) if plan.params[p as usize].ty.rank == 1 => Some(p as usize),
        _ => None,
    }
}

/// The first parameter that the rules make as long as each parameter (itself, where there is none before it).
fn leaders(plan: &Plan) -> Vec<usize> {
    let mut leader: Vec<usize> = (0..plan.params.len()).collect();
    for r in plan.rules.iter().filter(|r| r.rule == Rule::Same) {
        if let (Some(a), Some(b)) = (length_of(plan, r.a), length_of(plan, r.b)) {
            let (low, high) = (leader[a].min(leader[b]), leader[a].max(leader[b]));
            leader.iter_mut().filter(|l| **l == high).for_each(|l| *l = low);
        }
    }
    leader
}

/// `, as long as x` for a vector parameter that must be, or nothing.
pub fn param(plan: &Plan, index: usize) -> String {
    match leaders(plan)[index] {
        first if first != index => format!(", as long as {}", plan.params[first].name),
        _ => String::new(),
    }
}

/// `, as long as x` or ` of len(x) - 14 elements` for a vector result, nothing for a scalar.
pub fn result(plan: &Plan, index: usize) -> String {
    let id = match plan.results[index].extents[..] {
        [] => return String::new(),
        [id] => id,
        _ => return extent(plan, index).map_or(String::new(), |e| format!(" of {e} elements")),
    };
    match (length_of(plan, id), constant(plan, id)) {
        (Some(p), _) => format!(", as long as {}", plan.params[leaders(plan)[p]].name),
        (_, Some(1)) => " of 1 element".into(),
        _ => format!(" of {} elements", expression(plan, id)),
    }
}

/// The number of elements of a vector result, the extents of a matrix: `rows(a) x cols(b)`.
pub fn extent(plan: &Plan, index: usize) -> Option<String> {
    let extents = &plan.results[index].extents;
    let outer = if extents.len() > 1 { 4 } else { 0 };
    let list: Vec<String> = extents.iter().map(|id| render(plan, *id, outer)).collect();
    (!list.is_empty()).then(|| list.join(" x "))
}

/// What must hold of the lengths, in order, each once.
pub fn rules(plan: &Plan) -> Vec<String> {
    let mut rules = Vec::new();
    for r in &plan.rules {
        let sign = if r.rule == Rule::Same { "==" } else { "<=" };
        let text = format!("{} {sign} {}", render(plan, r.a, 2), render(plan, r.b, 2));
        if !rules.contains(&text) {
            rules.push(text);
        }
    }
    rules
}

/// The kernels of the plan, in order.
pub fn launches(plan: &Plan) -> Vec<String> {
    let launch = |s: &Step| if let Step::Launch(l) = s { Some(l.name.clone()) } else { None };
    plan.steps.iter().filter_map(launch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Type;
    use crate::plan::{HostRule, Slot};
    use crate::scalar::{Lit, Ty};

    fn plan() -> Plan {
        let vector = |name: &str| Slot { name: name.into(), ty: Type::vector(Ty::F32), extents: vec![] };
        let host = [
            HostOp::Len(0, 0),
            HostOp::Len(1, 0),
            HostOp::Const(Lit::i64(-14)),
            HostOp::Binary(BinaryOp::Add, HostId(0), HostId(2)),
            HostOp::Const(Lit::i64(2)),
            HostOp::Binary(BinaryOp::Div, HostId(3), HostId(4)),
        ];
        let same = |a, b| HostRule {
            rule: Rule::Same,
            a: HostId(a),
            b: HostId(b),
            subject: String::new(),
            loc: String::new(),
        };
        let out =
            |extent| Slot { name: "r".into(), ty: Type::vector(Ty::F32), extents: vec![HostId(extent)] };
        Plan {
            params: vec![vector("x"), vector("y")],
            results: vec![out(1), out(5)],
            host: host.into_iter().map(|op| (Ty::I64, op)).collect(),
            rules: vec![same(0, 1), same(0, 1)],
            ..Plan::default()
        }
    }

    #[test]
    fn words() {
        let plan = plan();
        assert_eq!(param(&plan, 0), "");
        assert_eq!(param(&plan, 1), ", as long as x");
        assert_eq!(result(&plan, 0), ", as long as x");
        assert_eq!(result(&plan, 1), " of (len(x) - 14) / 2 elements");
        assert_eq!(rules(&plan), ["len(x) == len(y)"]);
    }
}
