//! Programs beside plain C++ loops on one thread of a CPU: the functions of `bench/plain`, compiled
//! into a library. Each is checked against the program's reference before it is measured.

use crate::array::Array;
use crate::check;
use crate::device::{Device, extents_of_results};
use crate::measure::{Limits, compiled, within};
use crate::program::{Corpus, Program};
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::scalar::{Lit, Ty, eval_cast};
use std::ffi::c_long;
use std::path::Path;

/// An argument or result of a plain function: `array` of `bench/plain/plain.hpp`.
#[repr(C)]
struct Passed {
    data: *mut Line,
    extents: [c_long; 3],
}

/// A plain function: it gets arguments and results.
type Function = unsafe extern "C" fn(*const Passed, *const Passed);

/// As many bytes as a cache line has, at an address that suits wide loads.
#[repr(C, align(64))]
#[derive(Clone)]
struct Line([u8; 64]);

/// Elements of a type, which begin with a cache line.
struct Elements {
    ty: Ty,
    extents: Vec<usize>,
    lines: Vec<Line>,
}

impl Elements {
    fn zeros(ty: Ty, extents: Vec<usize>) -> Elements {
        let bytes = extents.iter().product::<usize>() * ty.size();
        Elements { ty, extents, lines: vec![Line([0; 64]); bytes.div_ceil(64).max(1)] }
    }

    fn bytes(&mut self) -> &mut [u8] {
        let count = self.extents.iter().product::<usize>() * self.ty.size();
        let (data, all) = (self.lines.as_mut_ptr().cast(), size_of_val(&self.lines[..]));
        // SAFETY: the bytes of the lines, which are borrowed as long as these are.
        let bytes: &mut [u8] = unsafe { std::slice::from_raw_parts_mut(data, all) };
        &mut bytes[..count]
    }

    fn of(ty: Ty, a: &Array) -> Elements {
        let mut to = Elements::zeros(ty, a.extents.clone());
        for (x, bytes) in a.elements.iter().zip(to.bytes().chunks_mut(ty.size())) {
            eval_cast(ty, Lit::f64(*x)).to_bytes(bytes);
        }
        to
    }

    fn array(&mut self) -> Array {
        let (ty, extents) = (self.ty, self.extents.clone());
        let number = |bytes: &[u8]| check::number(&Lit::from_bytes(ty, bytes));
        Array { extents, elements: self.bytes().chunks(ty.size()).map(number).collect() }
    }

    fn passed(&mut self) -> Passed {
        let mut extents = [1; 3];
        extents.iter_mut().zip(&self.extents).for_each(|(to, n)| *to = *n as c_long);
        Passed { data: self.lines.as_mut_ptr(), extents }
    }
}

/// A call of a plain function.
struct Call {
    results: Vec<Elements>,
    _arguments: Vec<Elements>,
    passed: [Vec<Passed>; 2],
    function: Function,
}

impl Call {
    fn new(function: Function, c: &Compiled, inputs: &[Array]) -> Call {
        let plan = &c.functions[0].plan;
        let mut arguments: Vec<Elements> =
            plan.params.iter().zip(inputs).map(|(slot, a)| Elements::of(slot.ty.elem, a)).collect();
        let extents = extents_of_results(plan, inputs).into_iter();
        let mut results: Vec<Elements> = extents
            .zip(&plan.results)
            .map(|(e, slot)| Elements::zeros(slot.ty.elem, e.iter().map(|n| *n as usize).collect()))
            .collect();
        let passed = [&mut arguments, &mut results].map(|all| all.iter_mut().map(Elements::passed).collect());
        Call { results, _arguments: arguments, passed, function }
    }

    fn run(&self) {
        // SAFETY: the pointers are to elements of this call, of the types and extents of the program.
        unsafe { (self.function)(self.passed[0].as_ptr(), self.passed[1].as_ptr()) }
    }
}

/// A program beside its plain loop.
struct Row {
    name: &'static str,
    extent: i64,
    /// Seconds of the loop, and of the compiled program.
    plain: f64,
    ours: f64,
}

fn row(p: &Program, device: &Device, function: Function, largest: i64) -> Result<Option<Row>, String> {
    let c = compiled(p, false)?;
    let mut small = Call::new(function, &c, &p.inputs);
    small.run();
    let results: Vec<Array> = small.results.iter_mut().map(Elements::array).collect();
    if let Some(e) = check::difference(p, &results) {
        return Err(format!("the plain loop: {e}"));
    }
    let Some((n, _)) = within(p, &c, &Limits::of(false), largest)? else { return Ok(None) };
    let inputs = p.large_inputs(n);
    let call = Call::new(function, &c, &inputs);
    let [plain, ours] = device.times_in_turn(&c, &inputs, &|| call.run())?;
    Ok(Some(Row { name: p.name, extent: n, plain, ours }))
}

/// Measures the `wanted` programs ([`Corpus::wanted`]) that have a plain loop in `library`, with extents up to
/// `largest`. Returns the table, the smallest ratio first.
pub fn table(corpus: &Corpus, library: &Path, wanted: &str, largest: i64) -> Result<String, String> {
    // SAFETY: the library is `bench/plain`: functions without initialisers.
    let library = unsafe { libloading::Library::new(library) }.map_err(|e| e.to_string())?;
    let device = Device::open(false)?;
    let (mut rows, mut out) = (Vec::new(), String::new());
    for p in corpus.wanted(wanted) {
        let symbol = format!("plain_{}", p.name);
        // SAFETY: `PLAIN` defines functions of this type.
        let Ok(function) = (unsafe { library.get::<Function>(symbol.as_bytes()) }) else {
            out += &format!("{}: no plain loop\n", p.name);
            continue;
        };
        match row(p, &device, *function, largest) {
            Ok(Some(row)) => {
                eprintln!("{}: {:.2}", row.name, row.plain / row.ours);
                rows.push(row);
            }
            Ok(None) => out += &format!("{}: too much work at any size\n", p.name),
            Err(e) => out += &format!("{}: {e}\n", p.name),
        }
    }
    rows.sort_by(|a, b| (a.plain / a.ours).total_cmp(&(b.plain / b.ours)));
    out += "program | extent | C++ us | ours us | ratio\n";
    for Row { name, extent, plain, ours } in &rows {
        out += &format!("{name} | {extent} | {:.1} | {:.1} | {:.2}\n", plain * 1e6, ours * 1e6, plain / ours);
    }
    Ok(out)
}
