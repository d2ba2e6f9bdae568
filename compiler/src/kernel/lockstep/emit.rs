//! Writes the code of a strip of elements, part by part. Code of lanes becomes a loop over the lanes. A value that
//! one such loop computes and another one needs lies in a local array, with a place for each lane.

use super::parts::{Part, Parts};
use crate::kernel::clone_body::Renaming;
use crate::kernel::{Expr, Kernel, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The number of lanes of a strip: two of the widest vectors of 32-bit elements.
pub const LANES: i64 = 32;

/// Writes the code of a strip.
pub struct Strip<'a> {
    k: &'a mut Kernel,
    parts: &'a Parts,
    /// The first element.
    at: Reg,
    /// The local arrays of the registers that several loops over the lanes need.
    arrays: HashMap<Reg, Mem>,
}

impl Strip<'_> {
    /// Returns the code of the strip that begins with element `at`.
    pub fn of(k: &mut Kernel, parts: &Parts, at: Reg) -> Vec<Stmt> {
        let mut crossing = Crossing { parts, loops: 0, home: HashMap::default(), found: Vec::new() };
        crossing.visit(&parts.all);
        let (mut out, mut arrays) = (Vec::new(), HashMap::default());
        for r in crossing.found {
            arrays.insert(r, k.local("lanes", memory(k.regs[r.0 as usize].1), LANES as u32, &mut out));
        }
        Strip { k, parts, at, arrays }.parts(&parts.all, &mut out);
        out
    }

    fn parts(&mut self, parts: &[Part], out: &mut Vec<Stmt>) {
        for part in parts {
            match part {
                Part::Same(s) => out.push(s.clone()),
                Part::Record(s) => {
                    let mut first = Vec::new();
                    let at = Expr::Reg(self.at);
                    let renaming = self.lane(at, std::slice::from_ref(s), &[], None, &mut first);
                    out.append(&mut first);
                    out.append(&mut renaming.block(std::slice::from_ref(s)));
                }
                Part::Each(body) => out.push(self.lanes(body)),
                Part::Around(head, blocks) => {
                    let [mut a, mut b] = [Vec::new(), Vec::new()];
                    self.parts(&blocks[0], &mut a);
                    self.parts(&blocks[1], &mut b);
                    out.push(match head {
                        Stmt::Seq(r, lo, hi, _) => Stmt::Seq(*r, lo.clone(), hi.clone(), a),
                        Stmt::While(c, _) => Stmt::While(c.clone(), a),
                        Stmt::If(c, ..) => Stmt::If(c.clone(), a, b),
                        _ => unreachable!("loops and branches"),
                    });
                }
                Part::While(c, body) => self.masked(c, body, out),
            }
        }
    }

    /// Returns a loop over the lanes around straight-line code.
    fn lanes(&mut self, body: &[Stmt]) -> Stmt {
        let (q, at, mut out) = self.counter();
        let renaming = self.lane(at, body, &[], Some(q), &mut out);
        out.append(&mut renaming.block(body));
        for (r, to) in self.assigned(body, &renaming) {
            out.push(self.store(r, q, Expr::Reg(to)));
        }
        Stmt::For(q, Expr::int(0), Expr::int(LANES), out)
    }

    /// Adds a loop that each element leaves by itself, with a flag for each lane that says whether it is active.
    fn masked(&mut self, condition: &Expr, body: &[Stmt], out: &mut Vec<Stmt>) {
        // if the condition is a variable, it is false in the lanes that have left the loop
        let own = match condition {
            Expr::Reg(r) => self.arrays.get(r).map(|m| (*r, *m)),
            _ => None,
        };
        let active = match own {
            Some((_, array)) => array,
            None => self.k.local("active", Ty::U32, LANES as u32, out),
        };
        let records = Records::of(self.k, body, out);
        let any = self.k.reg("any", Ty::U32);
        let zero = Expr::Lit(Lit::u32(0));
        let or = |e: Expr| Stmt::Assign(any, Expr::binary(BinaryOp::Or, Expr::Reg(any), e));
        out.push(Stmt::Var(any, zero.clone()));
        let (q, at, mut first) = self.counter();
        if own.is_none() {
            let renaming = self.lane(at, &[], std::slice::from_ref(condition), Some(q), &mut first);
            first.push(Stmt::Store(active, Expr::Reg(q), bit(renaming.expr(condition))));
        }
        first.push(or(Expr::load(active, Expr::Reg(q))));
        first.extend(records.list.iter().map(|(m, ..)| Stmt::Store(*m, Expr::Reg(q), zero.clone())));
        out.push(Stmt::For(q, Expr::int(0), Expr::int(LANES), first));
        let (q, at, mut step) = self.counter();
        let on = self.k.reg("on", Ty::Bool);
        step.push(Stmt::Let(on, is_set(active, q), Default::default()));
        let renaming = self.lane(at, body, std::slice::from_ref(condition), Some(q), &mut step);
        step.append(&mut renaming.block(&records.masked(body, q, on)));
        let goes_on = self.k.reg("goes", Ty::Bool);
        let and = Expr::binary(BinaryOp::And, Expr::Reg(on), renaming.expr(condition));
        step.push(Stmt::Let(goes_on, and, Default::default()));
        for (r, to) in self.assigned(body, &renaming) {
            if own.is_none_or(|own| own.0 != r) {
                let value = Expr::Reg(on).select(Expr::Reg(to), self.load(r, q));
                step.push(self.store(r, q, value));
            }
        }
        step.push(Stmt::Store(active, Expr::Reg(q), bit(Expr::Reg(goes_on))));
        step.push(or(bit(Expr::Reg(goes_on))));
        let lanes = Stmt::For(q, Expr::int(0), Expr::int(LANES), step);
        let is_any = Expr::binary(BinaryOp::Ne, Expr::Reg(any), zero.clone());
        out.push(Stmt::While(is_any, vec![Stmt::Assign(any, zero), lanes]));
        for (m, site, at) in &records.list {
            let (q, own, mut leave) = self.counter();
            let renaming = self.lane(own, &[], std::slice::from_ref(at), Some(q), &mut leave);
            leave.push(Stmt::Record(*site, is_set(*m, q), renaming.expr(at)));
            out.push(Stmt::For(q, Expr::int(0), Expr::int(LANES), leave));
        }
    }

    /// Returns the number of a lane, the number of its element, and the statements that define it.
    fn counter(&mut self) -> (Reg, Expr, Vec<Stmt>) {
        let q = self.k.reg("q", Ty::I64);
        (q, Expr::Reg(self.at).plus(Expr::Reg(q)), Vec::new())
    }

    /// Emits the values that statements and expressions of lane `q` need: those that are computed from the number
    /// `at` of the element, and those that other loops over the lanes have left in arrays. Returns the renaming of
    /// registers, because each loop has registers of its own.
    fn lane(
        &mut self,
        at: Expr,
        body: &[Stmt],
        also: &[Expr],
        q: Option<Reg>,
        out: &mut Vec<Stmt>,
    ) -> Renaming {
        let mut of = Registers::of(body);
        also.iter().for_each(|e| of.uses(e));
        let mut needed: HashSet<Reg> = HashSet::default();
        let mut stack: Vec<Reg> = of.used.iter().chain(&of.assigned).copied().collect();
        while let Some(r) = stack.pop() {
            if of.defined.contains(&r) || !self.parts.varying.contains(&r) || !needed.insert(r) {
                continue;
            }
            if let Some(e) = self.parts.affine.get(&r) {
                let mut inside = Registers::default();
                inside.uses(e);
                stack.extend(inside.used);
            }
        }
        needed.remove(&self.parts.counter);
        let mut renaming = Renaming::default();
        let i = self.k.like(self.parts.counter);
        out.push(Stmt::Let(i, at, Default::default()));
        renaming.replace(self.parts.counter, i);
        for (r, e) in self.parts.affine.iter().filter(|(r, _)| needed.contains(*r)) {
            let own = self.k.like(*r);
            out.push(Stmt::Let(own, renaming.expr(e), Default::default()));
            renaming.replace(*r, own);
        }
        let mut needed: Vec<Reg> =
            needed.into_iter().filter(|r| !self.parts.affine.contains_key(r)).collect();
        needed.sort_unstable();
        for (r, q) in needed.into_iter().zip(q.into_iter().cycle()) {
            let own = self.k.like(r);
            out.push(match of.assigned.contains(&r) {
                true => Stmt::Var(own, self.load(r, q)),
                false => Stmt::Let(own, self.load(r, q), Default::default()),
            });
            renaming.replace(r, own);
        }
        renaming
    }

    /// Returns the registers with arrays that a loop over the lanes sets, each with the one that replaces it.
    fn assigned(&self, body: &[Stmt], renaming: &Renaming) -> Vec<(Reg, Reg)> {
        let of = Registers::of(body);
        let set: HashSet<Reg> = of.assigned.iter().chain(&of.defined).copied().collect();
        let mut set: Vec<Reg> = set.into_iter().filter(|r| self.arrays.contains_key(r)).collect();
        set.sort_unstable();
        let own = |r: Reg| match renaming.expr(&Expr::Reg(r)) {
            Expr::Reg(own) => (r, own),
            _ => (r, r),
        };
        set.into_iter().map(own).collect()
    }

    fn load(&self, r: Reg, q: Reg) -> Expr {
        let value = Expr::load(self.arrays[&r], Expr::Reg(q));
        match self.k.regs[r.0 as usize].1 {
            Ty::Bool => Expr::binary(BinaryOp::Ne, value, Expr::Lit(Lit::u32(0))),
            _ => value,
        }
    }

    fn store(&self, r: Reg, q: Reg, value: Expr) -> Stmt {
        let value = match self.k.regs[r.0 as usize].1 {
            Ty::Bool => Expr::Cast(Ty::U32, Box::new(value)),
            _ => value,
        };
        Stmt::Store(self.arrays[&r], Expr::Reg(q), value)
    }
}

/// The error records of a loop that each element leaves by itself. An array notes in which lanes a record's condition
/// has held, and the records are left after the loop. For each record: the array, the site and the element.
struct Records {
    list: Vec<(Mem, u32, Expr)>,
}

impl Records {
    fn of(k: &mut Kernel, body: &[Stmt], out: &mut Vec<Stmt>) -> Records {
        let mut list = Vec::new();
        for s in body {
            if let Stmt::Record(site, _, at) = s {
                list.push((k.local("left", Ty::U32, LANES as u32, out), *site, at.clone()));
            }
        }
        Records { list }
    }

    /// Returns the loop's body for lane `q`. If `on` is false, the lane reads nothing and leaves no record.
    fn masked(&self, body: &[Stmt], q: Reg, on: Reg) -> Vec<Stmt> {
        let mut arrays = self.list.iter().map(|(m, ..)| *m);
        let mut out = body.to_vec();
        for s in &mut out {
            if let (Stmt::Record(_, c, _), Some(m)) = (&*s, arrays.clone().next()) {
                let held = bit(Expr::binary(BinaryOp::And, Expr::Reg(on), c.clone()));
                let held = Expr::binary(BinaryOp::Or, Expr::load(m, Expr::Reg(q)), held);
                *s = Stmt::Store(m, Expr::Reg(q), held);
                arrays.next();
            } else {
                s.expressions_mut(&mut |e| read_if(e, on));
            }
        }
        out
    }
}

/// Makes an expression read its loads only if a register is set.
fn read_if(e: &mut Expr, on: Reg) {
    e.children_mut(|child| read_if(child, on));
    let on = Expr::Reg(on);
    match e {
        Expr::Load(m, at) => *e = Expr::LoadIf(*m, at.clone(), Box::new(on)),
        Expr::LoadIf(m, at, c) => {
            let both = Expr::binary(BinaryOp::And, on, (**c).clone());
            *e = Expr::LoadIf(*m, at.clone(), Box::new(both));
        }
        _ => {}
    }
}

/// Returns a condition as a number.
fn bit(e: Expr) -> Expr {
    Expr::Cast(Ty::U32, Box::new(e))
}

/// Returns the condition that a lane's number in an array is not 0.
fn is_set(m: Mem, q: Reg) -> Expr {
    Expr::binary(BinaryOp::Ne, Expr::load(m, Expr::Reg(q)), Expr::Lit(Lit::u32(0)))
}

/// Returns the type in which a local array stores a register. Conditions are as wide as most numbers, so that vectors
/// need not be converted to narrower ones.
fn memory(ty: Ty) -> Ty {
    if ty == Ty::Bool { Ty::U32 } else { ty }
}

/// The registers of some statements.
#[derive(Default)]
struct Registers {
    used: HashSet<Reg>,
    assigned: HashSet<Reg>,
    defined: HashSet<Reg>,
}

impl Registers {
    fn of(body: &[Stmt]) -> Registers {
        let mut out = Registers::default();
        out.add(body);
        out
    }

    fn add(&mut self, body: &[Stmt]) {
        for s in body {
            s.expressions(&mut |e| self.uses(e));
            match s {
                Stmt::Let(r, ..) | Stmt::Var(r, _) => drop(self.defined.insert(*r)),
                Stmt::Assign(r, _) => drop(self.assigned.insert(*r)),
                _ => {}
            }
            s.blocks().into_iter().for_each(|b| self.add(b));
        }
    }

    fn uses(&mut self, e: &Expr) {
        if let Expr::Reg(r) = e {
            self.used.insert(*r);
        }
        e.children(|child| self.uses(child));
    }
}

/// Finds the registers that several loops over the lanes need.
struct Crossing<'a> {
    parts: &'a Parts,
    /// The number of loops so far.
    loops: usize,
    /// For each register the loop that defines it.
    home: HashMap<Reg, usize>,
    found: Vec<Reg>,
}

impl Crossing<'_> {
    fn visit(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Same(_) | Part::Record(_) => {}
                Part::Each(body) => self.add(Registers::of(body)),
                Part::Around(_, blocks) => blocks.iter().for_each(|b| self.visit(b)),
                Part::While(c, body) => {
                    let mut of = Registers::of(body);
                    of.uses(c);
                    self.add(of);
                }
            }
        }
    }

    fn add(&mut self, of: Registers) {
        self.loops += 1;
        self.home.extend(of.defined.iter().map(|r| (*r, self.loops)));
        let mut touched: Vec<Reg> = of.used.into_iter().chain(of.assigned).collect();
        touched.sort_unstable();
        for r in touched {
            let is_away = self.home.get(&r).is_some_and(|home| *home != self.loops);
            let is_kept = self.parts.varying.contains(&r) && !self.parts.affine.contains_key(&r);
            if is_away && is_kept && !self.found.contains(&r) {
                self.found.push(r);
            }
        }
    }
}
