//! What a caller who watches a call sees of it.

use super::Machine;
use crate::core::interp::env::Env;
use crate::core::interp::values::{Val, Value};
use crate::core::records::{WORDS_OF_COMPUTED, WORDS_OF_NUMBER, promised_number, words_of, words_of_test};
use crate::core::{NodeId, Op};
use crate::counted;

impl Machine<'_> {
    /// Leaves an error record at a node, if the condition holds. `say` makes its text if somebody watches.
    pub(in crate::core::interp) fn leave(
        &mut self,
        n: NodeId,
        condition: bool,
        say: impl FnOnce(&mut Self) -> String,
    ) {
        self.recorded |= condition;
        let Some(watch) = self.watch.filter(|watch| watch.recorded.borrow().is_none()) else { return };
        if condition && !self.in_bound {
            let text = say(self);
            watch.recorded.borrow_mut().get_or_insert_with(|| (self.g.node(n).loc.clone(), text));
        }
    }

    /// The text of a record of a read at an index outside of an array.
    pub(super) fn said_of_read(&self, array: NodeId, index: &[i64], extents: &[i64]) -> String {
        let what = match self.g.op(array) {
            Op::Param(i) => format!("a read of {} is out of range", self.f.params[*i as usize].name),
            _ => WORDS_OF_COMPUTED.into(),
        };
        outside(&what, index, extents)
    }

    /// The text of a record of a test that fails for these two numbers.
    pub(super) fn said_of_test(&mut self, n: NodeId, [index, count]: [i64; 2], env: &Env) -> String {
        if let Some(numbers) = promised_number(self.g, n) {
            let numbers = numbers.map(|n| self.scalar(n, env).as_i64().to_string());
            return numbers.iter().fold(WORDS_OF_NUMBER.into(), |text, n| text.replacen("{}", n, 1));
        }
        match (words_of_test(self.g, n), self.g.op(n)) {
            (Some(what), Op::Within(_, _, tested)) if tested.record().is_some() => {
                outside(what, &[index], &[count])
            }
            (Some(what), _) => what.into(),
            (None, _) => outside(WORDS_OF_COMPUTED, &[index], &[count]),
        }
    }

    /// The text of a record that has no numbers.
    pub(super) fn said(&self, n: NodeId) -> String {
        words_of(self.g, n).into()
    }

    /// Shows a value that has names, unless it was shown for these bindings.
    pub(in crate::core::interp) fn show(&self, n: NodeId, value: &Val, env: &Env) {
        let Some(watch) = self.watch else { return };
        let (names, of) = (self.g.names(n), env.of(&self.g.node(n).free));
        if names.is_empty() {
            return;
        }
        if !of.shown.borrow().contains(&n) {
            of.shown.borrow_mut().push(n);
            let value = Value::of(value.clone().canonical());
            names.iter().for_each(|name| (watch.show)(name, &value));
        }
    }
}

/// A text with an index and the extents that it is outside of.
fn outside(what: &str, index: &[i64], extents: &[i64]) -> String {
    let all =
        |numbers: &[i64], between| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(between);
    let elements = counted(all(extents, " x "), "element");
    match index {
        [index] => format!("{what}: the index {index} of {elements}"),
        _ => format!("{what}: the index ({}) of {elements}", all(index, ", ")),
    }
}
