//! Reads statements on matrices: products by a warp or a warpgroup, and their operands.

use super::expressions::{define, element, list, register};
use super::reading::Reading;
use crate::error::Result;
use crate::kernel::{Reg, Stmt};
use crate::text::Cursor;

/// Reads a statement on matrices, after its first word.
pub fn stmt(word: &str, c: &mut Cursor, k: &mut Reading) -> Result<Stmt> {
    Ok(match word {
        "load_matrices" => {
            let mut regs = vec![define(c, k, None)?];
            while c.eat(",") {
                regs.push(define(c, k, None)?);
            }
            c.expect("=")?;
            let (from, index) = element(c, k)?;
            Stmt::LoadMatrices { regs, from, index, transposed: c.eat("transposed") }
        }
        "multiply_matrices" => {
            let ty = c.elem()?;
            let sums = registers(c, k)?;
            c.expect("by")?;
            let rows = list(c, k)?;
            c.expect("and")?;
            Stmt::MultiplyMatrices { ty, sums, rows, columns: list(c, k)? }
        }
        "multiply_staged" => {
            let ty = c.elem()?;
            let sums = registers(c, k)?;
            c.expect("by")?;
            let (from, rows) = element(c, k)?;
            c.expect("and")?;
            let at = c.position();
            let (other, columns) = element(c, k)?;
            if other != from {
                return Err(Cursor::error_at(at, "the columns lie in another memory"));
            }
            Stmt::MultiplyStaged { ty, sums, from, rows, columns, across: c.eat("across") }
        }
        _ => Stmt::MultiplyWait(u32::try_from(c.number()?).map_err(|_| c.error("too many products"))?),
    })
}

/// Reads registers, with commas between them.
fn registers(c: &mut Cursor, k: &Reading) -> Result<Vec<Reg>> {
    let mut all = vec![register(c, k)?];
    while c.eat(",") {
        all.push(register(c, k)?);
    }
    Ok(all)
}
