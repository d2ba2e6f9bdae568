//! Writes `stats.hpp`, the package's interface for C++17 over the C header.
//!
//! Every function has up to six overloads: its results are out-parameters, out-parameters that
//! leave scalars on the device, or returned, each with and without call options.

use super::model::{Entry, Form, Gives, Package, Value, cpp_class, struct_names};
use super::records::Struct;
use crate::scalar::Ty;
use std::fmt::Write;

/// Maximum length of a line in characters; longer lines are broken.
const LINE: usize = 120;
/// Prints the header.
pub fn print(package: &Package) -> String {
    let name = &package.name;
    let guard = format!("{}_HPP", name.to_uppercase());
    let mut out = format!(
        "// {name} {}: made by arraygpu {}. Do not edit: run the generator again.\n\
         #ifndef {guard}\n#define {guard}\n\n#include <arraygpu.hpp>\n#include <arraygpu/misuse.hpp>\n#include <cstdint>\n#include <utility>\n#include \"{name}.h\"\n\n",
        package.version,
        super::VERSION
    );
    structs(&mut out, package);
    // programs that were compiled with other headers of arraygpu have other functions of these names
    let _ = writeln!(out, "namespace {name} {{\ninline namespace AGPU_HEADERS(v_) {{");
    for entry in &package.entries {
        out.push('\n');
        if entry.results.len() > 1 {
            result_struct(&mut out, entry);
        }
        let overloads: Vec<String> = overloads(name, entry).map(|o| o.print()).collect();
        out.push_str(&overloads.join("\n"));
        misuse(&mut out, name, entry);
    }
    let _ = write!(out, "\n}}  // namespace AGPU_HEADERS\n}}  // namespace {name}\n\n#endif  // {guard}\n");
    out
}

/// Writes the names of the structs in C++, and that they are elements of vectors.
fn structs(out: &mut String, package: &Package) {
    let name = &package.name;
    for s in &package.records.structs {
        let (c_name, cpp_name) = struct_names(name, s);
        if s.is_complex {
            let _ = writeln!(
                out,
                "static_assert(sizeof({cpp_name}) == sizeof(::{c_name}), \"a complex number is two numbers\");\n\
                 template <> struct arraygpu::field_type<::{c_name}> : arraygpu::field_type<{cpp_name}> {{}};\n"
            );
            continue;
        }
        let size = package.records.size_of(&s.name);
        let _ = writeln!(
            out,
            "namespace {name} {{\nusing {} = ::{c_name};\n}}\n\
             template <> struct arraygpu::detail::type_of<::{c_name}> : arraygpu::detail::record_type<::{c_name}> {{}};\n\
             static_assert(sizeof(::{c_name}) == {size}, \"{cpp_name} has another layout than its package: no #pragma pack around {name}.h\");\n\
             {}\n",
            s.name,
            description(&c_name, s),
        );
    }
}

/// Returns the description of a struct for expressions (`arraygpu/record.hpp`).
fn description(c_name: &str, s: &Struct) -> String {
    let names = s.fields.iter().map(|(field, _)| field);
    let list = |word: &str| -> String {
        names.clone().map(|field| format!("\n    AGPU_RECORD_{word}(::{c_name}, {field})")).collect()
    };
    let (fields, places, names) = (list("FIELD"), list("PLACE"), list("NAME"));
    format!("AGPU_RECORD_FIELDS(::{c_name}, ({fields}), ({places}), {names})")
}

/// Writes a template for calls that fit no overload. Its error says in one line what the arguments
/// must be, instead of listing the candidates.
fn misuse(out: &mut String, package: &str, entry: &Entry) {
    let mut each = Vec::new();
    for o in overloads(package, entry) {
        let types: Vec<String> = o.parameters().into_iter().map(|(ty, _)| ty).collect();
        each.push(format!("        arraygpu::detail::takes<{}>", types.join(", ")));
    }
    let list = |values: &[Value]| -> Vec<String> {
        values.iter().map(|v| format!("{} ({})", v.name, owned(v))).collect()
    };
    let (params, results) = (list(&entry.params).join(", "), list(&entry.results).join(", "));
    let name = format!("{package}::{}", entry.name);
    let after = if params.is_empty() { "" } else { ", " };
    let forms = format!(
        "{name}({params}), or with the results behind: {name}({params}{after}{results}); call_options may come first"
    );
    let _ = write!(
        out,
        "\n/// A call that fits none of the functions above.\n\
         template <class... Args, arraygpu::detail::if_misused<arraygpu::detail::overloads<\n{}>,\n    Args...> = 0>\n\
         arraygpu::detail::nothing {}(Args&&...)\n{{\n    \
         static_assert(!arraygpu::detail::has_host_array<Args...>,\n        \
         \"{name}: an argument is in the memory of the host: copy it by arraygpu::gpu_vector<T>(array)\");\n    \
         static_assert(arraygpu::detail::has_host_array<Args...> || arraygpu::detail::never<Args...>,\n        \
         \"an argument is missing, too many, or of another type; the call is {forms}\");\n    \
         return {{}};\n}}\n",
        each.join(",\n"),
        entry.name,
    );
}

/// Writes the struct of several results.
fn result_struct(out: &mut String, entry: &Entry) {
    let _ = writeln!(out, "/// The results of {}.\nstruct {}_result {{", entry.name, entry.name);
    for r in &entry.results {
        let _ = writeln!(out, "    {} {};  ///< {}", owned(r), r.name, r.describe());
    }
    let _ = writeln!(out, "}};\n");
}

/// Returns a scalar type of C++; those of `<cstdint>` include the namespace.
fn scalar(v: &Value) -> String {
    if let Some(record) = &v.record {
        return record.cpp_name.clone();
    }
    let name = match v.ty.elem {
        Ty::F16 => return "arraygpu::half".into(),
        Ty::Bf16 => return "arraygpu::bfloat16".into(),
        _ => v.c_type(),
    };
    if name.ends_with("_t") { format!("std::{name}") } else { name.into() }
}

/// Returns the class that owns an array.
fn class(v: &Value) -> String {
    format!("arraygpu::{}", cpp_class(v.ty.rank))
}

/// Returns the type of a parameter.
fn input(p: &Value) -> String {
    if p.is_scalar() { scalar(p) } else { format!("{}_view<const {}>", class(p), scalar(p)) }
}

/// Returns the type that holds a result.
fn owned(v: &Value) -> String {
    if v.is_scalar() { scalar(v) } else { format!("{}<{}>", class(v), scalar(v)) }
}

/// How an overload hands over the results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Results {
    /// In out-parameters.
    Out,
    /// In out-parameters; scalars stay on the device.
    Device,
    /// As the return value.
    Returned,
}

/// Returns the overloads of a function; those that are called by others come first.
fn overloads<'a>(package: &'a str, entry: &'a Entry) -> impl Iterator<Item = Overload<'a>> {
    let device = entry.gives_scalars().then_some(Results::Device);
    let results = [Some(Results::Out), device, Some(Results::Returned)].into_iter().flatten();
    results
        .flat_map(move |results| [true, false].map(|options| Overload { package, entry, results, options }))
}

/// One overload.
struct Overload<'a> {
    package: &'a str,
    entry: &'a Entry,
    results: Results,
    /// Whether the first parameter is the options of the call.
    options: bool,
}

impl Overload<'_> {
    fn print(&self) -> String {
        let entry = self.entry;
        let mut out = String::new();
        if self.options {
            let _ = writeln!(out, "/// As below, with options: context and stream.");
        } else {
            self.doc(&mut out);
        }
        let returned = match entry.results.as_slice() {
            _ if self.results != Results::Returned => "void".to_string(),
            [one] => owned(one),
            _ => format!("{}_result", entry.name),
        };
        let list: Vec<String> =
            self.parameters().into_iter().map(|(ty, name)| format!("{ty} {name}")).collect();
        let head = format!("inline {returned} {}(", entry.name);
        let long = head.len() + list.iter().map(|p| p.len() + 2).sum::<usize>() > LINE;
        let separator = if long { ",\n        " } else { ", " };
        let _ = writeln!(out, "{head}{}{})\n{{", if long { "\n        " } else { "" }, list.join(separator));
        match (self.options, self.results) {
            (false, _) => self.forward(&mut out),
            (true, Results::Returned) => self.returning(&mut out),
            (true, _) => {
                let _ = writeln!(out, "    {}", self.call());
            }
        }
        let _ = writeln!(out, "}}");
        out
    }

    /// Returns the form of the C function that the overload calls.
    fn form(&self) -> Form {
        match self.results {
            Results::Device => Form::Device,
            Results::Returned if self.entry.makes_vectors() => Form::New,
            _ => Form::Plain,
        }
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
            let _ = match (self.results, self.entry.results.len()) {
                (Results::Device, _) if r.is_scalar() => {
                    writeln!(text, "@param[out] {} {}, stays on the device", r.name, r.describe())
                }
                (Results::Out | Results::Device, _) => {
                    writeln!(text, "@param[out] {} {}", r.name, r.describe())
                }
                (Results::Returned, 1) => writeln!(text, "@return {}", r.describe()),
                (Results::Returned, _) => writeln!(text, "@return {}: {}", r.name, r.describe()),
            };
        }
        for line in text.lines() {
            // A backslash at the end, or the trigraph for it, would continue the comment on the
            // next line.
            let line = format!("/// {}", line.replace("??", "? ?").trim_end_matches(['\\', ' ', '\t']));
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }

    fn options_name(&self) -> String {
        self.entry.free_name("options")
    }

    /// Returns the types and names of the parameters.
    fn parameters(&self) -> Vec<(String, String)> {
        let mut list = Vec::new();
        if self.options {
            list.push(("const arraygpu::call_options&".into(), self.options_name()));
        }
        for p in &self.entry.params {
            list.push((input(p), p.name.clone()));
        }
        if self.results != Results::Returned {
            for r in &self.entry.results {
                let ty = match (r.is_scalar(), self.results) {
                    (true, Results::Device) => format!("arraygpu::gpu_scalar<{}>&", scalar(r)),
                    (true, _) => format!("{}&", scalar(r)),
                    (false, _) => format!("{}_view<{}>", class(r), scalar(r)),
                };
                list.push((ty, r.name.clone()));
            }
        }
        list
    }

    /// Writes the body of an overload without options, which calls the one with options.
    fn forward(&self, out: &mut String) {
        let mut args = vec!["arraygpu::call_options()".to_string()];
        args.extend(self.entry.params.iter().map(|p| p.name.clone()));
        let returns = self.results == Results::Returned;
        if !returns {
            args.extend(self.entry.results.iter().map(|r| r.name.clone()));
        }
        let give = if returns { "return " } else { "" };
        let _ = writeln!(out, "    {give}::{}::{}({});", self.package, self.entry.name, args.join(", "));
    }

    /// Returns the call of the C function.
    fn call(&self) -> String {
        let form = self.form();
        let mut args = vec![format!("{}.c_call()", self.options_name())];
        for p in &self.entry.params {
            args.push(match (&p.record, p.is_scalar()) {
                (Some(r), true) => format!("arraygpu::detail::same_bits<::{}>({})", r.c_name, p.name),
                (None, true) => p.name.clone(),
                (_, false) => format!("{}.c_view()", p.name),
            });
        }
        for r in &self.entry.results {
            args.push(match form.gives(r) {
                Gives::IntoView => format!("{}.c_view()", r.name),
                Gives::ToHost if r.record.as_ref().is_some_and(|r| r.cpp_name.starts_with("std::")) => {
                    format!("reinterpret_cast<::{}*>(&{})", r.c_type(), r.name)
                }
                Gives::ToHost | Gives::Made => format!("&{}", r.name),
            });
        }
        let head = format!("arraygpu::check(::{}_{}{}(", self.package, self.entry.name, form.suffix());
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
        let _ = writeln!(out, "    {}", self.call());
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
