//! Checks of operands for the typing rules.

use crate::core::{Graph, Lambda, NodeId, Op, Type, tuples};
use crate::scalar::Ty;

/// Checks of operands. Each returns what it found, or the message of a refusal, which calls the operand by the name
/// that is given.
pub struct Operands<'g>(pub &'g Graph);

impl Operands<'_> {
    pub fn scalar(&self, n: NodeId, what: &str) -> Result<Ty, String> {
        match self.0.ty(n) {
            _ if matches!(self.0.op(n), Op::Tuple(_)) => Err(format!("{what} must be a scalar, not a tuple")),
            t if t.is_scalar() => Ok(t.elem),
            t => Err(format!("{what} must be a scalar, not {t}")),
        }
    }

    pub fn index(&self, n: NodeId, what: &str) -> Result<(), String> {
        match self.0.ty(n) {
            t if t == Type::scalar(Ty::I64) => Ok(()),
            t => Err(format!("{what} must be an i64 scalar, not {t}")),
        }
    }

    pub fn array(&self, n: NodeId, what: &str) -> Result<Type, String> {
        match self.0.ty(n) {
            t if t.rank > 0 => Ok(t),
            t => Err(format!("{what} must be an array, not {t}")),
        }
    }

    pub fn axis(&self, n: NodeId, axis: u8, what: &str) -> Result<Type, String> {
        match self.array(n, what)? {
            t if axis < t.rank => Ok(t),
            t => Err(format!("{what} has no axis {axis}: it is {t}")),
        }
    }

    pub fn digits(&self, n: NodeId) -> Result<(), String> {
        match self.0.ty(n) {
            t if t == Type::vector(Ty::I32) => Ok(()),
            t => Err(format!("the digits must be a vector of i32, not {t}")),
        }
    }

    /// Returns the type of an array of indices.
    pub fn indices(&self, n: NodeId, what: &str, both: &str) -> Result<Type, String> {
        let ty = self.array(n, what)?;
        same(ty.elem, Ty::I64, both)?;
        Ok(ty)
    }

    /// Returns the types of the elements of an array, which may be tuples.
    pub fn elements(&self, n: NodeId, what: &str) -> Result<Vec<Ty>, String> {
        self.array(n, what)?;
        Ok(tuples::types_of_elements(self.0, n))
    }

    /// Returns the types of the components of a tuple, or of a scalar.
    pub fn components(&self, n: NodeId, what: &str) -> Result<Vec<Ty>, String> {
        match self.0.op(n) {
            Op::Tuple(_) => Ok(tuples::types(self.0, n)),
            _ => self.scalar(n, what).map(|ty| vec![ty]),
        }
    }

    /// Returns the type of a function's result. The function must take operands of these types.
    pub fn result(&self, f: &Lambda, types: &[Ty], what: &str) -> Result<Ty, String> {
        takes(f, types.iter(), what)?;
        match self.0.op(f.body) {
            Op::Tuple(_) => Ok(self.0.ty(f.body).elem),
            _ => self.scalar(f.body, "the function's result"),
        }
    }

    /// Returns the type of a component of the result of a function from (T, U) to T, whose operands may be tuples.
    pub fn operator(
        &self,
        (f, which): Joined,
        first: &[Ty],
        second: &[Ty],
        what: &str,
    ) -> Result<Type, String> {
        takes(f, first.iter().chain(second), what)?;
        if self.components(f.body, "the function's result")? != first {
            return Err(format!("{what}'s accumulator and its function's result differ in type"));
        }
        let ty = first.get(which as usize).ok_or_else(|| format!("{what} has no component {which}"))?;
        Ok(Type::scalar(*ty))
    }
}

/// A function of a reduction, and the component of its result that is wanted.
pub type Joined<'l> = (&'l Lambda, u32);

/// Refuses types that differ.
pub fn same(a: Ty, b: Ty, what: &str) -> Result<(), String> {
    if a == b { Ok(()) } else { Err(format!("{what} have the types {a} and {b}")) }
}

/// Refuses a function that takes other types.
fn takes<'t>(f: &Lambda, types: impl Iterator<Item = &'t Ty> + Clone, what: &str) -> Result<(), String> {
    if f.params.iter().map(|p| &p.1).eq(types.clone()) {
        return Ok(());
    }
    let list = types.map(|t| t.name()).collect::<Vec<_>>().join(", ");
    Err(format!("{what}'s function must take ({list})"))
}

/// Returns the message for an operator that does not accept a type, with the types that it accepts.
pub fn refusal(op: &str, ty: Ty, accepts: impl Fn(Ty) -> bool) -> String {
    let takes: Vec<&str> = Ty::ALL.into_iter().filter(|ty| accepts(*ty)).map(Ty::name).collect();
    format!("{op} does not take {ty}: it takes {}", takes.join(", "))
}
