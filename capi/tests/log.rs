//! `ARRAYGPU_LOG` in separate processes: the library prints nothing unless the variable is set.

mod common;

use common::*;
use std::process::Command;

/// Runs in the processes that the test below starts.
#[test]
fn child() {
    if std::env::var_os("ARRAYGPU_TEST_CHILD").is_none() {
        return;
    }
    let x = values(5000);
    let (v, out) = (Vector::new(&x), Vector::new(&x));
    ok(invoke(REVERSED, &[input(v.view()), output(out.view())]));
    ok(invoke(REVERSED, &[input(v.slice(0, 5000, 2)), output(out.slice(0, 2500, 1))]));
    ok(invoke(REVERSED, &[input(v.view()), output(v.view())]));
}

fn said(level: Option<&str>) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "child", "--nocapture"])
        .env("ARRAYGPU_TEST_CHILD", "1")
        .env("ARRAYGPU_CPU_LEVEL", "v2");
    child.env_remove("ARRAYGPU_LOG");
    child.envs(level.map(|level| ("ARRAYGPU_LOG", level)));
    let output = child.output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    text.lines().filter(|line| line.starts_with("arraygpu ")).map(String::from).collect()
}

#[test]
fn what_is_asked_for_is_said() {
    assert_eq!(said(None), Vec::<String>::new());
    assert_eq!(said(Some("off")), Vec::<String>::new());
    let slow = [
        "arraygpu warn: reversed runs its slower version for arrays with strides: x (strides [2])",
        "arraygpu warn: stats::reversed: result overlaps what it is computed from: it is made elsewhere, and copied",
    ];
    assert_eq!(said(Some("warn")), slow);
    let info = said(Some("info"));
    assert!(
        info.iter()
            .any(|l| l.starts_with("arraygpu info: the package stats: ")
                && l.ends_with("kernels for x86-64-v2")),
        "{info:?}"
    );
    assert!(info.iter().any(|l| l.starts_with("arraygpu info: a context on the CPU with ")), "{info:?}");
    assert!(slow.iter().all(|line| info.iter().any(|l| l == line)), "{info:?}");
    let debug = said(Some("debug"));
    let launches = debug.iter().filter(|l| l.starts_with("arraygpu debug: reversed: "));
    assert_eq!(launches.count(), 3, "{debug:?}");
    assert!(debug.iter().any(|l| l == "arraygpu debug: reversed: 3 tiles, Contiguous"), "{debug:?}");
    assert_eq!(
        said(Some("loud")),
        ["arraygpu warn: ARRAYGPU_LOG is `loud`, expected warn, info, debug or off"]
    );
}
