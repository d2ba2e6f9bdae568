//! Random programs over the rows of a matrix, or over one vector: reductions that need those before them,
//! and arrays that are stored and read again, also by launches that go over something else.

use super::common::rng::Rng;
use std::fmt::Write;

/// A program while it is written.
pub struct RowChain<'r> {
    rng: &'r mut Rng,
    /// Whether it is about a vector, and not about the rows of a matrix.
    vector: bool,
    body: String,
    /// The arrays that are stored, and the values of a row.
    arrays: Vec<String>,
    values: Vec<String>,
    names: usize,
}

/// Returns the text of a function of `m` (a matrix, or a vector) and `w`, of as many elements as a row.
pub fn program(rng: &mut Rng, vector: bool) -> String {
    let (arrays, values) = (vec!["m".into()], vec![]);
    let mut p = RowChain { rng, vector, body: String::new(), arrays, values, names: 0 };
    for _ in 0..2 + p.rng.below(4) {
        if p.rng.one_in(2) { p.reduce() } else { p.store() }
    }
    p.store();
    let mut readers = Vec::new();
    for _ in 0..p.rng.below(3) {
        readers.extend(p.reader());
    }
    let mut results: Vec<String> = p.arrays[1..].to_vec();
    // scalar results keep the launches of a vector apart
    let values = p.values.iter().filter(|_| !p.vector || p.rng.one_in(12));
    results.extend(values.cloned().collect::<Vec<String>>());
    // what is no result is stored for its readers, if it is stored at all
    let dropped = if readers.is_empty() { 1 } else { 3 };
    let kept: Vec<String> = results.iter().filter(|_| p.rng.below(4) >= dropped).cloned().collect();
    let mut results = if kept.is_empty() && readers.is_empty() { results } else { kept };
    results.extend(readers);
    let ty = |name: &String| match (&name[..1], vector) {
        ("v", true) | ("z", _) => "T",
        ("v" | "c", false) | (_, true) => "[T]",
        _ => "[[T]]",
    };
    let types: Vec<String> = results.iter().map(|r| format!("{r}: {}", ty(r))).collect();
    let names: Vec<String> = results.iter().map(|r| format!("%{r}")).collect();
    let (of_m, extents) = match vector {
        true => ("[T]", "  %k = len %m\n"),
        false => ("[[T]]", "  %n = len %m\n  %k = len %m axis 1\n"),
    };
    format!(
        "func @f(%m: {of_m}, %w: [T]) -> ({}) {{\n{extents}  %lw = len %w\n  require same %k, %lw \"columns: m, w\"\n{}  return {}\n}}",
        types.join(", "),
        p.body,
        names.join(", ")
    )
}

impl RowChain<'_> {
    fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    /// Writes the code of an element at %j, and returns the name of its value.
    fn element(&mut self, out: &mut String) -> String {
        let leaf = |p: &mut Self, out: &mut String| {
            let name = p.name("x");
            let from = match p.rng.below(8) {
                0 => "elem %w, %j".to_string(),
                1..4 if !p.values.is_empty() => {
                    let at = p.rng.below(p.values.len());
                    match p.vector {
                        true => return p.values[at].clone(),
                        false => format!("elem %{}, %i", p.values[at]),
                    }
                }
                // another row, or another element of the vector
                4 if p.rng.one_in(4) => {
                    let (at, other, last) = (p.rng.below(p.arrays.len()), p.name("x"), p.name("x"));
                    let (extent, index) = if p.vector { ("k", "j") } else { ("n", "i") };
                    writeln!(out, "    %{last} = sub %{extent}, 1i64\n    %{other} = sub %{last}, %{index}")
                        .unwrap();
                    format!("elem %{}, %{other}{}", p.arrays[at], if p.vector { "" } else { ", %j" })
                }
                _ => {
                    let at = p.rng.below(p.arrays.len());
                    format!("elem %{}, {}%j", p.arrays[at], if p.vector { "" } else { "%i, " })
                }
            };
            writeln!(out, "    %{name} = {from}").unwrap();
            name
        };
        let mut value = leaf(self, out);
        for _ in 0..1 + self.rng.below(4) {
            let (other, name) = (leaf(self, out), self.name("x"));
            let op = self.rng.pick(&["add", "sub", "mul", "max", "min"]);
            writeln!(out, "    %{name} = {op} %{value}, %{other}").unwrap();
            value = name;
        }
        value
    }

    /// Stores an array.
    fn store(&mut self) {
        let (name, mut body) = (self.name("a"), String::new());
        let value = self.element(&mut body);
        let head = if self.vector { "%k (%j: i64)" } else { "%n, %k (%i: i64, %j: i64)" };
        writeln!(self.body, "  %{name} = generate {head} {{\n{body}    yield %{value}\n  }}").unwrap();
        self.arrays.push(name);
    }

    /// Reads an array, or the values of the rows, in another order than row by row, and returns the name of
    /// what it makes of them: an array of rows or elements from the last to the first, sums of columns, products
    /// of all pairs of rows, or the sum of a value of each row.
    fn reader(&mut self) -> Option<String> {
        let of = self.arrays[1..][self.rng.below(self.arrays.len() - 1)].clone();
        let what = if self.vector { 0 } else { self.rng.below(4) };
        let name = self.name(["r", "c", "p", "z"][what]);
        let add = "{ %s = add %p, %q yield %s }";
        let text = match what {
            0 => format!("%{name}x = materialize %{of}\n  %{name} = reverse %{name}x"),
            1 => format!(
                "%{name} = generate %k (%j: i64) {{
    %{name}x = pick %{of} axis 1 at %j
    %{name}y = reduce (%p: T, %q: T) from 0T over %{name}x {add}
    yield %{name}y
  }}"
            ),
            2 => format!(
                "%{name} = generate %n, %n (%i: i64, %j: i64) {{
    %{name}x = pick %{of} at %i
    %{name}y = pick %{of} at %j
    %{name}z = dot from 0T over %{name}x, %{name}y
    yield %{name}z
  }}"
            ),
            _ => {
                let value = self.values.first()?;
                format!("%{name} = reduce (%p: T, %q: T) from 0T over %{value} {add}")
            }
        };
        writeln!(self.body, "  {text}").unwrap();
        Some(name)
    }

    /// Reduces each row, or the vector.
    fn reduce(&mut self) {
        let (name, row, mut body) = (self.name("v"), self.name("r"), String::new());
        let value = self.element(&mut body);
        let row_text = format!("  %{row} = generate %k (%j: i64) {{\n{body}    yield %{value}\n  }}\n");
        let (op, init) = self.rng.pick(&[("add", "0T"), ("add", "9T"), ("max", "LEAST"), ("min", "9T")]);
        let result = if self.vector { name.clone() } else { self.name("t") };
        let reduced = match self.rng.one_in(3) {
            true => format!("  %{result} = dot from 1T over %{row}, %w\n"),
            false => format!(
                "  %{result} = reduce (%p: T, %q: T) from {init} over %{row} {{ %s = {op} %p, %q yield %s }}\n"
            ),
        };
        match self.vector {
            true => write!(self.body, "{row_text}{reduced}"),
            false => {
                write!(
                    self.body,
                    "  %{name} = generate %n (%i: i64) {{\n{row_text}{reduced}  yield %{result}\n  }}\n"
                )
            }
        }
        .unwrap();
        self.values.push(name);
    }
}
