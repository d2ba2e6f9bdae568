//! Tickets, and words that blocks publish for others: in kernels by themselves, in every order, and in scans of one
//! pass. A kernel whose waits depend on the order of blocks, or whose words are cleared too early, is found.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{interp as oracle, parse as core};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::{Args, ArrayArg, Fault, FaultKind, Grid, Memory, Order, run};
use arraygpu_compiler::kernel::{Kernel, parse, verify};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{self, How, Layout};

const ORDERS: [Order; 6] = [
    Order::Ascending,
    Order::Descending,
    Order::Random(1),
    Order::Random(2),
    Order::Random(3),
    Order::Random(4),
];

/// A chain of blocks: each adds 1.5 to what the block before it, by ticket, has published. The last one to arrive
/// clears all words.
const CHAIN: &str = "kernel @chain {
  threads 32
  write out: f64
  main {
    if eq(thread, 0i32) {
      ticket %t = 0i32
      let %word: i32 = add(mul(%t, 4i32), 4i32)
      await %before: f64 = sub(%word, 4i32) if gt(%t, 0i32)
      let %own: f64 = add(%before, 1.5f64)
      publish %word = %own
      out[%t] = %own
      arrive %last = 1i32 of blocks
      if %last {
        seq %i = 0i32 to add(blocks, 1i32) {
          clear mul(%i, 4i32)
        }
      }
    }
  }
}
";

const BLOCKS: u32 = 9;

/// Runs a kernel of nine blocks that writes nine elements.
fn launch(text: &str, order: Order) -> Result<Vec<f64>, Box<Fault>> {
    let k: Kernel = parse::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0);
    verify::verify(&k).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(k.to_string(), text, "the text is read and written alike");
    let mut memory = Memory::default();
    let out = memory.allocate(Ty::F64, BLOCKS as usize);
    let counters = memory.filled(Ty::U32, &[Lit::u32(0); 4 + 4 * BLOCKS as usize]);
    let array = ArrayArg { memory: out, offset: 0, stride: 1, len: BLOCKS.into() };
    let args = Args { arrays: vec![array], counters: Some(counters), ..Args::default() };
    run(&k, Grid { blocks: BLOCKS, span: 1 }, &mut memory, &args, order)?;
    Ok((0..BLOCKS as usize).map(|i| memory.get(out, i).map_or(f64::NAN, |l| l.as_f64())).collect())
}

/// The fault of a kernel in some orders.
#[track_caller]
fn fault(text: &str, orders: &[Order], kind: FaultKind, says: &str) {
    for order in orders {
        let f = launch(text, *order).expect_err("a fault");
        assert_eq!(f.kind, kind, "{order:?}: {f}");
        assert!(f.to_string().contains(says), "{order:?}: {f}");
    }
}

#[test]
fn a_chain_of_tickets_has_one_order() {
    for order in ORDERS {
        let found = launch(CHAIN, order).unwrap_or_else(|f| panic!("{order:?}: {f}"));
        let expected: Vec<f64> = (1..=BLOCKS).map(|i| f64::from(i) * 1.5).collect();
        assert_eq!(found, expected, "{order:?}");
    }
}

/// Where there is room for few blocks, those that come first wait for others that never begin.
#[test]
fn a_chain_of_block_numbers_is_a_deadlock() {
    let text = CHAIN.replace("ticket %t = 0i32", "let %t: i32 = block");
    assert!(launch(&text, Order::Ascending).is_ok());
    fault(&text, &[Order::Descending], FaultKind::Deadlock, "await %before");
}

#[test]
fn words_that_are_never_published_are_a_deadlock() {
    let text = CHAIN.replace("      publish %word = %own\n", "");
    fault(&text, &ORDERS, FaultKind::Deadlock, "no block that has begun publishes");
}

#[test]
fn words_are_published_once() {
    let publish = "      publish %word = %own\n";
    let text = CHAIN.replace(publish, &publish.repeat(2));
    fault(&text, &ORDERS, FaultKind::Counter, "is published again");
}

/// Who clears words must know that all others have read them.
#[test]
fn words_that_are_cleared_too_early_are_a_race() {
    let text = CHAIN.replace("arrive %last = 1i32 of blocks", "let %last: bool = eq(%t, sub(blocks, 1i32))");
    fault(&text, &ORDERS, FaultKind::Race, "clear");
}

#[test]
fn words_that_nobody_clears_are_found() {
    let text = CHAIN.replace("add(blocks, 1i32)", "blocks");
    fault(&text, &ORDERS, FaultKind::Counter, "after the launch");
}

const SUMS: &str = "func @f(%x: [f32], %y: [f32]) -> (s: [f32], m: [f32]) {
  %n = len %x
  %l = len %y
  require same %n, %l \"map: x, y\"
  %h = map (%a: f32) over %x {
    %0 = mul %a, 0.5f32
    yield %0
  }
  %s = scan (%a: f32, %b: f32) from 0.25f32 over %h {
    %0 = add %a, %b
    yield %0
  }
  %m = map (%a: f32, %b: f32) over %s, %y {
    %0 = mul %a, %b
    yield %0
  }
  return %s, %m
}
";

/// A scan in one pass has the bits of the interpreter, whatever the order in which blocks run, over the edges of
/// tiles and groups; the longest vector has two groups.
#[test]
fn a_scan_in_one_pass_has_the_bits_of_its_order() {
    let f = core::parse_one(SUMS).expect("a function");
    let targets = Targets { cpu: false, cuda: true };
    let compiled = driver::compile_for("t", vec![f.clone()], targets).expect("it compiles");
    let whole =
        compiled.kernels.iter().find(|k| k.gpu_variants().iter().any(|v| v.launch.entry == "f_0_whole"));
    assert!(whole.is_some(), "there is a launch for the whole");
    for n in [1, 8191, 8192, 40_001, 290_000] {
        let number = |i: usize, by: usize| Lit::f32(((i * by) % 1009) as f32 * 0.001 - 0.4);
        let vector = |by| Value::Vector((0..n).map(|i| number(i, by)).collect());
        let args = [vector(7919), vector(104_729)];
        let expected = oracle::run(&f, &args).expect("the call works").results;
        let orders = if n < 100_000 { &ORDERS[..4] } else { &ORDERS[2..3] };
        for (order, span) in orders.iter().flat_map(|order| [(*order, 1), (*order, 3)]) {
            for (version, layout) in [(0, Layout::Contiguous), (1, Layout::InPlace)] {
                let how = How { layout, version: Some(version), span, order };
                let found =
                    gpu::call(&compiled, 0, &args, how).unwrap_or_else(|e| panic!("{n}, {how:?}: {e}"));
                assert!(found.entries.iter().any(|e| e.starts_with("f_0_whole")), "{:?}", found.entries);
                assert_eq!(found.results, expected, "{n}, {how:?}");
            }
        }
    }
}
