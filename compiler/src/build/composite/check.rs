//! The types that composites take.

use super::{Builder, Composite, Operands};
use crate::core::Type;
use crate::scalar::Ty;
use crate::{Error, Result};

/// The most bytes of an element of a scan. For each of them a thread of a CPU has 3,088 bytes on its stack, and a
/// block of a GPU 128 bytes of shared memory.
const MAX_SCANNED: usize = 256;

impl Builder {
    /// Checks the types of a composite's operands, where no node that it adds does.
    pub(super) fn check(&self, which: Composite, of: Operands) -> Result<()> {
        let types: Vec<Type> = of.values.iter().map(|o| self.ty(*o)).collect();
        let (count, k) = (types.len(), of.components());
        let [vectors, numbers] = [1, 0].map(|rank| move |of: &[Type]| of.iter().all(|t| t.rank == rank));
        let (indices, number) = (Type::vector(Ty::I64), Type::scalar(Ty::I64));
        let are_places = |of: &[Type]| *of == [indices, number];
        let are_runs = |of: &[Type]| are_places(of) || *of == [indices, number, number];
        // vectors and initial values of the operator's components, and what else there is
        let reduces = k > 0 && count >= 2 * k && vectors(&types[..k]) && numbers(&types[k..2 * k]);
        let more = types.get(2 * k..).unwrap_or_default();
        let are_lines = |least| {
            let rank = types.first().map_or(0, |t| t.rank);
            let (srcs, init) = types.split_at(k.min(count));
            rank >= least && count == 2 * k && srcs.iter().all(|t| t.rank == rank) && numbers(init)
        };
        let fits = match which {
            Composite::ScanRows
            | Composite::ScanRowsExclusive
            | Composite::ScanCols
            | Composite::ScanColsExclusive => are_lines(2),
            Composite::ScanPlanes | Composite::ScanPlanesExclusive => are_lines(3),
            Composite::Scan | Composite::ScanExclusive => reduces && more.is_empty(),
            Composite::SegmentedReduce | Composite::SegmentedScan | Composite::SegmentedScanExclusive => {
                reduces && *more == [Type::vector(Ty::I64)]
            }
            Composite::ReduceByKey => reduces && are_runs(more),
            Composite::ScatterReduce | Composite::ScatterReduceUnordered => reduces && are_places(more),
            Composite::Argsort | Composite::ArgsortDescending | Composite::Unique => {
                count == 1 && vectors(&types)
            }
            Composite::Sort | Composite::SortDescending => count > 0 && vectors(&types),
            Composite::Filter => count > 0 && vectors(&types) && types[0].elem == Ty::Bool,
            Composite::Destinations
            | Composite::DestinationsIgnored
            | Composite::DestinationsClamped
            | Composite::Histogram => are_places(&types),
            Composite::RunLengths => are_runs(&types),
            Composite::Scatter | Composite::ScatterUnique => {
                let rest = types.get(2..).unwrap_or_default();
                let (srcs, others) = rest.split_at(rest.len() / 2);
                count > 2
                    && count % 2 == 0
                    && are_places(&types[..2])
                    && vectors(srcs)
                    && numbers(others)
                    && srcs.iter().zip(others).all(|(a, b)| a.elem == b.elem)
            }
            Composite::Filled => {
                let rest = types.get(1..).unwrap_or_default();
                let (srcs, others) = rest.split_at(rest.len() / 2);
                count > 2
                    && count % 2 == 1
                    && types[0] == Type::scalar(Ty::I64)
                    && vectors(srcs)
                    && srcs.iter().zip(others).all(|(a, b)| a.elem == b.elem && b.rank <= 1)
            }
        };
        if fits && of.operator.is_some() == which.takes_operator() {
            // a scan of what a filter keeps has a truth value beside the author's element
            let own = types[..k].strip_prefix(&[Type::vector(Ty::Bool)]).unwrap_or(&types[..k]);
            let bytes: usize = own.iter().map(|t| t.elem.size()).sum();
            if which.is_scan() && bytes > MAX_SCANNED {
                let name = self.word_for(which.name());
                let message =
                    format!("{name}: an element has {bytes} bytes, and at most {MAX_SCANNED} are scanned");
                return Err(Error::limit("E0313", message).at(self.loc.first()));
            }
            return Ok(());
        }
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        let message = format!(
            "{}: it does not take operands of the types {}",
            self.word_for(which.name()),
            types.join(", ")
        );
        Err(Error::user("E0208", message).at(self.loc.first()))
    }
}
