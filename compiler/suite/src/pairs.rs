//! Random programs with several results over one index space whose elements have loops: products, reductions of
//! pairs of rows, sums of rows and columns, and elements without loops beside them.

use crate::rng::Rng;

/// A result: its name, and its definition, which may need the results before.
type Part = (&'static str, &'static str);

const PARAMETERS: &str = "%a: [[T]], %b: [[T]], %c: [[T]], %d: [[T]], %e: [[T]], %t: [[T]], %y: [[T]], %z: [T], \
                          %v: [T], %w: [T], %u: [[T]]";

const RULES: &str = "  %m = len %a
  %k = len %a axis 1
  %n = len %b axis 1
  %l = len %d axis 1
  %0 = len %b
  require same %k, %0 \"a, b\"
  %1 = len %c
  require same %k, %1 \"a, c\"
  %2 = len %c axis 1
  require same %n, %2 \"b, c\"
  %3 = len %d
  require same %m, %3 \"a, d\"
  %4 = len %e
  require same %l, %4 \"d, e\"
  %5 = len %e axis 1
  require same %n, %5 \"b, e\"
  %6 = len %t
  require same %n, %6 \"b, t\"
  %7 = len %t axis 1
  require same %k, %7 \"a, t\"
  %8 = len %y
  require same %m, %8 \"a, y\"
  %9 = len %y axis 1
  require same %n, %9 \"b, y\"
  %10 = len %v
  require same %k, %10 \"a, v\"
  %11 = len %w
  require same %m, %11 \"a, w\"
  %12 = len %u
  require same %k, %12 \"a, u\"
  %13 = len %u axis 1
  require same %m, %13 \"a, u\"
";

const MATRICES: [Part; 10] = [
    ("ab", "product %a, %b"),
    ("ac", "product %a, %c"),
    ("de", "product %d, %e"),
    ("relu", "generate %m, %n (%i: i64, %j: i64) { %p = elem %ab, %i, %j %q = max %p, 0T yield %q }"),
    ("twice", "map (%p: T) over %y { %q = add %p, %p yield %q }"),
    (
        "dots",
        "generate %m, %n (%i: i64, %j: i64) { %p = pick %a at %i %q = pick %b axis 1 at %j %r = dot from 0T over %p, %q yield %r }",
    ),
    ("far", "pairs %a, %t { %d = sub %x, %y %f = mul %d, %d }"),
    ("near", "pairs %a, %t { %d = sub %x, %y %f = max %d, 0T }"),
    (
        "steps",
        "generate %m, %n (%i: i64, %j: i64) { %g = generate %k (%l1: i64) { %p = elem %a, %i, %l1 %q = elem %b, %l1, %j %r = min %p, %q yield %r } %s = fold (%p: T, %q: T) from 0T over %g { %r = add %p, %q yield %r } yield %s }",
    ),
    (
        "read",
        "generate %m, %n (%i: i64, %j: i64) { %p = at %z, %i %q = elem %y, %i, %j %r = add %p, %q yield %r }",
    ),
];

const VECTORS: [Part; 8] = [
    ("av", "generate %m (%i: i64) { %p = pick %a at %i %q = panel_dot from 0T over %p, %v yield %q }"),
    ("uv", "generate %m (%i: i64) { %p = pick %u axis 1 at %i %q = panel_dot from 0T over %p, %v yield %q }"),
    ("sums", "reduced %a at, add, 0T"),
    ("most", "reduced %a at, max, LEAST"),
    ("of_d", "reduced %d at, add, 0T"),
    ("columns", "reduced %u axis 1 at, add, 0T"),
    ("more", "map (%p: T) over %w { %q = add %p, %p yield %q }"),
    ("read", "generate %m (%i: i64) { %p = at %z, %i yield %p }"),
];

/// Returns the text of a function, and the names of its results.
pub fn program(rng: &mut Rng) -> (String, Vec<&'static str>) {
    let list: &[Part] = if rng.one_in(3) { &VECTORS } else { &MATRICES };
    let count = 2 + rng.below(3);
    let mut chosen: Vec<usize> = (0..count).map(|_| rng.below(list.len())).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let needs_first = chosen.iter().any(|i| list[*i].0 == "relu");
    let mut body = String::new();
    for (i, (name, what)) in list.iter().enumerate() {
        if chosen.contains(&i) || needs_first && i == 0 {
            body += &format!("  %{name} = {}\n", expanded(what));
        }
    }
    let names: Vec<&str> = chosen.iter().map(|i| list[*i].0).collect();
    let ty = if list.len() == VECTORS.len() { "[T]" } else { "[[T]]" };
    let results: Vec<String> = names.iter().map(|n| format!("{n}: {ty}")).collect();
    let values: Vec<String> = names.iter().map(|n| format!("%{n}")).collect();
    let (results, values) = (results.join(", "), values.join(", "));
    (format!("func @f({PARAMETERS}) -> ({results}) {{\n{RULES}{body}  return {values}\n}}"), names)
}

/// Returns the definition without its abbreviations.
fn expanded(what: &str) -> String {
    let words: Vec<&str> = what.split([' ', ',']).filter(|w| !w.is_empty()).collect();
    match words[0] {
        "product" => format!(
            "generate %m, %n (%i: i64, %j: i64) {{ %p = pick {} at %i %q = pick {} axis 1 at %j \
             %r = panel_dot from 0T over %p, %q yield %r }}",
            words[1], words[2]
        ),
        "pairs" => {
            let step = what.split(['{', '}']).nth(1).unwrap();
            format!(
                "generate %m, %n (%i: i64, %j: i64) {{ %g = generate %k (%l1: i64) {{ %x = elem {}, %i, %l1 \
                 %y = elem {}, %j, %l1 {step} yield %f }} %s = reduce (%p: T, %q: T) from 0T over %g \
                 {{ %r = add %p, %q yield %r }} yield %s }}",
                words[1], words[2]
            )
        }
        "reduced" => {
            let [array, op, from]: [&str; 3] =
                what["reduced ".len()..].split(", ").collect::<Vec<_>>().try_into().unwrap();
            format!(
                "generate %m (%i: i64) {{ %p = pick {array} %i %s = reduce (%q: T, %r: T) from {from} over %p \
                 {{ %o = {op} %q, %r yield %o }} yield %s }}"
            )
        }
        _ => what.into(),
    }
}

/// Returns the extents of the arguments for `m` rows, `n` columns and the inner extents `k` and `l`. One that is
/// read at any index has `z` elements.
pub fn extents([m, n, k, l, z]: [usize; 5]) -> Vec<Vec<usize>> {
    let matrices = [[m, k], [k, n], [k, n], [m, l], [l, n], [n, k], [m, n]];
    let mut all: Vec<Vec<usize>> = matrices.iter().map(|e| e.to_vec()).collect();
    all.extend([vec![z], vec![k], vec![m], vec![k, m]]);
    all
}
