//! `scatter_unique` on CPUs, whatever threads there are: what an author promises is checked with `ARRAYGPU_CHECK=1` only.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu::prelude::*;
use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{Targets, compile_for};
use runtime::{Layout, Loaded, context, load_highest};
use std::process::Command;

fn moved(x: VExp<f32>, i: VExp<i64>, n: SExp<i64>) -> (VExp<f32>, VExp<bool>) {
    let both = x.map(|v| complex(v * 2.0, v));
    let moved = both.scatter_unique(n, i.ignored(), Complex::new(0.5, -1.0));
    (moved.map(|z| z.re), moved.map(|z| z.im.ge(0.0)).scatter_unique(n, iota(n), false))
}

fn loaded() -> Loaded {
    let package = Package::new("t").function("f", ["x", "i", "n"], ["moved", "is_there"], moved);
    let targets = Targets { cpu: true, cuda: false };
    load_highest(&compile_for("t", package.functions().unwrap(), targets).unwrap())
}

fn args(x: &[f32], i: &[i64], n: i64) -> [Value; 3] {
    let x = Value::Vector(x.iter().map(|x| x.lit()).collect());
    [x, Value::Vector(i.iter().map(|i| i.lit()).collect()), Value::Scalar(n.lit())]
}

/// Runs in the processes that the tests below start.
#[test]
fn child() {
    let Ok(what) = std::env::var("ARRAYGPU_TEST_PART") else { return };
    let loaded = loaded();
    let x: Vec<f32> = (0..6000u16).map(f32::from).collect();
    let n = 9001i64;
    let apart: Vec<i64> = (0..6000).map(|i| (i * 7 + 5) % (n + 3) - 1).collect();
    for threads in [1, 2, 7] {
        for layout in Layout::ALL {
            let call = |i: &[i64]| {
                let shapes = [vec![n], vec![n]];
                loaded.call(0, context(threads), &args(&x, i, n), &shapes, layout)
            };
            let called = call(&apart);
            assert!(matches!(called.status, AgpuStatus::AgpuOk), "{}", called.message);
            let (mut moved, mut is_there) = (vec![0.5f32; n as usize], vec![false; n as usize]);
            for (x, i) in x.iter().zip(&apart).filter(|(_, i)| (0..n).contains(*i)) {
                (moved[*i as usize], is_there[*i as usize]) = (x * 2.0, true);
            }
            let wanted = [
                Value::Vector(moved.iter().map(|v| v.lit()).collect()),
                Value::Vector(is_there.iter().map(|v| v.lit()).collect()),
            ];
            assert!(called.results == wanted, "{threads} threads, {layout:?}");
            // elements 3 and 4500 go to one place
            let mut same = apart.clone();
            same[4500] = same[3];
            let called = call(&same);
            if what == "checked" {
                assert!(matches!(called.status, AgpuStatus::AgpuErrorRecord), "{}", called.message);
                let message = &called.message;
                assert!(
                    message.contains("scatter_unique: an earlier element has the same destination"),
                    "{message}"
                );
                assert!(message.contains("promises.rs:15:") && message.contains("element 4500"), "{message}");
                continue;
            }
            assert!(matches!(called.status, AgpuStatus::AgpuOk), "{}", called.message);
            // one of them is there, and nothing else has changed
            let (place, left) = (same[3] as usize, apart[4500] as usize);
            (moved[left], is_there[left]) = (0.5, false);
            let of = |first: f32| {
                let mut moved = moved.clone();
                moved[place] = first;
                Value::Vector(moved.iter().map(|v| v.lit()).collect())
            };
            assert!([of(6.0), of(9000.0)].contains(&called.results[0]), "{threads} threads, {layout:?}");
        }
    }
    println!("<<ok>>");
}

#[test]
fn promises_are_checked_where_it_is_asked_for() {
    for (what, value) in [("checked", "1"), ("believed", "0")] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "child", "--nocapture"]).env("ARRAYGPU_TEST_PART", what);
        let output = child.env("ARRAYGPU_CHECK", value).output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success() && said[0].contains("<<ok>>"), "{what}: {}", said.join("\n"));
    }
}
