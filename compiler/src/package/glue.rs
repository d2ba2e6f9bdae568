//! Writes the C code between the package's functions and libarraygpu, which only packs arguments
//! and calls `agpu_invoke`.

use super::images::Images;
use super::model::{Entry, Form, Gives, Package};
use std::fmt::Write;

/// Prints the file. It includes the package's C header, so that the compiler checks that both
/// agree.
pub fn print(package: &Package, images: &Images, abi_version: i32, levels: &[&str]) -> String {
    let name = &package.name;
    let mut out = format!(
        "#include \"{name}.h\"\n\n_Static_assert(AGPU_ABI_VERSION == {abi_version}, \"the manifest says so\");\n"
    );
    let table = |level: &str| {
        if package.kernels.is_empty() || !levels.contains(&level) {
            "0".to_string()
        } else {
            format!("{name}_cpu_{level}")
        }
    };
    if !package.kernels.is_empty() {
        for level in levels {
            let _ = writeln!(out, "extern const agpu_cpu_kernel {name}_cpu_{level}[];");
        }
    }
    let _ = write!(out, "\nstatic const char plans[] =\n{};\n", quoted(&package.plans));
    let gpu = gpu(&mut out, package, images);
    let staged = if package.staged.is_empty() {
        "    .staged = 0,\n    .staged_length = 0,\n"
    } else {
        let _ = write!(out, "\nstatic const char staged[] =\n{};\n", quoted(&package.staged));
        "    .staged = staged,\n    .staged_length = (int64_t)sizeof(staged) - 1,\n"
    };
    let _ = write!(
        out,
        "\nstatic void *state;\n\n#pragma GCC visibility push(default)\n\n\
         extern const agpu_module {name}_module;\n\
         const agpu_module {name}_module = {{\n\
         \x20   .size = sizeof(agpu_module),\n\
         \x20   .abi_version = AGPU_ABI_VERSION,\n\
         \x20   .name = \"{name}\",\n\
         \x20   .plans = plans,\n\
         \x20   .plans_length = (int64_t)sizeof(plans) - 1,\n\
         \x20   .kernels = {},\n\
         \x20   .cpu_v2 = {},\n\
         \x20   .cpu_v3 = {},\n\
         \x20   .cpu_v4 = {},\n\
         {gpu}\
         \x20   .state = &state,\n\
         {staged}\
         }};\n",
        package.kernels.len(),
        table("v2"),
        table("v3"),
        table("v4"),
    );
    for (number, entry) in package.entries.iter().enumerate() {
        entry.forms().for_each(|form| function(&mut out, name, number, entry, form));
    }
    out.push_str("\n#pragma GCC visibility pop\n");
    out
}

/// Writes the data of the code for GPUs, and returns the module's fields that refer to it.
fn gpu(out: &mut String, package: &Package, images: &Images) -> &'static str {
    let name = &package.name;
    if !package.targets.cuda {
        return "    .gpu = 0,\n    .gpu_length = 0,\n    .images = 0,\n    .image_count = 0,\n";
    }
    let _ = write!(out, "\nstatic const char gpu[] =\n{};\n", quoted(&package.gpu));
    if images.table.is_empty() {
        return "    .gpu = gpu,\n    .gpu_length = (int64_t)sizeof(gpu) - 1,\n    .images = 0,\n    .image_count = 0,\n";
    }
    let _ = writeln!(out, "\nextern const char {name}_images[] __attribute__((visibility(\"hidden\")));");
    let _ = writeln!(out, "static const agpu_image images[] = {{");
    for i in &images.table {
        let arch = i.arch.map_or(0, |a| a.number());
        let _ = writeln!(
            out,
            "    {{ .kernel = {}, .version = {}, .arch = {arch}, .size = {}, .data = {name}_images + {}, .packed = {}, .base = {} }},",
            i.number.kernel,
            i.number.variant,
            i.size,
            i.offset,
            i.packed,
            i.base.map_or(0, |b| b + 1)
        );
    }
    let _ = writeln!(out, "}};");
    "    .gpu = gpu,\n    .gpu_length = (int64_t)sizeof(gpu) - 1,\n    .images = images,\n    \
     .image_count = sizeof(images) / sizeof(images[0]),\n"
}

/// Writes one function in one form.
fn function(out: &mut String, package: &str, number: usize, entry: &Entry, form: Form) {
    let (call, args) = (entry.free_name("call"), entry.free_name("args"));
    let _ = write!(out, "\nagpu_status {package}_{}{}(const agpu_call *{call}", entry.name, form.suffix());
    // Fields are assigned one by one: an initialiser would also clear the fields that the
    // argument's kind does not use, which takes time in each call.
    let mut list = String::new();
    let mut argument = |kind: &str, field: &str, value: &str| {
        let at = format!("{args}[{}]", list.lines().count() / 3);
        let _ = writeln!(list, "    {at}.kind = AGPU_ARG_{kind};");
        let _ = writeln!(list, "    {at}.{field} = {value};");
        let _ = writeln!(list, "    {at}.reserved[0] = {at}.reserved[1] = 0;");
    };
    for p in &entry.params {
        let ty = if p.is_scalar() {
            argument("SCALAR", "scalar", &format!("&{}", p.name));
            p.c_type()
        } else {
            argument("VIEW", "view", &p.name);
            "agpu_view"
        };
        let _ = write!(out, ", {ty} {}", p.name);
    }
    for r in &entry.results {
        let n = &r.name;
        let (kind, ty, field) = match form.gives(r) {
            Gives::ToHost => ("RESULT_SCALAR", format!("{} *", r.c_type()), "scalar"),
            Gives::IntoView => ("RESULT_VIEW", "agpu_view ".to_string(), "view"),
            Gives::Made => ("RESULT_NEW", "agpu_buffer **".to_string(), "made"),
        };
        argument(kind, field, n);
        let _ = write!(out, ", {ty}{n}");
    }
    let count = entry.params.len() + entry.results.len();
    let _ = write!(
        out,
        ")\n{{\n    agpu_arg {args}[{count}];\n{list}    return agpu_invoke(&{package}_module, {number}, {call}, {args}, {count});\n}}\n"
    );
}

/// Returns a text as a C string literal, with one source line per line.
fn quoted(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let mut quoted = String::from("    \"");
        for byte in line.bytes() {
            match byte {
                b'\n' => quoted.push_str("\\n"),
                b'"' | b'\\' => quoted.extend(['\\', byte as char]),
                // An octal escape ends after three digits, unlike a hexadecimal one. "??" could
                // begin a trigraph.
                b' '..=b'~' if byte != b'?' => quoted.push(byte as char),
                _ => {
                    let _ = write!(quoted, "\\{byte:03o}");
                }
            }
        }
        quoted.push('"');
        lines.push(quoted);
    }
    if lines.is_empty() { "    \"\"".into() } else { lines.join("\n") }
}

#[cfg(test)]
mod tests {
    #[test]
    fn strings() {
        assert_eq!(super::quoted("a \"b\\\n?é"), "    \"a \\\"b\\\\\\n\"\n    \"\\077\\303\\251\"");
        assert_eq!(super::quoted(""), "    \"\"");
    }
}
