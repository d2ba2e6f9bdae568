//! The elements of a tile that the end of the index space may cut off.

use super::elements::Elements;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{Lit, Ty};
use crate::schedule::element::lower::{Lower, bind};

/// A thread's elements of a tile.
pub struct PartialTile<'a> {
    pub elements: &'a Elements,
    /// Whether all elements of the tile exist.
    pub is_full: &'a Expr,
    /// The number of elements of the index space.
    pub n: &'a Expr,
    /// Whether arrays have any strides, so that each element is loaded by itself.
    pub strided: bool,
}

impl PartialTile<'_> {
    /// Returns the values of the elements, in registers of this name and these types. `roots` returns the values at an
    /// index, and `load` may write loads for a full tile before. In a tile that is cut off, elements that do not exist
    /// have the value of the last one that does.
    pub fn values(
        &self,
        l: &mut Lower,
        (name, types): (&'static str, &[Ty]),
        load: &dyn Fn(&mut Lower, &mut Vec<Stmt>),
        mut roots: impl FnMut(&mut Lower, NodeId) -> Vec<NodeId>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Expr>>> {
        let mut regs: Vec<Vec<Reg>> = Vec::new();
        for _ in &self.elements.indices {
            let own: Vec<Reg> = types.iter().map(|ty| l.k.reg(name, *ty)).collect();
            out.extend(own.iter().zip(types).map(|(r, ty)| Stmt::Var(*r, Expr::Lit(Lit::zero(*ty)))));
            regs.push(own);
        }
        let (mut full, mut part) = (Vec::new(), Vec::new());
        if !self.strided {
            l.in_block(|l| {
                load(l, &mut full);
                let values = self.elements.values(l, &[], |l, _, i| roots(l, i), &mut full)?;
                regs.iter().zip(values).for_each(|(own, values)| full.extend(assigned(own, &values)));
                Ok::<_, crate::error::Error>(())
            })?;
        }
        for (k, own) in regs.iter().enumerate() {
            let i = self.elements.at(k).min(self.n.clone().minus(Expr::int(1)));
            let i = bind(l, "i", i, &mut part);
            let (_, index) = l.launch.g.fresh_var(Ty::I64);
            let roots = roots(l, index);
            let values = l.in_block(|l| l.region(&[(index, i.clone())], &roots, &i, &mut part))?;
            part.extend(assigned(own, &values));
        }
        match self.strided {
            true => out.append(&mut part),
            false => out.push(Stmt::If(self.is_full.clone(), full, part)),
        }
        Ok(regs.iter().map(|own| own.iter().map(|r| Expr::Reg(*r)).collect()).collect())
    }
}

/// Returns the assignments of values to registers.
pub fn assigned(to: &[Reg], values: &[Expr]) -> Vec<Stmt> {
    to.iter().zip(values).map(|(r, e)| Stmt::Assign(*r, e.clone())).collect()
}
