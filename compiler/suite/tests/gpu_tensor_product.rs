//! Products by tensor cores (semantics section 8) on a simulated GPU: small integers, whose sums are exact in any
//! order, give the bits of the interpreter; other numbers are within the bound of sums of exact products in f32.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{Compiled, Targets, compile_for};
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::plan::policy::{self, Device, Space};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{Failure, How, Layout, call};
use arraygpu_suite::mutants;
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::tensor_product::{DIRECTIONS, Program, integers, operands};

/// The kernels that a launch of each version runs, counted from the first one of warps: those of warpgroups, which
/// stand before it, are in `gpu_warpgroups.rs`. What multiplies packed operands is none of its own.
const KERNELS: [&[&str]; 6] = [
    &["_tensor"],
    &["_tensor_small"],
    &["_tensor_unaligned"],
    &["_tensor_packs", "_tensor_packed"],
    &[],
    &["_tensor_any"],
];
const PACKS: usize = 3;
const ANY: usize = 5;

/// Returns the number of the first version of warps.
fn first(c: &Compiled) -> usize {
    let mut all = c.kernels[0].gpu_variants().iter();
    all.position(|v| v.launch.entry.ends_with("_tensor")).expect("a product by tensor cores")
}

/// Calls a version in a layout, and compares all bits.
fn check(c: &Compiled, args: &[Value], (layout, version): (Layout, usize), order: Order, what: &str) {
    let wanted =
        reference::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{what}: {e}")).results;
    let how = How { layout, version: Some(first(c) + version), span: 1, order };
    let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
    let suffixes = KERNELS[version];
    let is_right = |e: &String| suffixes.iter().any(|s| e.ends_with(s));
    assert!(found.entries.iter().all(is_right), "{what}, {how:?}: {:?}", found.entries);
    assert!(found.results == wanted, "{what}, {how:?}");
}

/// Whole tiles, whole pieces with partial tiles and partial steps.
#[test]
fn directions() {
    let mut rng = Rng::new(1);
    for ty in [Ty::F16, Ty::Bf16, Ty::F32] {
        for transposed in DIRECTIONS {
            let p = Program { transposed, ..Program::of(ty) };
            let c = p.compile();
            for sizes in [[128, 64, 128], [136, 72, 136], [8, 8, 8]] {
                let args = operands(&p, sizes, &mut rng);
                let order = if sizes[0] == 136 { Order::Random(3) } else { Order::Ascending };
                let what = format!("{sizes:?} of {ty}, {transposed:?}");
                check(&c, &args, (Layout::Contiguous, 0), order, &what);
            }
            let args = operands(&p, [72, 168, 72], &mut rng);
            check(
                &c,
                &args,
                (Layout::Contiguous, 1),
                Order::Descending,
                &format!("small, {ty}, {transposed:?}"),
            );
        }
    }
}

/// Extents that are no multiples of a piece, and arrays of any strides.
#[test]
fn ragged_and_strided() {
    let mut rng = Rng::new(2);
    for ty in [Ty::F16, Ty::F32] {
        for transposed in DIRECTIONS {
            let p = Program { transposed, ..Program::of(ty) };
            let c = p.compile();
            let what = |sizes: [usize; 3]| format!("{sizes:?} of {ty}, {transposed:?}");
            for sizes in [[3, 37, 5], [1, 1, 1], [2, 0, 3], [65, 66, 130]] {
                let args = operands(&p, sizes, &mut rng);
                // rows of the padded layout are aligned, whatever their length
                for version in [0, 1, 2] {
                    check(&c, &args, (Layout::Padded, version), Order::Ascending, &what(sizes));
                }
                for version in [PACKS, ANY] {
                    check(&c, &args, (Layout::Reversed, version), Order::Random(5), &what(sizes));
                }
            }
            // operands whose rows are aligned, and results whose rows are not
            let [m, n] = [if transposed[0] { 40 } else { 37 }, if transposed[1] { 37 } else { 40 }];
            if transposed[1] {
                let args = operands(&p, [m, 48, n], &mut rng);
                check(&c, &args, (Layout::Contiguous, 2), Order::Ascending, "odd results");
            }
            let args = operands(&p, [5, 40, 9], &mut rng);
            for version in [PACKS, ANY] {
                check(&c, &args, (Layout::Offset, version), Order::Descending, "an odd address");
            }
        }
    }
    let p = Program::of(Ty::Bf16);
    let c = p.compile();
    // more block rows than blocks take before they go on to the next block column
    let args = operands(&p, [580, 8, 72], &mut rng);
    check(&c, &args, (Layout::Contiguous, 1), Order::Ascending, "two groups of block rows");
    for sizes in [[0, 3, 4], [4, 3, 0], [0, 0, 0]] {
        let args = operands(&p, sizes, &mut rng);
        let how =
            How { layout: Layout::Contiguous, version: Some(first(&c)), span: 1, order: Order::Ascending };
        let found = call(&c, 0, &args, how).expect("nothing to do");
        assert!(found.entries.is_empty(), "{sizes:?}: {:?}", found.entries);
    }
}

/// Inner extents around those of pieces and steps: where all pieces are whole, a last, partial step is copied like
/// the others, and zeros take the place of what is behind the end.
#[test]
fn ends_of_steps() {
    let mut rng = Rng::new(8);
    for ty in [Ty::Bf16, Ty::F32] {
        for transposed in DIRECTIONS {
            let p = Program { transposed, ..Program::of(ty) };
            let c = p.compile();
            for k in [0, 1, 12, 31, 32, 40, 104] {
                let args = operands(&p, [8, k, 16], &mut rng);
                let what = format!("{k} of {ty}, {transposed:?}");
                for version in [0, 1, PACKS] {
                    check(&c, &args, (Layout::Padded, version), Order::Random(k as u64), &what);
                }
            }
        }
    }
}

/// A packed product is chosen for large matrices whose rows are not aligned, and for no others; by warpgroups on the
/// devices that have their products, which need whole pieces where they are not packed.
#[test]
fn packed_where_rows_are_not_aligned() {
    let c = Program::of(Ty::F16).compile();
    let kernel = c.kernels[0].gpu_kernel().expect("code for GPUs");
    let chosen_on = |capability: u32, [m, k, n]: [i64; 3]| {
        let device = Device { multiprocessors: 132, capability };
        let extents = [[m, n], [m, k], [k, n]];
        let strides = extents.map(|[_, n]| [n, 1]);
        let array = |i: usize| {
            let (extents, strides) = (extents.get(i)?, &strides[i]);
            Some(policy::Layout { extents, strides, size: 2, address: 0 })
        };
        let space = Space { extents: &[m as u64, n as u64], inner_length: k as u64 };
        let at = kernel.choose(&space, 1, device, array, || false, &[]).expect("a version");
        let entry = &kernel.variants[at].entry;
        entry.strip_prefix("f_0").expect("a version of this kernel").to_string()
    };
    let chosen = |sizes| {
        let on_others = chosen_on(80, sizes);
        assert_eq!(chosen_on(100, sizes), on_others);
        on_others
    };
    assert_eq!(chosen([4096, 4096, 4096]), "_tensor");
    assert_eq!(chosen([4104, 4104, 4104]), "_tensor");
    assert_eq!(chosen([4095, 4096, 4095]), "_tensor_packs");
    assert_eq!(chosen([4095, 4095, 4095]), "_tensor_packs");
    assert_eq!(chosen([4095, 255, 4095]), "_tensor_any");
    assert_eq!(chosen([131, 4095, 4095]), "_tensor_any");
    let on_90 = |sizes| chosen_on(90, sizes);
    assert_eq!(on_90([4096, 4096, 4096]), "_warpgroup");
    // lines that begin at 16 bytes and not at 128
    assert_eq!(on_90([4104, 4104, 4104]), "_warpgroup_packs");
    assert_eq!(on_90([2048, 512, 2048]), "_warpgroup");
    assert_eq!(on_90([4095, 4096, 4095]), "_warpgroup_packs");
    assert_eq!(on_90([4095, 4095, 4095]), "_warpgroup_packs");
    assert_eq!(on_90([4095, 255, 4095]), "_tensor_any");
    // too few block tiles
    assert_eq!(on_90([1024, 1024, 1024]), "_tensor_small");
    assert_eq!(on_90([1023, 1023, 1023]), "_tensor_packs");
    // more scratch than a stream keeps
    assert_eq!(chosen([40_001, 40_001, 40_001]), "_tensor_any");
}

/// What is done with operands before, and with sums behind, in the same launch: the bits are the interpreter's.
#[test]
fn before_and_behind() {
    let mut rng = Rng::new(3);
    let bias = Program {
        params: ", %bias: [f16], %more: [[f16]]",
        after: "%v = elem %bias, %j %w = elem %more, %i, %j %p = cast f32 %v %q = cast f32 %w
    %s = add %9, %p %t = mul_add %s, 0.5f32, %q %e = erf %t %u = mul %e, %s %r = cast f16 %u",
        ..Program::of(Ty::F16)
    };
    // an operand of f32 that is rounded to f16 first, and one that is scaled by its row and masked
    let rounded = Program { before: "%h = cast f16 %x %xx = cast f32 %h", ..Program::of(Ty::F32) };
    let masked = Program {
        params: ", %scale: [f16]",
        before: "%z = elem %scale, %i %p = mul %x, %z %n = neg %p %c = lt %p, 0f16 %q = select %c, %n, %p %xx = cast f32 %q",
        ..Program::of(Ty::F16)
    };
    for [m, k, n] in [[136, 104, 128], [71, 33, 20], [4, 1, 3]] {
        for transposed in [[false, false], [true, true]] {
            for (i, p) in [&bias, &rounded, &masked].into_iter().enumerate() {
                let p = Program { transposed, ..*p };
                let c = p.compile();
                let mut args = operands(&p, [m, k, n], &mut rng);
                match i {
                    0 => {
                        args.extend([integers(Ty::F16, &[n], &mut rng), integers(Ty::F16, &[m, n], &mut rng)])
                    }
                    2 => args.push(integers(Ty::F16, &[m], &mut rng)),
                    _ => {}
                }
                let layout = if n % 8 == 0 { Layout::Contiguous } else { Layout::Padded };
                let what = format!("program {i}, {m} by {k} by {n}, {transposed:?}");
                check(&c, &args, (layout, (m % 3) / 2), Order::Random(1), &what);
                check(&c, &args, (Layout::Strided, PACKS), Order::Ascending, &what);
                check(&c, &args, (Layout::Strided, ANY), Order::Ascending, &what);
            }
        }
    }
}

/// Without one of its barriers or waits a product is wrong.
#[test]
fn barriers() {
    let mut rng = Rng::new(4);
    let p = Program::of(Ty::F16);
    let mut c = p.compile();
    // whole steps in all stages, and a partial one
    let args = operands(&p, [8, 170, 8], &mut rng);
    let at = first(&c);
    let mutants = mutants::of(&c.kernels[0].gpu_variants()[at].kernel);
    assert_eq!(mutants.len(), 6, "in both loops, the wait, before the results, and two of them");
    for (what, kernel) in mutants {
        c.kernels[0].gpu.as_mut().expect("code for GPUs").variants[at].kernel = kernel;
        let how = How { layout: Layout::Padded, version: Some(at), span: 1, order: Order::Random(1) };
        match call(&c, 0, &args, how) {
            Err(Failure::Fault(f)) if matches!(f.kind, FaultKind::Race | FaultKind::Unwritten) => {}
            Err(e) => panic!("{what}: {e}"),
            Ok(called) => panic!("{what}: {called:?}"),
        }
    }
}

/// An f32 rounded to 11 bits of precision, ties away from 0.
fn tf32(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let unit = 2f64.powi((x.abs().log2().floor() as i32).max(-126) - 10);
    let rounded = (x / unit).round() * unit;
    if rounded.abs() < 2f64.powi(128) { rounded } else { f64::INFINITY.copysign(x) }
}

/// Numbers whose sums depend on the order, special ones among them: a sum is NaN or infinite where it must be, else
/// within the bound of sums of exact products in f32.
#[test]
fn other_numbers() {
    let mut rng = Rng::new(5);
    for ty in [Ty::F16, Ty::Bf16, Ty::F32] {
        let p = Program { after: "%r = cast f32 %9", result: Ty::F32, ..Program::of(ty) };
        let c = p.compile();
        let [m, k, n] = [40, 70, 24];
        let mut matrix = |rows: usize, cols: usize, specials: &[f64]| -> Vec<Lit> {
            let mut all: Vec<Lit> = (0..rows * cols)
                .map(|_| Lit::float(ty, (rng.below(20_001) as f64 - 10_000.0) / 1024.0 * 1.1))
                .collect();
            // one in each of the last rows or columns
            for (i, x) in specials.iter().enumerate() {
                let at = if rows == m { (rows - 1 - i) * cols + 5 * i } else { 5 * i * cols + cols - 1 - i };
                all[at] = Lit::float(ty, *x);
            }
            all
        };
        let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-7, 1e-39];
        let (a, b) = (matrix(m, k, &specials), matrix(k, n, &specials[..3]));
        let array =
            |rows: usize, cols: usize, x: &[Lit]| Value::Array(vec![rows as i64, cols as i64], x.to_vec());
        let args = [array(m, k, &a), array(k, n, &b)];
        let version = Some(first(&c));
        let how = How { layout: Layout::Padded, version, span: 1, order: Order::Ascending };
        let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{ty}: {e}"));
        assert!(found.entries.iter().all(|e| e.ends_with("_tensor")), "{:?}", found.entries);
        let Value::Array(_, found) = &found.results[0] else { panic!("a matrix") };
        let value = |x: &Lit| {
            let x = x.as_float().expect("a float");
            if ty == Ty::F32 { tf32(x) } else { x }
        };
        let (a, b): (Vec<f64>, Vec<f64>) = (a.iter().map(value).collect(), b.iter().map(value).collect());
        let mut finite = 0;
        for i in 0..m {
            for j in 0..n {
                let products = (0..k).map(|l| a[i * k + l] * b[l * n + j]);
                let (sum, size) = products.fold((0.0, 0.0), |(sum, size), p| (sum + p, size + f64::abs(p)));
                let x = found[i * n + j].as_float().expect("a float");
                let same = if sum.is_finite() {
                    finite += 1;
                    (x - sum).abs() <= size * k as f64 * 2f64.powi(-24)
                } else {
                    x == sum || x.is_nan() && sum.is_nan()
                };
                assert!(same, "{ty}, {i}, {j}: {x} and {sum}");
            }
        }
        assert!(finite > m * n / 2, "{finite}");
    }
}

/// Who does not allow tensor cores, and products of other types, have none; `fast_math` alone gives none.
#[test]
fn only_where_they_are_allowed() {
    let text = |ty: &str, attributes: &str| {
        format!(
            "func @f(%a: [[{ty}]], %b: [[{ty}]]) -> (c: [[{ty}]]) {attributes} {{
  %m = len %a %n = len %b axis 1 %0 = len %a axis 1 %1 = len %b
  require same %0, %1 \"product\"
  %r = generate %m, %n (%i: i64, %j: i64) {{
    %5 = pick %a at %i %6 = pick %b axis 1 at %j
    %9 = panel_dot from 0{ty} over %5, %6
    yield %9
  }}
  return %r
}}"
        )
    };
    let compile = |text: &str| {
        let functions = parse::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        compile_for("t", functions, Targets { cpu: false, cuda: true }).expect("a program")
    };
    let is_tensor = |c: &Compiled| c.kernels[0].gpu_variants().iter().any(|v| v.ptx.contains("mma.sync"));
    for (ty, attributes, expected) in [
        ("f32", "tensor_cores", true),
        ("f32", "fast tensor_cores", true),
        ("f32", "fast", false),
        ("f32", "", false),
        ("f64", "tensor_cores", false),
        ("i32", "tensor_cores", false),
    ] {
        assert_eq!(is_tensor(&compile(&text(ty, attributes))), expected, "{ty} {attributes}");
    }
    // a small product goes by panels, with their bits
    let c = compile(&text("f32", "tensor_cores"));
    let mut rng = Rng::new(6);
    let numbers = |rng: &mut Rng| Lit::f32(rng.below(1000) as f32 / 7.0);
    let args: Vec<Value> =
        (0..2).map(|_| Value::Array(vec![40, 40], (0..1600).map(|_| numbers(&mut rng)).collect())).collect();
    let how = How { layout: Layout::Contiguous, version: None, span: 1, order: Order::Ascending };
    let found = call(&c, 0, &args, how).expect("a product");
    assert!(found.results == reference::run(&c.functions[0].fused, &args).expect("a product").results);
}
