//! Divides an element's code into parts: statements that are the same for all elements (uniform), straight-line code
//! that each lane runs, and the loops and branches around these. Decides whether lockstep is possible, and pays.

use crate::kernel::{Expr, Kernel, Mem, Reg, Stmt};
use crate::scalar::BinaryOp;
use crate::scalar::Ty;
use indexmap::IndexMap;
use rustc_hash::FxHashSet as HashSet;

/// A part of an element's code.
pub enum Part {
    /// A statement that is the same for all elements.
    Same(Stmt),
    /// A record whose condition is the same for all elements: the first lane leaves it.
    Record(Stmt),
    /// Straight-line code of each element.
    Each(Vec<Stmt>),
    /// A loop or a branch that is the same for all elements, and the parts of its blocks.
    Around(Stmt, [Vec<Part>; 2]),
    /// A loop that each element leaves by itself: its condition, and its straight-line body, which may read at any
    /// place and leave records of the element.
    While(Expr, Vec<Stmt>),
}

/// The code of an element in parts.
pub struct Parts {
    /// The number of the element.
    pub counter: Reg,
    pub all: Vec<Part>,
    /// The registers whose value is the counter plus a uniform value, with that value as an expression.
    pub affine: IndexMap<Reg, Expr>,
    /// The registers that depend on the element.
    pub varying: HashSet<Reg>,
}

impl Parts {
    /// Returns the parts of a loop's body, if its loops can go through their steps in lockstep, and gain by it.
    pub fn of(k: &Kernel, counter: Reg, body: &[Stmt], variables: &[bool]) -> Option<Parts> {
        let mut find = Find {
            k,
            counter,
            variables,
            varying: HashSet::default(),
            affine: IndexMap::new(),
            shared: HashSet::default(),
        };
        find.find_shared(body);
        find.varying.insert(counter);
        while find.mark(body, false) {}
        let all = find.parts(body, false)?;
        let Find { varying, affine, .. } = find;
        has_steps(&all).then_some(Parts { counter, all, affine, varying })
    }
}

/// Whether there is a loop whose steps compute something for each element.
fn has_steps(parts: &[Part]) -> bool {
    parts.iter().any(|part| match part {
        Part::While(..) => true,
        Part::Around(Stmt::If(..), blocks) => blocks.iter().any(|b| has_steps(b)),
        Part::Around(_, blocks) => {
            blocks.iter().flatten().any(|part| !matches!(part, Part::Same(_) | Part::Record(_)))
        }
        _ => false,
    })
}

struct Find<'a> {
    k: &'a Kernel,
    counter: Reg,
    variables: &'a [bool],
    varying: HashSet<Reg>,
    affine: IndexMap<Reg, Expr>,
    /// The local arrays in which an element accesses places other than the one of its own number.
    shared: HashSet<u32>,
}

impl Find<'_> {
    fn find_shared(&mut self, body: &[Stmt]) {
        for s in body {
            if let Stmt::Store(m, at, _) = s {
                self.access(m, at);
            }
            s.expressions(&mut |e| self.accesses(e));
            s.blocks().into_iter().for_each(|b| self.find_shared(b));
        }
    }

    fn accesses(&mut self, e: &Expr) {
        if let Expr::Load(m, at) | Expr::LoadIf(m, at, _) = e {
            self.access(m, at);
        }
        e.children(|child| self.accesses(child));
    }

    fn access(&mut self, m: &Mem, at: &Expr) {
        match m {
            Mem::Local(m) if *at != Expr::Reg(self.counter) => drop(self.shared.insert(*m)),
            _ => {}
        }
    }

    /// Marks the registers that depend on the element. If `partly`, a condition that depends on the element is around
    /// the statements, so that every register which they assign depends on it. Returns whether a register was newly
    /// marked; the caller repeats the walk until none is.
    fn mark(&mut self, body: &[Stmt], partly: bool) -> bool {
        let mut more = false;
        for s in body {
            let inner = match s {
                Stmt::Let(r, e, _) | Stmt::Var(r, e) | Stmt::Assign(r, e) => {
                    let own = self.varies(e) || partly && matches!(s, Stmt::Assign(..));
                    more |= own && self.varying.insert(*r);
                    partly
                }
                Stmt::If(c, ..) | Stmt::While(c, _) => partly || self.varies(c),
                _ => partly,
            };
            for block in s.blocks() {
                more |= self.mark(block, inner);
            }
        }
        more
    }

    fn varies(&self, e: &Expr) -> bool {
        let mut found = matches!(e, Expr::Reg(r) if self.varying.contains(r));
        e.children(|child| found = found || self.varies(child));
        found
    }

    /// Returns the parts of statements; `None` if lockstep is impossible or would not pay. In a loop, all code of
    /// lanes must be vectorisable.
    fn parts(&mut self, body: &[Stmt], in_loop: bool) -> Option<Vec<Part>> {
        let mut out = Vec::new();
        for s in body {
            match s {
                Stmt::Note(_) => {}
                Stmt::Let(r, ..) | Stmt::Var(r, _) if !self.varying.contains(r) => {
                    // moved before the straight-line code in front of it, which assigns nothing that it needs; so
                    // that code of lanes stays in one part
                    let at = out.len() - usize::from(matches!(out.last(), Some(Part::Each(_))));
                    out.insert(at, Part::Same(s.clone()));
                }
                Stmt::Assign(r, _) if !self.varying.contains(r) => out.push(Part::Same(s.clone())),
                Stmt::Let(r, e, _) => {
                    if self.k.ty(e) == Ty::I64 && self.stride(e).is_some() && !self.reads_variable(e) {
                        self.affine.insert(*r, e.clone());
                    }
                    self.each(s, in_loop, &mut out)?;
                }
                Stmt::Var(..) | Stmt::Assign(..) => self.each(s, in_loop, &mut out)?,
                Stmt::Record(_, c, at) if in_loop => {
                    let is_plain = !self.varies(c) && self.stride(at) == Some(1);
                    out.push(is_plain.then(|| Part::Record(s.clone()))?);
                }
                Stmt::Store(Mem::Array(_), ..) | Stmt::Record(..) if !in_loop => {
                    self.each(s, in_loop, &mut out)?
                }
                // an element's place in a column of a reduction's tile
                Stmt::Store(Mem::Local(m), ..) if !in_loop && !self.shared.contains(m) => {
                    self.each(s, in_loop, &mut out)?
                }
                Stmt::If(c, a, b) if !self.varies(c) => {
                    let blocks = [self.parts(a, in_loop)?, self.parts(b, in_loop)?];
                    out.push(Part::Around(Stmt::If(c.clone(), vec![], vec![]), blocks));
                }
                Stmt::If(..) if !in_loop && !s.has_loop() && is_plain(s) => {
                    self.each(s, in_loop, &mut out)?
                }
                Stmt::Seq(r, lo, hi, inner) if !self.varies(lo) && !self.varies(hi) => {
                    let head = Stmt::Seq(*r, lo.clone(), hi.clone(), vec![]);
                    out.push(Part::Around(head, [self.parts(inner, true)?, vec![]]));
                }
                Stmt::While(c, inner) if !self.varies(c) => {
                    out.push(Part::Around(
                        Stmt::While(c.clone(), vec![]),
                        [self.parts(inner, true)?, vec![]],
                    ));
                }
                Stmt::While(c, inner) => {
                    let is_straight = |s: &Stmt| match s {
                        Stmt::Let(_, e, _) | Stmt::Var(_, e) | Stmt::Assign(_, e) => {
                            self.is_vector(e, &|m, _| self.may_gather(m))
                        }
                        Stmt::Record(_, c, at) => !has_load(c) && self.stride(at) == Some(1),
                        _ => matches!(s, Stmt::Note(_)),
                    };
                    if has_load(c) || !inner.iter().all(is_straight) {
                        return None;
                    }
                    out.push(Part::While(c.clone(), inner.clone()));
                }
                _ => return None,
            }
        }
        Some(out)
    }

    /// Adds a statement that each element runs by itself.
    fn each(&self, s: &Stmt, in_loop: bool, out: &mut Vec<Part>) -> Option<()> {
        if in_loop {
            let mut is_vector = true;
            s.expressions(&mut |e| is_vector &= self.is_vector(e, &|_, at| self.stride(at).is_some()));
            if !is_vector {
                return None;
            }
        }
        match out.last_mut() {
            Some(Part::Each(list)) => list.push(s.clone()),
            _ => out.push(Part::Each(vec![s.clone()])),
        }
        Some(())
    }

    /// Whether an expression can be vectorised: it must divide integers by powers of two only, and `reads` must hold
    /// for all of its reads.
    fn is_vector(&self, e: &Expr, reads: &dyn Fn(&Mem, &Expr) -> bool) -> bool {
        let own = match e {
            Expr::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) => match self.k.ty(a).is_float() {
                true => *op == BinaryOp::Div,
                false => is_power_of_two(b),
            },
            Expr::Binary(BinaryOp::RemSlow, ..) => false,
            Expr::Load(m, at) | Expr::LoadIf(m, at, _) => reads(m, at),
            _ => true,
        };
        let mut all = own;
        e.children(|child| all = all && self.is_vector(child, reads));
        all
    }

    /// Whether vectors can gather elements of an array: processors have gathers of 32 and 64 bits.
    fn may_gather(&self, m: &Mem) -> bool {
        matches!(m, Mem::Array(_)) && self.k.mem(*m).1.size() >= 4
    }

    /// Returns by how much an index grows from an element to the next: 0 or 1, if that is known.
    fn stride(&self, e: &Expr) -> Option<u32> {
        match e {
            Expr::Reg(r) if *r == self.counter => Some(1),
            Expr::Reg(r) if self.affine.contains_key(r) => self.stride(&self.affine[r]),
            e if !self.varies(e) => Some(0),
            Expr::Binary(BinaryOp::Add, a, b) => {
                Some(self.stride(a)? + self.stride(b)?).filter(|by| *by <= 1)
            }
            Expr::Binary(BinaryOp::Sub, a, b) => (self.stride(b)? == 0).then(|| self.stride(a))?,
            _ => None,
        }
    }

    fn reads_variable(&self, e: &Expr) -> bool {
        let mut found = match e {
            Expr::Reg(r) => self.variables.get(r.0 as usize).copied().unwrap_or(false),
            Expr::Load(..) | Expr::LoadIf(..) => true,
            _ => false,
        };
        e.children(|child| found = found || self.reads_variable(child));
        found
    }
}

/// Whether a statement and its blocks are straight-line code of an element.
fn is_plain(s: &Stmt) -> bool {
    let own = match s {
        Stmt::Let(..)
        | Stmt::Var(..)
        | Stmt::Assign(..)
        | Stmt::If(..)
        | Stmt::Record(..)
        | Stmt::Note(_) => true,
        Stmt::Store(to, ..) => matches!(to, Mem::Array(_)),
        _ => false,
    };
    own && s.blocks().into_iter().flatten().all(is_plain)
}

fn is_power_of_two(e: &Expr) -> bool {
    matches!(e, Expr::Lit(n) if n.as_i64() > 0 && n.as_i64().count_ones() == 1)
}

fn has_load(e: &Expr) -> bool {
    let mut found = matches!(e, Expr::Load(..) | Expr::LoadIf(..));
    e.children(|child| found = found || has_load(child));
    found
}
