//! `stats.hpp`: the package for C++17, over the C header.
//!
//! Every function in four forms: results as out-parameters or returned, each with and without call options.

use super::model::{Entry, Package, Value};
use std::fmt::Write;

/// Lines of more characters are broken.
const LINE: usize = 120;
/// Whether results are returned, and whether there are options; what others call comes first.
const FORMS: [(bool, bool); 4] = [(false, true), (false, false), (true, true), (true, false)];

/// The header.
pub fn print(package: &Package) -> String {
    let name = &package.name;
    let guard = format!("{}_HPP", name.to_uppercase());
    let mut out = format!(
        "// {name} {}: made by arraygpu {}. Do not edit: run the generator again.\n\
         #ifndef {guard}\n#define {guard}\n\n#include <arraygpu.hpp>\n#include <cstdint>\n#include <utility>\n#include \"{name}.h\"\n\n\
         namespace {name} {{\n",
        package.version,
        super::VERSION
    );
    for entry in &package.entries {
        out.push('\n');
        if entry.results.len() > 1 {
            result_struct(&mut out, entry);
        }
        for (i, (returns, options)) in FORMS.into_iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            Form { package: name, entry, returns, options }.print(&mut out);
        }
    }
    let _ = write!(out, "\n}}  // namespace {name}\n\n#endif  // {guard}\n");
    out
}

/// The fields of several results.
fn result_struct(out: &mut String, entry: &Entry) {
    let _ = writeln!(out, "/// The results of {}.\nstruct {}_result {{", entry.name, entry.name);
    for r in &entry.results {
        let _ = writeln!(out, "    {} {};  ///< {}", owned(r), r.name, r.describe());
    }
    let _ = writeln!(out, "}};\n");
}

/// A scalar type of C++; those of `<cstdint>` with their namespace.
fn scalar(v: &Value) -> String {
    let name = v.c_type();
    if name.ends_with("_t") { format!("std::{name}") } else { name.into() }
}

/// The type that holds a result.
fn owned(v: &Value) -> String {
    if v.is_scalar() { scalar(v) } else { format!("arraygpu::gpu_vector<{}>", scalar(v)) }
}

/// One overload.
struct Form<'a> {
    package: &'a str,
    entry: &'a Entry,
    /// Results are returned, not out-parameters.
    returns: bool,
    /// The first parameter is the call's options.
    options: bool,
}

impl Form<'_> {
    fn print(&self, out: &mut String) {
        let entry = self.entry;
        if self.options {
            let _ = writeln!(out, "/// As below, with options: context and stream.");
        } else {
            self.doc(out);
        }
        let returned = match entry.results.as_slice() {
            _ if !self.returns => "void".to_string(),
            [one] => owned(one),
            _ => format!("{}_result", entry.name),
        };
        let (head, list) = (format!("inline {returned} {}(", entry.name), self.parameters());
        let long = head.len() + list.iter().map(|p| p.len() + 2).sum::<usize>() > LINE;
        let separator = if long { ",\n        " } else { ", " };
        let _ = writeln!(out, "{head}{}{})\n{{", if long { "\n        " } else { "" }, list.join(separator));
        match (self.options, self.returns) {
            (false, _) => self.forward(out),
            (true, false) => {
                let _ = writeln!(out, "    {}", self.call(false));
            }
            (true, true) => self.returning(out),
        }
        let _ = writeln!(out, "}}");
    }

    fn doc(&self, out: &mut String) {
        let mut text = self.entry.doc.clone();
        if !text.is_empty() {
            text.push('\n');
        }
        for p in &self.entry.params {
            let _ = writeln!(text, "@param {} {}", p.name, p.describe());
        }
        for r in &self.entry.results {
            let _ = match (self.returns, self.entry.results.len()) {
                (false, _) => writeln!(text, "@param[out] {} {}", r.name, r.describe()),
                (true, 1) => writeln!(text, "@return {}", r.describe()),
                (true, _) => writeln!(text, "@return {}: {}", r.name, r.describe()),
            };
        }
        for line in text.lines() {
            // a backslash at the end would continue the comment, and so would the trigraph for it
            let line = format!("/// {}", line.replace("??", "? ?").trim_end_matches(['\\', ' ', '\t']));
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }

    fn options_name(&self) -> String {
        self.entry.free_name("options")
    }

    fn parameters(&self) -> Vec<String> {
        let mut list = Vec::new();
        if self.options {
            list.push(format!("const arraygpu::call_options& {}", self.options_name()));
        }
        for p in &self.entry.params {
            list.push(if p.is_scalar() {
                format!("{} {}", scalar(p), p.name)
            } else {
                format!("arraygpu::gpu_vector_view<const {}> {}", scalar(p), p.name)
            });
        }
        if !self.returns {
            for r in &self.entry.results {
                list.push(if r.is_scalar() {
                    format!("{}& {}", scalar(r), r.name)
                } else {
                    format!("arraygpu::gpu_vector_view<{}> {}", scalar(r), r.name)
                });
            }
        }
        list
    }

    /// The form without options calls the one with them.
    fn forward(&self, out: &mut String) {
        let mut args = vec!["arraygpu::call_options()".to_string()];
        args.extend(self.entry.params.iter().map(|p| p.name.clone()));
        if !self.returns {
            args.extend(self.entry.results.iter().map(|r| r.name.clone()));
        }
        let give = if self.returns { "return " } else { "" };
        let _ = writeln!(out, "    {give}::{}::{}({});", self.package, self.entry.name, args.join(", "));
    }

    /// The call of the C function; `made`: of the form that makes its vectors.
    fn call(&self, made: bool) -> String {
        let mut args = vec![format!("{}.c_call()", self.options_name())];
        for p in &self.entry.params {
            args.push(if p.is_scalar() { p.name.clone() } else { format!("{}.c_view()", p.name) });
        }
        for r in &self.entry.results {
            args.push(match (r.is_scalar(), made) {
                (false, false) => format!("{}.c_view()", r.name),
                _ => format!("&{}", r.name),
            });
        }
        let form = if made && self.entry.makes_vectors() { "_new" } else { "" };
        let head = format!("arraygpu::check(::{}_{}{form}(", self.package, self.entry.name);
        if head.len() + args.iter().map(|a| a.len() + 2).sum::<usize>() > LINE {
            format!("{head}\n            {}));", args.join(", "))
        } else {
            format!("{head}{}));", args.join(", "))
        }
    }

    fn returning(&self, out: &mut String) {
        for r in &self.entry.results {
            let _ = if r.is_scalar() {
                writeln!(out, "    {} {}{{}};", scalar(r), r.name)
            } else {
                writeln!(out, "    agpu_buffer* {} = nullptr;", r.name)
            };
        }
        let _ = writeln!(out, "    {}", self.call(true));
        let values: Vec<String> = self.entry.results.iter().map(result_value).collect();
        let _ = match values.as_slice() {
            [one] => writeln!(out, "    return {one};"),
            _ => writeln!(out, "    return {{{}}};", values.join(", ")),
        };
    }
}

fn result_value(r: &Value) -> String {
    if r.is_scalar() { r.name.clone() } else { format!("{}::adopt({})", owned(r), r.name) }
}
