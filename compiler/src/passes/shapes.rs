//! Reports shape rules that can never hold, for any lengths, as errors at the author's line.
//!
//! ```text
//! require stop (add (len %x), 1i64), (len %x) "slice of x"  ->  error: the slice always stops 1 or more past the end
//! ```

use crate::core::linear::Linear;
use crate::core::{Function, Graph, Require, Rule};
use crate::error::{Error, Result};

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    for r in &f.requires {
        if let Some(why) = never_holds(&f.graph, r) {
            return Err(Error::user("E0310", format!("{}: {}: {why}", f.name, r.subject)).at(r.loc.first()));
        }
    }
    Ok(f)
}

/// Returns why a rule can never hold, for any lengths.
fn never_holds(g: &Graph, r: &Require) -> Option<String> {
    let (a, b) = (Linear::of(g, r.a), Linear::of(g, r.b));
    let d = b.minus(&a);
    let never = if r.rule == Rule::Same { d.at_least(g, 1) || d.at_most(g, -1) } else { d.at_most(g, -1) };
    if !never {
        return None;
    }
    Some(match (a.as_constant(), b.as_constant()) {
        (Some(a), Some(b)) => r.rule.violation(&r.subject, a, b),
        _ => match r.rule {
            Rule::Same => format!("the lengths always differ (by {} or more)", d.constant.abs()),
            Rule::Stop => {
                format!("{} always stops {} or more past the end", Rule::taken(&r.subject), -d.constant)
            }
            Rule::Order if Rule::is_of_windows(&r.subject) => {
                "the window is always wider than the array".into()
            }
            Rule::Order => format!("{} always stops before its start", Rule::taken(&r.subject)),
            Rule::Start => format!("{} always starts below 0", Rule::taken(&r.subject)),
            Rule::Stride => "the stride is always below 1".into(),
            Rule::Index => "the index is always negative".into(),
            Rule::Inside => format!("the index is always {} or more past the end", -d.constant),
            Rule::Extent => "the length is always negative".into(),
            Rule::Margin => "the array is always shorter than the margin needs".into(),
            Rule::Count => "the number of steps is always negative".into(),
            Rule::Part => "the part is always empty".into(),
        },
    })
}
