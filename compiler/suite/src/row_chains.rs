//! Random programs over the rows or the columns of a matrix, or over one vector: reductions that need those
//! before them, and arrays that are stored and read again, also by launches that go over something else.

use crate::rng::Rng;
use std::fmt::Write;

/// What is reduced.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Of {
    Rows,
    Columns,
    Vector,
    /// Rows, and then columns.
    Both,
}

/// A program while it is written.
pub struct RowChain<'r> {
    rng: &'r mut Rng,
    of: Of,
    body: String,
    /// The arrays that are stored, and the values of a row.
    arrays: Vec<String>,
    values: Vec<String>,
    /// The values of columns behind rows.
    columns: Vec<String>,
    names: usize,
    /// Whether what is written now reads at indices that it computes.
    gathers: bool,
}

/// Returns the text of a function of `m` (a matrix, or a vector) and `w`, of as many elements as what is reduced.
pub fn program(rng: &mut Rng, of: Of) -> String {
    written(rng, of, false)
}

/// Returns a chain over rows in which one part gathers: it may leave error records.
pub fn gathering(rng: &mut Rng) -> String {
    written(rng, Of::Rows, true)
}

fn written(rng: &mut Rng, of: Of, gathers: bool) -> String {
    let (arrays, values) = (vec!["m".into()], vec![]);
    let mut p = RowChain { rng, of, body: String::new(), arrays, values, columns: vec![], names: 0, gathers };
    let vector = of == Of::Vector;
    if of == Of::Both {
        p.rows_and_columns();
    } else {
        let parts = 2 + p.rng.below(4);
        let gathering = if gathers { p.rng.below(parts + 1) } else { parts + 1 };
        for part in 0..parts {
            p.gathers = part == gathering;
            if p.rng.one_in(2) { p.reduce() } else { p.store() }
        }
        p.gathers = parts == gathering;
        p.store();
    }
    let mut readers = Vec::new();
    if of != Of::Both {
        for _ in 0..p.rng.below(3) {
            readers.extend(p.reader());
        }
    }
    let mut results: Vec<String> = p.arrays[1..].to_vec();
    // scalar results keep the launches of a vector apart
    let values = p.values.iter().filter(|_| !vector || p.rng.one_in(12));
    results.extend(values.cloned().collect::<Vec<String>>());
    // what is no result is stored for its readers, if it is stored at all
    let dropped = if readers.is_empty() { 1 } else { 3 };
    let mut kept: Vec<String> = results.iter().filter(|_| p.rng.below(4) >= dropped).cloned().collect();
    if of == Of::Both {
        kept.retain(|_| p.rng.one_in(3));
    }
    kept.extend(p.columns.clone());
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
        "func @f(%m: {of_m}, %w: [T]) -> ({}) {{\n{extents}  %lw = len %w\n  require same %{}, %lw \"m, w\"\n{}  return {}\n}}",
        types.join(", "),
        if of == Of::Columns { "n" } else { "k" },
        p.body,
        names.join(", ")
    )
}

impl RowChain<'_> {
    fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    /// Reduces rows, and then columns of what these and the matrix are made of. `w` is a row.
    fn rows_and_columns(&mut self) {
        self.of = Of::Rows;
        for _ in 0..1 + self.rng.below(2) {
            self.reduce();
        }
        for _ in 0..1 + self.rng.below(2) {
            let (name, column, mut body) = (self.name("v"), self.name("c"), String::new());
            let value = self.element(&mut body);
            let op = self.rng.pick(&["add", "max", "min"]);
            let init = if op == "max" { "LEAST" } else { "9T" };
            writeln!(
                self.body,
                "  %{name} = generate %k (%j: i64) {{
  %{column} = generate %n (%i: i64) {{\n{body}    yield %{value}\n  }}
  %t{name} = reduce (%p: T, %q: T) from {init} over %{column} {{ %s = {op} %p, %q yield %s }}
  %w{name} = elem %w, %j
  %z{name} = add %t{name}, %w{name}
  yield %z{name}\n  }}"
            )
            .unwrap();
            // its rows are no rows of a later element
            self.columns.push(name);
        }
    }

    /// Writes the code of an element at %j, and returns the name of its value.
    fn element(&mut self, out: &mut String) -> String {
        let leaf = |p: &mut Self, out: &mut String| {
            let name = p.name("x");
            if p.gathers && p.rng.one_in(2) {
                p.gather(&name, "%i, %j", out);
                return name;
            }
            let from = match p.rng.below(8) {
                0 => format!("elem %w, %{}", if p.of == Of::Columns { "i" } else { "j" }),
                1..4 if !p.values.is_empty() => {
                    let at = p.rng.below(p.values.len());
                    match p.of {
                        Of::Vector => return p.values[at].clone(),
                        Of::Rows | Of::Both => format!("elem %{}, %i", p.values[at]),
                        Of::Columns => format!("elem %{}, %j", p.values[at]),
                    }
                }
                // another row, or another element of the vector
                4 if p.rng.one_in(4) => {
                    let (at, other, last) = (p.rng.below(p.arrays.len()), p.name("x"), p.name("x"));
                    let (extent, index) = if p.of == Of::Vector { ("k", "j") } else { ("n", "i") };
                    writeln!(out, "    %{last} = sub %{extent}, 1i64\n    %{other} = sub %{last}, %{index}")
                        .unwrap();
                    format!(
                        "elem %{}, %{other}{}",
                        p.arrays[at],
                        if p.of == Of::Vector { "" } else { ", %j" }
                    )
                }
                _ => {
                    let at = p.rng.below(p.arrays.len());
                    format!("elem %{}, {}%j", p.arrays[at], if p.of == Of::Vector { "" } else { "%i, " })
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

    /// Writes the read of an element of the matrix whose place in the row follows from the element at `from`.
    /// It is in bounds, mostly, or where it is read at all, but only the numbers say so.
    fn gather(&mut self, name: &str, from: &str, out: &mut String) {
        let beyond = if self.rng.one_in(5) { 1 } else { 0 };
        writeln!(
            out,
            "    %{name}a = elem %m, {from}
    %{name}b = cast i64 %{name}a
    %{name}c = mul %{name}b, %{name}b
    %{name}d = rem %{name}c, %k
    %{name}e = add %{name}d, {beyond}i64"
        )
        .unwrap();
        match self.rng.one_in(3) {
            false => writeln!(out, "    %{name} = at %m, %i, %{name}e").unwrap(),
            true => writeln!(
                out,
                "    %{name}f = at %m, %i, %{name}e
    %{name}g = lt %{name}b, 30i64
    %{name} = select %{name}g, %{name}f, 9T"
            )
            .unwrap(),
        }
    }

    /// Stores an array.
    fn store(&mut self) {
        let (name, mut body) = (self.name("a"), String::new());
        let value = self.element(&mut body);
        let head = if self.of == Of::Vector { "%k (%j: i64)" } else { "%n, %k (%i: i64, %j: i64)" };
        writeln!(self.body, "  %{name} = generate {head} {{\n{body}    yield %{value}\n  }}").unwrap();
        self.arrays.push(name);
    }

    /// Reads an array, or the values of the rows, in another order than row by row, and returns the name of
    /// what it makes of them: an array of rows or elements from the last to the first, sums of columns, products
    /// of all pairs of rows, or the sum of a value of each row.
    fn reader(&mut self) -> Option<String> {
        let of = self.arrays[1..][self.rng.below(self.arrays.len() - 1)].clone();
        let what = if self.of == Of::Vector { 0 } else { self.rng.below(4) };
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

    /// Reduces each row or column, or the vector.
    fn reduce(&mut self) {
        let (name, row, mut body) = (self.name("v"), self.name("r"), String::new());
        let value = self.element(&mut body);
        let (along, outer) = match self.of {
            Of::Columns => ("%n (%i: i64)", "%k (%j: i64)"),
            _ => ("%k (%j: i64)", "%n (%i: i64)"),
        };
        let row_text = format!("  %{row} = generate {along} {{\n{body}    yield %{value}\n  }}\n");
        let (op, init) = self.rng.pick(&[("add", "0T"), ("add", "9T"), ("max", "LEAST"), ("min", "9T")]);
        let vector = self.of == Of::Vector;
        let result = if vector { name.clone() } else { self.name("t") };
        let reduced = match self.rng.one_in(3) {
            true => format!("  %{result} = dot from 1T over %{row}, %w\n"),
            false => format!(
                "  %{result} = reduce (%p: T, %q: T) from {init} over %{row} {{ %s = {op} %p, %q yield %s }}\n"
            ),
        };
        let (mut reduced, mut result) = (reduced, result);
        if self.gathers && self.rng.one_in(2) {
            // an element that the row says, as of a class
            let (place, picked, sum) = (self.name("x"), self.name("x"), self.name("t"));
            writeln!(reduced, "  %{place} = rem %i, %k").unwrap();
            self.gather(&picked, &format!("%i, %{place}"), &mut reduced);
            reduced = reduced.replace(&format!("elem %m, %i, %{place}"), &format!("at %m, %i, %{place}"));
            writeln!(reduced, "  %{sum} = sub %{result}, %{picked}").unwrap();
            result = sum;
        }
        match vector {
            true => write!(self.body, "{row_text}{reduced}"),
            false => {
                write!(
                    self.body,
                    "  %{name} = generate {outer} {{\n{row_text}{reduced}  yield %{result}\n  }}\n"
                )
            }
        }
        .unwrap();
        self.values.push(name);
    }
}
