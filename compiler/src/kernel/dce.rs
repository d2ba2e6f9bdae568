//! Registers and local arrays that nothing uses are dropped: lowering binds what a strategy might need, not every body needs it.

use super::{Expr, Kernel, Mem, Stmt};

/// Drops unused `let`s and vector loads, and local arrays that nothing reads with what fills them, until none is left.
pub fn run(k: &mut Kernel) {
    loop {
        let (mut uses, _) = counts(k);
        for body in [&mut k.main, &mut k.finish].into_iter().flatten() {
            drop_block(body, &mut uses);
        }
        let (_, read) = counts(k);
        let mut changed = false;
        for body in [&mut k.main, &mut k.finish].into_iter().flatten() {
            changed |= drop_unread(body, &read);
        }
        if !changed {
            return;
        }
    }
}

/// How often each register is used, and whether each local is read.
fn counts(k: &Kernel) -> (Vec<u32>, Vec<bool>) {
    let mut uses = vec![0u32; k.regs.len()];
    let mut read = vec![false; k.locals.len()];
    for body in [&k.main, &k.finish].into_iter().flatten() {
        count_block(body, &mut uses, &mut read);
    }
    (uses, read)
}

/// Drops stores to local arrays that nothing reads, their declarations, and loops that are empty then.
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

/// Backwards: a dropped `let` frees what it used, which stands before it.
fn drop_block(body: &mut Vec<Stmt>, uses: &mut [u32]) {
    let mut kept = Vec::with_capacity(body.len());
    while let Some(mut s) = body.pop() {
        match &mut s {
            Stmt::Let(r, e, _) if uses[r.0 as usize] == 0 && !orders(e) => {
                visit(e, &mut |e| {
                    if let Expr::Reg(r) = e {
                        uses[r.0 as usize] -= 1;
                    }
                });
                continue;
            }
            Stmt::LoadVec(regs, _, i) if regs.iter().all(|r| uses[r.0 as usize] == 0) => {
                visit(i, &mut |e| {
                    if let Expr::Reg(r) = e {
                        uses[r.0 as usize] -= 1;
                    }
                });
                continue;
            }
            Stmt::For(_, _, _, b) | Stmt::Seq(_, _, _, b) | Stmt::While(_, b) => drop_block(b, uses),
            Stmt::If(_, a, b) => {
                drop_block(b, uses);
                drop_block(a, uses);
            }
            _ => {}
        }
        kept.push(s);
    }
    kept.reverse();
    *body = kept;
}

/// A broadcast also orders what the lanes do before and after.
fn orders(e: &Expr) -> bool {
    let mut found = false;
    visit(e, &mut |e| found |= matches!(e, Expr::Broadcast(_)));
    found
}

fn count_block(body: &[Stmt], uses: &mut [u32], read: &mut [bool]) {
    let mut count = |e: &Expr| {
        visit(e, &mut |e| match e {
            Expr::Reg(r) => uses[r.0 as usize] += 1,
            Expr::Load(Mem::Local(l), _) | Expr::LoadIf(Mem::Local(l), _, _) => read[*l as usize] = true,
            _ => {}
        });
    };
    for s in body {
        match s {
            Stmt::Let(_, e, _) | Stmt::Var(_, e) | Stmt::StoreSlot(_, e) => count(e),
            // what is assigned is used: vars stay
            Stmt::Assign(r, e) => {
                count(e);
                count(&Expr::Reg(*r));
            }
            Stmt::Store(_, i, e) | Stmt::Record(_, i, e) => {
                count(i);
                count(e);
            }
            Stmt::For(_, a, b, _) | Stmt::Seq(_, a, b, _) => {
                count(a);
                count(b);
            }
            Stmt::While(c, _) | Stmt::If(c, _, _) => count(c),
            Stmt::Prefetch { index, .. } => count(index),
            Stmt::LoadVec(_, m, i) => {
                count(i);
                count(&Expr::Load(*m, Box::new(Expr::int(0))));
            }
            Stmt::StoreVec(_, i, values) => {
                count(i);
                values.iter().for_each(&mut count);
            }
            Stmt::Arrive(_, at, limit) => {
                count(at);
                count(limit);
            }
            Stmt::Local(_) | Stmt::Note(_) | Stmt::Barrier => {}
        }
    }
    for s in body {
        match s {
            Stmt::For(_, _, _, b) | Stmt::Seq(_, _, _, b) | Stmt::While(_, b) => count_block(b, uses, read),
            Stmt::If(_, a, b) => {
                count_block(a, uses, read);
                count_block(b, uses, read);
            }
            _ => {}
        }
    }
}

/// Every expression inside an expression, itself included.
fn visit(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(e);
    e.children(&mut |child| visit(child, f));
}
