//! Drops registers and local arrays that nothing uses. Lowering binds everything that a strategy
//! might need, and not every body needs all of it. A variable that is read only for its own next
//! value counts as unused.

use super::{Expr, Kernel, Mem, Reg, Stmt};

/// Drops unused `let`s, variables and vector loads, and local arrays that nothing reads together
/// with the stores to them, until none is left.
pub fn run(k: &mut Kernel) {
    loop {
        let mut unused =
            Unused { uses: Counts::of(k).uses, assigned: vec![false; k.regs.len()], found_late: false };
        for body in [&mut k.main, &mut k.finish].into_iter().flatten() {
            unused.drop_from(body);
        }
        let read = if k.locals.is_empty() { Vec::new() } else { Counts::of(k).read };
        let mut changed = unused.found_late;
        for body in [&mut k.main, &mut k.finish].into_iter().flatten() {
            changed |= drop_unread(body, &read);
        }
        if !changed {
            return;
        }
    }
}

/// Drops stores to local arrays that nothing reads, the declarations of these arrays, and loops
/// that become empty.
fn drop_unread(body: &mut Vec<Stmt>, read: &[bool]) -> bool {
    let mut changed = false;
    body.retain_mut(|s| {
        let keep = match s {
            Stmt::Store(Mem::Local(l), ..) | Stmt::Local(l) => read[*l as usize],
            Stmt::For(_, _, _, b) | Stmt::Seq(_, _, _, b) => {
                changed |= drop_unread(b, read);
                !b.is_empty()
            }
            Stmt::While(_, b) => {
                changed |= drop_unread(b, read);
                true
            }
            Stmt::If(_, a, b) => {
                changed |= drop_unread(a, read) | drop_unread(b, read);
                !(a.is_empty() && b.is_empty())
            }
            _ => true,
        };
        changed |= !keep;
        keep
    });
    changed
}

/// The state of one backward walk.
struct Unused {
    /// How often each register is used.
    uses: Vec<u32>,
    /// Whether an assignment to each register stays.
    assigned: Vec<bool>,
    /// Whether an assignment stayed although its variable turned out to be unused, because the uses
    /// stand before it in a loop. Then another walk is needed.
    found_late: bool,
}

impl Unused {
    /// Walks backwards, because a dropped `let` removes uses of registers that are defined before
    /// it.
    fn drop_from(&mut self, body: &mut Vec<Stmt>) {
        let mut kept = Vec::with_capacity(body.len());
        while let Some(mut s) = body.pop() {
            match &mut s {
                Stmt::Var(r, _) if self.uses[r.0 as usize] == 0 && self.assigned[r.0 as usize] => {
                    self.found_late = true;
                }
                Stmt::Let(r, e, _) | Stmt::Var(r, e) | Stmt::Assign(r, e)
                    if self.uses[r.0 as usize] == 0 && !orders(e) =>
                {
                    forget(e, Some(*r), &mut self.uses);
                    continue;
                }
                Stmt::Assign(r, _) => self.assigned[r.0 as usize] = true,
                Stmt::LoadVec(regs, _, i) if regs.iter().all(|r| self.uses[r.0 as usize] == 0) => {
                    forget(i, None, &mut self.uses);
                    continue;
                }
                Stmt::For(_, _, _, b) | Stmt::Seq(_, _, _, b) | Stmt::While(_, b) => self.drop_from(b),
                Stmt::If(_, a, b) => {
                    self.drop_from(b);
                    self.drop_from(a);
                }
                _ => {}
            }
            kept.push(s);
        }
        kept.reverse();
        *body = kept;
    }
}

/// Subtracts the uses of a dropped expression. An assignment's use of its own variable was never
/// counted.
fn forget(e: &Expr, assigned: Option<Reg>, uses: &mut [u32]) {
    visit(e, &mut |e| {
        if let Expr::Reg(r) = e
            && Some(*r) != assigned
        {
            uses[r.0 as usize] -= 1;
        }
    });
}

/// Returns whether an expression contains a broadcast, which orders the memory accesses of the
/// lanes and therefore must stay.
fn orders(e: &Expr) -> bool {
    let mut found = false;
    visit(e, &mut |e| found |= matches!(e, Expr::Broadcast(_)));
    found
}

struct Counts {
    /// How often each register is used.
    uses: Vec<u32>,
    /// Whether each local is read.
    read: Vec<bool>,
}

impl Counts {
    fn of(k: &Kernel) -> Counts {
        let mut counts = Counts { uses: vec![0; k.regs.len()], read: vec![false; k.locals.len()] };
        for body in [&k.main, &k.finish].into_iter().flatten() {
            counts.block(body);
        }
        counts
    }

    fn block(&mut self, body: &[Stmt]) {
        for s in body {
            match s {
                Stmt::Assign(r, e) => {
                    let before = self.uses[r.0 as usize];
                    self.expr(e);
                    // reading a variable for its own next value is no use; an assignment that must
                    // stay is one
                    self.uses[r.0 as usize] = before + u32::from(orders(e));
                }
                s => s.expressions(&mut |e| self.expr(e)),
            }
            s.blocks().into_iter().for_each(|b| self.block(b));
            if let Stmt::LoadVec(_, m, _) = s {
                self.reads(*m);
            }
        }
    }

    fn expr(&mut self, e: &Expr) {
        match e {
            Expr::Reg(r) => return self.uses[r.0 as usize] += 1,
            Expr::Lit(_) => return,
            Expr::Load(m, _) | Expr::LoadIf(m, ..) => self.reads(*m),
            _ => {}
        }
        e.children(|child| self.expr(child));
    }

    fn reads(&mut self, m: Mem) {
        if let Mem::Local(l) = m {
            self.read[l as usize] = true;
        }
    }
}

/// Calls `f` on every expression inside an expression, itself included.
fn visit(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(e);
    e.children(|child| visit(child, f));
}
