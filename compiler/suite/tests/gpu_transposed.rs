//! Maps that read matrices transposed, mirrored or not, on a simulated GPU: full tiles, tiles at the edges, and rows
//! of any alignment give the interpreter's bits.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::plan::gpu::Grid;
use arraygpu_compiler::scalar::{Lit, Ty, eval};
use arraygpu_compiler::schedule::strategy::Strategy;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::today;
use arraygpu_suite::versions::{check, compiled, numbers};

/// The side of the tiles of a program; 0 if it has none.
fn side(c: &Compiled) -> usize {
    side_of(c, |entry| !entry.ends_with("_large"))
}

/// The rows and columns of the first tile whose name fits, or 0.
fn side_of(c: &Compiled, fits: impl Fn(&str) -> bool) -> usize {
    let mut tiled = c.kernels[0].gpu_variants().iter().filter(|v| v.strategy == Strategy::TransposedTile);
    match tiled.find(|v| fits(&v.launch.entry)).map(|v| v.launch.grid) {
        Some(Grid::Plane { rows, columns }) if rows == columns => rows as usize,
        _ => 0,
    }
}

/// Checks that a call in dense memory runs this version, and that all versions agree.
fn check_with(c: &Compiled, args: &[Value], version: &str, what: &str) {
    let entries = check(c, args, what);
    assert!(entries.iter().any(|e| e.ends_with(version)), "{what}: {entries:?}");
}

/// Which axes of the array are read from their end on: that of its rows, which follow the element's column, and that
/// of its columns. A rotation by 90 degrees mirrors the first, one by 270 degrees the second.
type Mirrored = [bool; 2];
const PLAIN: Mirrored = [false; 2];
const MIRRORED: [Mirrored; 3] = [[true, false], [false, true], [true, true]];

/// Code that names the index `%{name}`: `{index} + {by}`, or `{length} - 1 - {index} - {by}`.
fn place(name: &str, (index, by): (&str, i64), length: &str, is_mirrored: bool) -> String {
    match is_mirrored {
        false => format!("    %{name} = add %{index}, {by}i64\n"),
        true => format!(
            "    %{name}_last = sub %{length}, {}i64\n    %{name} = sub %{name}_last, %{index}\n",
            by + 1
        ),
    }
}

/// `y[i][j] = x[j][i]`, mirrored.
fn transposed(ty: Ty, [rows, columns]: Mirrored) -> String {
    let places = place("p", ("j", 0), "n", rows) + &place("q", ("i", 0), "m", columns);
    format!(
        "func @f(%x: [[{ty}]]) -> (r: [[{ty}]]) {{
  %n = len %x
  %m = len %x axis 1
  %r = generate %m, %n (%i: i64, %j: i64) {{
{places}    %v = at %x, %p, %q
    yield %v
  }}
  return %r
}}"
    )
}

/// `y[i][j]` of two arrays of the same extents, or of swapped ones, which are then mirrored as said. `body` makes
/// `%v` of `%a` and `%b`.
fn of_two([a, b, r]: [Ty; 3], b_transposed: Option<Mirrored>, body: &str) -> String {
    let (rows, columns, at) =
        if b_transposed.is_some() { ("n", "m", "%p, %q") } else { ("m", "n", "%i, %j") };
    let [down, right] = b_transposed.unwrap_or(PLAIN);
    let places = place("p", ("j", 0), "n", down) + &place("q", ("i", 0), "m", right);
    format!(
        "func @f(%x: [[{a}]], %y: [[{b}]]) -> (r: [[{r}]]) {{
  %n = len %x
  %m = len %x axis 1
  %rows = len %y
  %columns = len %y axis 1
  require same %{rows}, %rows \"y\"
  require same %{columns}, %columns \"y\"
  %r = generate %m, %n (%i: i64, %j: i64) {{
    %a = at %x, %j, %i
{places}    %b = at %y, {at}
{body}    yield %v
  }}
  return %r
}}"
    )
}

#[test]
fn of_every_type() {
    let mut rng = Rng::new(71);
    let directions = MIRRORED.into_iter().cycle();
    let all = Ty::ALL.into_iter().zip(directions).flat_map(|(ty, m)| [(ty, PLAIN), (ty, m)]);
    for (ty, mirrored) in today::share(all.collect(), 3) {
        let c = compiled(&transposed(ty, mirrored), None);
        let (side, v) = (side(&c), 16 / ty.size());
        assert_eq!(side, [0, 128, 64, 0, 64, 0, 0, 0, 32][ty.size()], "{ty}");
        for (rows, columns) in [(2 * side + v, side), (side, side + 1)] {
            let x = numbers(ty, rows, columns, &mut rng);
            let version = if columns % v == 0 { "_transposed" } else { "_transposed_unaligned" };
            check_with(&c, &[x], version, &format!("{ty} {mirrored:?}, {rows} x {columns}"));
        }
        // full tiles of the variant that few matrices are large enough for, and some at the edges
        let large = side_of(&c, |entry| entry.ends_with("_large"));
        assert_eq!(large, [0, 256, 128, 0, 0, 0, 0, 0, 0][ty.size()], "{ty}");
        for (rows, columns) in [(large + v, 2 * large), (large, large + 1)].into_iter().filter(|_| large > 0)
        {
            let version = if columns % v == 0 { "_large" } else { "" };
            let x = numbers(ty, rows, columns, &mut rng);
            check_with(&c, &[x], version, &format!("{ty} {mirrored:?}, {rows} x {columns}"));
        }
    }
}

#[test]
fn of_every_size() {
    let mut rng = Rng::new(72);
    for (ty, mirrored) in
        [(Ty::F32, PLAIN), (Ty::F64, PLAIN), (Ty::F32, [true, true]), (Ty::F64, [false, true])]
    {
        let c = compiled(&transposed(ty, mirrored), None);
        let (side, v) = (side(&c), 16 / ty.size());
        let sizes = [side / 2, side - 1, side, side + 1, side + v, 2 * side + v, 2 * side - v];
        let all = sizes.into_iter().flat_map(|r| sizes.map(|c| (r, c)));
        for (rows, columns) in today::share(all.collect(), 3) {
            let what = format!("{ty}, {rows} x {columns}");
            check_with(&c, &[numbers(ty, rows, columns, &mut rng)], "", &what);
        }
        // more blocks below each other than are gone through together
        for (rows, columns) in [(side, 10 * side), (2 * side, 9 * side + 1), (9 * side, side)] {
            let what = format!("{ty}, {rows} x {columns}");
            check_with(&c, &[numbers(ty, rows, columns, &mut rng)], "", &what);
        }
        for (rows, columns) in [(0, side), (side, 0), (1, 3 * side), (3 * side, 2)] {
            check(&c, &[numbers(ty, rows, columns, &mut rng)], &format!("{ty}, {rows} x {columns}"));
        }
    }
}

#[test]
fn with_other_arrays() {
    let mut rng = Rng::new(73);
    let add = |ty: Ty| format!("    %p = cast {ty} %a\n    %q = cast {ty} %b\n    %v = add %p, %q\n");
    let types = [
        [Ty::F32; 3],
        [Ty::U8; 3],
        [Ty::F64; 3],
        [Ty::U8, Ty::F32, Ty::F32],
        [Ty::F32, Ty::U8, Ty::U8],
        [Ty::U8, Ty::U8, Ty::F64],
        [Ty::F64, Ty::F64, Ty::I8],
        [Ty::I16, Ty::F64, Ty::F16],
    ];
    let others = [None, Some(PLAIN), Some([true, false]), Some([false, true])];
    let all = types.into_iter().flat_map(|t| others.map(|b| (t, b)));
    for (types, b_transposed) in today::share(all.collect(), 3) {
        let c = compiled(&of_two(types, b_transposed, &add(types[2])), None);
        let side = side(&c);
        assert!(side >= 32, "{types:?} {b_transposed:?}");
        for (rows, columns) in [(side + 16, side), (side + 3, side - 2)] {
            let x = numbers(types[0], rows, columns, &mut rng);
            let (n, m) = if b_transposed.is_some() { (rows, columns) } else { (columns, rows) };
            let y = numbers(types[1], n, m, &mut rng);
            let version = if columns % 16 == 0 { "_transposed" } else { "_transposed_unaligned" };
            check_with(&c, &[x, y], version, &format!("{types:?} {b_transposed:?}, {rows} x {columns}"));
        }
    }
}

/// A slow path, and elements of which few are unrolled.
#[test]
fn of_long_elements() {
    let mut rng = Rng::new(74);
    let chain = |count: usize| {
        let mut body = "    %s0 = sin %a\n".to_string();
        for k in 0..count {
            body += &format!("    %s{} = mul_add %s{k}, %b, {k}f32\n", k + 1);
        }
        body + &format!("    %v = add %s{count}, %a\n")
    };
    for (body, is_chosen) in [(chain(1), true), (chain(100), true), (chain(600), false)] {
        let c = compiled(&of_two([Ty::F32; 3], None, &body), None);
        assert_eq!(side(&c) > 0, is_chosen);
        for (rows, columns) in [(64, 68), (65, 67)] {
            let x = numbers(Ty::F32, rows, columns, &mut rng);
            let y = numbers(Ty::F32, columns, rows, &mut rng);
            check(&c, &[x, y], &format!("{rows} x {columns}"));
        }
    }
}

/// Reads at constant distances, whose rows begin between chunks, and several of one array.
#[test]
fn at_distances() {
    let mut rng = Rng::new(75);
    let text = |ty: Ty, reads: &[(i64, i64)], [rows, columns]: Mirrored| {
        let (down, right) = reads.iter().fold((0, 0), |m, r| (m.0.max(r.0), m.1.max(r.1)));
        let mut body = String::new();
        for (k, (down, right)) in reads.iter().enumerate() {
            body += &place(&format!("j{k}"), ("j", *down), "n0", rows);
            body += &place(&format!("i{k}"), ("i", *right), "m0", columns);
            body += &format!("    %x{k} = at %x, %j{k}, %i{k}\n");
            body += &if k == 0 {
                String::new()
            } else {
                format!(
                    "    %s{k} = add %x{k}, %{}\n",
                    if k == 1 { "x0".into() } else { format!("s{}", k - 1) }
                )
            };
        }
        let last = if reads.len() == 1 { "x0".into() } else { format!("s{}", reads.len() - 1) };
        format!(
            "func @f(%x: [[{ty}]]) -> (r: [[{ty}]]) {{
  %n0 = len %x
  %m0 = len %x axis 1
  %n = sub %n0, {down}i64
  %m = sub %m0, {right}i64
  require extent 0i64, %n \"r\"
  require extent 0i64, %m \"r\"
  %r = generate %m, %n (%i: i64, %j: i64) {{
{body}    yield %{last}
  }}
  return %r
}}"
        )
    };
    let cases: [&[(i64, i64)]; 4] = [&[(1, 0)], &[(0, 4)], &[(2, 3)], &[(0, 0), (1, 1), (2, 5), (0, 1)]];
    let [r90, r270, anti] = MIRRORED;
    for (ty, mirrored) in
        [(Ty::F32, PLAIN), (Ty::U16, PLAIN), (Ty::F32, r90), (Ty::F32, r270), (Ty::U16, anti)]
    {
        for reads in cases {
            let c = compiled(&text(ty, reads, mirrored), None);
            let side = side(&c);
            assert_eq!(side, 64, "{ty} {reads:?} {mirrored:?}");
            for (rows, columns) in [(side + 2, side + 8), (2 * side + 16, side + 16), (side + 7, side + 5)] {
                let x = numbers(ty, rows, columns, &mut rng);
                let version = if columns % 8 == 0 { "_transposed" } else { "_transposed_unaligned" };
                check_with(&c, &[x], version, &format!("{ty} {reads:?} {mirrored:?}, {rows} x {columns}"));
            }
        }
    }
}

/// Parts of a matrix from indices of the call on, transposed and mirrored: full tiles are loaded in chunks only if
/// the part begins, or ends, at a multiple of a chunk's elements.
#[test]
fn of_parts() {
    let mut rng = Rng::new(79);
    let text = |ty: Ty, reverses: &str| {
        format!(
            "func @f(%x: [[{ty}]], %a: i64, %b: i64, %c: i64, %d: i64) -> (r: [[{ty}]]) {{
  %n = len %x
  %m = len %x axis 1
  require start 0i64, %a \"slice\"
  require order %a, %b \"slice\"
  require stop %b, %n \"slice\"
  require start 0i64, %c \"slice\"
  require order %c, %d \"slice\"
  require stop %d, %m \"slice\"
  %rows = slice %x from %a to %b by 1i64
  %part = slice %rows axis 1 from %c to %d by 1i64
  %t = permute %part to 1, 0
{reverses}  return %r
}}"
        )
    };
    let of = |ty: Ty, [rows, columns]: Mirrored| match (rows, columns) {
        (false, false) => text(ty, "").replace("%t =", "%r ="),
        (true, false) => text(ty, "  %r = reverse %t axis 1\n"),
        (false, true) => text(ty, "  %r = reverse %t\n"),
        (true, true) => text(ty, "  %u = reverse %t axis 1\n  %r = reverse %u\n"),
    };
    for (ty, mirrored) in
        [(Ty::F32, PLAIN), (Ty::F32, [true, false]), (Ty::F32, [false, true]), (Ty::U8, [true, true])]
    {
        let c = compiled(&of(ty, mirrored), None);
        let (side, v) = (side(&c), 16 / ty.size());
        assert!(side >= 64, "{ty} {mirrored:?}");
        for [a, b, c0, d] in [
            [0, side + 1, 0, side],
            [3, side + 3, v, side + v],
            [1, side + 5, 3, side + 4],
            [2, side + 3, 1, side + 2],
        ] {
            let part = [a, b, c0, d].map(|n| Value::Scalar(Lit::i64(n as i64)));
            let x = numbers(ty, b + 2, (d + v).next_multiple_of(v), &mut rng);
            let args = Vec::from_iter([x].into_iter().chain(part));
            check(&c, &args, &format!("{ty} {mirrored:?}, {a} to {b}, {c0} to {d}"));
        }
    }
}

fn cube(ty: Ty, extents: [usize; 3], rng: &mut Rng) -> Value {
    let element = |_| eval::eval_cast(ty, Lit::i64(rng.below(200) as i64 - 100));
    let all = (0..extents.iter().product()).map(element).collect();
    Value::Array(extents.map(|n| n as i64).to_vec(), all)
}

/// Planes with swapped axes, the same beside a matrix, and two axes before the row that are swapped.
#[test]
fn of_planes() {
    let mut rng = Rng::new(76);
    for (ty, at, order) in [
        (Ty::F32, "%p, %j, %i", [0, 1, 2]),
        (Ty::U8, "%p, %j, %i", [0, 1, 2]),
        (Ty::F32, "%j, %p, %i", [1, 0, 2]),
        (Ty::F32, "%p, %down, %i", [0, 1, 2]),
        (Ty::U8, "%last, %j, %left", [0, 1, 2]),
        (Ty::F32, "%down, %p, %left", [1, 0, 2]),
    ] {
        let [p, n, m] = order.map(|o: usize| o);
        let text = format!(
            "func @f(%x: [[[{ty}]]], %y: [[{ty}]]) -> (r: [[[{ty}]]]) {{
  %p = len %x axis {p}
  %n = len %x axis {n}
  %m = len %x axis {m}
  %p1 = sub %p, 1i64
  %n1 = sub %n, 1i64
  %m1 = sub %m, 1i64
  %rows = len %y
  %columns = len %y axis 1
  require same %n, %rows \"y\"
  require same %m, %columns \"y\"
  %r = generate %p, %m, %n (%p: i64, %i: i64, %j: i64) {{
    %down = sub %n1, %j
    %left = sub %m1, %i
    %last = sub %p1, %p
    %a = at %x, {at}
    %b = at %y, %j, %i
    %v = add %a, %b
    yield %v
  }}
  return %r
}}"
        )
        .replace("generate %p,", "generate %planes,")
        .replace(&format!("%p = len %x axis {p}"), &format!("%planes = len %x axis {p}"))
        .replace("sub %p, 1i64", "sub %planes, 1i64");
        let c = compiled(&text, None);
        let side = side(&c);
        assert!(side >= 64, "{ty}");
        for (planes, rows, columns) in [(3, side, side + 16), (2, side + 1, side - 3)] {
            let mut extents = [0; 3];
            (extents[p], extents[n], extents[m]) = (planes, rows, columns);
            let args = [cube(ty, extents, &mut rng), numbers(ty, rows, columns, &mut rng)];
            let version = if columns % 16 == 0 { "_transposed" } else { "_transposed_unaligned" };
            check_with(&c, &args, version, &format!("{ty} {at}, {planes} x {rows} x {columns}"));
        }
    }
}

/// An array that is read straight as well, in a launch with two results.
#[test]
fn symmetric_part() {
    let text = "func @f(%x: [[f32]]) -> (r: [[f32]], s: [[f32]]) {
  %n = len %x
  %m = len %x axis 1
  require same %n, %m \"square\"
  %r, %s = generate %n, %n (%i: i64, %j: i64) {
    %a = at %x, %i, %j
    %b = at %x, %j, %i
    %v = add %a, %b
    %w = sub %a, %b
    yield %v, %w
  }
  return %r, %s
}";
    let text = text.replace("%r, %s = generate %n, %n", "%r = generate %n, %n").replace("yield %v, %w\n  }", "yield %v\n  }\n  %s = generate %n, %n (%i: i64, %j: i64) {\n    %a = at %x, %i, %j\n    %b = at %x, %j, %i\n    %w = sub %a, %b\n    yield %w\n  }");
    let c = compiled(&text, None);
    assert_eq!((c.kernels.len(), side(&c)), (1, 64));
    let mut rng = Rng::new(77);
    for n in [64, 68, 67, 130] {
        check_with(&c, &[numbers(Ty::F32, n, n, &mut rng)], "", &format!("{n}"));
    }
}

/// An array that is read transposed in two directions: it has two tiles.
#[test]
fn in_two_directions() {
    let mut rng = Rng::new(80);
    for (other, ty) in MIRRORED.into_iter().zip([Ty::F32, Ty::U8, Ty::F64]) {
        let places = place("p", ("j", 0), "n", other[0]) + &place("q", ("i", 0), "m", other[1]);
        let text = format!(
            "func @f(%x: [[{ty}]]) -> (r: [[{ty}]]) {{
  %n = len %x
  %m = len %x axis 1
  %r = generate %m, %n (%i: i64, %j: i64) {{
    %a = at %x, %j, %i
{places}    %b = at %x, %p, %q
    %v = sub %a, %b
    yield %v
  }}
  return %r
}}"
        );
        let c = compiled(&text, None);
        assert_eq!(c.kernels[0].gpu_variants()[0].kernel.shared.len(), 2, "{other:?}");
        let side = side(&c);
        for (rows, columns) in [(side + 16, side), (side + 3, side - 2)] {
            let version = if columns % 16 == 0 { "_transposed" } else { "_transposed_unaligned" };
            let what = format!("{ty} {other:?}, {rows} x {columns}");
            check_with(&c, &[numbers(ty, rows, columns, &mut rng)], version, &what);
        }
    }
}

/// Arrays of any types, transposed or not, mirrored or not, at any small distances, in full tiles and around them.
#[test]
fn random_programs() {
    for number in today::seeds(32) {
        let mut rng = Rng::new(78 + number);
        let arrays = 1 + rng.below(4);
        let result = rng.pick(&Ty::ALL);
        let op = if result == Ty::Bool { "or" } else { "max" };
        let (mut params, mut rules, mut body) = (Vec::new(), String::new(), String::new());
        let mut shapes = Vec::new();
        for k in 0..arrays {
            let ty = rng.pick(&Ty::ALL);
            let is_transposed = k == 0 || rng.below(2) == 0;
            // the first array has the extents of the result, swapped
            let [down, right] =
                [0, 1].map(|_| if k == 0 || rng.below(2) == 0 { 0 } else { rng.below(6) as i64 });
            params.push(format!("%x{k}: [[{ty}]]"));
            rules += &format!("  %r{k} = len %x{k}\n  %c{k} = len %x{k} axis 1\n");
            let (rows, columns) = if is_transposed { ("r0", "c0") } else { ("c0", "r0") };
            if k > 0 {
                rules += &format!("  %a{k} = add %{rows}, {down}i64\n  %b{k} = add %{columns}, {right}i64\n");
                rules += &format!("  require same %r{k}, %a{k} \"x\"\n  require same %c{k}, %b{k} \"x\"\n");
            }
            let (first, second) = if is_transposed { ("j", "i") } else { ("i", "j") };
            let mirrored = [0, 1].map(|_| rng.below(3) == 0);
            body += &place(&format!("p{k}"), (first, down), &format!("r{k}"), mirrored[0]);
            body += &place(&format!("q{k}"), (second, right), &format!("c{k}"), mirrored[1]);
            body += &format!("    %v{k} = at %x{k}, %p{k}, %q{k}\n    %w{k} = cast {result} %v{k}\n");
            body += &match k {
                0 => format!("    %s0 = {op} %w0, %w0\n"),
                _ => format!("    %s{k} = {op} %s{}, %w{k}\n", k - 1),
            };
            shapes.push((ty, is_transposed, down as usize, right as usize));
        }
        let text = format!(
            "func @f({}) -> (r: [[{result}]]) {{\n{rules}  %r = generate %c0, %r0 (%i: i64, %j: i64) {{\n{body}    yield %s{}\n  }}\n  return %r\n}}",
            params.join(", "),
            arrays - 1
        );
        let c = compiled(&text, None);
        let side = side(&c);
        assert!(side >= 32, "{number}\n{text}");
        let near = |rng: &mut Rng| side + [0, 16, rng.below(20)][rng.below(3)];
        let (n, m) = (near(&mut rng), near(&mut rng));
        let args: Vec<Value> = shapes
            .iter()
            .map(|(ty, is_transposed, down, right)| {
                let (rows, columns) = if *is_transposed { (n, m) } else { (m, n) };
                numbers(*ty, rows + down, columns + right, &mut rng)
            })
            .collect();
        check(&c, &args, &format!("program {number}, {n} x {m}\n{text}"));
    }
}
