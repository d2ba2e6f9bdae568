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

use super::error_records;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use builder::bind_node;
pub use builder::{KernelBuilder, Target};
pub(in crate::schedule) use launch::Arm;
pub use launch::{ArrayUse, LaunchContext, Operand, Signature};
pub(in crate::schedule) use region::Region;
pub use region::Surroundings;
use region::Uses;
use rustc_hash::FxHashSet as HashSet;
pub use scope::{ElementScope, Loaded, ShortRow, UnlikelyArms};

/// The maximum depth of an expression. A deeper one is bound to a register, because C compilers limit the nesting and
/// people cannot read it.
const MAX_DEPTH: u32 = 10;

/// Each variant of a launch's kernel may contain this many operations, plus [`MAX_OF_EACH`] for each
/// node of the function's graph. The limit finds nested operations whose code is exponential; how
/// much code other variants have must refuse no program, because there are more of them for some
/// layouts and lengths than for others. A variant at this limit takes the compiler about a second,
/// and some megabytes of text.
const MAX_WRITTEN: usize = 30_000;
const MAX_OF_EACH: usize = 20;

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
        launch.code_size().written = 0;
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
        self.region_of(vars, roots, at, false, out)
    }

    /// Does the same. If `in_turn`, each value is bound before the next one is computed: otherwise the operands of
    /// each value may stay in registers until all values are used.
    fn region_of(
        &mut self,
        vars: &[(NodeId, Expr)],
        roots: &[NodeId],
        at: &Expr,
        in_turn: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let mut r = Region {
            memo: vars.iter().map(|(n, e)| (*n, (e.clone(), 1))).collect(),
            uses: self.uses(roots, vars),
            ..Region::at(at)
        };
        let conditions = error_records::conditions(&mut self.launch.g, roots);
        r.set_conditions(&self.launch.g, conditions);
        let mut value = |n: NodeId| {
            let e = self.value(n, &mut r)?.0;
            let bound =
                if in_turn { bind_node(&mut self.k.kernel, &self.launch.g, n, e, &mut r.out) } else { e };
            Ok(bound)
        };
        let values: Result<Vec<_>> = roots.iter().map(|n| value(*n)).collect();
        let mut done = 0;
        loop {
            if let Some(record) = r.records.get(done).cloned() {
                done += 1;
                let when = match self.value(record.condition, &mut r)?.0 {
                    Expr::Lit(l) if l.as_bool() => record.bad,
                    needed => Expr::binary(BinaryOp::And, needed, record.bad),
                };
                let number = record.number.unwrap_or_else(|| at.clone());
                r.out.push(Stmt::Record(record.site, when, number));
            } else if let Some(n) = r.recorded_later.pop() {
                self.record_nested(n, &mut r)?;
            } else {
                break;
            }
        }
        out.append(&mut r.out);
        values
    }

    /// Emits conditions as [`Lower::region`] does, but without error records, because the code that computes the
    /// elements afterwards leaves these.
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
        let mut uses = Uses::default();
        let known: HashSet<NodeId> = vars.iter().map(|v| v.0).collect();
        let mut stack: Vec<NodeId> = roots.to_vec();
        while let Some(n) = stack.pop() {
            if uses.add(n) == 1 && !known.contains(&n) {
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

/// Emits a `let` that binds the expression to a new register, and returns the register's value.
pub fn bind(l: &mut Lower, name: &'static str, e: Expr, out: &mut Vec<Stmt>) -> Expr {
    let ty = l.k_ty(&e);
    let r = l.k.reg(name, ty);
    out.push(Stmt::Let(r, e, Default::default()));
    Expr::Reg(r)
}

impl Surroundings<'_> {
    /// Emits the values of `roots`, given known ones, as a block of their own: elements that are
    /// loaded for them are not kept in registers after the block.
    pub fn values(
        &self,
        l: &mut Lower,
        known: &[(NodeId, Expr)],
        roots: &[NodeId],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        l.in_block(|l| l.region(known, roots, self.at, out))
    }

    /// Does the same, with each value in a register before the next one is computed.
    pub fn values_in_turn(
        &self,
        l: &mut Lower,
        known: &[(NodeId, Expr)],
        roots: &[NodeId],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        l.in_block(|l| l.region_of(known, roots, self.at, true, out))
    }

    /// The surroundings of code that is not part of an element: an error record in it names element 0.
    pub const NONE: Surroundings<'static> =
        Surroundings { vars: &[], at: &Expr::Lit(Lit { ty: Ty::I64, bits: 0 }) };
}

impl Lower<'_, '_, '_> {
    /// Generates code in which exactly the elements `loaded` are in registers, and restores the set
    /// from before afterwards.
    pub fn with_loaded<R>(&mut self, loaded: Loaded, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scope.loaded.replace(loaded);
        let made = code(self);
        self.scope.loaded = before;
        made
    }

    /// Generates code for a block of its own: elements that it loads are in registers in that block
    /// only.
    pub fn in_block<R>(&mut self, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scope.loaded.clone();
        let made = code(self);
        self.scope.loaded = before;
        made
    }

    /// Generates code of a fast path or a slow path, and returns the conditions that the path has
    /// collected as well.
    pub fn on_path<R>(&mut self, path: UnlikelyArms, code: impl FnOnce(&mut Self) -> R) -> (R, UnlikelyArms) {
        let before = std::mem::replace(&mut self.scope.path, path);
        let made = code(self);
        (made, std::mem::replace(&mut self.scope.path, before))
    }

    /// Generates the loop of a nested operation. All of it is computed, even if the surrounding
    /// code is a fast path and leaves unlikely arms out.
    pub fn in_loop<R>(&mut self, code: impl FnOnce(&mut Self) -> R) -> R {
        self.scope.depth += 1;
        let (made, _) = self.on_path(UnlikelyArms::default(), code);
        self.scope.depth -= 1;
        made
    }

    /// Generates code that reads rows of these lengths by vectors.
    pub fn with_short_row<R>(&mut self, row: ShortRow, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scope.short_row.replace(row);
        let made = code(self);
        self.scope.short_row = before;
        made
    }

    /// Emits the values of nodes. Code that would leave an error record sets the flag instead, if there is one.
    pub fn flagged(
        &mut self,
        flag: Option<Reg>,
        vars: &[(NodeId, Expr)],
        roots: &[NodeId],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let mut body = Vec::new();
        let values = self.region(vars, roots, &Expr::int(0), &mut body)?;
        if let Some(flag) = flag {
            error_records::flag(&mut body, flag);
        }
        out.append(&mut body);
        Ok(values)
    }

    /// Generates code whose error records the caller replaces by a flag.
    pub fn with_flag_of_records<R>(&mut self, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.scope.records_are_flags, true);
        let made = code(self);
        self.scope.records_are_flags = before;
        made
    }

    /// Generates code that computes host scalars in the kernel, unless the kernel gets them already.
    pub fn with_own_hosts<R>(&mut self, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.scope.computes_hosts, true);
        let made = code(self);
        self.scope.computes_hosts = before;
        made
    }

    /// Generates code. If `wanted`, its f32 divisions and roots are right for any operands and have no branch.
    pub fn with_full_range<R>(&mut self, wanted: bool, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.scope.full_range, wanted);
        let made = code(self);
        self.scope.full_range = before;
        made
    }
}
