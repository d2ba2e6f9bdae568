//! What may stand at one place of an array: an element type, or a record of several values.
//!
//! A handle of a record points to a node that bundles the nodes of its fields, which are the *leaves*:
//! scalars, or arrays of one shape. The bundle is known to handles only. Whoever makes nodes of a
//! handle takes it apart first (`nodes_of`) and puts the result together again (`of_nodes`).

use crate::elem::Elem;
use crate::node::{self, NodeRef};
use crate::scope::Place;
use arraygpu_compiler::scalar::Ty;

/// A value of a record that is no record itself.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The names of the fields that lead to it, joined by `_`; empty for an element type.
    pub(crate) name: String,
    pub(crate) ty: Ty,
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
    /// The nodes of the leaves of a handle's node.
    #[doc(hidden)]
    fn split(node: &NodeRef) -> &[NodeRef];
    /// A handle's node of the next leaves.
    #[doc(hidden)]
    fn join(nodes: &mut dyn Iterator<Item = NodeRef>) -> NodeRef;
    /// Adds a constant for each leaf.
    #[doc(hidden)]
    fn constants_at(self, at: Place, out: &mut Vec<NodeRef>);
}

#[diagnostic::do_not_recommend]
impl<T: Elem> Item for T {
    fn leaves(prefix: &str, out: &mut Vec<Leaf>) {
        out.push(Leaf { name: prefix.into(), ty: T::TY });
    }
    fn split(node: &NodeRef) -> &[NodeRef] {
        std::slice::from_ref(node)
    }
    fn join(nodes: &mut dyn Iterator<Item = NodeRef>) -> NodeRef {
        nodes.next().expect("as many nodes as leaves")
    }
    fn constants_at(self, at: Place, out: &mut Vec<NodeRef>) {
        out.push(node::constant(at, self.lit()));
    }
}

/// The leaves of a type, with the names of the fields that lead to them.
pub fn leaves_of_item<T: Item>() -> Vec<Leaf> {
    let mut leaves = Vec::new();
    T::leaves("", &mut leaves);
    leaves
}

/// The name of a field, or of an element of a fixed array, inside of what has the name `prefix`.
#[must_use]
pub fn leaf_name(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.into() } else { format!("{prefix}_{name}") }
}
