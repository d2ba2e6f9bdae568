//! Describes shapes in words: what the lengths of parameters and results must be, according to the
//! plan.

use crate::core::Rule;
use crate::counted;
use crate::plan::{HostId, HostOp, Plan, Step};
use crate::scalar::BinaryOp;
use indexmap::IndexMap;

/// Returns an operator and its precedence. An operand whose operator has a lower precedence needs
/// parentheses.
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

/// Returns a host scalar as an expression in the parameters, such as `len(xs) - 14`.
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
        HostOp::Turn(_) => "step".into(),
        HostOp::Checked => "checked".into(),
        HostOp::Cast(_, a) => render(plan, a, outer),
        HostOp::Unary(op, a) => call(op.name(), &[a]),
        HostOp::MulAdd(a, b, c) => call("mul_add", &[a, b, c]),
        HostOp::Select(a, b, c) => call("select", &[a, b, c]),
        HostOp::Binary(op, a, b) => match (binding(op), constant(plan, b)) {
            // The passes rewrite a subtraction of a constant as an addition of its negation.
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

/// An axis of a parameter.
type Axis = (u32, u8);

/// Returns the axis of a parameter whose length the host scalar is.
fn length_of(plan: &Plan, id: HostId) -> Option<Axis> {
    if let HostOp::Len(p, axis) = plan.host[id.0 as usize].1 { Some((p, axis)) } else { None }
}

/// Maps every axis of every parameter to the first axis that the rules make as long, which may be
/// the axis itself.
fn leaders(plan: &Plan) -> IndexMap<Axis, Axis> {
    let all = plan.params.iter().zip(0..).flat_map(|(p, i)| (0..p.ty.rank).map(move |axis| (i, axis)));
    let mut leader: IndexMap<Axis, Axis> = all.map(|a| (a, a)).collect();
    for r in plan.rules.iter().filter(|r| r.rule == Rule::Same) {
        if let (Some(a), Some(b)) = (length_of(plan, r.a), length_of(plan, r.b)) {
            let (a, b) = (leader[&a], leader[&b]);
            leader.values_mut().filter(|l| **l == a.max(b)).for_each(|l| *l = a.min(b));
        }
    }
    leader
}

/// Returns the text which says that an array is as long as these axes: `, as long as x`,
/// `, as large as a`, or ` of rows(a) x cols(b) elements`.
fn as_long_as(plan: &Plan, axes: &[Axis]) -> String {
    let first = &plan.params[axes[0].0 as usize];
    let whole = usize::from(first.ty.rank) == axes.len();
    if whole && axes.iter().zip(0..).all(|(a, i)| *a == (axes[0].0, i)) {
        let size = if axes.len() == 1 { "long" } else { "large" };
        return format!(", as {size} as {}", first.name);
    }
    let list: Vec<String> = axes.iter().map(|(p, axis)| plan.length(*p, *axis)).collect();
    format!(" of {}", counted(list.join(" x "), "element"))
}

/// Describes the shape of an array parameter by the parameters before it; the text may be empty.
pub fn param(plan: &Plan, index: usize) -> String {
    let leaders = leaders(plan);
    let own: Vec<Axis> = (0..plan.params[index].ty.rank).map(|axis| (index as u32, axis)).collect();
    let first: Vec<Axis> = own.iter().map(|a| leaders[a]).collect();
    if first == own { String::new() } else { as_long_as(plan, &first) }
}

/// Describes an array result by `, as long as x` or ` of len(x) - 14 elements`; the text is empty
/// for a scalar.
pub fn result(plan: &Plan, index: usize) -> String {
    let extents = &plan.results[index].extents;
    let lengths: Option<Vec<Axis>> = extents.iter().map(|id| length_of(plan, *id)).collect();
    match (&extents[..], lengths) {
        ([], _) => String::new(),
        (_, Some(axes)) => {
            let leaders = leaders(plan);
            as_long_as(plan, &axes.iter().map(|a| leaders[a]).collect::<Vec<_>>())
        }
        ([one], _) => format!(" of {}", counted(render(plan, *one, 0), "element")),
        _ => {
            let list: Vec<_> = extents.iter().map(|id| render(plan, *id, 4)).collect();
            format!(" of {}", counted(list.join(" x "), "element"))
        }
    }
}

/// Returns the extents of an array result; there are none for a scalar.
pub fn extent(plan: &Plan, index: usize) -> Vec<String> {
    plan.results[index].extents.iter().map(|id| render(plan, *id, 0)).collect()
}

/// Returns the conditions on the lengths, in order and without duplicates.
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

/// Returns the kernels of the plan, in order.
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
    fn words_of_matrices() {
        // The rows of b are the columns of a, c has the shape of a, and v is as long as a column of
        // b. The first result is the product, the second one has the shape of a, and the shape of
        // the last one is computed.
        let array =
            |name: &str, rank| Slot { name: name.into(), ty: Type::array(Ty::F32, rank), extents: vec![] };
        let lens = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0)];
        let mut host: Vec<_> = lens.into_iter().map(|(p, axis)| HostOp::Len(p, axis)).collect();
        host.push(HostOp::Const(Lit::i64(2)));
        host.push(HostOp::Binary(BinaryOp::Mul, HostId(0), HostId(7)));
        let same = |(a, b)| HostRule {
            rule: Rule::Same,
            a: HostId(a),
            b: HostId(b),
            subject: String::new(),
            loc: String::new(),
        };
        let out = |a, b| Slot { extents: vec![HostId(a), HostId(b)], ..array("r", 2) };
        let plan = Plan {
            params: vec![array("a", 2), array("b", 2), array("c", 2), array("v", 1)],
            results: vec![out(0, 3), out(4, 5), out(8, 1)],
            host: host.into_iter().map(|op| (Ty::I64, op)).collect(),
            rules: [(1, 2), (0, 4), (1, 5), (6, 2)].map(same).to_vec(),
            ..Plan::default()
        };
        let params: Vec<_> = (0..4).map(|i| param(&plan, i)).collect();
        let b = " of cols(a) x cols(b) elements";
        assert_eq!(params, ["", b, ", as large as a", " of cols(a) elements"]);
        let results: Vec<_> = (0..3).map(|i| result(&plan, i)).collect();
        let product = " of rows(a) x cols(b) elements";
        assert_eq!(results, [product, ", as large as a", " of (rows(a) * 2) x cols(a) elements"]);
        assert_eq!(extent(&plan, 2), ["rows(a) * 2", "cols(a)"]);
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
