//! Values of nodes, and index spaces.

use crate::scalar::Lit;
use std::ops::Deref;
use std::rc::Rc;

/// An argument or a result.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A scalar.
    Scalar(Lit),
    /// A vector; all elements have one type.
    Vector(Vec<Lit>),
    /// A matrix or more: extents, outermost first, and elements in row-major order.
    Array(Vec<i64>, Vec<Lit>),
}

impl Value {
    /// Returns the value in the form that callers have.
    pub(super) fn of(v: Val) -> Value {
        match v {
            Val::Scalar(l) => Value::Scalar(l),
            Val::Array(v) => match v.extents.len() {
                1 => Value::Vector(v.elements.clone()),
                _ => Value::Array(v.extents.clone(), v.elements.clone()),
            },
        }
    }
}

/// The value of a node.
#[derive(Clone)]
pub(super) enum Val {
    Scalar(Lit),
    Array(Rc<Array>),
}

impl Val {
    /// Returns the value with canonical NaNs, as results have them.
    pub(super) fn canonical(self) -> Val {
        match self {
            Val::Scalar(l) => Val::Scalar(l.canonical()),
            Val::Array(v) => {
                let elements = v.elements.iter().map(|l| l.canonical()).collect();
                Val::Array(Rc::new(Array { extents: v.extents.clone(), elements }))
            }
        }
    }
}

/// Extents, outermost first, and elements in row-major order.
pub(super) struct Array {
    pub(super) extents: Vec<i64>,
    pub(super) elements: Vec<Lit>,
}

impl Array {
    /// A vector.
    pub(super) fn vector(elements: Vec<Lit>) -> Array {
        Array { extents: vec![elements.len() as i64], elements }
    }

    /// Returns the position of an element in row-major order, if the index is inside.
    pub(super) fn position(&self, index: &[i64]) -> Option<usize> {
        let inside = self.extents.iter().zip(index).all(|(n, i)| (0..*n).contains(i));
        inside.then(|| self.extents.iter().zip(index).fold(0, |at, (n, i)| at * n + i) as usize)
    }
}

/// The components of a tuple; most have one.
#[derive(Clone)]
pub(super) enum Tuple {
    One(Lit),
    Several(Rc<[Lit]>),
}

impl Deref for Tuple {
    type Target = [Lit];

    fn deref(&self) -> &[Lit] {
        match self {
            Tuple::One(l) => std::slice::from_ref(l),
            Tuple::Several(all) => all,
        }
    }
}

/// Returns the number of indices of an index space, unless an extent is negative or it is too large.
pub(super) fn count(extents: &[i64]) -> Option<i64> {
    if extents.iter().any(|n| *n < 0) {
        return None;
    }
    // other extents of an empty space may be so large that their product is no number
    if extents.contains(&0) { Some(0) } else { extents.iter().try_fold(1i64, |a, n| a.checked_mul(*n)) }
}

/// Calls `f` with all indices of an index space, in row-major order. A space with a negative extent has none: core IR
/// may be written without the rule that refuses it, and kernels have no steps there.
pub(super) fn for_each_index(extents: &[i64], f: &mut dyn FnMut(&[i64])) {
    let is_negative = extents.iter().any(|n| *n < 0);
    let count = if is_negative { 0 } else { count(extents).expect("an index space that the rules allow") };
    let mut index = vec![0; extents.len()];
    for _ in 0..count {
        f(&index);
        for (i, n) in index.iter_mut().zip(extents).rev() {
            *i = (*i + 1) % n;
            if *i > 0 {
                break;
            }
        }
    }
}
