//! Composites: constructs that are made of others, by name.
//!
//! A *composite* takes operands, some an operator as well, and gives one value or several. The embedded language and
//! the C ABI (`agpu_builder_composite`) ask for them by name, so that what each is made of stands here and in
//! `core/{orders,segments,destinations,scan_totals}.rs` alone, and has one meaning (semantics 5.18 to 5.22) whoever asks.
//!
//! ```text
//! %o = composite argsort_descending %x
//!   ->
//! %k = map neg over %x
//! %o = argsort %k
//! ```
//!
//! | composite | operands | values |
//! |---|---|---|
//! | `scan`, `scan_exclusive`, by an operator of k components | k vectors, k initial values | k vectors |
//! | `scan_rows`, `scan_cols`, `scan_planes`, each with `_exclusive` as well | k arrays of two or three axes (planes: three), k initial values | k arrays |
//! | `argsort`, `argsort_descending` | a vector | the indices |
//! | `sort`, `sort_descending` | keys, further vectors | all of them in the order of the keys |
//! | `segmented_reduce`, `segmented_scan`, `segmented_scan_exclusive`, by an operator of k components | k vectors, k initial values, the offsets | k vectors |
//! | `filter` | truth values, vectors | the vectors with the kept elements first, the order, the number of these |
//! | `unique` | a vector | the same where runs begin |
//! | `run_lengths` | the order and number of `unique`, and where the last run ends if not at the end | their lengths |
//! | `reduce_by_key`, by an operator of k components | k vectors, k initial values, the operands of `run_lengths` | k vectors, the reductions of the runs |
//! | `destinations`, `_ignored`, `_clamped` | indices, the length n | where elements go; none of 0 to n - 1 is nowhere |
//! | `histogram` | destinations, n | how many are 0, 1, .. n - 1 |
//! | `scatter`, `scatter_unique` | destinations, n, k vectors, k values | k vectors |
//! | `scatter_reduce`, `_unordered`, by an operator of k components | k vectors, k initial values, destinations, n | k vectors |
//! | `filled` | a number, k vectors, k values or vectors | the vectors, with these values behind so many elements |

mod check;
mod lines;
mod scatters;
mod segments;

use super::Builder;
use crate::Result;
use crate::core::bins::Bins;
use crate::core::destinations::{self, Outside};
use crate::core::scan_lines::Along;
use crate::core::verify::{self, Apart};
use crate::core::{Lambda, NodeId, Op, orders};
use crate::scalar::{BinaryOp, Ty, UnaryOp};

macro_rules! composites {
    ($($one:ident $name:literal)*) => {
        /// A composite.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Composite { $(#[doc = concat!("`", $name, "`.")] $one),* }

        impl Composite {
            /// All composites.
            pub const ALL: &[Composite] = &[$(Composite::$one),*];

            /// Returns the name, which rules and messages mention.
            pub fn name(self) -> &'static str {
                match self { $(Composite::$one => $name),* }
            }
        }
    };
}
composites! {
    Scan "scan"
    ScanExclusive "scan_exclusive"
    ScanRows "scan_rows"
    ScanRowsExclusive "scan_rows_exclusive"
    ScanCols "scan_cols"
    ScanColsExclusive "scan_cols_exclusive"
    ScanPlanes "scan_planes"
    ScanPlanesExclusive "scan_planes_exclusive"
    Argsort "argsort"
    ArgsortDescending "argsort_descending"
    Sort "sort"
    SortDescending "sort_descending"
    SegmentedReduce "segmented_reduce"
    SegmentedScan "segmented_scan"
    SegmentedScanExclusive "segmented_scan_exclusive"
    Filter "filter"
    Unique "unique"
    RunLengths "run_lengths"
    ReduceByKey "reduce_by_key"
    Filled "filled"
    Destinations "destinations"
    DestinationsIgnored "destinations_ignored"
    DestinationsClamped "destinations_clamped"
    Histogram "histogram"
    Scatter "scatter"
    ScatterUnique "scatter_unique"
    ScatterReduce "scatter_reduce"
    ScatterReduceUnordered "scatter_reduce_unordered"
}

impl Composite {
    /// Returns the composite of that name.
    pub fn parse(name: &str) -> Option<Composite> {
        Composite::ALL.iter().copied().find(|one| one.name() == name)
    }

    /// Returns the word of authors for it; the C ABI has a name more for what they say of a scatter's operator.
    pub fn word(self) -> &'static str {
        match self {
            Composite::ScatterReduceUnordered => "scatter_reduce",
            other => other.name(),
        }
    }

    /// The lines that it scans.
    fn along(self) -> Option<Along> {
        match self {
            Composite::ScanRows | Composite::ScanRowsExclusive => Some(Along::Rows),
            Composite::ScanCols | Composite::ScanColsExclusive => Some(Along::Columns),
            Composite::ScanPlanes | Composite::ScanPlanesExclusive => Some(Along::Planes),
            _ => None,
        }
    }

    /// Whether it leaves out each element's own value.
    fn is_exclusive(self) -> bool {
        use Composite::{
            ScanColsExclusive, ScanExclusive, ScanPlanesExclusive, ScanRowsExclusive, SegmentedScanExclusive,
        };
        matches!(
            self,
            ScanExclusive
                | ScanRowsExclusive
                | ScanColsExclusive
                | ScanPlanesExclusive
                | SegmentedScanExclusive
        )
    }

    /// Whether it gives destinations, of which other composites are made.
    fn is_of_destinations(self) -> bool {
        use Composite::{Destinations, DestinationsClamped, DestinationsIgnored};
        matches!(self, Destinations | DestinationsIgnored | DestinationsClamped)
    }

    /// Whether it is a scan, of whole vectors, along an axis or of segments.
    fn is_scan(self) -> bool {
        self.along().is_some()
            || self.is_exclusive()
            || matches!(self, Composite::Scan | Composite::SegmentedScan)
    }

    /// What is refused inside of a closure.
    fn apart(self) -> Apart {
        match self {
            _ if self.along().is_some() => Apart::Scan,
            Composite::Scan
            | Composite::ScanExclusive
            | Composite::SegmentedReduce
            | Composite::SegmentedScan
            | Composite::SegmentedScanExclusive
            | Composite::ReduceByKey => Apart::Scan,
            Composite::Destinations
            | Composite::DestinationsIgnored
            | Composite::DestinationsClamped
            | Composite::Histogram
            | Composite::Scatter
            | Composite::ScatterUnique
            | Composite::ScatterReduce
            | Composite::ScatterReduceUnordered => Apart::Scatter,
            _ => Apart::Sort,
        }
    }

    /// Returns which of its operands, behind those of an operator of k components, is a length.
    fn length(self, k: usize) -> Option<usize> {
        match self {
            Composite::ScatterReduce | Composite::ScatterReduceUnordered => Some(2 * k + 1),
            _ if self.apart() == Apart::Scatter => Some(1),
            _ => None,
        }
    }

    /// Whether it takes an operator.
    fn takes_operator(self) -> bool {
        use Composite::{
            ReduceByKey, Scan, ScatterReduce, ScatterReduceUnordered, SegmentedReduce, SegmentedScan,
        };
        self.along().is_some()
            || self.is_exclusive()
            || matches!(
                self,
                Scan | SegmentedReduce | SegmentedScan | ReduceByKey | ScatterReduce | ScatterReduceUnordered
            )
    }
}

/// The operands of a composite, and its operator.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// The operands.
    pub values: &'a [NodeId],
    /// The operator, whose body is a tuple if it has several components.
    pub operator: Option<&'a Lambda>,
}

impl Operands<'_> {
    /// The number of the operator's components.
    fn components(&self) -> usize {
        self.operator.map_or(0, |f| f.params.len() / 2)
    }
}

impl Builder {
    /// Adds a composite, and returns its values.
    pub fn composite(&mut self, which: Composite, of: Operands) -> Result<Vec<NodeId>> {
        // messages about what it is made of name it, or the author's word if that is another
        let word = self.word.clone();
        self.word.get_or_insert_with(|| which.word().into());
        let values = self.values_of(which, of);
        self.word = word;
        values
    }

    fn values_of(&mut self, which: Composite, of: Operands) -> Result<Vec<NodeId>> {
        self.check(which, of)?;
        let (name, mut values) = (which.name(), of.values.to_vec());
        if let Some(at) = which.length(of.components()) {
            values[at] = self.bound(values[at]);
        }
        let of = Operands { values: &values, ..of };
        let values = match which {
            Composite::Scan => self.scans(name, of)?,
            Composite::ScanExclusive => {
                let scans = self.scans(name, of)?;
                crate::core::segments::exclusive(self.graph(), &scans, &of.values[of.components()..])
            }
            Composite::ScanRows
            | Composite::ScanRowsExclusive
            | Composite::ScanCols
            | Composite::ScanColsExclusive
            | Composite::ScanPlanes
            | Composite::ScanPlanesExclusive
            | Composite::SegmentedScan
            | Composite::SegmentedScanExclusive => self.scanned_lines(which, of)?,
            Composite::Argsort | Composite::ArgsortDescending => vec![self.order(which, of.values[0])?],
            Composite::Sort | Composite::SortDescending => {
                let order = self.order(which, of.values[0])?;
                self.in_order(name, order, of.values)?
            }
            Composite::SegmentedReduce => self.segmented_reduce(name, of)?,
            Composite::ReduceByKey => self.reduce_by_key(name, of)?,
            Composite::Filter => {
                self.same(name, of.values)?;
                self.kept(name, of.values[0], &of.values[1..])?
            }
            Composite::Unique => {
                let begins = orders::begins_of_runs(self.graph(), of.values[0]);
                self.kept(name, begins, of.values)?
            }
            Composite::RunLengths => {
                let (begins, count, end) = self.runs(of.values);
                vec![orders::lengths_of_runs(self.graph(), begins, count, end)]
            }
            Composite::Filled => {
                let (count, rest) = (of.values[0], &of.values[1..]);
                let vectors: Vec<NodeId> =
                    rest.iter().copied().filter(|x| !self.ty(*x).is_scalar()).collect();
                self.same(name, &vectors)?;
                let (srcs, rest) = rest.split_at(rest.len() / 2);
                orders::filled(self.graph(), count, srcs, rest)
            }
            Composite::Destinations | Composite::DestinationsIgnored | Composite::DestinationsClamped => {
                let outside = match which {
                    Composite::DestinationsIgnored => Outside::Ignored,
                    Composite::DestinationsClamped => Outside::Clamped,
                    _ => Outside::Recorded,
                };
                let (indices, n) = (of.values[0], of.values[1]);
                vec![destinations::destinations(self.graph(), indices, n, outside)]
            }
            Composite::Histogram => {
                let (at, count) = (of.values[0], of.values[1]);
                let (zero, one) = (self.number(0), self.number(1));
                let src = orders::mapped(self.graph(), at, |_, _| one);
                self.measure(src);
                vec![self.binned(name, &Bins { op: BinaryOp::Add, count, at, src, init: zero })?]
            }
            Composite::Scatter => self.scatter(name, of)?,
            Composite::ScatterUnique => self.scatter_unique(name, of)?,
            Composite::ScatterReduce => self.scatter_reduce(name, of, false)?,
            Composite::ScatterReduceUnordered => self.scatter_reduce(name, of, true)?,
        };
        for value in &values {
            self.measure(*value);
            // destinations are no author's word, and of several ones
            let word = self.word.as_deref().filter(|_| !which.is_of_destinations());
            verify::stands_outside(&self.function.graph, *value, which.apart(), word)?;
        }
        Ok(values)
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

    fn scans(&mut self, name: &str, of: Operands) -> Result<Vec<NodeId>> {
        let (Some(join), k) = (of.operator, of.components()) else { return Ok(Vec::new()) };
        let src = self.zipped(name, of.values[..k].to_vec())?;
        let init = self.tuple(of.values[k..].to_vec())?;
        (0..k as u32).map(|which| self.scan(join.clone(), init, src, which)).collect()
    }

    fn order(&mut self, which: Composite, x: NodeId) -> Result<NodeId> {
        let falls = matches!(which, Composite::ArgsortDescending | Composite::SortDescending);
        let keys = if falls { orders::falling(self.graph(), x) } else { x };
        self.measure(keys);
        self.argsort(keys)
    }

    fn in_order(&mut self, name: &str, order: NodeId, srcs: &[NodeId]) -> Result<Vec<NodeId>> {
        let sorted = orders::ordered(self.graph(), order, srcs);
        self.same(name, &[&[order], srcs].concat())?;
        Ok(sorted)
    }

    /// Makes the vectors with the elements for which a condition holds first, their order, and their number. The
    /// order is that of a sort by whether an element is left out.
    fn kept(&mut self, name: &str, is_kept: NodeId, srcs: &[NodeId]) -> Result<Vec<NodeId>> {
        let count = orders::count(self.graph(), is_kept);
        let left_out = orders::mapped(self.graph(), is_kept, |g, v| g.add(Op::Unary(UnaryOp::Not, v)));
        self.measure(left_out);
        let order = self.argsort(left_out)?;
        let mut all = self.in_order(name, order, srcs)?;
        all.extend([order, count]);
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::Composite;

    #[test]
    fn composites_are_found_by_their_names() {
        for one in Composite::ALL {
            assert_eq!(Composite::parse(one.name()), Some(*one));
        }
        assert_eq!(Composite::parse("sorted"), None);
    }
}
