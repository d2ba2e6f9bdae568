//! Records: elements of several named values. `#[derive(Record)]` implements the traits.
//!
//! Everything that a program does with a record it does with each of its leaves, so nothing below
//! the handles knows of records: an array of them is an array for each leaf.

use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::{Item, Leaf, leaf_name};
use crate::node::{self, Bundle, NodeRef, Op, make};
use crate::rank::{Rank, Rank0, Rank1, Rank2, Rank3};
use crate::results::{Results, nodes_of, of_nodes};
use arraygpu_compiler::package::records::{FieldType, Struct};
use arraygpu_compiler::scalar::Lit;
use std::fmt::Debug;
use std::ops::Deref;
use std::panic::Location;

/// A struct whose fields are element types, records, or fixed arrays of these: `#[derive(Record)]`.
///
/// `b.x` is a field of an expression `b`, and of an array of records the array of the field;
/// `BodyFields { .. }.pack()` goes back.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// #[derive(Record)]
/// # #[record(crate = arraygpu_dsl)]
/// struct Body {
///     x: f32,
///     v: f32,
/// }
///
/// let step = |dt: SExp<f32>, bodies: VExp<Body>| {
///     bodies.map(|b| BodyFields { x: b.x + dt * b.v, ..*b }.pack())
/// };
/// // inside of the compiler, a record is one array for each field
/// let args = [scalar(0.5f32), vector(&[1.0f32, 2.0]), vector(&[4.0f32, 6.0])];
/// assert_eq!(call_parts(step, args), [vector(&[3.0f32, 5.0]), vector(&[4.0f32, 6.0])]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no record",
    note = "a struct of element types becomes a record by `#[derive(Record)]`"
)]
pub trait Record: Item {
    /// The struct of the fields, for expressions of a rank.
    type Of<K: Rank>: Results + Debug + 'static;
}

/// What may be a field of a record: an element type, a record, or a fixed array of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of arraygpu, and cannot be a field of a record",
    label = "expected f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool or a record; in a record also `[T; N]`",
    note = "lengths and indices are i64: write `n as i64` for a `usize`",
    note = "a struct of such fields becomes a record by `#[derive(Record)]`"
)]
pub trait Field: Sized + 'static {
    /// What stands for the field in expressions of a rank.
    type Of<K: Rank>: Results + Debug;
    #[doc(hidden)]
    fn leaves_of(prefix: &str, out: &mut Vec<Leaf>);
    #[doc(hidden)]
    fn c_type_of(structs: &mut Vec<Struct>) -> FieldType;
    #[doc(hidden)]
    fn literals_in(&self, out: &mut Vec<Lit>);
    #[doc(hidden)]
    fn field_of_literals(leaves: &mut dyn Iterator<Item = Lit>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Item> Field for T {
    type Of<K: Rank> = K::Handle<T>;
    fn leaves_of(prefix: &str, out: &mut Vec<Leaf>) {
        T::leaves(prefix, out);
    }
    fn c_type_of(structs: &mut Vec<Struct>) -> FieldType {
        T::c_type(structs)
    }
    fn literals_in(&self, out: &mut Vec<Lit>) {
        self.literals(out);
    }
    fn field_of_literals(leaves: &mut dyn Iterator<Item = Lit>) -> Self {
        T::of_literals(leaves)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Field, const N: usize> Field for [T; N] {
    type Of<K: Rank> = [T::Of<K>; N];
    fn leaves_of(prefix: &str, out: &mut Vec<Leaf>) {
        const { assert!(N > 0, "an array in a record has at least one element") };
        (0..N).for_each(|i| T::leaves_of(&leaf_name(prefix, &i.to_string()), out));
    }
    fn c_type_of(structs: &mut Vec<Struct>) -> FieldType {
        FieldType::Array(Box::new(T::c_type_of(structs)), N)
    }
    fn literals_in(&self, out: &mut Vec<Lit>) {
        self.iter().for_each(|x| x.literals_in(out));
    }
    fn field_of_literals(leaves: &mut dyn Iterator<Item = Lit>) -> Self {
        std::array::from_fn(|_| T::field_of_literals(leaves))
    }
}

/// The node that bundles the next leaves of a record.
pub fn bundle<R: Record>(nodes: &mut dyn Iterator<Item = NodeRef>) -> NodeRef {
    let mut leaves = Vec::new();
    R::leaves("", &mut leaves);
    let parts: Vec<NodeRef> = nodes.take(leaves.len()).collect();
    assert_eq!(parts.len(), leaves.len(), "as many nodes as leaves");
    let first = parts[0];
    make(first.at, first.ty, Op::Bundle(Bundle::of(parts)))
}

/// The leaves of a record's node.
pub fn parts(node: &NodeRef) -> &[NodeRef] {
    match &node.op {
        Op::Bundle(bundle) => &bundle.parts,
        op => unreachable!("a record is {op:?}"),
    }
}

/// The record of these fields. Arrays are of one shape: a rule says so.
#[track_caller]
pub fn pack<R: Record, K: Rank>(fields: R::Of<K>) -> K::Handle<R> {
    let (at, parts) = (Location::caller(), nodes_of(fields));
    match &parts[..] {
        [first, _, ..] if !first.ty.is_scalar() => of_nodes(&node::map(at, "pack", &parts, |v| v.to_vec())),
        _ => of_nodes(&parts),
    }
}

macro_rules! fields {
    ($($handle:ident $rank:ident)*) => { $(
        impl<R: Record> Deref for $handle<R> {
            type Target = R::Of<$rank>;
            fn deref(&self) -> &R::Of<$rank> {
                let Op::Bundle(bundle) = &self.node().op else { unreachable!("a record is a bundle") };
                bundle.fields(|parts| of_nodes(parts))
            }
        }
    )* };
}
fields!(SExp Rank0 VExp Rank1 MExp Rank2 TExp Rank3);
