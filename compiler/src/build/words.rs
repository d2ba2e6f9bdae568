//! Words: what the language makes of other constructs, by name.
//!
//! A *word* takes operands, some words an operator as well, and gives one value or several. The embedded language and
//! the C ABI (`agpu_builder_word`) ask for words by name, so that what a word is made of stands here and in
//! `core/{orders,segments}.rs` alone, and has one meaning (semantics 5.18 to 5.22) whoever asks.
//!
//! ```text
//! %o = word argsort_descending %x
//!   ->
//! %k = map neg over %x
//! %o = argsort %k
//! ```
//!
//! | word | operands | values |
//! |---|---|---|
//! | `scan`, `scan_exclusive`, by an operator of k components | k vectors, k initial values | k vectors |
//! | `argsort`, `argsort_descending` | a vector | the indices |
//! | `sort`, `sort_descending` | keys, further vectors | all of them in the order of the keys |
//! | `segmented_reduce`, by an operator of k components | k vectors, k initial values, the offsets | k vectors |
//! | `reduce_parts`, the same | k vectors, k initial values, where parts begin, their lengths, which are inside | k vectors |
//! | `filter` | truth values, vectors | the vectors with the kept elements first, the order, the number of these |
//! | `unique` | a vector | the same where runs begin |
//! | `run_lengths` | the order and the number of `unique` | the lengths of the runs |
//! | `filled` | a number, k vectors, k values or vectors | the vectors, with these values behind so many elements |

use super::Builder;
use crate::core::{Lambda, NodeId, Op, Type, orders, segments, verify};
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use crate::{Error, Result};

macro_rules! words {
    ($($word:ident $name:literal)*) => {
        /// A word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Word { $(#[doc = concat!("`", $name, "`.")] $word),* }

        impl Word {
            /// All words.
            pub const ALL: &[Word] = &[$(Word::$word),*];

            /// Returns the name, which rules and messages mention.
            pub fn name(self) -> &'static str {
                match self { $(Word::$word => $name),* }
            }
        }
    };
}
words! {
    Scan "scan"
    ScanExclusive "scan_exclusive"
    Argsort "argsort"
    ArgsortDescending "argsort_descending"
    Sort "sort"
    SortDescending "sort_descending"
    SegmentedReduce "segmented_reduce"
    ReduceParts "reduce_parts"
    Filter "filter"
    Unique "unique"
    RunLengths "run_lengths"
    Filled "filled"
}

impl Word {
    /// Returns the word of that name.
    pub fn parse(name: &str) -> Option<Word> {
        Word::ALL.iter().copied().find(|w| w.name() == name)
    }
}

/// The operands of a word, and its operator.
#[derive(Clone, Copy, Debug)]
pub struct Of<'a> {
    /// The operands.
    pub operands: &'a [NodeId],
    /// The operator, whose body is a tuple if it has several components.
    pub operator: Option<&'a Lambda>,
}

impl Of<'_> {
    /// The number of the operator's components.
    fn components(&self) -> usize {
        self.operator.map_or(0, |f| f.params.len() / 2)
    }
}

impl Builder {
    /// Adds a word, and returns its values.
    pub fn word(&mut self, word: Word, of: Of) -> Result<Vec<NodeId>> {
        self.check(word, of)?;
        let name = word.name();
        let values = match word {
            Word::Scan => self.scans(name, of)?,
            Word::ScanExclusive => {
                let scans = self.scans(name, of)?;
                segments::exclusive(self.graph(), &scans, &of.operands[of.components()..])
            }
            Word::Argsort | Word::ArgsortDescending => vec![self.order(word, of.operands[0])?],
            Word::Sort | Word::SortDescending => {
                let order = self.order(word, of.operands[0])?;
                self.in_order(name, order, of.operands)?
            }
            Word::SegmentedReduce => self.segmented_reduce(name, of)?,
            Word::ReduceParts => {
                let k = of.components();
                let (init, parts) = (&of.operands[k..2 * k], &of.operands[2 * k..]);
                self.reduced(name, &of.operands[..k], init, of)?;
                self.same(name, parts)?;
                self.parts(&of.operands[..k], (parts[0], parts[1]), init, of)
            }
            Word::Filter => {
                self.same(name, of.operands)?;
                self.kept(name, of.operands[0], &of.operands[1..])?
            }
            Word::Unique => {
                let begins = orders::begins_of_runs(self.graph(), of.operands[0]);
                self.kept(name, begins, of.operands)?
            }
            Word::RunLengths => vec![orders::lengths_of_runs(self.graph(), of.operands[0], of.operands[1])],
            Word::Filled => {
                let (count, rest) = (of.operands[0], &of.operands[1..]);
                let vectors: Vec<NodeId> =
                    rest.iter().copied().filter(|x| !self.ty(*x).is_scalar()).collect();
                self.same(name, &vectors)?;
                let (srcs, rest) = rest.split_at(rest.len() / 2);
                orders::filled(self.graph(), count, srcs, rest)
            }
        };
        for value in &values {
            self.measure(*value);
            verify::is_outside(&self.function.graph, *value)?;
        }
        Ok(values)
    }

    /// Checks the types of a word's operands, where no node that it adds does.
    fn check(&self, word: Word, of: Of) -> Result<()> {
        let types: Vec<Type> = of.operands.iter().map(|o| self.ty(*o)).collect();
        let (count, k) = (types.len(), of.components());
        let [vectors, numbers] = [1, 0].map(|rank| move |of: &[Type]| of.iter().all(|t| t.rank == rank));
        let i64s = |of: &[Type]| of.iter().all(|t| t.elem == Ty::I64);
        let fits = match word {
            Word::Scan | Word::ScanExclusive => {
                k > 0 && count == 2 * k && vectors(&types[..k]) && numbers(&types[k..])
            }
            Word::SegmentedReduce | Word::ReduceParts => {
                let more = if word == Word::ReduceParts { 2 } else { 1 };
                k > 0
                    && count == 2 * k + more
                    && vectors(&types[..k])
                    && numbers(&types[k..2 * k])
                    && vectors(&types[2 * k..])
                    && i64s(&types[2 * k..])
            }
            Word::Argsort | Word::ArgsortDescending | Word::Unique => count == 1 && vectors(&types),
            Word::Sort | Word::SortDescending => count > 0 && vectors(&types),
            Word::Filter => count > 0 && vectors(&types) && types[0].elem == Ty::Bool,
            Word::RunLengths => count == 2 && types[0].rank == 1 && types[1].rank == 0 && i64s(&types),
            Word::Filled => {
                let rest = types.get(1..).unwrap_or_default();
                let (srcs, others) = rest.split_at(rest.len() / 2);
                count > 2
                    && count % 2 == 1
                    && types[0] == Type::scalar(Ty::I64)
                    && vectors(srcs)
                    && srcs.iter().zip(others).all(|(a, b)| a.elem == b.elem && b.rank <= 1)
            }
        };
        if fits && (of.operator.is_some() == (k > 0)) {
            return Ok(());
        }
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        let message = format!("{}: it does not take operands of the types {}", word.name(), types.join(", "));
        Err(Error::user("E0208", message).at(self.loc.first()))
    }

    /// Makes the array whose elements are the tuples of the arrays' elements.
    pub fn zipped(&mut self, construct: &str, arrays: Vec<NodeId>) -> Result<NodeId> {
        if let [one] = arrays[..] {
            return Ok(one);
        }
        let types: Vec<Ty> = arrays.iter().map(|a| self.ty(*a).elem).collect();
        let lambda = self.graph().lambda(&types, |g, v| g.add(Op::Tuple(v.to_vec())));
        self.map(construct, lambda, arrays)
    }

    /// Makes a tuple of these nodes, or the only one.
    pub fn tuple(&mut self, nodes: Vec<NodeId>) -> Result<NodeId> {
        match nodes[..] {
            [one] => Ok(one),
            _ => self.node(Op::Tuple(nodes)),
        }
    }

    fn scans(&mut self, name: &str, of: Of) -> Result<Vec<NodeId>> {
        let (Some(join), k) = (of.operator, of.components()) else { return Ok(Vec::new()) };
        let src = self.zipped(name, of.operands[..k].to_vec())?;
        let init = self.tuple(of.operands[k..].to_vec())?;
        (0..k as u32).map(|which| self.scan(join.clone(), init, src, which)).collect()
    }

    fn order(&mut self, word: Word, x: NodeId) -> Result<NodeId> {
        let falls = matches!(word, Word::ArgsortDescending | Word::SortDescending);
        let keys = if falls { orders::falling(self.graph(), x) } else { x };
        self.measure(keys);
        self.argsort(keys)
    }

    fn in_order(&mut self, name: &str, order: NodeId, srcs: &[NodeId]) -> Result<Vec<NodeId>> {
        let sorted = orders::ordered(self.graph(), order, srcs);
        self.same(name, &[&[order], srcs].concat())?;
        Ok(sorted)
    }

    /// Makes the vectors with the elements for which a condition holds first, their order, and their number. The order
    /// is that of a sort by whether an element is left out.
    fn kept(&mut self, name: &str, is_kept: NodeId, srcs: &[NodeId]) -> Result<Vec<NodeId>> {
        let count = orders::count(self.graph(), is_kept);
        let left_out = orders::mapped(self.graph(), is_kept, |g, v| g.add(Op::Unary(UnaryOp::Not, v)));
        self.measure(left_out);
        let order = self.argsort(left_out)?;
        let mut all = self.in_order(name, order, srcs)?;
        all.extend([order, count]);
        Ok(all)
    }

    /// Checks that vectors of one length can be reduced by the operator: the node is not needed.
    fn reduced(&mut self, name: &str, values: &[NodeId], init: &[NodeId], of: Of) -> Result<()> {
        let Some(join) = of.operator else { return Ok(()) };
        let (src, init) = (self.zipped(name, values.to_vec())?, self.tuple(init.to_vec())?);
        self.node(Op::Reduce { join: join.clone(), init, src, which: 0 })?;
        Ok(())
    }

    fn parts(
        &mut self,
        values: &[NodeId],
        (begins, lengths): (NodeId, NodeId),
        init: &[NodeId],
        of: Of,
    ) -> Vec<NodeId> {
        let Some(join) = of.operator else { return Vec::new() };
        segments::reduced(self.graph(), values, (begins, lengths), init, join)
    }

    fn segmented_reduce(&mut self, name: &str, of: Of) -> Result<Vec<NodeId>> {
        let k = of.components();
        let (values, init, offsets) = (&of.operands[..k], &of.operands[k..2 * k], of.operands[2 * k]);
        self.reduced(name, values, init, of)?;
        let (zero, one) = (self.number(0), self.number(1));
        let count = self.extents(offsets)[0];
        let segments = self.node(Op::Binary(BinaryOp::Sub, count, one))?;
        let begins = self.slice(name, offsets, 0, [zero, segments, one])?;
        let ends = self.slice(name, offsets, 0, [one, count, one])?;
        let end = self.extents(values[0])[0];
        let lambda = self.graph().lambda(&[Ty::I64; 2], |g, v| {
            let is_inside = [(v[0], v[1]), (v[1], end)].map(|(i, n)| {
                let n = g.add(Op::Binary(BinaryOp::Add, n, one));
                g.add(Op::Within(i, n))
            });
            let both = g.add(Op::Binary(BinaryOp::And, is_inside[0], is_inside[1]));
            let length = g.add(Op::Binary(BinaryOp::Sub, v[1], v[0]));
            g.add(Op::Select(both, length, zero))
        });
        let lengths = self.map(name, lambda, vec![begins, ends])?;
        let lengths = self.node(Op::Materialize(lengths))?;
        Ok(self.parts(values, (begins, lengths), init, of))
    }
}

#[cfg(test)]
mod tests {
    use super::Word;

    #[test]
    fn words_are_found_by_their_names() {
        for word in Word::ALL {
            assert_eq!(Word::parse(word.name()), Some(*word));
        }
        assert_eq!(Word::parse("sorted"), None);
    }
}
