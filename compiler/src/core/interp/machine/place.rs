//! Elements of a vector that are stored at other places, which are all of its indices ([`crate::core::Op::Place`]).

use crate::core::interp::values::Array;
use crate::error::{Error, Result};
use crate::scalar::Lit;

/// Returns the elements at their places. If the places are not all indices, the pass that made them is wrong.
pub(super) fn placed(name: &str, at: &Array, src: &Array) -> Result<Array> {
    let n = src.elements.len();
    let bad = |what: String| Err(Error::bug("E0304", format!("@{name}: a place of {n} elements: {what}")));
    if at.elements.len() != n {
        return bad(format!("it has {} places", at.elements.len()));
    }
    let mut placed: Vec<Option<Lit>> = vec![None; n];
    for (place, x) in at.elements.iter().zip(&src.elements) {
        let place = place.as_i64();
        let Some(to) = usize::try_from(place).ok().and_then(|to| placed.get_mut(to)) else {
            return bad(format!("one goes to {place}"));
        };
        if to.replace(*x).is_some() {
            return bad(format!("two go to {place}"));
        }
    }
    // no two elements go to one of n places, so each place has one
    Ok(Array::vector(placed.into_iter().flatten().collect()))
}

#[cfg(test)]
mod tests {
    use super::placed;
    use crate::core::interp::values::Array;
    use crate::scalar::{Lit, Ty};

    #[test]
    fn places_that_are_not_all_indices_are_refused() {
        let numbers = |all: &[i64]| Array::vector(all.iter().map(|n| Lit::i64(*n)).collect());
        let src = Array::vector([1.0, 2.0, 3.0].map(|x| Lit::float(Ty::F64, x)).into());
        let found = placed("f", &numbers(&[2, 0, 1]), &src).expect("all indices").elements;
        assert_eq!(found.iter().map(|x| x.as_f64()).collect::<Vec<_>>(), [2.0, 3.0, 1.0]);
        for (at, what) in [
            (&[0, 25, 1][..], "one goes to 25"),
            (&[0, -1, 1], "one goes to -1"),
            (&[0, 1, 1], "two go to 1"),
            (&[0, 1], "it has 2 places"),
        ] {
            let error = placed("f", &numbers(at), &src).err().expect(what).to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
