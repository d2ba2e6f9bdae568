//! The C backend writes one self-contained file of kernels, which is compiled once for each x86-64
//! level with `-DAGPU_LEVEL=v2|v3|v4`.
//!
//! The file contains names and source lines of the author's program: `a_x` is the parameter x,
//! `out_result` is the result, and `n_x` is the length of x.

mod expr;
mod stmt;

pub use expr::ctype;

use crate::kernel::Kernel;
use crate::schedule::CpuVariants;
use std::fmt::Write;

/// The text with which every file begins.
const PRELUDE: &str = include_str!("prelude.h");

/// Writes the C file of a package: the variants of all kernels, and the table `<package>_cpu_<level>` that is
/// handed to the runtime.
pub fn emit<'k>(package: &str, kernels: impl IntoIterator<Item = &'k CpuVariants>) -> String {
    let mut out =
        format!("/* The kernels of package {package}, made by arraygpu {}. */\n", env!("CARGO_PKG_VERSION"));
    out.push_str(PRELUDE);
    let mut table = String::new();
    for v in kernels {
        let name = &v.contiguous.kernel.name;
        let _ = writeln!(out, "\n/* ---- {name} ---- */");
        let in_place_too = v.in_place.is_none() && v.contiguous.kernel.main.is_some();
        let mut entries: Vec<String> = Vec::new();
        for variant in v.all() {
            entries.push(match variant.and_then(|v| v.kernel.main.as_ref().map(|body| (&v.kernel, body))) {
                Some((k, body)) => {
                    stmt::function(&mut out, k, &k.name, body);
                    k.name.clone()
                }
                None if in_place_too && entries.len() == 1 => name.clone(),
                None => "0".into(),
            });
        }
        let finish = format!("{name}_finish");
        let once = v.finish();
        entries.push(match once.as_ref().and_then(|k| k.finish.as_ref().map(|body| (k, body))) {
            Some((k, body)) => {
                stmt::function(&mut out, k, &finish, body);
                finish
            }
            None => "0".into(),
        });
        let _ = writeln!(table, "\t{{ {}, {{ 0, 0 }} }},", entries.join(", "));
    }
    let symbol = format!("AGPU_JOIN({package}_cpu_, AGPU_LEVEL)");
    let _ = write!(
        out,
        "\nextern const agpu_cpu_kernel {symbol}[];\nconst agpu_cpu_kernel {symbol}[] = {{\n{table}}};\n"
    );
    out
}

/// Writes one variant of a kernel as C, for `--emit` and tests.
pub fn kernel(k: &Kernel) -> String {
    let mut out = String::new();
    for (suffix, part) in [("", &k.main), ("_finish", &k.finish)] {
        if let Some(body) = part {
            stmt::function(&mut out, k, &format!("{}{suffix}", k.name), body);
        }
    }
    out
}
