//! The parameters of an entry, in the order of docs/c-abi.md.
//!
//! More than [`MAX_DECLARED`] are declared as one, an array of as many bytes: a launch hands the same bytes to either
//! form. Their declarations would be a fifth of the text of a kernel that does little with each array.

use crate::kernel::Kernel;
use crate::scalar::Ty;
use crate::without::{self, Optimisation};

/// Replaces characters that are not ASCII, which PTX does not allow even in comments.
pub(super) fn ascii(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' })
}

/// The most parameters that are declared one by one.
const MAX_DECLARED: usize = 64;

/// The bytes of a parameter.
const BYTES: usize = 8;

/// One parameter of the entry.
pub(super) struct Param {
    /// A description for the reader of the text.
    pub(super) note: String,
    /// The alignment of the memory that the parameter points to, if the parameter is an address.
    pub(super) pointer: Option<usize>,
}

impl Param {
    /// Returns the declaration of the parameter by itself.
    fn declare(&self, i: usize) -> String {
        match self.pointer {
            Some(align) => {
                let space = if without::is_left_out(Optimisation::Spaces) { "" } else { " .global" };
                format!("    .param .u64 .ptr{space} .align {align} arg{i} /* {} */", self.note)
            }
            None => format!("    .param .b64 arg{i} /* {} */", self.note),
        }
    }
}

/// The position of each argument in the list of parameters.
pub(super) struct Params {
    pub(super) list: Vec<Param>,
    pub(super) strides: usize,
    pub(super) ins: usize,
    pub(super) slots: usize,
    pub(super) scratch: usize,
    pub(super) counters: usize,
    pub(super) records: usize,
    pub(super) guard: usize,
}

impl Params {
    /// Whether the parameters are declared as one.
    pub(super) fn is_one(&self) -> bool {
        self.list.len() > MAX_DECLARED
    }

    /// Returns the declarations of all parameters.
    pub(super) fn declare(&self) -> String {
        if self.is_one() {
            return format!("    .param .align {BYTES} .b8 args[{}]", BYTES * self.list.len());
        }
        let each: Vec<String> = self.list.iter().enumerate().map(|(i, p)| p.declare(i)).collect();
        each.join(",\n")
    }

    /// Returns the address of a parameter.
    pub(super) fn address(&self, i: usize) -> String {
        if self.is_one() { format!("args+{}", BYTES * i) } else { format!("arg{i}") }
    }

    pub(super) fn of(k: &Kernel) -> Params {
        let mut list = Vec::new();
        let note =
            |name: &str, ty: Ty| ascii(&format!("{name}: {ty}")).collect::<String>().replace("*/", "* /");
        for a in &k.arrays {
            let align = if a.aligned { 16 } else { a.ty.size() };
            list.push(Param { note: note(&a.name, a.ty), pointer: Some(align) });
        }
        let strides = list.len();
        for a in k.arrays.iter().filter(|a| a.strided) {
            list.push(Param { note: ascii(&format!("stride of {}", a.name)).collect(), pointer: None });
        }
        let ins = list.len();
        list.extend(k.ins.iter().map(|(name, ty)| Param { note: note(name, *ty), pointer: None }));
        let slots = list.len();
        list.extend(k.slots.iter().map(|s| Param { note: note(&s.name, s.ty), pointer: Some(s.ty.size()) }));
        let scratch = list.len();
        list.extend(k.scratch.iter().map(|(name, ty)| Param { note: note(name, *ty), pointer: Some(16) }));
        let counters = list.len();
        if k.has_counters() {
            // words of two counters begin at multiples of 8 bytes
            list.push(Param {
                note: "counters".into(),
                pointer: Some(if k.scratch.is_empty() { 16 } else { 4 }),
            });
        }
        let records = list.len();
        if !k.sites.is_empty() {
            list.push(Param { note: "records".into(), pointer: Some(8) });
        }
        let guard = list.len();
        if k.is_guarded {
            list.push(Param { note: "guard".into(), pointer: Some(8) });
        }
        if k.has_counters() || k.is_multi_step {
            let note = if k.is_multi_step { "steps" } else { "span" };
            list.push(Param { note: note.into(), pointer: None });
        }
        Params { list, strides, ins, slots, scratch, counters, records, guard }
    }
}
