//! Counts of a warp in the simulator: one lane after the other, in every order of blocks and warps.

use arraygpu_compiler::kernel::interp::{Args, ArrayArg, Fault, FaultKind, Grid, Memory, Order, run};
use arraygpu_compiler::kernel::parse;
use arraygpu_compiler::scalar::{Lit, Ty};

const ORDERS: [Order; 3] = [Order::Ascending, Order::Descending, Order::Random(1)];

/// A kernel of two warps, each of which counts twice.
fn text(own: &str, count: &str) -> String {
    format!(
        "kernel @k {{
  threads 64
  write out: u32
  shared counters: u32[64]
  main {{
    counters[thread] = 5u32
    let %digit: i32 = and(mul(thread, 7i32), 3i32)
    let %own: i32 = {own}
    count %first = counters[add(%own, %digit)] bits 2
    {count}
    out[thread] = add(mul(%first, 100u32), %second)
  }}
}}"
    )
}

/// The elements of its output.
fn launch(text: &str, order: Order) -> Result<Vec<Option<Lit>>, Box<Fault>> {
    let k = parse::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0);
    let mut memory = Memory::default();
    let out = memory.allocate(Ty::U32, 64);
    let arrays = vec![ArrayArg { memory: out, offset: 0, stride: 1, len: 64 }];
    let args = Args { arrays, ..Args::default() };
    run(&k, Grid { blocks: 1, span: 1 }, &mut memory, &args, order)?;
    Ok((0..64).map(|i| memory.get(out, i)).collect())
}

#[track_caller]
fn fault(text: &str, kind: FaultKind, says: &str) {
    for order in ORDERS {
        let f = launch(text, order).expect_err("a fault");
        assert!(f.kind == kind && f.to_string().contains(says), "{order:?}: {f}");
    }
}

#[test]
fn counts_are_in_the_order_of_lanes() {
    let (own, again) = ("and(thread, 32i32)", "count %second = counters[%own] bits 1");
    for order in ORDERS {
        let out = launch(&text(own, again), order).unwrap_or_else(|f| panic!("{order:?}: {f}"));
        for (i, found) in out.into_iter().enumerate() {
            let (lane, digit) = (i % 32, i * 7 % 4);
            let first = 5 + (0..lane).filter(|other| other * 7 % 4 == digit).count();
            // the lanes with the first digit have counted there before
            let second = 5 + 8 + lane;
            assert_eq!(found, Some(Lit::u32((100 * first + second) as u32)), "{order:?}: {i}");
        }
    }
}

#[test]
fn warps_that_share_a_counter_and_parts_of_a_warp_are_faults() {
    let (own, again) = ("and(thread, 32i32)", "count %second = counters[%own] bits 1");
    fault(&text("0i32", again), FaultKind::Race, "shared counters");
    let part = "var %second: u32 = 0u32 if lt(thread, 16i32) { count %part = counters[%own] bits 1 %second = %part }";
    fault(&text(own, part), FaultKind::DivergentShuffle, "count %part = counters[%own]");
    let wide = "count %second = counters[%digit] bits 1";
    fault(&text(own, wide), FaultKind::OutOfBounds, "more than 1 bits");
}
