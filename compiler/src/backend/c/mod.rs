//! The C backend writes kernels as C, which is compiled once for each x86-64 level with
//! `-DAGPU_LEVEL=v2|v3|v4`: as one self-contained file, or as a file for each function of the author,
//! so that they are compiled at the same time, and only those that changed.
//!
//! The files contain names and source lines of the author's program: `a_x` is the parameter x,
//! `out_result` is the result, and `n_x` is the length of x.

mod expr;
mod parity;
mod stmt;

pub use expr::ctype;

use crate::kernel::Kernel;
use crate::loc::Loc;
use crate::schedule::CpuVariants;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// The text with which every file begins.
const PRELUDE: &str = include_str!("prelude.h");

/// The parameters of every function.
const PARAMETERS: &str = "(const agpu_kernel_args *args, int64_t tile_begin, int64_t tile_end)";

/// A self-contained C file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// The name, without `.c`.
    pub name: String,
    /// The text.
    pub text: String,
    /// Whether its functions are the variants for arrays with any strides. They are called rarely and
    /// are the slowest to compile, so that the C compiler spends less effort on them.
    pub is_strided: bool,
    /// The author's line of the function whose kernels these are.
    pub line: Option<Loc>,
}

/// The kernels of a package as C functions. Functions with the same code are one.
#[derive(Clone, Default, Debug)]
pub struct Source {
    package: String,
    parts: Vec<Part>,
    /// For each kernel the names of its functions: contiguous, in place, strided, finish.
    table: Vec<[Option<String>; 4]>,
    /// The name of the function with a body, which is without comments here.
    known: FxHashMap<String, String>,
}

/// The kernels of one function of the author.
#[derive(Clone, Default, Debug)]
struct Part {
    function: String,
    line: Option<Loc>,
    kernels: Vec<(String, Vec<Code>)>,
}

/// A C function.
#[derive(Clone, Debug)]
struct Code {
    name: String,
    body: String,
    is_strided: bool,
}

impl Source {
    /// Begins a package without kernels.
    pub fn new(package: &str) -> Source {
        Source { package: package.into(), ..Source::default() }
    }

    /// Adds the kernels of a function of the author, which is at this line, in the order of the table. Some have no
    /// code for CPUs. Returns the bytes of their code.
    pub fn add<'k>(
        &mut self,
        function: &str,
        line: Option<&Loc>,
        kernels: impl IntoIterator<Item = Option<&'k CpuVariants>>,
    ) -> usize {
        let mut part = Part { function: function.into(), line: line.cloned(), kernels: Vec::new() };
        for v in kernels {
            let Some(v) = v else {
                self.table.push(Default::default());
                continue;
            };
            let name = &v.contiguous.kernel.name;
            let mut codes = Vec::new();
            let mut entries: Vec<Option<String>> = Vec::new();
            let mut entry = |name: &str, body: String, is_strided: bool| {
                let first = self.known.entry(without_comments(&body)).or_insert_with(|| {
                    codes.push(Code { name: name.into(), body, is_strided });
                    name.into()
                });
                Some(first.clone())
            };
            for (variant, is_strided) in v.all().into_iter().zip([false, false, true]) {
                let main = variant.and_then(|v| Some((&v.kernel, v.kernel.main.as_ref()?)));
                entries.push(main.and_then(|(k, main)| entry(&k.name, stmt::body(k, main), is_strided)));
            }
            if v.in_place.is_none() {
                entries[1] = entries[0].clone();
            }
            let once = v.finish();
            let finish = once.as_ref().and_then(|k| Some((k, k.finish.as_ref()?)));
            let name = format!("{name}_finish");
            entries.push(finish.and_then(|(k, body)| entry(&name, stmt::body(k, body), false)));
            self.table.push(entries.try_into().unwrap_or_default());
            part.kernels.push((name.clone(), codes));
        }
        let bytes = part.kernels.iter().flat_map(|(_, codes)| codes).map(|code| code.body.len()).sum();
        self.parts.push(part);
        bytes
    }

    /// Returns everything as one file, with the table `<package>_cpu_<level>` that is handed to the
    /// runtime.
    pub fn whole(&self) -> String {
        let mut out = self.head();
        for (name, codes) in self.parts.iter().flat_map(|p| &p.kernels) {
            let _ = writeln!(out, "\n/* ---- {name} ---- */");
            for code in codes {
                let _ = write!(out, "\nstatic void {}{PARAMETERS}\n{}", code.name, code.body);
            }
        }
        out + &self.table(|name| name.into())
    }

    /// Returns a file for each function of the author that has code of its own, another for its
    /// variants for arrays with any strides, and then one with the table. No name of the author has
    /// two underscores in a row.
    pub fn files(&self) -> Vec<File> {
        let symbol = |name: &str| format!("AGPU_JOIN({}, AGPU_LEVEL)", self.symbol(name));
        let mut files = Vec::new();
        for (part, is_strided) in self.parts.iter().flat_map(|p| [(p, false), (p, true)]) {
            let mut text = self.head();
            let before = text.len();
            for (name, codes) in &part.kernels {
                let codes: Vec<&Code> = codes.iter().filter(|c| c.is_strided == is_strided).collect();
                if !codes.is_empty() {
                    let _ = writeln!(text, "\n/* ---- {name} ---- */");
                }
                for Code { name, body, .. } in codes {
                    let symbol = symbol(name);
                    let _ = write!(text, "\nvoid {symbol}{PARAMETERS};\nvoid {symbol}{PARAMETERS}\n{body}");
                }
            }
            if text.len() > before {
                let suffix = if is_strided { "__strided" } else { "" };
                let name = format!("{}_cpu_{}{suffix}", self.package, part.function);
                files.push(File { name, text, is_strided, line: part.line.clone() });
            }
        }
        let mut text = self.head();
        for code in self.parts.iter().flat_map(|p| &p.kernels).flat_map(|(_, codes)| codes) {
            let _ = writeln!(text, "void {}{PARAMETERS};", symbol(&code.name));
        }
        text += &self.table(symbol);
        files.push(File { name: format!("{}_cpu", self.package), text, is_strided: false, line: None });
        files
    }

    fn head(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        format!("/* The kernels of package {}, made by arraygpu {version}. */\n{PRELUDE}", self.package)
    }

    /// Returns the name of a function that other files know, up to the level. No name of the author
    /// has two underscores in a row.
    fn symbol(&self, name: &str) -> String {
        format!("{}__{name}_", self.package)
    }

    fn table(&self, symbol: impl Fn(&str) -> String) -> String {
        let table = format!("AGPU_JOIN({}_cpu_, AGPU_LEVEL)", self.package);
        let mut out =
            format!("\nextern const agpu_cpu_kernel {table}[];\nconst agpu_cpu_kernel {table}[] = {{\n");
        for entries in &self.table {
            let names: Vec<String> =
                entries.iter().map(|name| name.as_deref().map_or("0".into(), &symbol)).collect();
            let _ = writeln!(out, "\t{{ {}, {{ 0, 0 }} }},", names.join(", "));
        }
        out + "};\n"
    }
}

/// Returns the C of these kernels as one text.
pub fn emit<'k>(package: &str, kernels: impl IntoIterator<Item = &'k CpuVariants>) -> String {
    let mut source = Source::new(package);
    source.add(package, None, kernels.into_iter().map(Some));
    source.whole()
}

/// Returns the files as at most two: those that are compiled with the usual effort, and the variants for
/// arrays with any strides.
pub fn joined(name: &str, files: &[File]) -> Vec<File> {
    let part = |is_strided: bool, suffix: &str| {
        let texts = files.iter().filter(|f| f.is_strided == is_strided).map(|f| f.text.as_str());
        let line = files.iter().find_map(|f| f.line.clone());
        File { name: format!("{name}{suffix}"), text: texts.collect(), is_strided, line }
    };
    let mut parts = vec![part(false, ""), part(true, "__strided")];
    parts.retain(|file| !file.text.is_empty());
    parts
}

/// Returns a text of this backend, which has no strings, without comments: they have the author's
/// lines, which change when lines above them do, and no code depends on them.
pub fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((code, comment)) = rest.split_once("/*") {
        out.push_str(code);
        // a comment separates words
        out.push(' ');
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out + rest
}

/// Writes one variant of a kernel as C, for `--emit` and tests.
pub fn kernel(k: &Kernel) -> String {
    let mut out = String::new();
    for (suffix, part) in [("", &k.main), ("_finish", &k.finish)] {
        if let Some(body) = part {
            let _ = write!(out, "\nstatic void {}{suffix}{PARAMETERS}\n{}", k.name, stmt::body(k, body));
        }
    }
    out
}
