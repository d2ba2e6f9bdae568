//! Kernels for GPUs that lack one synchronisation: what a test of tests must find.

use crate::gpu::{Failure, How, Layout, call};
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::kernel::{Expr, Kernel, Stmt, verify};
use arraygpu_compiler::scalar::Lit;

/// The kernel without each of its barriers and waits for copies and products; with each of its arrivals taken for the
/// last; with each of its broadcasts left out.
pub fn of(k: &Kernel) -> Vec<(String, Kernel)> {
    let mut out = Vec::new();
    loop {
        let mut mutant = k.clone();
        let Some(what) = cut(mutant.main.as_mut().expect("main"), &mut out.len()) else { return out };
        verify::verify(&mutant).unwrap();
        out.push((what, mutant));
    }
}

/// Whether a call of the first function by a version is a race, in each order of threads. Panics if it ends in
/// another error.
pub fn races(c: &Compiled, args: &[Value], version: usize, what: &str) -> [bool; 3] {
    [Order::Ascending, Order::Descending, Order::Random(1)].map(|order| {
        let how = How { layout: Layout::Contiguous, version: Some(version), span: 1, order };
        match call(c, 0, args, how) {
            Err(Failure::Fault(f)) => f.kind == FaultKind::Race,
            Err(e) => panic!("{what}, {order:?}: {e}"),
            Ok(_) => false,
        }
    })
}

/// Takes out number `at`, counting in order.
fn cut(body: &mut Vec<Stmt>, at: &mut usize) -> Option<String> {
    for i in 0..body.len() {
        let here = matches!(
            body[i],
            Stmt::Barrier
                | Stmt::ClusterBarrier { .. }
                | Stmt::Arrive(..)
                | Stmt::CopyWait(_)
                | Stmt::MultiplyWait(_)
                | Stmt::Let(_, Expr::Broadcast(_), _)
        );
        if here && *at > 0 {
            *at -= 1;
            continue;
        }
        match &mut body[i] {
            Stmt::Barrier | Stmt::ClusterBarrier { .. } => {
                body.remove(i);
                return Some(format!("without the barrier at statement {i}"));
            }
            Stmt::CopyWait(_) | Stmt::MultiplyWait(_) => {
                body.remove(i);
                return Some(format!("without the wait at statement {i}"));
            }
            Stmt::Arrive(r, ..) => {
                body[i] = Stmt::Let(*r, Expr::Lit(Lit::bool(true)), Default::default());
                return Some(format!("without the arrival at statement {i}"));
            }
            Stmt::Let(_, e, _) if here => {
                if let Expr::Broadcast(own) = e {
                    *e = (**own).clone();
                }
                return Some(format!("without the broadcast at statement {i}"));
            }
            Stmt::If(_, a, b) => {
                if let Some(what) = cut(a, at).or_else(|| cut(b, at)) {
                    return Some(what);
                }
            }
            Stmt::Seq(_, _, _, b) | Stmt::While(_, b) => {
                if let Some(what) = cut(b, at) {
                    return Some(what);
                }
            }
            _ => {}
        }
    }
    None
}
