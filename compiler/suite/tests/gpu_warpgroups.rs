//! Products by warpgroups (`Stmt::MultiplyStaged`, of sm_90 alone) on a simulated GPU: small integers, whose sums are
//! exact in any order, give the bits of the interpreter. `bench/torch_products.py` compares other numbers on a GPU.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::kernel::parse;
use arraygpu_compiler::scalar::Ty;
use arraygpu_suite::gpu::{Failure, How, Layout, call, call_on};
use arraygpu_suite::mutants;
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::tensor_product::{DIRECTIONS, Program, integers, operands};

/// Returns the number of a version, if there is such a one.
fn version(c: &Compiled, suffix: &str) -> Option<usize> {
    c.kernels[0].gpu_variants().iter().position(|v| v.launch.entry.ends_with(suffix))
}

/// Calls a version in a layout, and compares all bits.
fn check(c: &Compiled, args: &[Value], (layout, suffix): (Layout, &str), order: Order, what: &str) {
    let wanted =
        reference::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{what}: {e}")).results;
    let how = How { layout, version: version(c, suffix), span: 1, order };
    assert!(how.version.is_some(), "{what}: no {suffix}");
    let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
    let is_right = |e: &String| e.ends_with(suffix) || suffix.ends_with("packs") && e.ends_with("_packed");
    assert!(found.entries.iter().all(is_right), "{what}, {how:?}: {:?}", found.entries);
    assert!(found.results == wanted, "{what}, {how:?}");
}

/// Halves whose rows lie along the inner index are copied as they lie, if they begin at 128 bytes. Whole
/// tiles and partial ones.
#[test]
fn copied() {
    let mut rng = Rng::new(1);
    for (ty, transposed) in [(Ty::F16, [false, false]), (Ty::Bf16, [false, true])] {
        let p = Program { transposed, ..Program::of(ty) };
        let c = p.compile();
        for (i, sizes) in
            [[128, 128, 256], [136, 64, 320], [8, 64, 64], [1, 320, 192]].into_iter().enumerate()
        {
            let args = operands(&p, sizes, &mut rng);
            let what = format!("{sizes:?} of {ty}, {transposed:?}");
            let layout = if i % 2 == 0 { Layout::Contiguous } else { Layout::Padded };
            check(&c, &args, (layout, "_warpgroup"), Order::Random(3), &what);
        }
    }
    // lines that begin at other places are packed
    let c = Program::of(Ty::F16).compile();
    let args = operands(&Program::of(Ty::F16), [136, 72, 264], &mut rng);
    let how = How {
        layout: Layout::Contiguous,
        version: version(&c, "_warpgroup"),
        span: 1,
        order: Order::Ascending,
    };
    let found = call(&c, 0, &args, how).expect("a product");
    assert!(!found.entries.iter().any(|e| e.ends_with("_warpgroup")), "{:?}", found.entries);
    let odd = Program { transposed: [true, false], ..Program::of(Ty::F16) }.compile();
    assert!(version(&odd, "_warpgroup").is_none(), "rows across the inner index are packed");
}

/// Packed operands: of f32, of any strides, of any extents, in all directions.
#[test]
fn packed() {
    let mut rng = Rng::new(2);
    for ty in [Ty::F16, Ty::F32] {
        for transposed in DIRECTIONS {
            let p = Program { transposed, ..Program::of(ty) };
            let c = p.compile();
            for (i, sizes) in [[3, 37, 5], [1, 1, 1], [2, 0, 3], [129, 66, 257]].into_iter().enumerate() {
                let args = operands(&p, sizes, &mut rng);
                let what = format!("{sizes:?} of {ty}, {transposed:?}");
                let layout = [Layout::Reversed, Layout::Offset, Layout::Contiguous, Layout::Padded][i];
                check(&c, &args, (layout, "_warpgroup_packs"), Order::Random(5), &what);
            }
        }
    }
}

/// What is done with operands before, and with sums behind, in the same launch.
#[test]
fn before_and_behind() {
    let mut rng = Rng::new(3);
    let p = Program {
        params: ", %bias: [f16], %more: [[f16]]",
        after: "%v = elem %bias, %j %w = elem %more, %i, %j %p = cast f32 %v %q = cast f32 %w
    %s = add %9, %p %t = mul_add %s, 0.5f32, %q %e = erf %t %u = mul %e, %s %r = cast f16 %u",
        ..Program::of(Ty::F16)
    };
    let masked = Program {
        params: ", %scale: [f16]",
        before: "%z = elem %scale, %i %p = mul %x, %z %n = neg %p %c = lt %p, 0f16 %q = select %c, %n, %p %xx = cast f32 %q",
        ..Program::of(Ty::F16)
    };
    let [m, k, n] = [136, 128, 128];
    let c = p.compile();
    let mut args = operands(&p, [m, k, n], &mut rng);
    args.extend([integers(Ty::F16, &[n], &mut rng), integers(Ty::F16, &[m, n], &mut rng)]);
    check(&c, &args, (Layout::Contiguous, "_warpgroup"), Order::Random(1), "an epilogue");
    check(&c, &args, (Layout::Strided, "_warpgroup_packs"), Order::Ascending, "an epilogue");
    let c = masked.compile();
    let mut args = operands(&masked, [m, k, n], &mut rng);
    args.push(integers(Ty::F16, &[m], &mut rng));
    assert!(version(&c, "_warpgroup").is_none(), "what is computed is packed");
    check(&c, &args, (Layout::Contiguous, "_warpgroup_packs"), Order::Random(2), "a prologue");
}

/// Other devices have no such products: they take those of warps.
#[test]
fn one_architecture() {
    let mut rng = Rng::new(4);
    let p = Program::of(Ty::F16);
    let c = p.compile();
    let args = operands(&p, [8, 64, 64], &mut rng);
    let how = |suffix| How {
        layout: Layout::Contiguous,
        version: version(&c, suffix),
        span: 1,
        order: Order::Ascending,
    };
    for suffix in ["_warpgroup", "_warpgroup_packs"] {
        for (capability, runs) in [(80, false), (89, false), (90, true), (100, false), (120, false)] {
            let found = call_on(capability, &c, 0, &args, how(suffix)).expect("a product");
            let has = found.entries.iter().any(|e| e.contains("_warpgroup"));
            assert_eq!(has, runs, "{suffix} on sm_{capability}: {:?}", found.entries);
        }
    }
    for v in c.kernels[0].gpu_variants() {
        let is_only = v.ptx.contains("wgmma.");
        assert_eq!(is_only, v.ptx.contains(".target sm_90a\n"), "{}", v.launch.entry);
        assert!(!is_only || v.launch.guards.architecture == Some(90), "{}", v.launch.entry);
    }
}

/// Without one of its barriers or waits a product is wrong.
#[test]
fn barriers() {
    let mut rng = Rng::new(5);
    let p = Program::of(Ty::F16);
    let mut c = p.compile();
    // more steps than stages
    let args = operands(&p, [8, 8 * 64, 64], &mut rng);
    let at = version(&c, "_warpgroup").expect("a version");
    let kernel = c.kernels[0].gpu_variants()[at].kernel.clone();
    let mutants = mutants::of(&kernel);
    assert_eq!(
        mutants.len(),
        6,
        "two waits and a barrier in the loop, one of each behind it, and before the results"
    );
    let wanted = reference::run(&c.functions[0].fused, &args).expect("a product").results;
    for (what, kernel) in mutants {
        c.kernels[0].gpu.as_mut().expect("code for GPUs").variants[at].kernel = kernel;
        let how = How { layout: Layout::Padded, version: Some(at), span: 1, order: Order::Random(1) };
        match call(&c, 0, &args, how) {
            Err(Failure::Fault(f)) if matches!(f.kind, FaultKind::Race | FaultKind::Unwritten) => {}
            Err(e) => panic!("{what}: {e}"),
            Ok(called) => assert!(called.results != wanted, "{what}"),
        }
    }
}

/// The text of a kernel with such products reads as the kernel.
#[test]
fn text() {
    for ty in [Ty::Bf16, Ty::F32] {
        let c = Program::of(ty).compile();
        for v in c.kernels[0].gpu_variants().iter().filter(|v| v.ptx.contains("wgmma.")) {
            let text = v.kernel.to_string();
            assert!(text.contains(&format!("multiply_staged {ty} ")), "{text}");
            let read = parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_eq!(read[0].to_string(), text);
        }
    }
}
