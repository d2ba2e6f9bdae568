//! `cargo xtask same-kernels`: whether the compiler writes the kernels that it wrote before.
//!
//! A change of the compiler's structure must change no kernel. `--save FOLDER` keeps the C and PTX
//! of the repository's packages, as the compiler wrote it; `--against FOLDER` compares with that.
//! Names that the compiler invents (locals, registers, labels, names of kernels) are numbered by
//! their first use and comments are dropped, so that a kernel whose variables have better names is
//! the same.

use crate::sh::{self, Result};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

/// The generators whose kernels are compared.
const GENERATORS: [&str; 6] =
    ["examples-gen", "checks-gen", "bench-gen", "functions-gen", "demo-gen", "rof-gen"];
/// The line that begins the part of a stage in what `--emit` prints.
const STAGES: [(&str, &str); 2] = [("c", "// ---- c ----"), ("ptx", "// ---- ptx ----")];

/// Keeps what the compiler writes now.
pub fn save(folder: &Path) -> Result {
    for (file, text) in emitted()? {
        sh::put(&folder.join(file), text.as_bytes())?;
    }
    Ok(())
}

/// Compares with what was kept; names the kernels that differ.
pub fn compare(folder: &Path) -> Result {
    let (mut kernels, mut differ) = (0, Vec::new());
    for (file, text) in emitted()? {
        let before = String::from_utf8_lossy(&sh::get(&folder.join(&file))?).into_owned();
        let (before, now) = (units(&file, &before), units(&file, &text));
        kernels += now.len();
        differ.extend(differences(&before, &now).into_iter().map(|what| format!("{file}: {what}")));
    }
    println!("{kernels} kernels and helpers compared, {} differ", differ.len());
    if differ.is_empty() {
        return Ok(());
    }
    Err(format!("kernels have changed:\n{}", differ.join("\n")))
}

/// What each generator prints of each stage: `bench-gen.ptx` and the like.
fn emitted() -> Result<Vec<(String, String)>> {
    let mut build = sh::cargo(&["build", "--quiet", "--package", "arraygpu-examples"]);
    sh::run(build.args(GENERATORS.iter().flat_map(|g| ["--bin", g])))?;
    let mut all = Vec::new();
    for generator in GENERATORS {
        let mut program = sh::program(&sh::target().join("debug").join(generator).display().to_string());
        let text = sh::output(program.args(["--emit", "c,ptx"])).ok_or(format!("{generator} failed"))?;
        let (_, both) = text.split_once(STAGES[0].1).ok_or(format!("{generator} printed no C"))?;
        let (c, ptx) = both.split_once(STAGES[1].1).ok_or(format!("{generator} printed no PTX"))?;
        for (stage, text) in STAGES.iter().map(|s| s.0).zip([c, ptx]) {
            all.push((format!("{generator}.{stage}"), text.to_string()));
        }
    }
    Ok(all)
}

/// A function or a kernel: its name, and its text in the form that is compared.
struct Unit {
    name: String,
    text: String,
}

/// Cuts a file into kernels and, of C, helpers.
fn units(file: &str, text: &str) -> Vec<Unit> {
    let is_ptx = file.ends_with(".ptx");
    let text = if is_ptx { text.to_string() } else { without_comments(text) };
    let begins = |line: &str| {
        if is_ptx {
            line.starts_with("// ")
        } else {
            line.starts_with("static ") || line.starts_with("#define ")
        }
    };
    let mut parts: Vec<String> = vec![String::new()];
    // notes inside of a PTX kernel are comments, too
    for line in text.lines().filter(|l| !l.starts_with(['\t', ' ']) || !l.trim_start().starts_with("// ")) {
        if begins(line) {
            parts.push(String::new());
        }
        let last = parts.last_mut().expect("one at least");
        last.push_str(line);
        last.push('\n');
    }
    let unit = |part: &String| {
        let head = part.lines().next().unwrap_or_default();
        let end = head.find(if is_ptx { ',' } else { '(' }).unwrap_or(head.len());
        let start = head[..end].rfind([' ', '*']).map_or(0, |at| at + 1);
        let name = head[start..end].to_string();
        let text = if is_ptx { ptx(part, &name) } else { c(part, &name) };
        Unit { name, text }
    };
    parts.iter().filter(|p| !p.trim().is_empty()).map(unit).collect()
}

/// What is here and not there. Kernels of equal text match each other, whatever their names are.
fn differences(before: &[Unit], now: &[Unit]) -> Vec<String> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    before.iter().for_each(|u| *counts.entry(&u.text).or_default() += 1);
    now.iter().for_each(|u| *counts.entry(&u.text).or_default() -= 1);
    let mut list = Vec::new();
    for (units, sign, what) in [(before, 1, "was"), (now, -1, "is new or another")] {
        for u in units {
            if let Some(count) = counts.get_mut(u.text.as_str()).filter(|n| **n * sign > 0) {
                *count -= sign;
                list.push(format!("{} {what}", u.name));
            }
        }
    }
    list
}

/// C without comments; strings have none of their signs.
fn without_comments(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("/*") {
        out.push_str(&rest[..at]);
        rest = rest[at..].find("*/").map_or("", |end| &rest[at + end + 2..]);
    }
    out.push_str(rest);
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Numbers for names, by first use.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn number(&mut self, name: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(name.to_string()).or_insert(next)
    }
}

/// Replaces the words of a text, with what stands before and behind each, by what `f` gives for
/// them.
fn words(text: &str, mut f: impl FnMut(&str, &str, &str) -> Option<String>) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut out, mut at) = (String::new(), 0);
    while let Some(begin) = text[at..].find(is_word).map(|n| at + n) {
        out.push_str(&text[at..begin]);
        let end = text[begin..].find(|c| !is_word(c)).map_or(text.len(), |n| begin + n);
        let word = &text[begin..end];
        match f(&text[..begin], word, &text[end..]) {
            Some(other) => out.push_str(&other),
            None => out.push_str(word),
        }
        at = end;
    }
    out + &text[at..]
}

/// Words of C that name no local.
const C_WORDS: &str = "static inline const restrict for while do if else return break continue switch case default sizeof \
    void bool true false char short int long unsigned float double int8_t int16_t int32_t int64_t uint8_t uint16_t \
    uint32_t uint64_t typedef struct define ifdef ifndef endif pragma GCC ivdep volatile extern union goto";

fn c(part: &str, own: &str) -> String {
    let known: Vec<&str> = C_WORDS.split_whitespace().collect();
    let mut names = Names::default();
    words(part, |before, word, behind| {
        let is_field = before.ends_with("->") || before.ends_with('.');
        let is_global = word.starts_with("agpu_") || word.starts_with("__") || word.starts_with("AGPU_");
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        if word == own {
            return Some("SELF".into());
        }
        if is_field || is_global || is_number || behind.starts_with('(') || known.contains(&word) {
            return None;
        }
        Some(format!("v{}", names.number(word)))
    })
}

fn ptx(part: &str, own: &str) -> String {
    let (mut types, mut names, mut others, mut out) =
        (HashMap::new(), Names::default(), Names::default(), String::new());
    for line in part.lines().skip(1) {
        let line = line.trim();
        if let Some(declared) = line.strip_prefix(".reg ") {
            let (ty, list) = declared.trim_end_matches(';').split_once(' ').unwrap_or((declared, ""));
            for name in list.split(", ") {
                // `%_f<12>` declares %_f0 to %_f11
                let name = name.split('<').next().unwrap_or(name);
                types.insert(name.trim_start_matches('%').to_string(), ty.to_string());
            }
            continue;
        }
        let mut code = without_comments(line);
        if let Some(name) = code.strip_prefix(".shared ").and_then(|c| c.split(' ').next_back()) {
            let name = name.split('[').next().unwrap_or(name).to_string();
            types.insert(name, "shared".into());
        }
        code = words(&code, |before, word, _| {
            if word == own {
                return Some("SELF".into());
            }
            if before.ends_with('$') {
                return Some(format!("L{}", others.number(word)));
            }
            let is_register = before.ends_with('%');
            let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
            let ty = types.get(word).or_else(|| types.get(stem).filter(|_| stem.starts_with('_')));
            // special registers and keywords have no declaration
            ty.filter(|ty| is_register || *ty == "shared")
                .map(|ty| format!("{}{}", ty.trim_start_matches('.'), names.number(word)))
        });
        let _ = writeln!(out, "{code}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(file: &str, a: &str, b: &str) -> bool {
        differences(&units(file, a), &units(file, b)).is_empty()
    }

    #[test]
    fn names_and_comments_do_not_matter() {
        let a = "static void f(const agpu_kernel_args *args)\n\
             {\n\
             \tconst float x1 = agpu_exp(a_x[i]); /* one */\n\
             \tout[i] = x1;\n\
             }\n";
        let b = "static void g(const agpu_kernel_args *args)\n\
             {\n\
             \tconst float value = agpu_exp(in[k]);\n\
             \tr[k] = value;\n\
             }\n";
        assert!(same("a.c", a, b));
        for (from, to) in
            [("agpu_exp", "agpu_log"), ("r[k] = value", "r[k] = in"), ("float value", "double value")]
        {
            assert!(!same("a.c", a, &b.replace(from, to)), "{to}");
        }
        let a = "// k_0, made by arraygpu\n\
             .entry k_0(.param .b64 arg0 /* x */)\n\
             .reg .pred %_p<7>;\n\
             .reg .f32 %x2, %in1;\n\
             .shared .align 16 .b8 warps[64];\n\
             add.f32 %x2, %in1, %x2;\n\
             @!%_p0 bra $L2;\n\
             st.shared.f32 [warps], %x2;\n\
             mov.u32 %x2, %tid.x;\n\
             $L2:\n";
        let b = "// k_any, made by arraygpu\n\
             .entry k_any(.param .b64 arg0 /* y */)\n\
             .reg .pred %_p<9>;\n\
             .reg .f32 %b, %c;\n\
             .shared .align 16 .b8 w[64];\n\
             add.f32 %b, %c, %b;\n\
             @!%_p5 bra $L7;\n\
             st.shared.f32 [w], %b;\n\
             mov.u32 %b, %tid.x;\n\
             $L7:\n";
        assert!(same("a.ptx", a, b));
        for (from, to) in [
            ("add", "sub"),
            ("%c, %b", "%b, %c"),
            ("tid", "ctaid"),
            (".reg .f32 %b, %c", ".reg .f32 %b;\n.reg .f64 %c"),
        ] {
            assert!(!same("a.ptx", a, &b.replacen(from, to, 1)), "{to}");
        }
        // a kernel is missing
        assert!(!same("a.ptx", a, ""));
    }
}
