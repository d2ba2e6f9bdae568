//! Bins, and the steps of sorts.

use super::Parser;
use crate::core::Op;
use crate::error::Result;
use crate::scalar::BinaryOp;

impl Parser<'_> {
    /// Reads `bins add of %parts, %count over %x at %i`.
    pub(super) fn bins(&mut self) -> Result<Op> {
        let name = self.c.word()?;
        let op = BinaryOp::parse(&name).ok_or_else(|| self.c.error(format!("`{name}` is no operator")))?;
        let (parts, count) = (self.after("of")?, self.after(",")?);
        let (src, at) = (self.after("over")?, self.after("at")?);
        Ok(Op::Bins { op, parts, count, at, src })
    }

    /// Reads a step of a sort behind its name.
    pub(super) fn step_of_sort(&mut self, name: &str) -> Result<Op> {
        let first = self.operand()?;
        let second = self.after("of")?;
        Ok(match name {
            "digit_counts" => Op::DigitCounts { count: first, tiles: second, digits: self.after("by")? },
            "digit_ends" => Op::DigitEnds { digits: first, tiles: second, counts: self.after("over")? },
            _ => {
                Op::ByDigit { src: first, tiles: second, digits: self.after("by")?, ends: self.after("at")? }
            }
        })
    }
}
