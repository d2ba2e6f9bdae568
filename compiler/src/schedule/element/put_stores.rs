//! The stores of elements at their destinations ([`crate::schedule::facts::put`]).

use super::canonical;
use super::lower::{Lower, bind};
use crate::kernel::{Expr, Stmt};
use crate::schedule::facts::put::Put;
use crate::schedule::groups::items::Item;

/// Adds the stores of an element's values, of which the first is its destination.
pub fn stores(l: &mut Lower, put: Put, items: &[Item], values: Vec<Expr>, out: &mut Vec<Stmt>) {
    let (tests, count) = (put.tests(&mut l.launch.g), put.count(&mut l.launch.g));
    let count = l.launch.host(count);
    let mut values = values.into_iter();
    let to = bind(l, "to", values.next().expect("the destination"), out);
    let mut all = Vec::new();
    for (it, e) in items.iter().zip(values) {
        let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
        let e = bind(l, "value", e, out);
        let e = canonical(e, ty, &mut l.k.kernel, out);
        let place = l.place_at(mem, std::slice::from_ref(&to));
        all.push(Stmt::Store(mem, place, e));
    }
    tests.guarded(&to, &count, all, out);
}
