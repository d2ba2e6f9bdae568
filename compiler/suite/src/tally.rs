//! What a kernel for GPUs does, counted: the structure of a strategy, without its text.

use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{Targets, compile_for};
use arraygpu_compiler::kernel::{Expr, Mem, Stmt};
use arraygpu_compiler::scalar::UnaryOp;
use std::collections::BTreeMap;

/// Counts of the first version of a program's first kernel, where branches go the first way: `load1`, `load2` ..
/// `store4` (accesses of arrays, by their elements), `shared` (arrays), `shared_load4` .., `barrier`, `prefetch`,
/// `sqrt`.
pub fn tally(text: &str) -> BTreeMap<String, u32> {
    let compiled = compile_for("t", parse::parse(text).unwrap(), Targets { cpu: false, cuda: true }).unwrap();
    let k = &compiled.kernels[0].gpu_variants()[0].kernel;
    let mut counts = BTreeMap::new();
    counts.insert("shared".to_string(), k.shared.len() as u32);
    block(k.main.as_deref().unwrap_or_default(), &mut counts);
    counts
}

fn block(body: &[Stmt], counts: &mut BTreeMap<String, u32>) {
    for s in body {
        let mut add = |what: &str, m: &Mem, n: usize| {
            let what =
                if let Mem::Shared(_) = m { format!("shared_{what}{n}") } else { format!("{what}{n}") };
            *counts.entry(what).or_default() += 1;
        };
        let mut roots = 0;
        let mut loads = |e: &Expr| {
            visit(e, &mut |e| {
                roots += u32::from(matches!(e, Expr::Unary(UnaryOp::Sqrt, _)));
                if let Expr::Load(m, _) | Expr::LoadIf(m, _, _) = e {
                    add("load", m, 1);
                }
            });
        };
        match s {
            Stmt::Let(_, e, _) | Stmt::Var(_, e) | Stmt::Assign(_, e) => loads(e),
            Stmt::Store(m, _, e) => {
                loads(e);
                add("store", m, 1);
            }
            Stmt::LoadVec(regs, m, _) => add("load", m, regs.len()),
            Stmt::StoreVec(m, _, values) => {
                values.iter().for_each(&mut loads);
                add("store", m, values.len());
            }
            Stmt::StoreTo(_, _, _, e) => {
                loads(e);
                *counts.entry("store_to".into()).or_default() += 1;
            }
            Stmt::ClusterBarrier { .. } => *counts.entry("cluster_barrier".into()).or_default() += 1,
            Stmt::Prefetch { .. } => *counts.entry("prefetch".into()).or_default() += 1,
            Stmt::Barrier => *counts.entry("barrier".into()).or_default() += 1,
            Stmt::If(_, then, _) => block(then, counts),
            Stmt::Seq(_, _, _, body) | Stmt::While(_, body) => block(body, counts),
            _ => {}
        }
        *counts.entry("sqrt".into()).or_default() += roots;
    }
}

fn visit(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(e);
    e.children(&mut |child| visit(child, f));
}
