//! The stores of elements at other places than their own ([`crate::schedule::facts::placed`]).

use super::canonical;
use super::lower::{Lower, bind};
use crate::kernel::{Expr, Stmt};
use crate::schedule::groups::items::Item;

/// Returns the stores of an element's values, of which the first is the place.
pub fn stores(l: &mut Lower, items: &[Item], values: Vec<Expr>, out: &mut Vec<Stmt>) -> Vec<Stmt> {
    let mut values = values.into_iter();
    let to = bind(l, "to", values.next().expect("the place"), out);
    // places are indices of the results, so they are in bounds
    l.k.kernel.in_space.push(to.clone());
    let mut all = Vec::new();
    for (it, e) in items.iter().zip(values) {
        let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
        let e = bind(l, "value", e, out);
        all.push(Stmt::Store(mem, to.clone(), canonical(e, ty, &mut l.k.kernel, out)));
    }
    all
}
