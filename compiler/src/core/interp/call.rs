//! A call of the function, or of a step of its iterations.

use super::env::Env;
use super::machine::Machine;
use super::values::Val;
use super::watch::Watch;
use crate::core::Function;
use crate::error::Result;

impl Machine<'_> {
    /// Returns the results of a function, NaN canonical, and whether it left an error record. `turn` is
    /// the number of the step, if the function is one.
    pub(super) fn call(
        f: &Function,
        args: Vec<Val>,
        turn: i64,
        watch: Option<&Watch>,
    ) -> Result<(Vec<Val>, bool)> {
        let mut m = Machine::checked(f, args)?;
        m.watch = watch;
        m.turn = turn;
        let env = Env::default();
        // a node that depends on no element is computed for the call, even if no element needs it; between compiler
        // passes this holds only for nodes that depend on no element in the author's program
        for n in f.graph.reachable(f.results.iter().map(|r| r.value)) {
            let once = !f.graph.on_demand || f.graph.node(n).once;
            if f.graph.op(n).needs_launch() && f.graph.is_closed(n) && once {
                m.eval(n, &env);
            }
        }
        let results = f.results.iter().map(|r| m.eval(r.value, &env).canonical());
        let results = results.collect();
        m.failed.map_or(Ok((results, m.recorded)), Err)
    }
}
