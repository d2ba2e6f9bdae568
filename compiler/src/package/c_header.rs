//! Writes `stats.h`, the package's interface for C, which cbindgen prints from generated Rust
//! declarations.

use super::model::{Entry, Form, Gives, Package, Value};
use super::place;
use super::records::FieldType;
use crate::error::{Error, Result};
use crate::scalar::Ty;
use std::fmt::Write;
use std::path::Path;

/// Prints the header. cbindgen reads the declarations from a file, which is written into `scratch`.
pub fn print(package: &Package, scratch: &Path) -> Result<String> {
    let file = scratch.join("declarations.rs");
    let failed = |e: &dyn std::fmt::Display| Error::bug("E0510", format!("the C header: {e}"));
    std::fs::write(&file, declarations(package)).map_err(|e| place::failed("write", &file, &e))?;
    let bindings = cbindgen::Builder::new()
        .with_config(config(package))
        .with_src(&file)
        .generate()
        .map_err(|e| failed(&e))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).map_err(|e| failed(&e))?;
    // cbindgen silently leaves out declarations that it does not understand.
    for (entry, form) in package.entries.iter().flat_map(|e| e.forms().map(move |f| (e, f))) {
        let name = format!("{}_{}{}", package.name, entry.name, form.suffix());
        if !text.contains(&format!(" {name}(")) {
            return Err(failed(&format!("cbindgen left {name} out")));
        }
    }
    Ok(text)
}

fn config(package: &Package) -> cbindgen::Config {
    let name = &package.name;
    cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        no_includes: true,
        sys_includes: ["arraygpu.h", "stdbool.h", "stdint.h"].map(String::from).to_vec(),
        include_guard: Some(format!("{}_H", name.to_uppercase())),
        header: Some(format!(
            "/* {name} {}: made by arraygpu {}. Do not edit: run the generator again. */",
            package.version,
            super::VERSION
        )),
        export: cbindgen::ExportConfig {
            // views do not say that these are used
            include: package.records.structs.iter().map(|s| format!("{name}_{}", s.name)).collect(),
            ..cbindgen::ExportConfig::default()
        },
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        usize_is_size_t: true,
        line_length: 110,
        tab_width: 4,
        ..cbindgen::Config::default()
    }
}

/// Returns the functions as Rust declarations. cbindgen does not know the types of `arraygpu.h` and
/// prints their names unchanged.
fn declarations(package: &Package) -> String {
    let mut out = String::new();
    for s in &package.records.structs {
        let _ = writeln!(out, "#[repr(C)]\npub struct {}_{} {{", package.name, s.name);
        for (field, ty) in &s.fields {
            let _ = writeln!(out, "    pub r#{field}: {},", rust_field(&package.name, ty));
        }
        out.push_str("}\n");
    }
    for entry in &package.entries {
        for form in entry.forms() {
            let name = format!("{}_{}{}", package.name, entry.name, form.suffix());
            declare(&mut out, entry, &name, form);
        }
    }
    out
}

/// Writes the declaration of one function in one form.
fn declare(out: &mut String, entry: &Entry, name: &str, form: Form) {
    for line in doc(entry, form).lines() {
        let _ = writeln!(out, "#[doc = {:?}]", format!(" {line}").trim_end());
    }
    let _ = write!(
        out,
        "#[unsafe(no_mangle)]\npub extern \"C\" fn {name}({}: *const agpu_call",
        entry.free_name("call")
    );
    for p in &entry.params {
        let ty = if p.is_scalar() { rust_type(p) } else { "agpu_view" };
        let _ = write!(out, ", r#{}: {ty}", p.name);
    }
    for r in &entry.results {
        let _ = write!(out, ", r#{}: ", r.name);
        let _ = match form.gives(r) {
            Gives::ToHost => write!(out, "*mut {}", rust_type(r)),
            Gives::IntoView => write!(out, "agpu_view"),
            Gives::Made => write!(out, "*mut *mut agpu_buffer"),
        };
    }
    out.push_str(") -> agpu_status {}\n");
}

/// Returns the documentation: the author's text, then every parameter and result; for the other
/// forms, only what differs.
fn doc(entry: &Entry, form: Form) -> String {
    let mut out = String::new();
    let names = |scalar: bool| -> Vec<&str> {
        let wanted = entry.results.iter().filter(|r: &&Value| r.is_scalar() == scalar);
        wanted.map(|r| r.name.as_str()).collect()
    };
    match form {
        Form::Plain => {}
        Form::New => {
            let names = names(false);
            let (is, belong) = if names.len() == 1 { ("is", "belongs") } else { ("are", "belong") };
            let vectors = entry.results.iter().all(|r| r.ty.rank <= 1);
            let length = match (vectors, names.len()) {
                (true, 1) => "the right length",
                (true, _) => "the right lengths",
                (false, _) => "the right extents",
            };
            let list = names.join(", ");
            return format!(
                "As {}; {list} {is} made with {length} and {belong} to the caller (agpu_buffer_free).",
                entry.name
            );
        }
        Form::Device => {
            let names = names(true);
            let (stays, view) = if names.len() == 1 { ("stays", "a view") } else { ("stay", "views") };
            return format!(
                "As {}; {} {stays} on the device, in {view} of one element: nothing waits for it.",
                entry.name,
                names.join(", ")
            );
        }
    }
    if !entry.doc.is_empty() {
        let _ = writeln!(out, "{}\n", entry.doc);
    }
    for (tag, values) in [("@param", &entry.params), ("@param[out]", &entry.results)] {
        for v in values {
            let _ = writeln!(out, "{tag} {} {}", v.name, v.describe());
        }
    }
    // The text must not contain what ends or begins a comment, nor trigraphs.
    out.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
}

/// Returns the name of a scalar's type as cbindgen reads it: the Rust type, or that of a struct of
/// `arraygpu.h`.
fn rust_type(v: &Value) -> &str {
    if v.record.is_some() || v.ty.elem.is_half() { v.c_type() } else { v.ty.elem.name() }
}

/// Returns the type of a struct's field as cbindgen reads it.
fn rust_field(package: &str, ty: &FieldType) -> String {
    match ty {
        FieldType::Elem(Ty::F16) => "agpu_half".into(),
        FieldType::Elem(Ty::Bf16) => "agpu_bfloat16".into(),
        FieldType::Elem(ty) => ty.name().into(),
        FieldType::Struct(name) => format!("{package}_{name}"),
        FieldType::Array(ty, n) => format!("[{}; {n}]", rust_field(package, ty)),
    }
}
