//! The operator of a scan, as code.

use super::lower::{Lower, Surroundings, bind};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::schedule::facts::scans::Scan;

/// The operator of a scan.
pub struct Operator {
    /// The components of both operands.
    vars: Vec<NodeId>,
    roots: Vec<NodeId>,
}

impl Operator {
    /// Returns the operator of a scan.
    pub fn of(l: &mut Lower, scan: &Scan) -> Operator {
        let (roots, vars) = scan.opened(&mut l.launch.g);
        Operator { vars, roots }
    }

    /// Writes the join of a part with the one after it.
    pub fn join(&self, l: &mut Lower, a: &[Expr], b: &[Expr], out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
        let known: Vec<(NodeId, Expr)> = self.vars.iter().copied().zip(a.iter().chain(b).cloned()).collect();
        let values = Surroundings::NONE.values(l, &known, &self.roots, out)?;
        Ok(values.into_iter().map(|e| bind(l, "joined", e, out)).collect())
    }

    /// Writes the join of a value that may be missing with the one after it.
    pub fn join_if(
        &self,
        l: &mut Lower,
        (is_there, a): (&Expr, &[Expr]),
        b: &[Expr],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let both = self.join(l, a, b, out)?;
        let chosen = both.into_iter().zip(b).map(|(both, b)| is_there.clone().select(both, b.clone()));
        Ok(chosen.map(|e| bind(l, "joined", e, out)).collect())
    }
}
