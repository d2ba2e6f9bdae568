//! The interpreter of GPU kernels: right kernels give the right bits in every order, and each kind of fault is found
//! and named.

use arraygpu_compiler::kernel::interp::{Args, ArrayArg, Fault, FaultKind, Grid, Memory, Order, run};
use arraygpu_compiler::kernel::{Kernel, parse, verify};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::mutants;

const ORDERS: [Order; 5] =
    [Order::Ascending, Order::Descending, Order::Random(1), Order::Random(2), Order::Random(3)];

fn kernel(text: &str) -> Kernel {
    parse::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0)
}

fn floats(n: usize) -> Vec<Lit> {
    (0..n).map(|i| Lit::f32(i as f32 * 0.37 - 20.0)).collect()
}

/// The elements of `out`, or the slot; the records.
type Ran = (Vec<Option<Lit>>, Vec<u64>);

/// Runs a kernel over the arrays `x` (read, those elements) and `out` (written, `n` elements), as many as it has;
/// scratch of 64 elements, one slot, 4 counters.
fn launch(
    k: &Kernel,
    blocks: u32,
    x: &[Lit],
    n: usize,
    ins: &[Lit],
    order: Order,
) -> Result<Ran, Box<Fault>> {
    let mut memory = Memory::default();
    let mut args = Args { ins: ins.to_vec(), ..Args::default() };
    let mut out = None;
    for a in &k.arrays {
        let id = if a.write { memory.allocate(a.ty, n) } else { memory.filled(a.ty, x) };
        args.arrays.push(ArrayArg { memory: id, offset: 0, stride: 1, len: memory.len(id) as u64 });
        out = if a.write { Some(id) } else { out };
    }
    args.slots = k.slots.iter().map(|s| memory.allocate(s.ty, 1)).collect();
    args.scratch = k.scratch.iter().map(|s| memory.allocate(s.1, 64)).collect();
    args.counters = Some(memory.filled(Ty::U32, &[Lit::u32(0); 4]));
    let records = run(k, Grid { blocks, span: 1 }, &mut memory, &args, order)?;
    let out = out.or(args.slots.first().copied());
    Ok((out.map_or(Vec::new(), |id| (0..memory.len(id)).map(|i| memory.get(id, i)).collect()), records))
}

/// The fault of a kernel with the parameters `x: f32` and `out: f32`, of 64 elements, in every order.
#[track_caller]
fn fault(text: &str, blocks: u32, kind: FaultKind, says: &[&str]) {
    for order in ORDERS {
        let k = kernel(text);
        let f = launch(&k, blocks, &floats(64), 64, &[], order).expect_err("a fault");
        assert_eq!(f.kind, kind, "{order:?}: {f}");
        for part in says {
            assert!(f.to_string().contains(part), "{order:?}: {part} in: {f}");
        }
    }
}

/// The same kernel has no fault in any order.
#[track_caller]
fn passes(text: &str, blocks: u32) {
    for order in ORDERS {
        if let Err(f) = launch(&kernel(text), blocks, &floats(64), 64, &[], order) {
            panic!("{order:?}: {f}");
        }
    }
}

/// Sums 64 elements a block: lanes by shuffles, warps through shared memory, blocks through scratch and a counter,
/// the last of which adds up.
const SUM: &str = "kernel @sum {
  threads 64
  read x: f32
  in n: i32
  in blocks: i32
  slot write out: f32
  scratch partial: f32
  shared part: f32[2]
  shared last: bool[1]
  main {
    let %i: i32 = add(mul(block, 64i32), thread)
    var %s: f32 = load_if(x[%i], lt(%i, n))
    %s = add(%s, shuffle_down 1(%s))
    %s = add(%s, shuffle_down 2(%s))
    %s = add(%s, shuffle_down 4(%s))
    %s = add(%s, shuffle_down 8(%s))
    %s = add(%s, shuffle_down 16(%s))
    if eq(and(thread, 31i32), 0i32) {
      part[shr(thread, 5i32)] = %s
    }
    barrier
    if eq(thread, 0i32) {
      partial[block] = add(part[0i32], part[1i32])
      arrive %done = 0i32 of blocks
      last[0i32] = %done
    }
    barrier
    if last[0i32] {
      if eq(thread, 40i32) {
        var %total: f32 = 0f32
        seq %b = 0i32 to blocks {
          %total = add(%total, partial[%b])
        }
        out = %total
      }
    }
  }
}
";

/// The same sum, in Rust.
fn sum(x: &[Lit]) -> f32 {
    let mut total = 0.0;
    for block in x.chunks(64) {
        let mut v: Vec<f32> = block.iter().map(|l| l.as_f32()).collect();
        v.resize(64, 0.0);
        while v.len() > 1 {
            v = v.chunks(2).map(|p| p[0] + p[1]).collect();
        }
        total += v[0];
    }
    total
}

fn launch_sum(k: &Kernel, n: usize, order: Order) -> Result<Lit, Box<Fault>> {
    let blocks = n.div_ceil(64).max(1);
    let ins = [Lit::i32(n as i32), Lit::i32(blocks as i32)];
    launch(k, blocks as u32, &floats(n), 0, &ins, order).map(|(out, _)| out[0].expect("written"))
}

#[test]
fn a_sum_has_the_right_bits_in_every_order() {
    let k = kernel(SUM);
    for n in [0, 1, 31, 32, 33, 64, 65, 300, 640] {
        for order in ORDERS {
            let out = launch_sum(&k, n, order).unwrap_or_else(|f| panic!("n = {n}, {order:?}: {f}"));
            assert_eq!(out, Lit::f32(sum(&floats(n))), "n = {n}, {order:?}");
        }
    }
}

#[test]
fn dropping_any_synchronisation_is_a_race() {
    let mutants = mutants::of(&kernel(SUM));
    assert_eq!(mutants.len(), 3);
    for (what, k) in mutants {
        for order in ORDERS {
            let f = launch_sum(&k, 300, order).expect_err(&what);
            assert_eq!(f.kind, FaultKind::Race, "{what}, {order:?}: {f}");
        }
    }
}

#[test]
fn one_arrival_short() {
    let k = kernel(&SUM.replace("of blocks", "of add(blocks, 1i32)"));
    let f = launch_sum(&k, 300, Order::Ascending).unwrap_err();
    assert!(f.to_string().contains("counter 0 is at 5 after the launch"), "{f}");
    let k = kernel(&SUM.replace("of blocks", "of sub(blocks, 1i32)"));
    launch_sum(&k, 300, Order::Ascending).expect_err("too many arrivals");
}

/// A thread that has not arrived: what it wrote is not seen, although another of its block has.
#[test]
fn writes_after_the_arrival_are_not_seen() {
    let late = "arrive %done = 0i32 of blocks
      last[0i32] = %done";
    let k = kernel(
        &SUM.replace(late, "").replace("partial[block] =", &format!("{late}\n      partial[block] =")),
    );
    for order in ORDERS {
        let f = launch_sum(&k, 300, order).unwrap_err();
        assert!(f.kind == FaultKind::Race && f.message.contains("scratch partial"), "{order:?}: {f}");
    }
}

#[test]
fn races_in_shared_memory() {
    let text = |barrier: &str| {
        format!(
            "kernel @k {{
  threads 64
  read x: f32
  write out: f32
  shared buf: f32[64]
  main {{
    buf[thread] = x[thread]
    {barrier}
    let %other: f32 = buf[sub(63i32, thread)] !author.rs:7:3
    out[thread] = %other
  }}
}}"
        )
    };
    let says =
        ["shared buf", "let %other: f32 = buf[sub(63i32, thread)] !author.rs:7:3", "buf[thread] = x[thread]"];
    fault(&text(""), 1, FaultKind::Race, &says);
    for order in ORDERS {
        let (out, _) = launch(&kernel(&text("barrier")), 1, &floats(64), 64, &[], order).unwrap();
        let reversed: Vec<_> = floats(64).into_iter().rev().map(Some).collect();
        assert_eq!(out, reversed);
    }
    let k = kernel(&text(""));
    let f = launch(&k, 1, &floats(64), 64, &[], Order::Ascending).unwrap_err();
    let lines: Vec<u32> =
        [f.at, f.other].into_iter().flatten().filter_map(|p| p.loc).map(|l| l.line).collect();
    assert_eq!(lines, [7]);
}

/// Each thread copies 16 bytes, as other elements, and reads those of its neighbour.
fn copies(before: &str, between: &str, offset: &str) -> String {
    format!(
        "kernel @k {{ threads 64 read x: f32 aligned write out: f32 shared buf: u8[1024] main {{
           let %t: i32 = and(thread, 7i32)
           {before}
           if lt(thread, 8i32) {{ copy buf[mul(%t, 16i32)] = x[add(mul(%t, 4i32), {offset})] }}
           {between}
           let %b: u8 = buf[mul(xor(%t, 1i32), 16i32)]
           if lt(thread, 8i32) {{ out[thread] = cast f32(%b) }}
         }} }}"
    )
}

/// A copy is there for its thread behind a wait, and for others behind a barrier behind that.
#[test]
fn copies_are_there_behind_a_wait_and_a_barrier() {
    passes(&copies("", "copy_group copy_wait 0 barrier", "4i32"), 1);
    // the last group is an empty one
    passes(&copies("", "copy_group copy_group copy_wait 1 barrier", "0i32"), 1);
    let printed = kernel(&copies("", "copy_group copy_wait 0 barrier", "4i32")).to_string();
    assert_eq!(kernel(&printed).to_string(), printed);
    let text = copies("", "copy_group copy_wait 0 barrier", "0i32");
    let mut x = floats(64);
    x[4] = Lit { ty: Ty::F32, bits: 0x0403_0207 };
    let (out, _) = launch(&kernel(&text), 1, &x, 64, &[], Order::Ascending).expect("no fault");
    assert_eq!(out[0], Some(Lit::f32(7.0)), "the first byte of the neighbour's");
    for missing in ["copy_group barrier", "copy_wait 0 barrier", "copy_group copy_wait 1 barrier"] {
        fault(&copies("", missing, "0i32"), 1, FaultKind::Unwritten, &["shared buf"]);
    }
    fault(&copies("", "copy_group copy_wait 0", "0i32"), 1, FaultKind::Race, &["shared buf"]);
    fault(&copies("", "copy_group barrier copy_wait 0", "0i32"), 1, FaultKind::Race, &["shared buf"]);
    let read = "var %s: u8 = 0u8 if ge(thread, 32i32) { buf[thread] = 1u8 %s = buf[thread] }";
    fault(&copies(read, "copy_group copy_wait 0 barrier", "0i32"), 1, FaultKind::Race, &["shared buf"]);
    fault(&copies("", "copy_group copy_wait 0 barrier", "1i32"), 1, FaultKind::Misaligned, &["array x"]);
}

/// What a warp's lanes wrote before a broadcast they see after it; other warps do not, and a shuffle orders nothing.
#[test]
fn broadcasts_order_a_warp_and_no_more() {
    let text = |meet: &str, index: &str| {
        format!(
            "kernel @k {{
  threads 64
  read x: f32
  write out: f32
  shared buf: f32[64]
  main {{
    buf[thread] = x[thread]
    let %meet: i32 = {meet}(thread)
    out[thread] = add(buf[{index}], cast f32(%meet))
  }}
}}"
        )
    };
    passes(&text("broadcast", "xor(thread, 31i32)"), 1);
    fault(&text("broadcast", "xor(thread, 32i32)"), 1, FaultKind::Race, &["shared buf"]);
    fault(&text("shuffle_down 1", "xor(thread, 31i32)"), 1, FaultKind::Race, &["shared buf"]);
}

#[test]
fn races_between_blocks() {
    let text = "kernel @k {
  threads 32
  write out: f32
  main {
    out[thread] = 1f32
  }
}";
    passes(text, 1);
    let says =
        ["array out is written and written", "out[thread] = 1f32", "thread 0 of block 0", "of block 1"];
    let two = ["out[thread] = 1f32", "array out is written and written"];
    fault(text, 2, FaultKind::Race, &two);
    let f = launch(&kernel(text), 2, &[], 32, &[], Order::Ascending).unwrap_err().to_string();
    assert!(says.iter().all(|s| f.contains(s)), "{f}");
    let slot =
        "kernel @k { threads 32 slot write s: i32 main { if eq(thread, 0i32) { s = mul(block, 0i32) } } }";
    fault(slot, 2, FaultKind::Race, &["slot s"]);
}

#[test]
fn divergence() {
    let some = "kernel @k { threads 64 main { if lt(thread, 40i32) { barrier } } }";
    fault(some, 1, FaultKind::DivergentBarrier, &["barrier", "is not there"]);
    let warp = "kernel @k { threads 64 main { if lt(thread, 32i32) { barrier } } }";
    fault(
        warp,
        1,
        FaultKind::DivergentBarrier,
        &["thread 32 of block 0 has ended", "thread 0 of block 0 at: barrier"],
    );
    let either = "kernel @k { threads 64 main { if lt(thread, 32i32) { barrier } else { barrier } } }";
    fault(either, 1, FaultKind::DivergentBarrier, &["waits at another one"]);
    let turns = "kernel @k { threads 64 main {
      seq %i = 0i32 to 2i32 { if ne(shr(thread, 5i32), %i) { barrier } } } }";
    fault(turns, 1, FaultKind::DivergentBarrier, &["waits at another one"]);
    let shuffle =
        "kernel @k { threads 32 main { if ne(thread, 9i32) { let %a: i32 = shuffle_down 1(thread) } } }";
    fault(
        shuffle,
        1,
        FaultKind::DivergentShuffle,
        &["31 of the warp's 32 lanes", "thread 9 of block 0 does not", "shuffle_down 1(thread)"],
    );
    let loops = "kernel @k { threads 32 main { seq %i = 0i32 to thread { let %a: i32 = broadcast(%i) } } }";
    fault(loops, 1, FaultKind::DivergentShuffle, &["let %a: i32 = broadcast(%i)"]);
    // all threads of a warp, and all warps of a block: no divergence
    let fine = "kernel @k { threads 64 main {
      seq %i = 0i32 to 3i32 { barrier }
      if lt(thread, 32i32) { let %a: i32 = shuffle_down 1(thread) } } }";
    passes(fine, 2);
}

/// Blocks of a cluster of 4 write what the next one reads: the first barrier is that all have begun, the
/// second that all have written, and after it nobody writes to another block.
const CLUSTER: &str = "kernel @k {
  threads 64 cluster 4
  read x: f32
  write out: f32
  shared got: f32[64]
  main {
    let %rank: i32 = and(block, 3i32)
    BEGUN
    got[thread] of and(add(%rank, 1i32), 3i32) = add(x[thread], cast f32(block))
    WRITTEN
    if eq(shr(thread, 3i32), block) {
      out[thread] = got[thread]
    }
  }
}";

#[test]
fn clusters() {
    let text = |begun: &str, written: &str| CLUSTER.replace("BEGUN", begun).replace("WRITTEN", written);
    let right = text("barrier cluster relaxed", "barrier cluster");
    passes(&text("barrier cluster", "barrier cluster"), 4);
    assert_eq!(kernel(&right).to_string(), kernel(&kernel(&right).to_string()).to_string());
    for order in ORDERS {
        let (out, _) = launch(&kernel(&right), 8, &floats(64), 64, &[], order).unwrap();
        let before = |block: usize| block / 4 * 4 + (block + 3) % 4;
        let wanted = |i: usize| Lit::f32(f32::from_bits(floats(64)[i].bits as u32) + before(i / 8) as f32);
        assert_eq!(out, (0..64).map(|i| Some(wanted(i))).collect::<Vec<_>>(), "{order:?}");
    }
    let absent = FaultKind::Absent;
    fault(&text("", "barrier cluster"), 4, absent, &["may not have begun", "got[thread] of"]);
    let early = text("barrier cluster relaxed", "barrier");
    let late = text("barrier cluster", "barrier cluster got[thread] of and(add(%rank, 2i32), 3i32) = 1f32");
    let unordered = text("barrier cluster relaxed", "barrier cluster relaxed");
    for (text, order) in
        [&early, &late, &unordered].into_iter().flat_map(|text| ORDERS.map(|order| (text, order)))
    {
        // the block that is written to may have ended
        let f = launch(&kernel(text), 4, &floats(64), 64, &[], order).unwrap_err();
        assert!([absent, FaultKind::Race].contains(&f.kind), "{order:?}: {f}");
    }
    let unread = late.replace("out[thread] = got[thread]", "out[thread] = 0f32");
    fault(&unread, 4, absent, &["ended", "got[thread] of"]);
    fault(
        &right.replace("%rank, 1i32), 3i32", "%rank, 1i32), 7i32"),
        4,
        FaultKind::OutOfBounds,
        &["block 4 of a cluster of 4"],
    );
    fault(&right, 6, FaultKind::Arguments, &["6 blocks in clusters of 4"]);
    let some = "kernel @k { threads 64 cluster 2 main { if lt(thread, 32i32) { barrier cluster } } }";
    fault(some, 2, FaultKind::DivergentBarrier, &["has ended"]);
    let one = "kernel @k { threads 64 cluster 2 main { if eq(block, 1i32) { barrier cluster } } }";
    fault(one, 2, FaultKind::DivergentBarrier, &["another block of the cluster has ended"]);
    let either = "kernel @k { threads 32 cluster 2 main { if eq(block, 1i32) { barrier cluster } else { barrier cluster } } }";
    fault(either, 2, FaultKind::DivergentBarrier, &["waits at another one"]);
    let mixed = "kernel @k { threads 32 cluster 2 main { if eq(block, 1i32) { barrier } barrier cluster } }";
    passes(mixed, 4);
    for wrong in
        ["threads 32 main { barrier cluster }", "threads 32 cluster 3 main { }", "cluster 2 main { }"]
    {
        let read = parse::parse(&format!("kernel @k {{ {wrong} }}"));
        assert!(read.is_err() || verify::verify(&read.unwrap()[0]).is_err(), "{wrong}");
    }
}

#[test]
fn bounds() {
    let read =
        "kernel @k { threads 64 read x: f32 write out: f32 main { out[thread] = x[add(thread, 1i32)] } }";
    fault(
        read,
        1,
        FaultKind::OutOfBounds,
        &["element 64 of array x of 64", "thread 63 of block 0 at: out[thread]"],
    );
    let write = "kernel @k { threads 32 write out: f32 main { out[sub(thread, 1i32)] = 0f32 } }";
    fault(write, 1, FaultKind::OutOfBounds, &["element -1 of array out of 64", "thread 0 "]);
    let guarded = "kernel @k { threads 32 read x: f32 main { let %a: f32 = load_if(x[mul(thread, 9i32)], lt(thread, 8i32)) } }";
    passes(guarded, 1);
    let shared = "kernel @k { threads 32 shared s: u8[31] main { s[thread] = 1u8 } }";
    fault(shared, 1, FaultKind::OutOfBounds, &["element 31 of shared s of 31"]);
    let scratch =
        "kernel @k { threads 32 scratch s: u8 main { s[add(4294967296i64, cast i64(thread))] = 1u8 } }";
    fault(scratch, 1, FaultKind::OutOfBounds, &["element 4294967296 of scratch s of 64"]);
    let tail = "kernel @k { threads 32 read x: f32 aligned main {
      load %a: f32, %b: f32, %c: f32, %d: f32 = x[mul(thread, 4i32)] } }";
    fault(tail, 1, FaultKind::OutOfBounds, &["4 elements from 64 on of array x of 64"]);
    let counter = "kernel @k { threads 32 main { if eq(thread, 0i32) { arrive %a = 4i32 of 1i32 } } }";
    fault(counter, 1, FaultKind::OutOfBounds, &["counter 4 of 4"]);
}

#[test]
fn vectors() {
    let text = "kernel @k {
  threads 32
  read x: f32 aligned
  write out: f32 aligned
  main {
    if lt(thread, 16i32) {
      load %a: f32, %b: f32, %c: f32, %d: f32 = x[mul(thread, 4i32)]
      store out[mul(thread, 4i32)] = %d, %c, %b, %a
    }
  }
}";
    let k = kernel(text);
    let (out, _) = launch(&k, 1, &floats(64), 64, &[], Order::Descending).unwrap();
    let expected: Vec<_> = (0..64).map(|i| Some(floats(64)[i / 4 * 4 + 3 - i % 4])).collect();
    assert_eq!(out, expected);
    let odd = text.replace("x[mul(thread, 4i32)]", "x[mul(thread, 2i32)]");
    fault(&odd, 1, FaultKind::Misaligned, &["index 2 of array x is no multiple of 4", "load %a: f32"]);

    let place = |offset, stride| {
        let mut memory = Memory::default();
        let (x, out) = (memory.filled(Ty::F32, &floats(80)), memory.allocate(Ty::F32, 64));
        let x = ArrayArg { memory: x, offset, stride, len: 64 };
        let out = ArrayArg { memory: out, offset: 0, stride: 1, len: 64 };
        let args = Args { arrays: vec![x, out], ..Args::default() };
        run(&k, Grid { blocks: 1, span: 1 }, &mut memory, &args, Order::Ascending)
    };
    place(4, 1).unwrap();
    let f = place(3, 1).unwrap_err();
    assert!(f.to_string().contains("element 0 of array x lies 12 bytes after a multiple of 16"), "{f}");
    assert_eq!(place(0, -1).unwrap_err().kind, FaultKind::Arguments);
    assert_eq!(place(17, 1).unwrap_err().kind, FaultKind::Arguments);
}

#[test]
fn unwritten_memory() {
    let shared = "kernel @k { threads 32 shared s: f32[32] main {
      if lt(thread, 31i32) { s[thread] = 1f32 }
      barrier
      let %a: f32 = s[sub(31i32, thread)] } }";
    fault(
        shared,
        1,
        FaultKind::Unwritten,
        &["element 31 of shared s", "thread 0 of block 0 at: let %a: f32"],
    );
    let scratch = "kernel @k { threads 32 scratch s: f32 main { let %a: f32 = s[0i32] } }";
    fault(scratch, 1, FaultKind::Unwritten, &["element 0 of scratch s"]);
    let slot = "kernel @k { threads 32 slot read s: f32 main { let %a: f32 = s } }";
    fault(slot, 1, FaultKind::Unwritten, &["slot s"]);
}

#[test]
fn overlapping_arrays() {
    let text = |noalias: &str, index: &str| {
        format!(
            "kernel @k {{
  threads 32
  read x: f32 strided{noalias}
  write out: f32 strided{noalias}
  main {{
    out[thread] = add(x[{index}], 1f32)
  }}
}}"
        )
    };
    let run_at = |k: &str, offset, stride| {
        let mut memory = Memory::default();
        let x = memory.filled(Ty::F32, &floats(64));
        let array = |offset, stride| ArrayArg { memory: x, offset, stride, len: 32 };
        let args = Args { arrays: vec![array(31, -1), array(offset, stride)], ..Args::default() };
        let result = run(&kernel(k), Grid { blocks: 1, span: 1 }, &mut memory, &args, Order::Ascending);
        result.map(|_| (0..64).map(|i| memory.get(x, i).unwrap()).collect::<Vec<_>>())
    };
    // in place: each thread overwrites what it read
    let values = run_at(&text("", "thread"), 31, -1).unwrap();
    assert!(values.iter().zip(floats(64)).take(32).all(|(a, b)| a.as_f32() == b.as_f32() + 1.0));
    assert_eq!(values[32..], floats(64)[32..]);
    assert_eq!(run_at(&text(" noalias", "thread"), 31, -1).unwrap_err().kind, FaultKind::Alias);
    run_at(&text(" noalias", "thread"), 32, 1).unwrap();
    assert_eq!(run_at(&text("", "thread"), 0, 1).unwrap_err().kind, FaultKind::Race);
    assert_eq!(run_at(&text("", "sub(31i32, thread)"), 31, -1).unwrap_err().kind, FaultKind::Race);
}

#[test]
fn records_keep_the_lowest_element() {
    let k = kernel(
        "kernel @k { threads 32 site 0 \"a\" site 1 \"b\" main {
      let %i: i32 = add(mul(block, 32i32), thread)
      record 0 if ge(%i, 37i32) at cast i64(%i)
      record 1 if gt(%i, 100i32) at cast i64(%i) } }",
    );
    for order in ORDERS {
        let (_, records) = launch(&k, 3, &[], 0, &[], order).unwrap();
        assert_eq!(records, [!37u64, 0]);
    }
}

/// Lanes that leave a loop early wait for the others; `select` takes either arm; indices of 32 bits wrap.
#[test]
fn control_flow_and_arithmetic() {
    let k = kernel(
        "kernel @k {
  threads 32
  write out: i64
  in wrap: i32
  main {
    var %n: i64 = 0i64
    var %left: i32 = thread
    while gt(%left, 0i32) {
      if eq(and(%left, 1i32), 0i32) {
        %left = shr(%left, 1i32)
      } else {
        %left = sub(%left, 1i32)
      }
      %n = add(%n, 1i64)
    }
    seq %i = 30i32 to thread {
      %n = add(%n, mul(1000i64, cast i64(%i)))
    }
    let %max: i32 = 2147483647i32
    out[add(add(%max, wrap), thread)] = select(eq(span, 1i32), %n, -1i64)
  }
}",
    );
    let (out, _) = launch(&k, 1, &[], 32, &[Lit::i32(-i32::MAX)], Order::Random(5)).unwrap();
    let steps = |i: u32| i64::from(if i == 0 { 0 } else { i.ilog2() + i.count_ones() });
    for i in 0..32u32 {
        let turns = if i == 31 { 30_000 } else { 0 };
        assert_eq!(out[i as usize], Some(Lit::i64(steps(i) + turns)), "thread {i}");
    }
}

/// A guarded kernel runs if its guard is negative, also if it writes the guard itself, and else leaves everything as
/// it was.
#[test]
fn guards() {
    let text = "kernel @guarded {
  threads 64 guarded
  in stops: i64
  write out: i64
  site 0 \"there\"
  main {
    if and(eq(thread, 0i32), eq(block, 0i32)) {
      record 0 if true at 3i64
      out[0i64] = stops
    }
  }
}";
    let k = kernel(text);
    assert_eq!(parse::parse(&k.to_string()).unwrap(), std::slice::from_ref(&k));
    let ptx = arraygpu_compiler::backend::ptx::emit(&k);
    let lines: Vec<&str> = ptx.lines().map(str::trim).collect();
    let end = lines.iter().position(|l| l.starts_with('@') && l.ends_with(" ret;")).expect("a way out");
    assert!(
        lines[end - 2].starts_with("ld.global.s64") && lines[end - 1].starts_with("setp.ge.s64"),
        "{ptx}"
    );
    for order in ORDERS {
        let mut memory = Memory::default();
        let number = memory.filled(Ty::I64, &[Lit::i64(-1)]);
        let array = ArrayArg { memory: number, offset: 0, stride: 1, len: 1 };
        let mut go = |guard: Option<(_, u64)>, stops: i64| {
            let args = Args { arrays: vec![array], ins: vec![Lit::i64(stops)], guard, ..Args::default() };
            let ran = run(&k, Grid { blocks: 2, span: 1 }, &mut memory, &args, order);
            ran.map(|records| (records, memory.get(number, 0).map(|n| n.as_i64())))
        };
        let guard = Some((number, 0));
        // a step, the check that ends the iteration, and a step behind the end
        assert_eq!(go(guard, -1).unwrap(), (vec![!3], Some(-1)));
        assert_eq!(go(guard, 7).unwrap(), (vec![!3], Some(7)));
        assert_eq!(go(guard, 9).unwrap(), (vec![0], Some(7)));
        assert_eq!(go(None, 9).unwrap_err().kind, FaultKind::Arguments);
        assert_eq!(go(Some((number, 1)), 9).unwrap_err().kind, FaultKind::Arguments);
    }
}
