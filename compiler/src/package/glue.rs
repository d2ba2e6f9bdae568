//! The C code between the package's functions and libarraygpu: it packs arguments and calls `agpu_invoke`, nothing else.

use super::model::{Entry, Package};
use std::fmt::Write;

/// The file. It includes the package's C header, which is how the two are kept the same.
pub fn print(package: &Package, abi_version: i32, levels: &[&str]) -> String {
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
         \x20   .gpu = 0,\n\
         \x20   .gpu_length = 0,\n\
         \x20   .images = 0,\n\
         \x20   .image_count = 0,\n\
         \x20   .state = &state,\n\
         }};\n",
        package.kernels.len(),
        table("v2"),
        table("v3"),
        table("v4"),
    );
    for (number, entry) in package.entries.iter().enumerate() {
        function(&mut out, name, number, entry, false);
        if entry.makes_vectors() {
            function(&mut out, name, number, entry, true);
        }
    }
    out.push_str("\n#pragma GCC visibility pop\n");
    out
}

/// One function; `made`: the form that makes its vector results.
fn function(out: &mut String, package: &str, number: usize, entry: &Entry, made: bool) {
    let (call, args) = (entry.free_name("call"), entry.free_name("args"));
    let suffix = if made { "_new" } else { "" };
    let _ = write!(out, "\nagpu_status {package}_{}{suffix}(const agpu_call *{call}", entry.name);
    let mut list = String::new();
    for p in &entry.params {
        let (kind, ty) = match p.is_scalar() {
            true => ("SCALAR, .scalar = &", p.c_type()),
            false => ("VIEW, .view = ", "agpu_view"),
        };
        let _ = writeln!(list, "        {{ .kind = AGPU_ARG_{kind}{} }},", p.name);
        let _ = write!(out, ", {ty} {}", p.name);
    }
    for r in &entry.results {
        let n = &r.name;
        let (kind, ty, field) = match (r.is_scalar(), made) {
            (true, _) => ("SCALAR", format!("{} *", r.c_type()), "scalar"),
            (false, false) => ("VIEW", "agpu_view ".to_string(), "view"),
            (false, true) => ("NEW", "agpu_buffer **".to_string(), "made"),
        };
        let _ = writeln!(list, "        {{ .kind = AGPU_ARG_RESULT_{kind}, .{field} = {n} }},");
        let _ = write!(out, ", {ty}{n}");
    }
    let count = entry.params.len() + entry.results.len();
    let _ = write!(
        out,
        ")\n{{\n    const agpu_arg {args}[] = {{\n{list}    }};\n    return agpu_invoke(&{package}_module, {number}, {call}, {args}, {count});\n}}\n"
    );
}

/// A text as a C string, a line each.
fn quoted(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let mut quoted = String::from("    \"");
        for byte in line.bytes() {
            match byte {
                b'\n' => quoted.push_str("\\n"),
                b'"' | b'\\' => quoted.extend(['\\', byte as char]),
                // octal ends after three digits, hexadecimal would not; "??" could be a trigraph
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
