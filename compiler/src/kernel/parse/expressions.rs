//! Reads registers, memories and expressions.

use super::reading::Reading;
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg};
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use crate::text::{Cursor, Position, Token};

pub fn define(c: &mut Cursor, k: &mut Reading, ty: Option<Ty>) -> Result<Reg> {
    let at = c.position();
    let name = c.value()?;
    let ty = match ty {
        Some(ty) => ty,
        None => {
            c.expect(":")?;
            c.elem()?
        }
    };
    let register = Reg(k.regs.len() as u32);
    if k.registers.insert(name.clone(), register).is_some() {
        return Err(Cursor::error_at(at, format!("%{name} is defined twice")));
    }
    // compiler passes number the registers that they add from above those in the text
    let text = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let number = name[text..].parse::<u32>().ok();
    if let Some(number) = number.filter(|n| *n < u32::MAX / 2) {
        k.next_number = k.next_number.max(number + 1);
    }
    k.regs.push((name.into(), ty));
    Ok(register)
}

/// Reads a register that must be defined.
pub fn register(c: &mut Cursor, k: &Reading) -> Result<Reg> {
    let at = c.position();
    let name = c.value()?;
    let register = k.registers.get(&name).copied();
    register.ok_or_else(|| Cursor::error_at(at, format!("%{name} is not defined")))
}

pub fn memory(k: &Reading, name: &str, position: Position) -> Result<Mem> {
    let at = |i: usize| i as u32;
    let array = k.arrays.iter().position(|a| a.name == name).map(|i| Mem::Array(at(i)));
    let local = || k.locals.iter().position(|l| l.0 == name).map(|i| Mem::Local(at(i)));
    let scratch = || k.scratch.iter().position(|s| s.0 == name).map(|i| Mem::Scratch(at(i)));
    let shared = || k.shared.iter().position(|s| s.0 == name).map(|i| Mem::Shared(at(i)));
    let found = array.or_else(local).or_else(scratch).or_else(shared);
    found.ok_or_else(|| Cursor::error_at(position, format!("`{name}` is no array")))
}

/// Reads expressions with commas between them.
pub fn list(c: &mut Cursor, k: &Reading) -> Result<Vec<Expr>> {
    let mut out = vec![expr(c, k)?];
    while c.eat(",") {
        out.push(expr(c, k)?);
    }
    Ok(out)
}

/// Reads `name[index]`.
pub fn element(c: &mut Cursor, k: &Reading) -> Result<(Mem, Expr)> {
    let at = c.position();
    let m = memory(k, &c.word()?, at)?;
    c.expect("[")?;
    let i = expr(c, k)?;
    c.expect("]")?;
    Ok((m, i))
}

pub fn boxed(c: &mut Cursor, k: &Reading) -> Result<Box<Expr>> {
    c.nested(|c| expr(c, k)).map(Box::new)
}

pub fn after(c: &mut Cursor, k: &Reading, mark: &str) -> Result<Box<Expr>> {
    c.expect(mark)?;
    boxed(c, k)
}

pub fn expr(c: &mut Cursor, k: &Reading) -> Result<Expr> {
    if let Some(l) = c.literal()? {
        return Ok(Expr::Lit(l));
    }
    if let Some(Token::Value(_)) = c.peek() {
        return register(c, k).map(Expr::Reg);
    }
    let at = c.position();
    let word = c.word()?;
    if c.eat("[") {
        let m = memory(k, &word, at)?;
        let i = boxed(c, k)?;
        c.expect("]")?;
        return Ok(Expr::Load(m, i));
    }
    let shuffle: Option<fn(Box<Expr>, u32) -> Expr> = match word.as_str() {
        "shuffle_down" => Some(Expr::ShuffleDown),
        "shuffle_up" => Some(Expr::ShuffleUp),
        "shuffle_xor" => Some(Expr::ShuffleXor),
        _ => None,
    };
    if let Some(shuffle) = shuffle {
        let by = u32::try_from(c.number()?).map_err(|_| c.error("a warp has 32 lanes"))?;
        c.expect("(")?;
        let e = boxed(c, k)?;
        c.expect(")")?;
        return Ok(shuffle(e, by));
    }
    let cast = if word == "cast" { Some(c.elem()?) } else { None };
    if c.eat("(") {
        let e = if let Some(ty) = cast {
            Expr::Cast(ty, boxed(c, k)?)
        } else if word == "load_if" {
            let (m, i) = element(c, k)?;
            Expr::LoadIf(m, Box::new(i), after(c, k, ",")?)
        } else if let Some(op) = UnaryOp::parse(&word) {
            Expr::Unary(op, boxed(c, k)?)
        } else if let Some(op) = BinaryOp::parse(&word) {
            Expr::Binary(op, boxed(c, k)?, after(c, k, ",")?)
        } else if word == "broadcast" {
            Expr::Broadcast(boxed(c, k)?)
        } else if word == "mul_add" {
            Expr::MulAdd(boxed(c, k)?, after(c, k, ",")?, after(c, k, ",")?)
        } else if word == "select" {
            Expr::Select(boxed(c, k)?, after(c, k, ",")?, after(c, k, ",")?)
        } else {
            return Err(Cursor::error_at(at, format!("`{word}` is no operator")));
        };
        c.expect(")")?;
        return Ok(e);
    }
    match word.as_str() {
        "tile_begin" => Ok(Expr::TileBegin),
        "tile_end" => Ok(Expr::TileEnd),
        name => {
            if let Some(g) = Gpu::ALL.into_iter().find(|g| k.threads > 0 && g.name() == name) {
                return Ok(Expr::Place(g));
            }
            if let Some(i) = k.ins.iter().position(|s| s.0 == name) {
                Ok(Expr::In(i as u32))
            } else if let Some(i) = k.slots.iter().position(|s| s.name == name) {
                Ok(Expr::Slot(i as u32))
            } else {
                Err(Cursor::error_at(at, format!("`{name}` is not declared")))
            }
        }
    }
}
