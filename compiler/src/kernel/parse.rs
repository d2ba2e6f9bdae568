//! Reads the text form of kernels.

mod expressions;
mod matrices;
mod reading;

use super::{Array, COPY_BYTES, Kernel, SlotDecl, Stmt};
use crate::error::{Error, Result};
use crate::scalar::{BinaryOp, Ty};
use crate::text::{Cursor, Token};
use expressions::{define, element, expr, list, memory, register};
use reading::Reading;

/// Returns all kernels of a text, in order.
pub fn parse(text: &str) -> Result<Vec<Kernel>> {
    let mut c = Cursor::new(text)?;
    let mut out = Vec::new();
    while !c.is_done() {
        out.push(kernel(&mut c)?);
    }
    Ok(out)
}

fn kernel(c: &mut Cursor) -> Result<Kernel> {
    c.expect("kernel")?;
    let kernel = Kernel { name: c.global()?, ..Kernel::default() };
    let mut k = Reading { kernel, ..Reading::default() };
    c.expect("{")?;
    while !c.eat("}") {
        let at = c.position();
        match c.word()?.as_str() {
            word @ ("read" | "write") => {
                let (name, ty) = typed(c)?;
                let (strided, noalias) = (c.eat("strided"), c.eat("noalias"));
                let aligned = c.eat("aligned");
                k.arrays.push(Array { name, ty, write: word == "write", strided, noalias, aligned });
            }
            "in" => k.ins.push(typed(c)?),
            "slot" => {
                let write = c.eat("write");
                if !write {
                    c.expect("read")?;
                }
                let (name, ty) = typed(c)?;
                k.slots.push(SlotDecl { name, ty, write });
            }
            "scratch" => k.scratch.push(typed(c)?),
            "threads" => {
                k.threads = u32::try_from(c.number()?).map_err(|_| c.error("too many threads"))?;
                if c.eat("blocks") {
                    k.min_resident_blocks =
                        u32::try_from(c.number()?).map_err(|_| c.error("too many blocks"))?;
                }
                if c.eat("cluster") {
                    k.cluster = u32::try_from(c.number()?).map_err(|_| c.error("too many blocks"))?;
                }
                k.narrow = c.eat("narrow");
                k.is_multi_step = c.eat("steps");
                k.is_guarded = c.eat("guarded");
                if c.eat("fetch") {
                    k.fetch = u32::try_from(c.number()?).map_err(|_| c.error("too many bytes"))?;
                }
            }
            "shared" => {
                let shared = sized(c)?;
                k.shared.push(shared);
            }
            "site" => {
                if c.number()? != k.sites.len() as u64 {
                    return Err(c.error("sites are numbered in order"));
                }
                k.sites.push(c.string()?);
            }
            "main" => k.main = Some(block(c, &mut k)?),
            "finish" => k.finish = Some(block(c, &mut k)?),
            w => return Err(Cursor::error_at(at, format!("`{w}` starts no line of a kernel"))),
        }
    }
    super::verify::verify(&k).map_err(Error::of_text)?;
    Ok(k.kernel)
}

fn typed(c: &mut Cursor) -> Result<(String, Ty)> {
    let name = c.word()?;
    c.expect(":")?;
    Ok((name, c.elem()?))
}

/// Reads `name: type[length]`.
fn sized(c: &mut Cursor) -> Result<(String, Ty, u32)> {
    let (name, ty) = typed(c)?;
    c.expect("[")?;
    let len = u32::try_from(c.number()?).map_err(|_| c.error("the array is too long"))?;
    c.expect("]")?;
    Ok((name, ty, len))
}

fn block(c: &mut Cursor, k: &mut Reading) -> Result<Vec<Stmt>> {
    c.nested(|c| {
        c.expect("{")?;
        let mut out = Vec::new();
        while !c.eat("}") {
            out.push(stmt(c, k)?);
        }
        Ok(out)
    })
}

fn stmt(c: &mut Cursor, k: &mut Reading) -> Result<Stmt> {
    if let Some(Token::Value(_)) = c.peek() {
        let r = register(c, k)?;
        c.expect("=")?;
        return Ok(Stmt::Assign(r, expr(c, k)?));
    }
    let at = c.position();
    let word = c.word()?;
    Ok(match word.as_str() {
        "let" | "var" => {
            let r = define(c, k, None)?;
            c.expect("=")?;
            let e = expr(c, k)?;
            if word == "let" { Stmt::Let(r, e, c.place()) } else { Stmt::Var(r, e) }
        }
        "for" | "seq" => {
            // the index has the type of its bounds, which is known later
            let r = define(c, k, Some(Ty::I64))?;
            c.expect("=")?;
            let lo = expr(c, k)?;
            k.regs[r.0 as usize].1 = k.ty(&lo);
            c.expect("to")?;
            let hi = expr(c, k)?;
            let body = block(c, k)?;
            if word == "for" { Stmt::For(r, lo, hi, body) } else { Stmt::Seq(r, lo, hi, body) }
        }
        "while" => Stmt::While(expr(c, k)?, block(c, k)?),
        "if" => {
            let condition = expr(c, k)?;
            let then = block(c, k)?;
            let otherwise = if c.eat("else") { block(c, k)? } else { Vec::new() };
            Stmt::If(condition, then, otherwise)
        }
        "record" => {
            let site = c.number()? as u32;
            c.expect("if")?;
            let condition = expr(c, k)?;
            c.expect("at")?;
            Stmt::Record(site, condition, expr(c, k)?)
        }
        "note" => Stmt::Note(c.string()?),
        "prefetch" => {
            let wide = c.eat("wide");
            let (array, index) = element(c, k)?;
            Stmt::Prefetch { array, index, wide }
        }
        "barrier" if c.eat("cluster") => Stmt::ClusterBarrier { relaxed: c.eat("relaxed") },
        "barrier" => Stmt::Barrier,
        "load" => {
            let mut regs = vec![define(c, k, None)?];
            while c.eat(",") {
                regs.push(define(c, k, None)?);
            }
            c.expect("=")?;
            let (m, i) = element(c, k)?;
            Stmt::LoadVec(regs, m, i)
        }
        "store" => {
            let (m, i) = element(c, k)?;
            c.expect("=")?;
            Stmt::StoreVec(m, i, list(c, k)?)
        }
        "copy" => {
            let bytes = if c.eat("element") { None } else { Some(COPY_BYTES as u32) };
            let (to, at) = element(c, k)?;
            c.expect("=")?;
            let (from, index) = element(c, k)?;
            let bytes = bytes.unwrap_or_else(|| k.mem(from).1.size() as u32);
            let given = if c.eat("if") { Some(expr(c, k)?) } else { None };
            Stmt::CopyAsync { bytes, to, at, from, index, given }
        }
        "pack" => {
            let r = define(c, k, Some(Ty::U32))?;
            c.expect("=")?;
            Stmt::Pack(r, list(c, k)?)
        }
        "count" => {
            let old = define(c, k, Some(Ty::U32))?;
            c.expect("=")?;
            let (at, index) = element(c, k)?;
            c.expect("bits")?;
            let bits = u32::try_from(c.number()?).map_err(|_| c.error("too many bits"))?;
            Stmt::Count { old, at, index, bits }
        }
        "copy_group" => Stmt::CopyGroup,
        "copy_wait" => Stmt::CopyWait(u32::try_from(c.number()?).map_err(|_| c.error("too many groups"))?),
        "load_matrices" | "multiply_matrices" | "multiply_staged" | "multiply_wait" => {
            matrices::stmt(&word, c, k)?
        }
        "update" => {
            let at = c.position();
            let name = c.word()?;
            let op = BinaryOp::parse(&name);
            let op = op.ok_or_else(|| Cursor::error_at(at, format!("`{name}` is no operator")))?;
            let (m, i) = element(c, k)?;
            c.expect("by")?;
            Stmt::Update(op, m, i, expr(c, k)?)
        }
        "ticket" => {
            let r = define(c, k, Some(Ty::I32))?;
            c.expect("=")?;
            Stmt::Ticket(r, expr(c, k)?)
        }
        "publish" => {
            let at = expr(c, k)?;
            c.expect("=")?;
            Stmt::Publish(at, expr(c, k)?)
        }
        "await" => {
            let to = define(c, k, None)?;
            c.expect("=")?;
            let at = expr(c, k)?;
            c.expect("if")?;
            Stmt::Await(to, at, expr(c, k)?)
        }
        "clear" => Stmt::Clear(expr(c, k)?),
        "arrive" => {
            let r = define(c, k, Some(Ty::Bool))?;
            c.expect("=")?;
            let counter = expr(c, k)?;
            c.expect("of")?;
            Stmt::Arrive(r, counter, expr(c, k)?)
        }
        "local" => {
            let local = sized(c)?;
            k.locals.push(local);
            Stmt::Local(k.locals.len() as u32 - 1)
        }
        name => {
            if c.eat("[") {
                let m = memory(k, name, at)?;
                let i = expr(c, k)?;
                c.expect("]")?;
                let rank = if c.eat("of") { Some(expr(c, k)?) } else { None };
                c.expect("=")?;
                match rank {
                    Some(rank) => Stmt::StoreTo(m, i, rank, expr(c, k)?),
                    None => Stmt::Store(m, i, expr(c, k)?),
                }
            } else {
                let i = k
                    .slots
                    .iter()
                    .position(|s| s.name == name)
                    .ok_or_else(|| Cursor::error_at(at, format!("`{name}` is no slot")))?;
                c.expect("=")?;
                Stmt::StoreSlot(i as u32, expr(c, k)?)
            }
        }
    })
}
