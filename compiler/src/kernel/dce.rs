//! Dead code elimination: drops what no store, error record or other effect needs. That is registers, local arrays,
//! and loops and branches that become empty. Lowering binds everything that a strategy might need, and not every
//! kernel needs all of it.
//!
//! The method is mark-and-sweep. Statements with an effect are live. So are the definitions of registers that live
//! statements use, the stores to local arrays that live statements read, and the loops and branches that enclose live
//! statements. Everything else is dropped, even variables of a loop that only compute each other's next values.

use super::{Expr, Kernel, Mem, Reg, Stmt};

/// Drops every statement that is not live.
pub fn run(k: &mut Kernel) {
    let live = Liveness::of(k);
    for body in [&mut k.main, &mut k.finish].into_iter().flatten() {
        live.sweep(body);
    }
}

/// Which registers and local arrays are live.
struct Liveness {
    regs: Vec<bool>,
    locals: Vec<bool>,
}

impl Liveness {
    fn of(k: &Kernel) -> Liveness {
        let mut marking = Marking {
            live: Liveness { regs: vec![false; k.regs.len()], locals: vec![false; k.locals.len()] },
            definitions: vec![None; k.regs.len()],
            stores: vec![None; k.locals.len()],
            places: Vec::new(),
            blocks: Vec::new(),
            pending: Vec::new(),
        };
        for body in [&k.main, &k.finish].into_iter().flatten() {
            marking.collect(body, None);
        }
        while let Some(Place { statement, block }) = marking.pending.pop() {
            marking.mark(statement);
            marking.mark_blocks(block);
        }
        marking.live
    }

    fn sweep(&self, body: &mut Vec<Stmt>) {
        body.retain_mut(|s| match s {
            Stmt::Let(r, ..) | Stmt::Var(r, _) | Stmt::Assign(r, _) | Stmt::Pack(r, _) => {
                self.regs[r.0 as usize]
            }
            Stmt::LoadVec(regs, ..)
            | Stmt::LoadMatrices { regs, .. }
            | Stmt::MultiplyMatrices { sums: regs, .. }
            | Stmt::MultiplyStaged { sums: regs, .. } => regs.iter().any(|r| self.regs[r.0 as usize]),
            Stmt::Store(Mem::Local(l), ..) | Stmt::Local(l) => self.locals[*l as usize],
            Stmt::For(_, _, _, b) | Stmt::Seq(_, _, _, b) => {
                self.sweep(b);
                !b.is_empty()
            }
            Stmt::While(_, b) => {
                self.sweep(b);
                true
            }
            Stmt::If(_, a, b) => {
                self.sweep(a);
                self.sweep(b);
                !(a.is_empty() && b.is_empty())
            }
            _ => true,
        });
    }
}

/// A statement, and the number of the innermost loop or branch that encloses it.
#[derive(Clone, Copy)]
struct Place<'k> {
    statement: &'k Stmt,
    block: Option<usize>,
}

struct Marking<'k> {
    live: Liveness,
    /// For each register, the number in `places` of the last statement that defines it.
    definitions: Vec<Option<u32>>,
    /// For each local array, the number in `places` of the last store to it.
    stores: Vec<Option<u32>>,
    /// Definitions and stores as linked lists: each has the number of the previous one for the same register or local
    /// array. A vector of its own for each of thousands of registers would take most of the pass's time.
    places: Vec<(Place<'k>, Option<u32>)>,
    /// The loops and branches, and whether something in them is live.
    blocks: Vec<(Place<'k>, bool)>,
    /// Live statements whose operands are not marked yet.
    pending: Vec<Place<'k>>,
}

impl<'k> Marking<'k> {
    /// Notes the definitions of each register and the stores to each local array. Statements with effects become
    /// pending.
    fn collect(&mut self, body: &'k [Stmt], block: Option<usize>) {
        for statement in body {
            let place = Place { statement, block };
            match statement {
                Stmt::Let(r, e, _) | Stmt::Var(r, e) | Stmt::Assign(r, e) => {
                    add(&mut self.places, &mut self.definitions[r.0 as usize], place);
                    if orders(e) {
                        self.pending.push(place);
                    }
                }
                Stmt::Pack(r, _) => add(&mut self.places, &mut self.definitions[r.0 as usize], place),
                Stmt::LoadVec(regs, ..)
                | Stmt::LoadMatrices { regs, .. }
                | Stmt::MultiplyMatrices { sums: regs, .. }
                | Stmt::MultiplyStaged { sums: regs, .. } => {
                    for r in regs {
                        add(&mut self.places, &mut self.definitions[r.0 as usize], place);
                    }
                }
                Stmt::Store(Mem::Local(l), ..) => {
                    add(&mut self.places, &mut self.stores[*l as usize], place);
                }
                Stmt::Local(_) => {}
                Stmt::For(..) | Stmt::Seq(..) | Stmt::If(..) | Stmt::While(..) => {
                    self.blocks.push((place, false));
                    let inner = Some(self.blocks.len() - 1);
                    if matches!(statement, Stmt::While(..)) {
                        // the loop might not terminate, which is an effect
                        self.pending.push(place);
                    }
                    statement.blocks().into_iter().for_each(|b| self.collect(b, inner));
                }
                _ => self.pending.push(place),
            }
        }
    }

    /// Marks a loop or branch, and those that enclose it.
    fn mark_blocks(&mut self, mut block: Option<usize>) {
        while let Some(b) = block {
            let (place, is_live) = &mut self.blocks[b];
            if std::mem::replace(is_live, true) {
                return;
            }
            let Place { statement, block: outer } = *place;
            self.mark(statement);
            block = outer;
        }
    }

    /// Marks what a statement defines and what its expressions use, but not the statements of inner blocks.
    fn mark(&mut self, statement: &'k Stmt) {
        match statement {
            Stmt::Let(r, ..) | Stmt::Var(r, _) | Stmt::Assign(r, _) => self.mark_register(*r),
            // one operation defines all sums, so if one of them is live, all are
            Stmt::MultiplyMatrices { sums, .. } | Stmt::MultiplyStaged { sums, .. } => {
                sums.iter().for_each(|r| self.mark_register(*r));
            }
            Stmt::LoadVec(_, m, _) => self.mark_array(*m),
            _ => {}
        }
        statement.expressions(&mut |e| self.mark_expression(e));
    }

    fn mark_expression(&mut self, e: &Expr) {
        match e {
            Expr::Reg(r) => return self.mark_register(*r),
            Expr::Load(m, _) | Expr::LoadIf(m, ..) => self.mark_array(*m),
            _ => {}
        }
        e.children(|child| self.mark_expression(child));
    }

    fn mark_register(&mut self, r: Reg) {
        if !std::mem::replace(&mut self.live.regs[r.0 as usize], true) {
            self.wait(self.definitions[r.0 as usize]);
        }
    }

    fn mark_array(&mut self, m: Mem) {
        if let Mem::Local(l) = m
            && !std::mem::replace(&mut self.live.locals[l as usize], true)
        {
            self.wait(self.stores[l as usize]);
        }
    }

    /// Makes the statements of a list pending: from the one with the number `last` back to the first.
    fn wait(&mut self, mut last: Option<u32>) {
        while let Some(at) = last {
            let (place, before) = self.places[at as usize];
            self.pending.push(place);
            last = before;
        }
    }
}

/// Adds a statement to the list that ends with `last`.
fn add<'k>(places: &mut Vec<(Place<'k>, Option<u32>)>, last: &mut Option<u32>, place: Place<'k>) {
    places.push((place, *last));
    *last = Some(places.len() as u32 - 1);
}

/// Returns whether an expression contains a broadcast. A broadcast also orders the memory accesses of a warp's lanes,
/// so it must stay even if its value is not used.
fn orders(e: &Expr) -> bool {
    let mut found = matches!(e, Expr::Broadcast(_));
    e.children(|child| found |= orders(child));
    found
}
