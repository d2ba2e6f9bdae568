//! Reads `--extent`, the sizes for which bytes and times are predicted.

use super::formula::Formulas;
use crate::core::{Function, Op, Rule};
use crate::counts::Size;
use crate::error::{Error, Result};
use crate::scalar::{Lit, eval_cast};
use std::str::FromStr;

/// A size that the author gave, such as `x=67108864`, `m=8192x8192` or `rmse.x=1000`. For a scalar
/// parameter it is the value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extent {
    /// The function to which the size is restricted, if any.
    pub function: Option<String>,
    /// The parameter.
    pub name: String,
    /// The extents, outermost first.
    pub extents: Vec<i64>,
}

impl FromStr for Extent {
    type Err = Error;

    fn from_str(text: &str) -> Result<Extent> {
        let wrong = || {
            let form = "[FUNCTION.]PARAMETER=N, or NxN for a matrix";
            Error::user("E0107", format!("`{text}` is no extent: it must be {form}"))
        };
        let (name, sizes) = text.split_once('=').ok_or_else(wrong)?;
        let size = |s: &str| s.parse::<i64>().ok().filter(|n| *n >= 0);
        let extents = sizes.split('x').map(size).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
        let (function, name) = match name.split_once('.') {
            Some((function, name)) => (Some(function.to_string()), name),
            None => (None, name),
        };
        if name.is_empty() {
            return Err(wrong());
        }
        Ok(Extent { function, name: name.into(), extents })
    }
}

impl Extent {
    /// Returns the parameter of a function that has this name and as many dimensions.
    pub(super) fn parameter(&self, f: &Function) -> Option<u32> {
        let of = self.function.as_ref().is_none_or(|name| *name == f.name);
        let fits = |p: &crate::core::Param| {
            p.name == self.name && usize::from(p.ty.rank.max(1)) == self.extents.len()
        };
        f.params.iter().position(fits).filter(|_| of).map(|i| i as u32)
    }
}

/// Checks that each size belongs to a parameter of some function.
pub fn check(extents: &[Extent], functions: &[&Function]) -> Result<()> {
    let Some(e) = extents.iter().find(|e| functions.iter().all(|f| e.parameter(f).is_none())) else {
        return Ok(());
    };
    let of =
        e.function.as_ref().map_or("no function has".into(), |f| format!("there is no function `{f}` with"));
    let dimensions = match e.extents.len() {
        1 => "1 dimension".into(),
        n => format!("{n} dimensions"),
    };
    let mut names: Vec<String> =
        functions.iter().flat_map(|f| f.params.iter().map(|p| format!("{}.{}", f.name, p.name))).collect();
    let left = names.len().saturating_sub(12);
    names.truncate(12);
    let more = if left > 0 { format!(" and {left} more") } else { String::new() };
    let message = format!(
        "--extent: {of} a parameter `{}` of {dimensions}; there are {}{more}",
        e.name,
        names.join(", ")
    );
    Err(Error::user("E0108", message))
}

/// Adds to the formulas of a function the sizes that are given, and those that shape rules say are
/// equal to them. A rule that does not hold is an error.
pub fn apply(extents: &[Extent], f: &Function, formulas: &mut Formulas) -> Result<()> {
    for e in extents {
        let Some(i) = e.parameter(f) else { continue };
        let Some(p) = formulas.g.find(&Op::Param(i)) else { continue };
        match f.params[i as usize].ty {
            ty if ty.is_scalar() => {
                formulas.known.insert(p, eval_cast(ty.elem, Lit::i64(e.extents[0])));
            }
            _ => {
                for (axis, n) in (0..).zip(&e.extents) {
                    let length = formulas.g.add(Op::Len(p, axis));
                    formulas.known.insert(length, Lit::i64(*n));
                }
            }
        }
    }
    // A length that must be equal to a known one becomes known, until a round finds nothing new.
    let equal: Vec<_> = f.requires.iter().filter(|r| r.rule == Rule::Same).collect();
    let mut is_new = true;
    while std::mem::take(&mut is_new) {
        for r in &equal {
            for (from, to) in [(r.a, r.b), (r.b, r.a)] {
                let is_unknown = matches!(f.graph.op(to), Op::Len(..)) && !formulas.known.contains_key(&to);
                if is_unknown && let Some(value) = formulas.value(from) {
                    formulas.known.insert(to, value);
                    is_new = true;
                }
            }
        }
    }
    for r in &f.requires {
        let (Some(a), Some(b)) = (formulas.value(r.a), formulas.value(r.b)) else { continue };
        if !r.rule.holds(a.as_i64(), b.as_i64()) {
            let what = r.rule.violation(&r.subject, a.as_i64(), b.as_i64());
            let message = format!("--extent: {}: {}: {what}", f.name, r.subject);
            return Err(Error::user("E0109", message).at(r.loc.first()));
        }
    }
    Ok(())
}

/// Returns the sizes of all parameters, if those of arrays and of integers are known.
pub fn known(f: &Function, formulas: &mut Formulas) -> Option<Vec<Size>> {
    let mut size = |(p, i): (&crate::core::Param, u32)| {
        let param = formulas.g.add(Op::Param(i));
        if p.ty.is_scalar() {
            let value = formulas.value(param);
            return (value.is_some() || !p.ty.elem.is_int()).then_some(Size::Value(value));
        }
        let mut length = |axis| {
            let length = formulas.g.add(Op::Len(param, axis));
            formulas.value(length).map(|l| l.as_i64())
        };
        (0..p.ty.rank).map(&mut length).collect::<Option<Vec<i64>>>().map(Size::Extents)
    };
    f.params.iter().zip(0..).map(&mut size).collect()
}
