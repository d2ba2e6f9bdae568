//! Closures inside of closures: programs whose depth grows. The program of depth n has n closures of the same few
//! operations, each with a read that a condition guards, around one another.

use arraygpu_compiler::core::{Function, parse};
use std::fmt::Write;

/// What stands inside of what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nesting {
    /// Loops in the steps of loops.
    Loops,
    /// Loops in one arm of a choice about the index of the loop around them.
    Selects,
    /// Reductions of arrays in the elements of arrays.
    Reductions,
    /// Reductions that two choices, each under a condition of its own, and the value behind them need.
    Conditions,
    /// A loop in a choice, a loop and a reduction in turn.
    Mixed,
}

pub const ALL: [Nesting; 5] =
    [Nesting::Loops, Nesting::Selects, Nesting::Reductions, Nesting::Conditions, Nesting::Mixed];

impl Nesting {
    /// The program of that depth.
    pub fn program(self, depth: usize) -> Function {
        let mut text =
            "func @nested(%x: [f32]) -> (r: [f32]) {\n%n = len %x\n%last = sub %n, 1i64\n".to_string();
        text += "%r = generate %n (%i0: i64) {\n%s0 = at %x, %i0\n";
        self.level(&mut text, 1, depth);
        text += "yield %v1\n}\nreturn %r\n}\n";
        parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0)
    }

    /// Writes the value `%v{k}` of the closures from level k on, from the index and the value of the level before.
    fn level(self, text: &mut String, k: usize, depth: usize) {
        let outer = k - 1;
        let mut line = |l: String| writeln!(text, "{l}").expect("a string takes it");
        line(format!("%c{k} = lt %i{outer}, %last\n%j{k} = add %i{outer}, 1i64\n%a{k} = at %x, %j{k}"));
        line(format!("%g{k} = select %c{k}, %a{k}, %s{outer}"));
        if k > depth {
            return line(format!("%v{k} = mul %g{k}, %s{outer}"));
        }
        let is_reduced = matches!(self, Nesting::Reductions | Nesting::Conditions)
            || self == Nesting::Mixed && k.is_multiple_of(3);
        let is_chosen = self == Nesting::Selects || self == Nesting::Mixed && k % 3 == 1;
        let inner = k + 1;
        if is_reduced {
            line(format!(
                "%e{k} = generate %n (%i{k}: i64) {{\n%y{k} = at %x, %i{k}\n%s{k} = add %y{k}, %g{k}"
            ));
            self.level(text, inner, depth);
            text.push_str(&format!(
                "yield %v{inner}\n}}\n%l{k} = reduce (%p{k}: f32, %q{k}: f32) from 0f32 over %e{k} {{\n\
                 %z{k} = add %p{k}, %q{k}\nyield %z{k}\n}}\n"
            ));
        } else {
            line(format!("%l{k} = loop 0 (%i{k}: i64, %s{k}: f32) by 4i64 from %g{k} {{"));
            self.level(text, inner, depth);
            text.push_str(&format!(
                "%m{k} = le %i{k}, %i{outer}\n%w{k} = add %v{inner}, %s{k}\n%t{k} = tuple %m{k}, %w{k}\nyield %t{k}\n}}\n"
            ));
        }
        text.push_str(&match self {
            Nesting::Conditions => format!(
                "%h{k} = gt %i{outer}, 0i64\n%b{k} = select %h{k}, %l{k}, %g{k}\n\
                 %o{k} = select %c{k}, %l{k}, %s{outer}\n%d{k} = add %b{k}, %o{k}\n%v{k} = add %d{k}, %l{k}\n"
            ),
            _ if is_chosen => format!("%v{k} = select %c{k}, %l{k}, %g{k}\n"),
            _ => format!("%v{k} = add %l{k}, %s{outer}\n"),
        });
    }
}
