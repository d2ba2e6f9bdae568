//! Stages of an array in turn, each of which reads the one before at two places: ladders, butterflies, gathers. What
//! comes out is in proportion to the stages: no stage is computed again for each read of the stage behind it.

use arraygpu_compiler::budget::Budget;
use arraygpu_compiler::core::{Function, Op, parse};
use arraygpu_compiler::counts::copies;
use arraygpu_compiler::driver::{Compiled, Targets, compile_within};
use arraygpu_compiler::scalar::Ty;
use std::fmt::Write;

/// What a stage reads beside its own element, or instead of it.
#[derive(Clone, Copy, Debug)]
enum Stages {
    /// `z.at(i) + z.at(i - 2^l)`: outside it leaves a record.
    Ladder,
    /// The same where i is at least 2^l, which its condition says.
    Guarded,
    /// `z.at(i) + z.at(i ^ 2^l)`.
    Butterfly,
    /// `z.at(p.at(i)) + z.at(q.at(i))`: indices that are data.
    Gathers,
}

const ALL: [Stages; 4] = [Stages::Ladder, Stages::Guarded, Stages::Butterfly, Stages::Gathers];

impl Stages {
    fn program(self, count: usize) -> Function {
        let mut text =
            "func @stages(%z0: [f32], %p: [i64], %q: [i64]) -> (r: [f32]) {\n%n = len %z0\n".to_string();
        for l in 0..count {
            let (d, next) = (1u64 << l, l + 1);
            let body = match self {
                Stages::Ladder => {
                    format!("%j{l} = sub %i{l}, {d}i64\n%a{l} = at %z{l}, %i{l}\n%b{l} = at %z{l}, %j{l}\n")
                }
                Stages::Guarded => format!(
                    "%j{l} = sub %i{l}, {d}i64\n%a{l} = at %z{l}, %i{l}\n%k{l} = max %j{l}, 0i64\n%o{l} = at %z{l}, %k{l}\n\
                     %c{l} = ge %i{l}, {d}i64\n%b{l} = select %c{l}, %o{l}, 0f32\n"
                ),
                Stages::Butterfly => {
                    format!("%j{l} = xor %i{l}, {d}i64\n%a{l} = at %z{l}, %i{l}\n%b{l} = at %z{l}, %j{l}\n")
                }
                Stages::Gathers => format!(
                    "%j{l} = at %p, %i{l}\n%k{l} = at %q, %i{l}\n%a{l} = at %z{l}, %j{l}\n%b{l} = at %z{l}, %k{l}\n"
                ),
            };
            let _ = write!(
                text,
                "%z{next} = generate %n (%i{l}: i64) {{\n{body}%s{l} = add %a{l}, %b{l}\nyield %s{l}\n}}\n"
            );
        }
        parsed(&(text + &format!("return %z{count}\n}}\n")))
    }
}

fn parsed(text: &str) -> Function {
    parse::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0)
}

fn compiled(f: Function) -> Compiled {
    let both = Targets { cpu: true, cuda: true };
    compile_within(Budget::default(), "stages", vec![f], both).unwrap_or_else(|e| panic!("{e}"))
}

/// What came out of a program.
#[derive(Debug)]
struct Size {
    launches: usize,
    temporaries: usize,
    nodes: usize,
    ptx: usize,
    /// The reads of arrays of floats that are proven to be in bounds, in the function after all passes. What is read
    /// again to leave a record is not among them: it says which read was outside.
    reads: usize,
}

fn size(out: &Compiled) -> Size {
    let of = &out.functions[0];
    let g = &of.fused.graph;
    let is_read = |op: &Op| matches!(op, Op::Elem(x, _) if g.ty(*x).elem == Ty::F32);
    let reads =
        g.reachable(of.fused.results.iter().map(|r| r.value)).into_iter().filter(|n| is_read(g.op(*n)));
    Size {
        launches: of.plan.launches().count(),
        temporaries: of.plan.temps.len(),
        nodes: copies::of_program(&of.fused),
        ptx: out.gpu_variants().map(|code| code.ptx.len()).sum(),
        reads: reads.count(),
    }
}

#[test]
fn what_comes_out_is_in_proportion_to_the_stages() {
    let mut bad = Vec::new();
    for kind in ALL {
        let [few, some, many] = [4, 8, 16].map(|count| (count, size(&compiled(kind.program(count)))));
        for (count, of) in [&few, &some, &many] {
            if of.reads > 2 * count || of.launches > *count {
                bad.push(format!("{kind:?} of {count} stages: {of:?}"));
            }
        }
        for ((_, less), (count, more)) in [(&few, &some), (&some, &many)] {
            // each stage can say of each one before it that it read outside
            let most: f64 = if matches!(kind, Stages::Guarded) { 2.5 } else { 6.0 };
            let pairs = [
                (less.launches, more.launches, 2.5),
                (less.temporaries, more.temporaries, 2.5),
                (less.nodes, more.nodes, most),
                (less.ptx, more.ptx, most.min(3.5)),
                (less.reads, more.reads, 2.5),
            ];
            let is_twice =
                |(less, more, most): &(usize, usize, f64)| *more as f64 <= most * *less as f64 + 2.0;
            if !pairs.iter().all(is_twice) {
                bad.push(format!("{kind:?}: {less:?} for half of {count} stages, {more:?} for them"));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
