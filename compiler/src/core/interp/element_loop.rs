//! Loops of one element.

use super::env::Env;
use super::machine::Machine;
use crate::core::{Lambda, NodeId, Op};
use crate::scalar::Lit;

impl Machine<'_> {
    /// Returns a value of a loop of an element (semantics 5.16).
    pub(super) fn element_loop(
        &mut self,
        step: &Lambda,
        which: u32,
        count: NodeId,
        init: &[NodeId],
        env: &Env,
    ) -> Lit {
        let Op::Tuple(parts) = self.g.op(step.body) else { unreachable!("verified: a tuple") };
        let count = self.scalar(count, env).as_i64();
        let mut args = vec![Lit::i64(0)];
        args.extend(init.iter().map(|n| self.scalar(*n, env)));
        let mut memo = self.spare.pop().unwrap_or_default();
        while args[0].as_i64() < count {
            let inner =
                Env { params: &step.params, args: &args, memo, outer: Some(env), shown: Default::default() };
            let next: Option<Vec<Lit>> = self
                .scalar(parts[0], &inner)
                .as_bool()
                .then(|| parts[1..].iter().map(|n| self.scalar(*n, &inner)).collect());
            memo = inner.memo;
            memo.clear();
            let Some(next) = next else { break };
            args.splice(1.., next);
            args[0] = Lit::i64(args[0].as_i64() + 1);
        }
        self.spare.push(memo);
        // the number of steps comes after the states
        args.rotate_left(1);
        args[which as usize]
    }
}
