//! The PTX backend writes one module with one entry for each variant of a kernel. Every state
//! space, rounding and width is explicit, and nothing is contracted except what `fast_math` allows.
//!
//! `.target sm_80` runs on every later device, and drivers from 520 on read ISA 7.8. Kernels with
//! clusters need sm_90, products of warpgroups sm_90a, which no later device runs; both need ISA 8.0, which all
//! drivers that the runtime takes read (CUDA 12.0). The text
//! contains the author's source lines as comments. Parameters have 8 bytes each, in the order of
//! docs/c-abi.md.

/// Writes a line of code from the arguments of `format!`.
macro_rules! code {
    ($emitter:expr, $($text:tt)*) => {
        $emitter.line(format_args!($($text)*))
    };
}

mod address;
pub mod dependent_launch;
mod expr;
mod extreme;
mod matrices;
mod memory;
pub mod merge_equal;
mod near;
mod params;
mod regs;
mod stmt;
mod words;

use crate::kernel::{Expr, Kernel, Mem, OLDEST_CAPABILITY, SharedLayout, Stmt, parts};
use crate::loc::Loc;
use crate::scalar::Ty;
use crate::without::{self, Optimisation};
use params::{Params, ascii};
use regs::{List, Operand, Regs};
use std::fmt::{self, Display, Formatter, Write};

/// The PTX ISA version of modules for all devices, and for those from sm_90 on.
const ISA: [&str; 2] = ["7.8", "8.0"];

/// The name of the shared memory that a launch asks for.
const DYNAMIC: &str = "shared_memory";

/// Writes the module of one variant of a kernel.
pub fn emit(k: &Kernel) -> String {
    let params = Params::of(k);
    let mut e = Emitter {
        k,
        regs: Regs::new(k, &params),
        text: String::with_capacity(128 * k.regs.len()),
        depth: 1,
        labels: 0,
        vars: vec![false; k.regs.len()],
        cast_to_floats: vec![false; k.regs.len()],
        addresses: vec![Vec::new()],
        line: None,
        params,
        shared: k.shared_layout(),
        multiplies_staged: k.multiplies_staged(),
    };
    let body = k.main.as_deref().unwrap_or_default();
    parts::find_variables(body, &mut e.vars);
    parts::find_cast_to_floats(body, &mut e.cast_to_floats);
    let capability = k.capability();
    for line in dependent_launch::lines(capability) {
        code!(e, "{line}");
    }
    e.parameters();
    e.guard();
    e.places();
    e.block(body);
    code!(e, "ret;");

    let mut out = format!(
        "// {}, made by arraygpu {}\n.version {}\n.target sm_{}{}\n.address_size 64\n\n{}.visible .entry {}(\n",
        k.name,
        env!("CARGO_PKG_VERSION"),
        ISA[usize::from(capability > OLDEST_CAPABILITY)],
        capability,
        if e.multiplies_staged { "a" } else { "" },
        if e.shared.dynamic() > 0 {
            format!(".extern .shared .align {} .b8 {DYNAMIC}[];\n\n", e.shared.alignment)
        } else {
            String::new()
        },
        k.name
    );
    out.push_str(&e.params.declare());
    let _ = writeln!(out, "\n)\n.maxntid {}, 1, 1", k.threads);
    if k.min_resident_blocks > 0 {
        let _ = writeln!(out, ".minnctapersm {}", k.min_resident_blocks);
    }
    if k.cluster > 0 {
        let _ = writeln!(out, ".explicitcluster\n.reqnctapercluster {}, 1, 1", k.cluster);
    }
    out.push_str("{\n");
    for (name, ty, len) in k.shared.iter().filter(|_| e.shared.dynamic() == 0) {
        let (align, size) = (e.shared.alignment, ty.size() * *len as usize);
        let _ = writeln!(out, "    .shared .align {align} .b8 {name}[{size}];");
    }
    for (name, ty, len) in &k.locals {
        let _ = writeln!(out, "    .local .align 16 .b8 {name}[{}];", ty.size() * *len as usize);
    }
    e.regs.declare(e.params.is_one(), &mut out);
    out.push_str(&e.text);
    out.push_str("}\n");
    out
}

/// A computed address: the memory, the part of the index that is not constant, and the register.
type Known<'a> = (Mem, Option<Expr>, Operand<'a>);

/// The target of a branch.
#[derive(Clone, Copy)]
struct Label(u32);

impl Display for Label {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "$L{}", self.0)
    }
}

/// The state of writing one entry.
struct Emitter<'a> {
    k: &'a Kernel,
    regs: Regs<'a>,
    text: String,
    depth: usize,
    labels: u32,
    /// Whether the value of each register changes.
    vars: Vec<bool>,
    /// Whether the value of each register is cast to a float.
    cast_to_floats: Vec<bool>,
    /// The addresses computed so far, one list for each open block.
    addresses: Vec<Vec<Known<'a>>>,
    /// The author's source line that the last comment named.
    line: Option<Loc>,
    params: Params,
    shared: SharedLayout,
    multiplies_staged: bool,
}

impl<'a> Emitter<'a> {
    /// Writes a line of code.
    fn line(&mut self, text: fmt::Arguments) {
        for _ in 0..self.depth {
            self.text.push('\t');
        }
        let _ = self.text.write_fmt(text);
        self.text.push('\n');
    }

    /// Writes an instruction from the parts of its name and its operands. Most lines are
    /// instructions, so this avoids parsing a format for them.
    fn instruction(&mut self, name: &[&str], operands: &[Operand]) {
        self.begin(None, name);
        let _ = List(operands).write(&mut self.text);
        self.text.push_str(";\n");
    }

    /// Writes the condition and the name of an instruction, up to its operands.
    fn begin(&mut self, when: Option<Operand>, name: &[&str]) {
        for _ in 0..self.depth {
            self.text.push('\t');
        }
        if let Some(c) = when {
            self.text.push('@');
            let _ = c.write(&mut self.text);
            self.text.push(' ');
        }
        name.iter().for_each(|part| self.text.push_str(part));
        self.text.push(' ');
    }

    fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    /// Loads all parameters into registers. `ptxas` replaces the registers by reads of the constant
    /// bank at their uses.
    fn parameters(&mut self) {
        let k = self.k;
        for i in 0..self.params.list.len() {
            let at = self.params.address(i);
            if self.params.list[i].pointer.is_some() {
                let global = Operand::Arg(i);
                // a generic address outside of the windows of the other spaces is a global one as it is, so that
                // many of them need no conversion
                if without::is_left_out(Optimisation::Spaces) || self.params.is_one() {
                    code!(self, "ld.param.u64 {global}, [{at}];");
                } else {
                    let generic = self.regs.fresh(Ty::I64);
                    code!(self, "ld.param.u64 {generic}, [{at}];");
                    code!(self, "cvta.to.global.u64 {global}, {generic};");
                }
            } else if i < self.params.ins {
                code!(self, "ld.param.s64 %arg{i}, [{at}];");
            } else if i < self.params.slots {
                self.scalar(i, k.ins[i - self.params.ins].1);
            } else {
                code!(self, "ld.param.s32 %span, [{at}];");
            }
            if self.params.is_one() {
                // the declaration has no room for it
                self.text.pop();
                let _ = writeln!(self.text, " // {}", self.params.list[i].note);
            }
        }
    }

    /// Writes code that ends a thread if the guard is not negative. The check's own launch writes the guard while its
    /// threads may still read it. A thread that contributes to the number has read the guard before, so that those
    /// which see the number have nothing left to do; exited threads count as arrived at every barrier.
    fn guard(&mut self) {
        if !self.k.is_guarded {
            return;
        }
        let (number, ended) = (self.regs.fresh(Ty::I64), self.regs.fresh(Ty::Bool));
        let guard = Operand::Arg(self.params.guard);
        code!(self, "ld.global.s64 {number}, [{guard}];");
        code!(self, "setp.ge.s64 {ended}, {number}, 0;");
        code!(self, "@{ended} ret;");
    }

    /// Loads an "in" scalar.
    fn scalar(&mut self, i: usize, ty: Ty) {
        let (dest, at) = (Operand::In(i - self.params.ins), self.params.address(i));
        match ty {
            Ty::Bool => {
                let byte = self.regs.fresh(Ty::U32);
                code!(self, "ld.param.u8 {byte}, [{at}];");
                code!(self, "setp.ne.u32 {dest}, {byte}, 0;");
            }
            ty => code!(self, "ld.param.{} {dest}, [{at}];", regs::memory_type(ty)),
        }
    }

    fn comment(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.text.push('\t');
        }
        self.text.push_str("// ");
        self.text.extend(ascii(text));
        self.text.push('\n');
    }

    /// Runs `f` in a nested scope, at whose end the addresses that were computed in it are
    /// forgotten.
    fn scope(&mut self, f: impl FnOnce(&mut Self)) {
        self.addresses.push(Vec::new());
        self.depth += 1;
        f(self);
        self.depth -= 1;
        self.addresses.pop();
    }

    fn block(&mut self, body: &[Stmt]) {
        for s in body {
            self.stmt(s);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::core::parse;
    use crate::driver::{Targets, compile_for};

    #[test]
    fn names_of_any_script_leave_ascii() {
        let text = "func @f(%x: [f32]) -> (r: [f32]) {
  %0 = map (%a: f32) over %x {
    %1 = mul %a, %a !größe.rs:3:5
    yield %1
  } !größe.rs:3:1
  return %0
}";
        let targets = Targets { cpu: false, cuda: true };
        let compiled = compile_for("t", parse::parse(text).unwrap(), targets).unwrap();
        assert!(compiled.gpu_variants().all(|c| c.ptx.is_ascii() && c.ptx.contains("gr??e.rs:3")));
    }
}
