//! Programs built node by node on a GPU of the fake driver: what is linked and loaded, in processes
//! that share the store and in threads. Nothing is computed, because the fake driver does not know
//! their kernels.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::built::Built;
use common::fake::*;
use common::gpu::gpu;
use common::*;
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::{null, null_mut};

/// Builds a function of x, applying each operation to x and the result of the previous operation,
/// and runs it in a context on vectors of these lengths.
fn run(context: *mut AgpuContext, ops: &[(&std::ffi::CStr, i32)], lengths: &[usize]) {
    let (mut b, mut program, mut x) = (null_mut(), null_mut(), 0);
    // SAFETY: the arguments are handles, pointers to locals, and arguments that live.
    unsafe {
        ok(agpu_builder_create(c"f".as_ptr(), &mut b));
        ok(agpu_builder_param(b, c"x".as_ptr(), MaybeUninit::new(AgpuType::AgpuF32), 1, &mut x));
        let mut made = x;
        for (op, operands) in ops {
            ok(agpu_builder_apply(b, op.as_ptr(), [made, x].as_ptr(), *operands, &mut made));
        }
        ok(agpu_builder_result(b, null(), made));
        ok(agpu_builder_compile(b, &mut program));
        ok(agpu_builder_free(b));
        for n in lengths {
            let [v, out] = [(); 2].map(|()| Vector::in_context(context, &values(*n)));
            ok(agpu_program_run(program, null(), [input(v.view()), output(out.view())].as_ptr(), 2));
        }
        ok(agpu_program_free(program));
    }
}

/// Applies `x op x` three times.
fn run_binary(context: *mut AgpuContext, op: &std::ffi::CStr) {
    run(context, &[(op, 2)], &[100; 3]);
}

/// Runs a product of m by n results, each of which is a sum of k products.
fn run_product(context: *mut AgpuContext, [m, n, k]: [i64; 3]) {
    let (mut b, mut program, mut nodes) = (null_mut(), null_mut(), [0; 3]);
    let matrices = [[m, k], [k, n], [m, n]].map(|[rows, columns]| {
        (Vector::in_context(context, &values((rows * columns) as usize)), rows, columns)
    });
    let view = |i: usize| {
        let (buffer, rows, columns) = &matrices[i];
        AgpuView::new(buffer.0, 0, &[*rows, *columns], &[*columns, 1])
    };
    // SAFETY: the arguments are handles, pointers to locals, and arguments that live.
    unsafe {
        ok(agpu_builder_create(c"f".as_ptr(), &mut b));
        for (name, node) in [c"x", c"y"].into_iter().zip(&mut nodes) {
            ok(agpu_builder_param(b, name.as_ptr(), MaybeUninit::new(AgpuType::AgpuF32), 2, node));
        }
        let [x, y, made] = &mut nodes;
        ok(agpu_builder_matmul(b, *x, *y, made));
        ok(agpu_builder_result(b, null(), *made));
        ok(agpu_builder_compile(b, &mut program));
        ok(agpu_builder_free(b));
        let args = [input(view(0)), input(view(1)), output(view(2))];
        ok(agpu_program_run(program, null(), args.as_ptr(), 3));
        ok(agpu_program_free(program));
    }
}

/// Runs `x / sqrt(dot(x, x))` on vectors of these lengths.
fn run_unit(context: *mut AgpuContext, lengths: &[usize]) {
    let (mut b, mut program, mut x, mut made, mut norm) = (null_mut(), null_mut(), 0, 0, 0);
    // SAFETY: the arguments are handles, pointers to locals, and arguments that live.
    unsafe {
        ok(agpu_builder_create(c"f".as_ptr(), &mut b));
        ok(agpu_builder_param(b, c"x".as_ptr(), MaybeUninit::new(AgpuType::AgpuF32), 1, &mut x));
        ok(agpu_builder_dot(b, x, x, &mut made));
        ok(agpu_builder_apply(b, c"sqrt".as_ptr(), &made, 1, &mut norm));
        ok(agpu_builder_apply(b, c"div".as_ptr(), [x, norm].as_ptr(), 2, &mut made));
        ok(agpu_builder_result(b, null(), made));
        ok(agpu_builder_compile(b, &mut program));
        ok(agpu_builder_free(b));
        for n in lengths {
            let [v, out] = [(); 2].map(|()| Vector::in_context(context, &values(*n)));
            ok(agpu_program_run(program, null(), [input(v.view()), output(out.view())].as_ptr(), 2));
        }
        ok(agpu_program_free(program));
    }
}

/// Runs in the processes that the tests below start.
#[test]
fn child() {
    let Some(part) = part() else { return };
    let (fake, context) = (Fake::get(), gpu());
    let before = fake.counts();
    match part.as_str() {
        "one" => run_binary(context, c"add"),
        "lengths" => {
            run(context, &[(c"exp", 1); 3], &[100, 1 << 17, (1 << 17) + 1, 100, 1 << 18]);
            let launches = fake.launches();
            let own: Vec<&str> =
                launches.iter().map(Launched::entry).filter(|e| e.starts_with("f_0")).collect();
            println!("<<{}>>", own.join(", "));
            return;
        }
        "unit" => {
            run_unit(context, &[8192, 40_000, 1 << 17, 1 << 20]);
            let launches = fake.launches();
            let own = launches.iter().filter(|l| l.entry().starts_with("f_"));
            let own: Vec<String> = own.map(|l| format!("{}, {} blocks", l.entry(), l.grid)).collect();
            println!("<<{}>>", own.join(" | "));
            return;
        }
        "budget" => {
            let b = Built::new();
            let x = b.param(c"x", AgpuType::AgpuF32, 1);
            b.try_result(b.apply("mul", &[x, x])).unwrap();
            let program = b.compile(&[]);
            let [v, out] = [(); 2].map(|()| Vector::in_context(context, &values(100)));
            let args = [input(v.view()), output(out.view())];
            // SAFETY: the arguments are handles, and arguments that live.
            let done = unsafe { agpu_program_run(program, null(), args.as_ptr(), 2) };
            println!("<<{}>>", if done == AgpuOk { "ran".into() } else { message() });
            return;
        }
        "product" => {
            // The sums have one panel, 40 panels, and three and two panels; the last two need less
            // of the same scratch.
            let shapes = [[128, 128, 512], [64, 128, 40 * 512], [128, 128, 1036], [128, 192, 1024]];
            shapes.into_iter().for_each(|shape| run_product(context, shape));
            let launches = fake.launches();
            let all: Vec<&Launched> = launches.iter().filter(|l| l.entry().starts_with("f_0")).collect();
            // The arrays and scalars are followed by the scratch, the counters and the span.
            let scratch = |l: &Launched| l.words()[l.words().len() - 3];
            let first = all.iter().find(|l| l.entry().ends_with("_panels")).map(|l| scratch(l));
            let told = |l: &&Launched| {
                let text = format!("{}, {} blocks of {}", l.entry(), l.grid, l.block);
                let span = l.words().last().copied().unwrap_or(0);
                if Some(scratch(l)) == first { format!("{text}, span {span}") } else { text }
            };
            let own: Vec<String> = all.iter().map(told).collect();
            println!("<<{}>>", own.join(" | "));
            return;
        }
        "products of two threads" => {
            // one for the compiler; then each launch is queued 30 ms after its thread wants it
            run_product(context, [64, 128, 40 * 512]);
            let (number, first) = (context.addr(), fake.launches().len());
            fake.options("quiet=2,pause=30");
            std::thread::scope(|s| {
                for _ in 0..2 {
                    s.spawn(move || run_product(number as *mut AgpuContext, [64, 128, 40 * 512]));
                }
            });
            let launches = fake.launches();
            let own = launches[first..].iter().map(Launched::entry).filter(|e| e.starts_with("f_"));
            println!("<<{}>>", own.collect::<Vec<_>>().join(", "));
            return;
        }
        _ => {
            let number = context.addr();
            fake.options("quiet=1,meet=5000");
            std::thread::scope(|s| {
                for op in [c"add", c"mul"] {
                    s.spawn(move || run_binary(number as *mut AgpuContext, op));
                }
            });
        }
    }
    let after = fake.counts();
    let (links, machine_code) = (after.links - before.links, after.cubins - before.cubins);
    println!("<<{links} linked, {machine_code} + {} loaded>>", after.ptx - before.ptx);
}

#[test]
fn a_second_process_links_nothing() {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let play = |part: &str, cache: &Path| {
        play(&driver, part, "quiet=1", &[("ARRAYGPU_CACHE", cache.to_str().unwrap())])
    };
    assert_eq!(play("one", folder.path()), "1 linked, 1 + 0 loaded");
    assert_eq!(play("one", folder.path()), "0 linked, 1 + 0 loaded");
    assert_eq!(play("one", Path::new("off")), "0 linked, 0 + 1 loaded");
    // Two threads run at once, and one of the programs is in the store.
    assert_eq!(play("both", folder.path()), "1 linked, 2 + 0 loaded");
    assert_eq!(play("both", folder.path()), "0 linked, 2 + 0 loaded");
}

/// For a long body, the variant for few elements is compiled first. The other variant is compiled
/// when it is needed and runs from then on.
#[test]
fn many_elements_have_a_version_of_their_own() {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    let said = play(&driver, "lengths", "quiet=2", &[("ARRAYGPU_CACHE", "off")]);
    assert_eq!(said, "f_0_short, f_0_short, f_0, f_0, f_0");
}

#[test]
fn a_budget_limits_the_code_that_is_written() {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    let within = |bytes: &str| play(&driver, "budget", "quiet=2", &[("ARRAYGPU_BUDGET", bytes)]);
    assert_eq!(within("bytes=1000000"), "ran");
    let refused = within("bytes=100");
    assert!(refused.contains("E0903") && refused.contains("more than 100 bytes of code"), "{refused}");
}

/// A vector that a cluster of blocks holds is one launch on devices that have clusters; on others the
/// launches that the plan has for longer ones run.
#[test]
fn clusters_are_for_devices_that_have_them() {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    let said = |capability: u32| {
        let options = format!("quiet=2,capability={capability}");
        play(&driver, "unit", &options, &[("ARRAYGPU_CACHE", "off")])
    };
    let first = "f_0_rows_8192, 1 blocks";
    let longest = "f_0, 64 blocks | f_1, 1024 blocks";
    let with =
        format!("{first} | f_0_rows_65536_cluster, 4 blocks | f_0_rows_131072_cluster, 8 blocks | {longest}");
    let without =
        format!("{first} | f_0, 10 blocks | f_1, 40 blocks | f_0, 32 blocks | f_1, 128 blocks | {longest}");
    assert_eq!([90, 120].map(said), [with.clone(), with]);
    assert_eq!([80, 89].map(said), [without.clone(), without]);
}

/// A product of few results and long sums runs as the launch policy decides: one kernel computes
/// panels, and a second one adds them from the same scratch.
#[test]
fn a_split_product_is_two_launches() {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    let said = play(&driver, "product", "quiet=2", &[("ARRAYGPU_CACHE", "off")]);
    let said: Vec<&str> = said.split(" | ").collect();
    let expected = [
        "f_0, 4 blocks of 256",
        "f_0_panels, 80 blocks of 64, span 1",
        "f_0_sums, 128 blocks of 256, span 4",
        "f_0_panels, 12 blocks of 64, span 1",
        "f_0_sums, 64 blocks of 256, span 1",
        "f_0_panels, 12 blocks of 64, span 1",
        "f_0_sums, 96 blocks of 256, span 1",
    ];
    assert_eq!(said, expected);
}

/// Both kernels of a launch are queued before another thread's launch, which uses the same scratch.
#[test]
fn launches_of_threads_do_not_share_scratch() {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    let said = play(&driver, "products of two threads", "quiet=2", &[("ARRAYGPU_CACHE", "off")]);
    let one = "f_0_panels, f_0_sums";
    assert_eq!(said, format!("{one}, {one}"));
}
