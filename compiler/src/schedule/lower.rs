//! Lowering: turns the scalars of core IR, for one element, into statements of kernel IR.
//!
//! A node that is used more than once, or bound by `slet`, becomes a register; any other node
//! becomes part of the expression that uses it. Values that do not depend on the element are
//! computed before the loop: on the host if it can compute them, else at the top of the kernel.

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

/// Greatest depth of an expression. A deeper one is bound to a register, because C compilers limit
/// the nesting and people cannot read it.
const MAX_DEPTH: u32 = 10;

/// All kernels of a function together may contain this many operations on a target, plus
/// [`MOST_OF_EACH`] for each node of the function's graph. A function at this limit takes the
/// compiler about a second, and some megabytes of text.
const MOST_WRITTEN: usize = 30_000;
const MOST_OF_EACH: usize = 20;

/// The parameters that a launch hands to its kernel, in order. All variants of the kernel share one
/// signature.
#[derive(Default)]
pub struct Signature {
    /// Arrays, by place and whether they are written.
    pub arrays: IndexMap<(Place, bool), ArrayUse>,
    /// Names and types of the "in" scalars.
    pub ins: IndexMap<ScalarArg, (String, Ty)>,
    /// Slots: name and type, by place and whether they are written.
    pub slots: IndexMap<(Place, bool), (String, Ty)>,
    /// Names and element types of the scratch arrays.
    pub scratch: Vec<(String, Ty)>,
    /// The message of an error record at each site.
    pub sites: IndexSet<String>,
}

/// How a kernel uses an array.
pub struct ArrayUse {
    /// The array's name in the kernel.
    pub name: String,
    /// The array's type.
    pub ty: Type,
    /// Whether and where the kernel reads or writes the array.
    pub access: Access,
}

/// The lowering of one variant of a launch's kernel.
pub struct Lower<'c, 's, 'a> {
    /// The state that all variants share.
    pub launch: &'c mut LaunchContext<'s, 'a>,
    /// The kernel being built.
    pub k: KernelBuilder,
    /// The state of the code that is being generated.
    pub scope: ElementScope,
}

impl<'c, 's, 'a> Lower<'c, 's, 'a> {
    /// Begins a variant for arrays with any strides (`strided`), or for contiguous arrays.
    pub fn new(launch: &'c mut LaunchContext<'s, 'a>, name: &str, target: Target, strided: bool) -> Self {
        Lower { launch, k: KernelBuilder::new(name, target, strided), scope: ElementScope::default() }
    }

    /// Continues a variant.
    pub fn resume(launch: &'c mut LaunchContext<'s, 'a>, k: KernelBuilder) -> Self {
        Lower { launch, k, scope: ElementScope::default() }
    }

    /// Emits the values of `roots` for one element, and returns them. `vars` are nodes with known
    /// values, among them the region's variables; `at` is the element that error records name.
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

    /// Emits conditions as [`Lower::region`] does, but without error records: the code that
    /// computes the elements afterwards leaves these.
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

    /// Returns how often each node is used in the region.
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

    /// Whether a node has the same value in the whole loop and leaves no error record.
    fn is_invariant(&mut self, n: NodeId) -> bool {
        !self.k.once && self.launch.g.is_closed(n) && !self.launch.may_record(n)
    }

    /// Returns the element of `x` at `index` if it is in a register.
    fn loaded_already(&mut self, x: NodeId, index: &[NodeId]) -> Option<Expr> {
        self.scope.loaded.as_ref()?;
        let key = (x, self.launch.normal(index));
        self.scope.loaded.as_ref()?.get(&key).cloned()
    }
}
