//! Stages of an array in turn, each of which reads the one before at two places: ladders, butterflies, gathers. What
//! comes out is in proportion to the stages: no stage is computed again for each read of the stage behind it.

use arraygpu_compiler::budget::Budget;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, Op, parse};
use arraygpu_compiler::counts::copies;
use arraygpu_compiler::driver::{Compiled, Targets, compile_within};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{self, How, Layout};
use arraygpu_suite::rng::Rng;
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
                    "%j{l} = at %p, %i{l}\n%k{l} = at %q, %i{l}\n\
                     %a{l} = at %z{l}, %j{l} !a:{l}:1\n%b{l} = at %z{l}, %k{l} !b:{l}:1\n"
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
            // what the first stages read is proven
            let most: f64 = 2.75;
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

/// What the elements of gathers leave: for each element of the last stage a bit for each place that it needs and that
/// is outside. The number of a place is its rank in the order in which an element is computed: the first reads of all
/// stages, from the last stage down, and then the second reads, up to it.
fn outside(stages: usize, p: &[i64], q: &[i64]) -> Vec<u32> {
    let n = p.len() as i64;
    let mut before = vec![0; p.len()];
    for l in 0..stages {
        let ranks = [stages - 1 - l, stages + l];
        let of = |i: usize| {
            let reads = [p[i], q[i]].into_iter().zip(ranks);
            let left =
                reads.map(|(at, rank)| if (0..n).contains(&at) { before[at as usize] } else { 1 << rank });
            left.fold(0, |all, of| all | of)
        };
        before = (0..p.len()).map(of).collect();
    }
    before
}

/// What stages have found is handed on, and the record is the one of the program without them: the lowest element's,
/// and its first place.
#[test]
fn stages_hand_the_first_record_on() {
    const COUNT: usize = 9;
    let out = compiled(Stages::Gathers.program(COUNT));
    let plan = &out.functions[0].plan;
    assert!(!plan.temps.is_empty(), "the stages are stored");
    let sites = &plan.launches().last().unwrap().sites;
    let place = |rank: usize| match rank.checked_sub(COUNT) {
        None => format!("out of range (a:{}:1)", COUNT - 1 - rank),
        Some(l) => format!("out of range (b:{l}:1)"),
    };
    // reads of what is computed, or of the first array; reads of the indices have lines, too
    let is_stage = |site: &str| site.contains("computed") || site.contains("z0");
    let position = |rank: usize| {
        let of = |site: &String| is_stage(site) && site.ends_with(&place(rank));
        sites.iter().position(of).unwrap_or_else(|| panic!("{}: {sites:?}", place(rank)))
    };
    // the last launch computes some stages itself; what the others have found is in order
    let handed_on: Vec<usize> = (COUNT / 2..COUNT + COUNT / 2).map(position).collect();
    assert!(handed_on.is_sorted(), "{sites:?}");
    let (mut rng, mut found, mut several) = (Rng::new(1), 0, 0);
    for turn in 0..40 {
        let n = 12;
        let mut index = |outside: usize| -> Vec<i64> {
            (0..n).map(|_| if rng.one_in(outside) { n as i64 } else { rng.below(n) as i64 }).collect()
        };
        let (p, q) = (index(8 + 4 * turn), index(40));
        let vector = |of: &[i64]| Value::Vector(of.iter().map(|i| Lit::i64(*i)).collect());
        let z = Value::Vector((0..n).map(|i| Lit::f32(i as f32)).collect());
        let args = [z, vector(&p), vector(&q)];
        let how = How { layout: Layout::Contiguous, version: None, span: 1, order: Order::Ascending };
        let called = gpu::call(&out, 0, &args, how).unwrap_or_else(|e| panic!("{e}"));
        let left = outside(COUNT, &p, &q).into_iter().enumerate().find(|(_, places)| *places != 0);
        match (called.record, left) {
            (None, None) => {}
            (Some(record), Some((element, places))) => {
                assert_eq!(record.element, element as u64, "{p:?} {q:?}");
                let first =
                    (0..2 * COUNT).filter(|rank| places >> rank & 1 == 1).map(position).min().unwrap();
                assert_eq!(record.site, sites[first], "{p:?} {q:?}");
                found += 1;
                several += usize::from(places.count_ones() > 1);
            }
            (record, left) => panic!("{record:?}, {left:?}: {p:?} {q:?}"),
        }
    }
    assert!(
        (10..40).contains(&found) && several > 5,
        "{found} of 40 calls leave a record, {several} several"
    );
}
