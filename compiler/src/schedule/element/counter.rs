//! Pairwise accumulation of the columns of a tile (Higham 1993), which works like a binary counter. Bit k of the
//! counter holds the join of 2^k neighbouring columns. If the number of columns so far ends in bits that are 1, a new
//! column is joined with the values of these bits, from the lowest one on, like a carry, and is stored at the first
//! bit that is 0. So columns are joined in the order of semantics 5.1, and eight values serve 128 columns.
//!
//! ```text
//! columns so far   1: a      2: ab      3: ab, c      4: abcd
//! ```
//!
//! If the operator is one instruction, its code is emitted once for each bit. Otherwise a loop goes
//! through the bits, and the operator's code is emitted once.

use super::lower::{Lower, Surroundings, bind};
use super::nested_loop::joining;
use super::nested_loop::{Lanes, assign, read};
use super::reduction::Reduction;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The counter of reductions that go through the same tree together; each of them is a lane.
pub struct Counters {
    bits: Bits,
    /// Number of bits.
    len: usize,
}

/// The values of a counter's bits. Bit k holds the value of 2^k neighbours.
enum Bits {
    /// The registers of each bit, one per lane. The operator's code is emitted for each bit.
    Straight(Vec<Vec<Reg>>),
    /// The same registers for a loop over the bits. Registers of a GPU cannot be indexed, so a
    /// chain of selects picks a bit by its number.
    Looped(Vec<Vec<Reg>>),
    /// One array of bits per lane: on a CPU, and in GPU threads with more lanes than registers.
    Arrays(Vec<Mem>),
}

impl Counters {
    /// Declares a counter for up to 2^`levels` columns.
    pub fn new(l: &mut Lower, lanes: &Lanes, levels: u32, out: &mut Vec<Stmt>) -> Counters {
        if lanes.general && !l.k.is_gpu() {
            return Counters::in_memory(l, lanes, levels, out);
        }
        let len = levels as usize + 1;
        let bits = (0..len).map(|_| lanes.variables(l, "bit", out)).collect();
        let bits = if lanes.general { Bits::Looped(bits) } else { Bits::Straight(bits) };
        Counters { bits, len }
    }

    /// Declares a counter for up to 2^`levels` columns whose bits lie in local arrays.
    pub fn in_memory(l: &mut Lower, lanes: &Lanes, levels: u32, out: &mut Vec<Stmt>) -> Counters {
        let len = levels as usize + 1;
        let arrays = lanes.types.iter().map(|ty| l.k.local("bits", *ty, len as u32, out));
        Counters { bits: Bits::Arrays(arrays.collect()), len }
    }

    /// Emits the addition of a value (one for each lane) of 2^`from` columns, after `c` such values have been added.
    pub fn push(
        &mut self,
        l: &mut Lower,
        lanes: &mut Lanes,
        from: usize,
        c: Expr,
        values: Vec<Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let carry: Vec<Reg> = lanes.types.iter().map(|ty| l.k.reg("carry", *ty)).collect();
        out.extend(carry.iter().zip(values).map(|(r, e)| Stmt::Var(*r, e)));
        let Bits::Straight(bits) = &self.bits else {
            let k = l.k.reg("k", Ty::I64);
            let mut body = Vec::new();
            let bit = self.chosen(from, k);
            let joined = lanes.join(l, &bit, &read(&carry), &mut body)?;
            assign(l, &carry, joined, &mut body);
            body.push(Stmt::Assign(k, Expr::Reg(k).plus(Expr::int(1))));
            out.push(Stmt::Var(k, Expr::int(0)));
            out.push(Stmt::While(is_set(&c, Expr::Reg(k)), body));
            self.keep(from, k, &carry, out);
            return Ok(());
        };
        let (last, lower) = bits[from..].split_last().expect("one at least");
        let mut list = copied(last, &carry);
        for (k, bit) in lower.iter().enumerate().rev() {
            let mut joining = Vec::new();
            let joined = lanes.join(l, &read(bit), &read(&carry), &mut joining)?;
            assign(l, &carry, joined, &mut joining);
            joining.append(&mut list);
            list = vec![Stmt::If(is_set(&c, Expr::int(k as i64)), joining, copied(bit, &carry))];
        }
        out.append(&mut list);
        Ok(())
    }

    /// Returns the values of all columns, if 2^levels columns have been added.
    pub fn full(&self) -> Vec<Expr> {
        let last = Expr::int(self.len as i64 - 1);
        match &self.bits {
            Bits::Straight(bits) | Bits::Looped(bits) => bits.last().map_or(Vec::new(), |bit| read(bit)),
            Bits::Arrays(arrays) => arrays.iter().map(|m| Expr::load(*m, last.clone())).collect(),
        }
    }

    /// Emits the join of all `width` columns, of which there is at least one, and returns the
    /// lanes' values.
    pub fn total(
        &self,
        l: &mut Lower,
        lanes: &mut Lanes,
        width: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let total = lanes.variables(l, "total", out);
        let have = l.k.reg("have", Ty::Bool);
        out.push(Stmt::Var(have, Expr::Lit(Lit::bool(false))));
        let mut of_bit = |l: &mut Lower, k: Expr, bit: Vec<Expr>| -> Result<Stmt> {
            let (mut body, mut joining, mut taking) = (Vec::new(), Vec::new(), Vec::new());
            // the bit is loaded or selected once, and then used twice
            let bit: Vec<Expr> = match self.bits {
                Bits::Straight(_) => bit,
                _ => bit.into_iter().map(|e| bind(l, "bit", e, &mut body)).collect(),
            };
            let joined = lanes.join(l, &bit, &read(&total), &mut joining)?;
            assign(l, &total, joined, &mut joining);
            assign(l, &total, bit, &mut taking);
            body.push(Stmt::If(Expr::Reg(have), joining, taking));
            body.push(Stmt::Assign(have, Expr::Lit(Lit::bool(true))));
            Ok(Stmt::If(is_set(&width, k), body, vec![]))
        };
        if let Bits::Straight(bits) = &self.bits {
            for (bit, k) in bits.iter().zip(0..) {
                out.push(of_bit(l, Expr::int(k), read(bit))?);
            }
        } else {
            let k = l.k.reg("k", Ty::I64);
            let body = of_bit(l, Expr::Reg(k), self.chosen(0, k))?;
            out.push(Stmt::Seq(k, Expr::int(0), Expr::int(self.len as i64), vec![body]));
        }
        Ok(read(&total))
    }

    /// Returns the lanes' values of bit `number`, counted from bit `from`.
    fn chosen(&self, from: usize, number: Reg) -> Vec<Expr> {
        let bits = match &self.bits {
            Bits::Straight(bits) | Bits::Looped(bits) => &bits[from..],
            Bits::Arrays(arrays) => {
                let at = Expr::Reg(number).plus(Expr::int(from as i64));
                return arrays.iter().map(|m| Expr::load(*m, at.clone())).collect();
            }
        };
        let (last, others) = bits.split_last().expect("one at least");
        let one = |lane: usize| {
            others.iter().enumerate().rev().fold(Expr::Reg(last[lane]), |rest, (k, bit)| {
                Expr::Select(Box::new(is(number, k)), Box::new(Expr::Reg(bit[lane])), Box::new(rest))
            })
        };
        (0..last.len()).map(one).collect()
    }

    /// Emits the stores of the lanes' values into bit `number`, counted from bit `from`.
    fn keep(&self, from: usize, number: Reg, values: &[Reg], out: &mut Vec<Stmt>) {
        match &self.bits {
            Bits::Straight(bits) | Bits::Looped(bits) => {
                let kept = bits[from..].iter().enumerate();
                out.extend(kept.map(|(k, bit)| Stmt::If(is(number, k), copied(bit, values), vec![])));
            }
            Bits::Arrays(arrays) => {
                let at = Expr::Reg(number).plus(Expr::int(from as i64));
                out.extend(
                    arrays.iter().zip(values).map(|(m, v)| Stmt::Store(*m, at.clone(), Expr::Reg(*v))),
                );
            }
        }
    }
}

fn copied(to: &[Reg], from: &[Reg]) -> Vec<Stmt> {
    to.iter().zip(from).map(|(to, from)| Stmt::Assign(*to, Expr::Reg(*from))).collect()
}

/// Returns the condition that the i64 register `number` equals k.
pub fn is(number: Reg, k: usize) -> Expr {
    Expr::binary(BinaryOp::Eq, Expr::Reg(number), Expr::int(k as i64))
}

fn is_set(x: &Expr, bit: Expr) -> Expr {
    let mask = match bit {
        Expr::Lit(k) => Expr::int(1 << k.as_i64()),
        bit => Expr::binary(BinaryOp::Shl, Expr::int(1), bit),
    };
    let masked = Expr::binary(BinaryOp::And, x.clone(), mask);
    Expr::binary(BinaryOp::Ne, masked, Expr::int(0))
}

/// The binary counter of one reduction of several sequences of equal lengths, which share its branches.
pub struct Counter {
    counters: Counters,
    sequences: usize,
}

impl Counter {
    /// Declares a counter for up to 2^`levels` columns of each of some sequences.
    pub fn new(
        l: &mut Lower,
        r: &Reduction,
        (levels, sequences): (u32, usize),
        out: &mut Vec<Stmt>,
    ) -> Counter {
        let (join, general) = (&mut joining(r, &Surroundings::NONE), r.is_general(l.launch));
        let counters = Counters::new(l, &Lanes::of_several(r, sequences, join, general), levels, out);
        Counter { counters, sequences }
    }

    /// Emits the addition of the values of column `c` of each sequence, after the columns before it have been added.
    pub fn push(
        &mut self,
        l: &mut Lower,
        r: &Reduction,
        place: &Surroundings,
        c: Expr,
        values: Vec<Vec<Expr>>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (join, general) = (&mut joining(r, place), r.is_general(l.launch));
        let lanes = &mut Lanes::of_several(r, self.sequences, join, general);
        self.counters.push(l, lanes, 0, c, values.concat(), out)
    }

    /// Emits the join of all `width` columns, of which there is at least one, and returns its value for each
    /// sequence.
    pub fn total(
        &self,
        l: &mut Lower,
        r: &Reduction,
        place: &Surroundings,
        width: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Expr>>> {
        let (join, general) = (&mut joining(r, place), r.is_general(l.launch));
        let lanes = &mut Lanes::of_several(r, self.sequences, join, general);
        let all = self.counters.total(l, lanes, width, out)?;
        Ok(all.chunks(r.accumulators()).map(<[Expr]>::to_vec).collect())
    }
}
