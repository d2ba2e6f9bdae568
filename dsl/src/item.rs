//! What may stand at one place of an array: an element type, or a record of several values.
//!
//! A handle of a record points to a node that bundles the nodes of its fields, which are the *leaves*:
//! scalars, or arrays of one shape. The bundle is known to handles only. Whoever makes nodes of a
//! handle takes it apart first (`nodes_of`) and puts the result together again (`of_nodes`).

use crate::elem::Elem;
use crate::node::NodeRef;
use arraygpu_compiler::package::records::{FieldType, Struct};
use arraygpu_compiler::scalar::{Lit, Ty};

/// A value of a record that is no record itself.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The names of the fields that lead to it, joined by `_`; empty for an element type.
    pub(crate) name: String,
    pub(crate) ty: Ty,
}

/// What has a name in a function's interface: its leaves, and what it is in C.
#[derive(Clone, Debug)]
pub struct Described {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) ty: FieldType,
    /// The structs that it consists of, the innermost first.
    pub(crate) structs: Vec<Struct>,
}

/// What an array may have at one place: an element type, or a record.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of arraygpu, and cannot be a field of a record",
    label = "expected f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool or a record; in a record also `[T; N]`",
    note = "lengths and indices are i64: write `n as i64` for a `usize`",
    note = "a struct of such fields becomes a record by `#[derive(Record)]`"
)]
pub trait Item: Sized + 'static {
    /// Adds the leaves, whose names begin with `prefix`.
    #[doc(hidden)]
    fn leaves(prefix: &str, out: &mut Vec<Leaf>);
    /// The type in C; adds the structs that it consists of, the innermost first.
    #[doc(hidden)]
    fn c_type(structs: &mut Vec<Struct>) -> FieldType;
    /// The nodes of the leaves of a handle's node.
    #[doc(hidden)]
    fn split(node: &NodeRef) -> &[NodeRef];
    /// A handle's node of the next leaves.
    #[doc(hidden)]
    fn join(nodes: &mut dyn Iterator<Item = NodeRef>) -> NodeRef;
    /// Adds the value of each leaf.
    #[doc(hidden)]
    fn literals(&self, out: &mut Vec<Lit>);
    /// The value of the next leaves.
    #[doc(hidden)]
    fn of_literals(leaves: &mut dyn Iterator<Item = Lit>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Elem> Item for T {
    fn leaves(prefix: &str, out: &mut Vec<Leaf>) {
        out.push(Leaf { name: prefix.into(), ty: T::TY });
    }
    fn c_type(_: &mut Vec<Struct>) -> FieldType {
        FieldType::Elem(T::TY)
    }
    fn split(node: &NodeRef) -> &[NodeRef] {
        std::slice::from_ref(node)
    }
    fn join(nodes: &mut dyn Iterator<Item = NodeRef>) -> NodeRef {
        nodes.next().expect("as many nodes as leaves")
    }
    fn literals(&self, out: &mut Vec<Lit>) {
        out.push(self.lit());
    }
    fn of_literals(leaves: &mut dyn Iterator<Item = Lit>) -> Self {
        T::of(leaves.next().expect("as many values as leaves"))
    }
}

/// The leaves of a type, with the names of the fields that lead to them.
pub fn leaves_of_item<T: Item>() -> Vec<Leaf> {
    let mut leaves = Vec::new();
    T::leaves("", &mut leaves);
    leaves
}

/// What a type is in a function's interface.
#[must_use]
pub fn described<T: Item>() -> Described {
    let mut structs = Vec::new();
    let ty = T::c_type(&mut structs);
    Described { leaves: leaves_of_item::<T>(), ty, structs }
}

/// Adds a struct, and returns its type. Its name is that of the Rust struct, in small letters with
/// underscores, and those of its type arguments.
pub fn c_struct(
    rust: &str,
    arguments: &[String],
    fields: Vec<(String, FieldType)>,
    structs: &mut Vec<Struct>,
) -> FieldType {
    let mut name = String::new();
    for (i, c) in rust.trim_start_matches("r#").char_indices() {
        if c.is_uppercase() && i > 0 {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    let name = [&[name], arguments].concat().join("_");
    let is_complex = rust == "Complex" && matches!(name.as_str(), "complex_f32" | "complex_f64");
    structs.push(Struct { name: name.clone(), fields, is_complex });
    FieldType::Struct(name)
}

/// The name of a type in the name of a struct that has it as an argument.
#[must_use]
pub fn argument_name<T: Item>() -> String {
    match T::c_type(&mut Vec::new()) {
        FieldType::Elem(ty) => ty.name().into(),
        FieldType::Struct(name) => name,
        FieldType::Array(..) => unreachable!("an array is no element"),
    }
}

/// The name of a field, or of an element of a fixed array, inside of what has the name `prefix`.
#[must_use]
pub fn leaf_name(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.into() } else { format!("{prefix}_{name}") }
}
