//! The bits of the records that computing a value leaves: one for each place, 32 of them to a word.

use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The bits of a word.
const WORD: usize = 32;

/// The words. One that is missing has no bit set.
#[derive(Clone, Default)]
pub struct Bits(Vec<Option<NodeId>>);

impl Bits {
    /// Returns the bits of one place: its own where the condition holds.
    pub fn of_place(g: &mut Graph, place: usize, is_left: NodeId) -> Bits {
        let [zero, bit] = [0, mask(place)].map(|bits| g.lit(Lit { ty: Ty::U32, bits }));
        let mut words = vec![None; place / WORD];
        words.push(Some(simplify(g, Op::Select(is_left, bit, zero))));
        Bits(words)
    }

    /// Makes bits of words.
    pub fn of_words(words: Vec<Option<NodeId>>) -> Bits {
        Bits(words)
    }

    /// Whether no bit can be set.
    pub fn is_none(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Returns the words.
    pub fn words(&self) -> &[Option<NodeId>] {
        &self.0
    }

    /// Returns whether the bit of a place is set, if it can be.
    pub fn has(&self, g: &mut Graph, place: usize) -> Option<NodeId> {
        let word = self.0.get(place / WORD).copied().flatten()?;
        let [zero, mask] = [0, mask(place)].map(|bits| g.lit(Lit { ty: Ty::U32, bits }));
        let bit = g.add(Op::Binary(BinaryOp::And, word, mask));
        Some(g.add(Op::Binary(BinaryOp::Ne, bit, zero)))
    }

    /// Returns whether any bit is set, if one can be.
    pub fn any(&self, g: &mut Graph) -> Option<NodeId> {
        let words = self.0.iter().flatten().copied();
        let all = words.reduce(|a, b| g.add(Op::Binary(BinaryOp::Or, a, b)))?;
        let zero = g.lit(Lit::zero(Ty::U32));
        Some(g.add(Op::Binary(BinaryOp::Ne, all, zero)))
    }

    /// Returns the bits that are set in either value.
    pub fn either(g: &mut Graph, a: &Bits, b: &Bits) -> Bits {
        Bits::words_of(a, b, |a, b| match (a, b) {
            (Some(a), Some(b)) => Some(simplify(g, Op::Binary(BinaryOp::Or, a, b))),
            (a, b) => a.or(b),
        })
    }

    /// Returns the bits of `a` if the condition holds, else those of `b`.
    pub fn select(g: &mut Graph, condition: NodeId, a: &Bits, b: &Bits) -> Bits {
        Bits::words_of(a, b, |a, b| {
            a.or(b)?;
            let zero = g.lit(Lit::zero(Ty::U32));
            Some(simplify(g, Op::Select(condition, a.unwrap_or(zero), b.unwrap_or(zero))))
        })
    }

    fn words_of(
        a: &Bits,
        b: &Bits,
        mut of_word: impl FnMut(Option<NodeId>, Option<NodeId>) -> Option<NodeId>,
    ) -> Bits {
        let word = |of: &Bits, w: usize| of.0.get(w).copied().flatten();
        let count = a.0.len().max(b.0.len());
        Bits((0..count).map(|w| of_word(word(a, w), word(b, w))).collect())
    }
}

/// Returns the type that holds a word of the bits of this many places.
pub fn type_of_word(places: usize, word: usize) -> Ty {
    match places - word * WORD {
        0..=8 => Ty::U8,
        9..=16 => Ty::U16,
        _ => Ty::U32,
    }
}

fn mask(place: usize) -> u64 {
    1 << (place % WORD)
}
