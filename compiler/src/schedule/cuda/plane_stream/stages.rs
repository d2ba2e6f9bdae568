//! The code of the stages: the registers of slots, which are kept from step to step, and the values that each step
//! computes.

use super::plan::{Element, Slot, StreamPlan};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::Lit;
use crate::schedule::cuda::register_tiling::placement::plus;
use crate::schedule::element::lower::{Lower, bind};
use indexmap::IndexMap;
use rustc_hash::FxHashMap as HashMap;
use std::ops::Range;

/// The nodes whose values are known.
pub type Known = Vec<(NodeId, Expr)>;

/// The stages of a thread's elements.
pub struct Stages<'a> {
    plan: &'a StreamPlan,
    /// The variables of the thread's first element's indices, with their values; the plane's value is set in each
    /// step.
    vars: &'a [(NodeId, Expr)],
    /// The axis of the planes.
    axis: usize,
    /// The registers of the slots.
    slots: IndexMap<Slot, Reg>,
}

impl<'a> Stages<'a> {
    /// Declares the registers of the slots.
    pub fn of(
        l: &mut Lower,
        plan: &'a StreamPlan,
        vars: &'a [(NodeId, Expr)],
        out: &mut Vec<Stmt>,
    ) -> Stages<'a> {
        let mut slots = IndexMap::new();
        for slot in plan.slots().into_keys() {
            let ty = match &slot {
                Slot::Element(e) => l.launch.g.ty(e.array).elem,
                Slot::Value(_, n) => l.launch.g.ty(*n).elem,
            };
            let reg = l.k.reg("kept", ty);
            out.push(Stmt::Var(reg, Expr::Lit(Lit::zero(ty))));
            slots.insert(slot, reg);
        }
        Stages { plan, vars, axis: vars.len() - 3, slots }
    }

    /// Returns what is known of the elements that are in a stage when plane `now` arrives: their indices, what was
    /// kept, and what is loaded.
    pub fn known(&self, stage: usize, now: &Expr, loaded: &HashMap<Element, Expr>) -> Known {
        let mut known = self.vars.to_vec();
        known[self.axis].1 = plus(now.clone(), -(self.plan.first + stage as i64));
        if stage > 0 {
            let of_slot = |n: &NodeId| (*n, Expr::Reg(self.slots[&self.plan.slot(stage - 1, *n)]));
            known.extend(self.plan.stages[stage - 1].kept.iter().map(of_slot));
        }
        for (n, (e, _)) in self.plan.reads.iter().filter(|(_, (_, at))| *at == stage) {
            known.extend(loaded.get(&self.plan.load(e, stage)).map(|value| (*n, value.clone())));
        }
        known
    }

    /// Computes what the loaded lines make possible in these stages: row by row, and for each row in all stages, so
    /// that a row's registers are free before the next row.
    pub fn compute(
        &self,
        l: &mut Lower,
        stages: Range<usize>,
        known: &mut [Known],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        for row in 0..self.plan.stages[0].due.len() {
            for s in stages.clone().rev() {
                let due = &self.plan.stages[s].due[row].1;
                let values = l.region(&known[s], due, &Expr::int(0), out)?;
                for (n, e) in due.iter().zip(values) {
                    let e = bind(l, "part", e, out);
                    known[s].push((*n, e));
                }
            }
        }
        Ok(())
    }

    /// Assigns to the slots their values for the next step.
    pub fn advance(&self, loaded: &HashMap<Element, Expr>, known: &[Known], out: &mut Vec<Stmt>) {
        for (slot, from) in self.plan.slots() {
            let value = match (&slot, from) {
                (_, Some(from)) => Expr::Reg(self.slots[&from]),
                (Slot::Element(e), None) => loaded[e].clone(),
                (Slot::Value(s, n), None) => {
                    let made = known[*s].iter().find(|v| v.0 == *n);
                    made.map(|v| v.1.clone()).expect("a value of this stage")
                }
            };
            out.push(Stmt::Assign(self.slots[&slot], value));
        }
    }
}
