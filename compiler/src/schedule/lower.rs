//! From core IR scalars to kernel IR statements: what one element is, written out.
//!
//! A node used more than once, or bound by `slet`, becomes a register; others stay inside the
//! expression that uses them. What does not depend on the element is computed before the loop: on
//! the host where the host can, else at the top of the kernel.

mod address;
mod builder;
mod launch;
mod region;
mod scope;
mod signature;
mod values;

pub use builder::{KernelBuilder, Target};
pub use launch::{Facts, LaunchContext};
pub(super) use region::Region;
use region::Uses;
pub use scope::{ElementScope, Loaded};
use values::bind;

use super::{error_records, nested_loop};
use crate::core::{NodeId, Type};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::plan::{Access, Place, ScalarArg};
use crate::scalar::{BinaryOp, Ty};
use indexmap::{IndexMap, IndexSet};

/// An expression this deep gets a register in between: C compilers limit nesting, and so do people.
const MAX_DEPTH: u32 = 10;

/// The kernels of a function have room for so many operations on a target, and for so many more for
/// each that its author wrote. They take the compiler about a second, and some megabytes of text.
const MOST_WRITTEN: usize = 30_000;
const MOST_OF_EACH: usize = 20;

/// What a kernel gets from its launch, in order. All variants of a kernel share one.
#[derive(Default)]
pub struct Signature {
    /// (place, written) -> name, type, access
    pub arrays: IndexMap<(Place, bool), ArrayUse>,
    /// "in" scalars with their names
    pub ins: IndexMap<ScalarArg, (String, Ty)>,
    /// (place, written) -> name and type
    pub slots: IndexMap<(Place, bool), (String, Ty)>,
    /// scratch arrays
    pub scratch: Vec<(String, Ty)>,
    /// What to say of a record, a site each.
    pub sites: IndexSet<String>,
}

/// How a kernel uses an array.
pub struct ArrayUse {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Where it is read or written.
    pub access: Access,
}

/// The lowering of one variant of a launch's kernel.
pub struct Lower<'c, 's, 'a> {
    /// Shared by all variants.
    pub launch: &'c mut LaunchContext<'s, 'a>,
    /// The kernel being built.
    pub k: KernelBuilder,
    /// The code that is being written in it.
    pub scope: ElementScope,
}

impl<'c, 's, 'a> Lower<'c, 's, 'a> {
    /// Begins a variant, for arrays of any strides or contiguous ones.
    pub fn new(launch: &'c mut LaunchContext<'s, 'a>, name: &str, target: Target, strided: bool) -> Self {
        Lower { launch, k: KernelBuilder::new(name, target, strided), scope: ElementScope::default() }
    }

    /// Goes on with a variant.
    pub fn resume(launch: &'c mut LaunchContext<'s, 'a>, k: KernelBuilder) -> Self {
        Lower { launch, k, scope: ElementScope::default() }
    }

    /// Lowers `roots` for one element: `vars` are the region's variables (or known values), `at`
    /// the element that records name.
    pub fn region(
        &mut self,
        vars: &[(NodeId, Expr)],
        roots: &[NodeId],
        at: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let mut r = Region {
            memo: vars.iter().map(|(n, e)| (*n, (e.clone(), 1))).collect(),
            uses: self.uses(roots, vars),
            conditions: error_records::conditions(&mut self.launch.g, roots),
            ..Region::at(at)
        };
        let values: Result<Vec<_>> = roots.iter().map(|n| self.value(*n, &mut r).map(|v| v.0)).collect();
        let mut done = 0;
        loop {
            if let Some((site, condition, bad)) = r.records.get(done).cloned() {
                done += 1;
                let when = match self.value(condition, &mut r)?.0 {
                    Expr::Lit(l) if l.as_bool() => bad,
                    needed => Expr::binary(BinaryOp::And, needed, bad),
                };
                r.out.push(Stmt::Record(site, when, at.clone()));
            } else if let Some(n) = r.recorded_later.pop() {
                nested_loop::record(self, n, &mut r)?;
            } else {
                break;
            }
        }
        out.append(&mut r.out);
        values
    }

    /// As [`Lower::region`], for a look at conditions before the elements are computed: these leave
    /// the records.
    pub fn conditions(
        &mut self,
        vars: &[(NodeId, Expr)],
        roots: &[NodeId],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let mut all = Vec::new();
        let values = self.region(vars, roots, &Expr::int(0), &mut all)?;
        error_records::remove(&mut all);
        out.append(&mut all);
        Ok(values)
    }

    /// How often each node is used in the region.
    fn uses(&self, roots: &[NodeId], vars: &[(NodeId, Expr)]) -> Uses {
        let mut uses = Uses(vec![0; self.launch.g.len()]);
        let mut stack: Vec<NodeId> = roots.to_vec();
        while let Some(n) = stack.pop() {
            if uses.add(n) == 1 && !vars.iter().any(|v| v.0 == n) {
                self.launch.g.op(n).for_operands(|o| stack.push(o));
            }
        }
        uses
    }

    /// A node whose value does not change during the loop and leaves no record.
    fn is_invariant(&mut self, n: NodeId) -> bool {
        !self.k.once && self.launch.g.is_closed(n) && !self.launch.may_record(n)
    }

    /// The element, if it is in a register.
    fn loaded_already(&mut self, x: NodeId, index: &[NodeId]) -> Option<Expr> {
        self.scope.loaded.as_ref()?;
        let key = (x, self.launch.normal(index));
        self.scope.loaded.as_ref()?.get(&key).cloned()
    }
}
