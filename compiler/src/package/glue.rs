//! Writes the C code between the package's functions and libarraygpu, which only packs arguments
//! and calls `agpu_invoke`.

use super::images::Images;
use super::model::{Entry, Form, Gives, Package, Record};
use super::records::Leaf;
use std::fmt::Write;

/// Prints the file. It includes the package's C header, so that the compiler checks that both
/// agree.
pub fn print(package: &Package, images: &Images, abi_version: i32, levels: &[&str]) -> String {
    let name = &package.name;
    let mut out = format!(
        "#include \"{name}.h\"\n{}\n_Static_assert(AGPU_ABI_VERSION == {abi_version}, \"the manifest says so\");\n",
        if package.records.uses.is_empty() { "" } else { "#include <stddef.h>\n" }
    );
    if !package.records.uses.is_empty() {
        out.push_str(FIELD);
    }
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
    let (mut list, mut count) = (String::new(), 0);
    let mut argument = |kind: &str, fields: &[(&str, &str)]| {
        let at = format!("{args}[{count}]");
        let _ = writeln!(list, "    {at}.kind = AGPU_ARG_{kind};");
        for (field, value) in fields {
            let _ = writeln!(list, "    {at}.{field} = {value};");
        }
        let _ = writeln!(list, "    {at}.reserved[0] = {at}.reserved[1] = 0;");
        count += 1;
    };
    for p in &entry.params {
        let n = p.name.as_str();
        match (&p.record, p.is_scalar()) {
            (None, true) => argument("SCALAR", &[("scalar", &format!("&{n}"))]),
            (None, false) => argument("VIEW", &[("view", n)]),
            (Some(r), true) => {
                r.leaves.iter().for_each(|l| argument("SCALAR", &[("scalar", &format!("&{n}.{}", l.path))]));
            }
            (Some(r), false) => r.leaves.iter().for_each(|l| argument("VIEW", &[("view", &field(r, l, n))])),
        }
        let _ = write!(out, ", {} {n}", if p.is_scalar() { p.c_type() } else { "agpu_view" });
    }
    for r in &entry.results {
        let n = &r.name;
        let (kind, ty, name) = match form.gives(r) {
            Gives::ToHost => ("RESULT_SCALAR", format!("{} *", r.c_type()), "scalar"),
            Gives::IntoView => ("RESULT_VIEW", "agpu_view ".to_string(), "view"),
            Gives::Made => ("RESULT_NEW", "agpu_buffer **".to_string(), "made"),
        };
        match (&r.record, form.gives(r)) {
            (None, _) => argument(kind, &[(name, n)]),
            (Some(record), gives) => record.leaves.iter().for_each(|l| match gives {
                Gives::ToHost => argument(kind, &[(name, &format!("&{n}->{}", l.path))]),
                Gives::IntoView => argument(kind, &[(name, &field(record, l, n))]),
                Gives::Made => {
                    let (at, size) = place(record, l);
                    argument(
                        "RESULT_NEW_FIELD",
                        &[(name, n), ("view.offset", &at), ("view.stride[0]", &size)],
                    );
                }
            }),
        }
        let _ = write!(out, ", {ty}{n}");
    }
    let _ = write!(
        out,
        ")\n{{\n    agpu_arg {args}[{count}];\n{list}    return agpu_invoke(&{package}_module, {number}, {call}, {args}, {count});\n}}\n"
    );
}

/// Returns where a leaf lies in its struct, and the size of the struct, in C.
fn place(record: &Record, leaf: &Leaf) -> (String, String) {
    let name = &record.c_name;
    (format!("offsetof({name}, {})", leaf.path), format!("sizeof({name})"))
}

/// Returns the view of a leaf of structs in C.
fn field(record: &Record, leaf: &Leaf, structs: &str) -> String {
    let ((at, size), ty) = (place(record, leaf), leaf.ty);
    format!("agpu_field({structs}, AGPU_{}, {}, {at}, {size})", ty.name().to_uppercase(), ty.size())
}

/// Makes the view of a field of structs, which are bytes with an axis more. Of anything else it gives what it got,
/// which the runtime refuses: its rank or its elements are others.
const FIELD: &str = "
static inline agpu_view agpu_field(agpu_view structs, int32_t kind, int32_t size, int64_t at, int64_t record)
{
    agpu_view field = structs;
    const int64_t last = structs.rank - 1;
    int is_empty = 0;
    // the field gets a type of its own, so the runtime would not see that these are no bytes
    if (structs.element.kind != AGPU_U8 || structs.element.size != 1) return structs;
    for (int64_t axis = 0; axis < last && axis < AGPU_MAX_RANK; axis++) is_empty |= structs.extent[axis] == 0;
    if (is_empty) at = 0;
    if (last < 0 || last >= AGPU_MAX_RANK || structs.extent[last] != record || (record > 1 && structs.stride[last] != 1)
        || structs.offset < 0 || structs.offset > INT64_MAX - at || (structs.offset + at) % size != 0) {
        return structs;
    }
    for (int64_t axis = 0; axis < last; axis++) {
        // without elements strides do not matter
        if (!is_empty && structs.extent[axis] > 1 && structs.stride[axis] % size != 0) return structs;
        field.stride[axis] = structs.stride[axis] / size;
    }
    field.extent[last] = field.stride[last] = last == 0;
    field.rank = last == 0 ? 1 : last;
    field.offset = (structs.offset + at) / size;
    field.element.kind = kind;
    field.element.size = size;
    return field;
}
";

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
