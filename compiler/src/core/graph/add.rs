//! Adding nodes: their types are inferred, and equal ones are found.

use super::{Graph, Inside, Node};
use crate::budget;
use crate::core::{NodeId, Op, Var, infer};
use std::sync::Arc;

impl Graph {
    /// Returns the node of an operation, and makes it if it is new. Panics on an ill-typed
    /// operation, which is a bug of the compiler: operations from outside go through
    /// [`Graph::try_add`].
    #[track_caller]
    pub fn add(&mut self, op: Op) -> NodeId {
        self.try_add(op).unwrap_or_else(|e| panic!("ill-typed node: {e}"))
    }

    /// Does the same as [`Graph::add`], but returns an error with the reason if the operation is
    /// ill-typed.
    pub fn try_add(&mut self, op: Op) -> Result<NodeId, String> {
        if let Some(known) = self.find_in_base(&op) {
            return Ok(known);
        }
        let (i, is_new) = self.ops.insert_full(op);
        if is_new {
            budget::make();
            let op = &self.ops[i];
            let ty = match infer::infer(self, op) {
                Ok(ty) => ty,
                Err(e) => {
                    self.ops.pop();
                    return Err(e);
                }
            };
            let (is_total, may_record) = (matches!(op, Op::At(..)), op.may_record(self));
            self.total |= is_total;
            self.records |= may_record;
            let (free, height) = self.binders(&self.ops[i]);
            let inside = self.inside(&self.ops[i]);
            let loc = self.loc.clone();
            self.info.push(Node { ty, free, height, bound: false, inside, once: false, loc });
        }
        Ok(NodeId(self.first + i as u32))
    }

    /// Returns which operations an operation contains, itself and in its operands and steps, as far as these are not
    /// closed.
    fn inside(&self, op: &Op) -> Inside {
        let mut inside = Inside { reductions: op.needs_launch(), loops: op.is_loop() };
        let mut add = |child: NodeId| {
            let node = self.node(child);
            if !node.free.is_empty() {
                inside.reductions |= node.inside.reductions;
                inside.loops |= node.inside.loops;
            }
        };
        op.for_operands(&mut add);
        if let Op::Loop { step, .. } = op {
            add(step.body);
        }
        inside
    }

    /// Returns the free variables of an operation, and the highest binder in it.
    fn binders(&self, op: &Op) -> (Arc<[Var]>, u32) {
        let mut height = 0;
        // most operations have the free variables of one operand
        let (mut most, mut differ): (Option<&Arc<[Var]>>, bool) = (None, false);
        op.for_operands(|child| {
            let node = self.node(child);
            height = height.max(node.height);
            match most {
                _ if node.free.is_empty() => {}
                None => most = Some(&node.free),
                Some(other) if Arc::ptr_eq(other, &node.free) => {}
                Some(other) => {
                    differ = true;
                    most = Some(if other.len() < node.free.len() { &node.free } else { other });
                }
            }
        });
        if !matches!(op, Op::Var(..)) && op.lambda().is_none() {
            let Some(most) = most else { return (Arc::default(), height) };
            let has = |n: NodeId| self.node(n).free.iter().all(|v| most.contains(v));
            if !differ || op.operands().all(has) {
                return (most.clone(), height);
            }
        }
        let mut free: Vec<Var> = op.operands().flat_map(|c| self.node(c).free.iter().copied()).collect();
        if let Op::Var(v, _) = op {
            free.push(*v);
        }
        if let Some(lambda) = op.lambda() {
            let body = self.node(lambda.body);
            free.extend(body.free.iter().filter(|v| !lambda.params.iter().any(|p| p.0 == **v)));
            height = height.max(body.height);
            height = lambda.params.iter().map(|p| p.0.0).fold(height, u32::max);
        }
        free.sort_unstable();
        free.dedup();
        (free.into(), height)
    }
}
