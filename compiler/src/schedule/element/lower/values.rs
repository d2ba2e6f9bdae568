//! Values: lowers a node of core IR to an expression of kernel IR, and binds it to a register if it
//! is used several times.

use super::builder::bind_node;
use super::region::{Record, Region};
use super::{Lower, MAX_DEPTH, MAX_OF_EACH, MAX_WRITTEN, Operand, UnlikelyArms};
use crate::budget;
use crate::core::labels::{LabelSet, Says};
use crate::core::records::{WORDS_OF_COMPUTED, WORDS_OF_NUMBER, promised_number, words_of_test};
use crate::core::{NodeId, Op};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Stmt};
use crate::loc::Loc;
use crate::plan::{Place, sites};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::element::{approximate, division, nested_loop, slow_path};

/// The number of operations that are written between two checks of the budget.
const BETWEEN_CHECKS: usize = 1024;

/// What error records say.
const DIVISION: &str = "an integer is divided by zero";

impl Lower<'_, '_, '_> {
    /// Returns the value of a node, and the depth of its expression.
    pub(in crate::schedule) fn value(&mut self, n: NodeId, r: &mut Region) -> Result<(Expr, u32)> {
        if let Some(known) = r.memo.get(&n) {
            return Ok(known.clone());
        }
        if let Some(l) = self.launch.g.as_lit(n) {
            return Ok((Expr::Lit(l), 0));
        }
        if self.launch.g.is_closed(n) {
            // kernels have no elementary functions, and those of host scalars are not expanded
            let passes = !self.scope.computes_hosts || self.launch.is_passed(n);
            if self.launch.is_host(n) && (passes || self.launch.g.op(n).is_elementary()) {
                return Ok((self.launch.host(n), 0));
            }
            if let Some(place) = self.launch.crossing(n)
                && self.k.once
            {
                return self.slot_in(n, place).map(|e| (e, 0));
            }
            if self.launch.crossing(n).is_some() || self.is_invariant(n) {
                return self.hoisted(n).map(|e| (e, 0));
            }
        }
        let (e, depth) = match slow_path::value(self, n, r)? {
            Some(known) => known,
            None => self.compute(n, r)?,
        };
        let shared = r.uses.of(n) != 1 || self.launch.g.node(n).bound || depth > MAX_DEPTH;
        if shared {
            let known = (bind_node(&mut self.k.kernel, &self.launch.g, n, e, &mut r.out), 1);
            r.memo.insert(n, known.clone());
            return Ok(known);
        }
        // a value that is used once is remembered only if something may need it again: the condition of an error
        // record, a nested operation, or a branch that serves several selects
        if self.launch.facts.nested
            || r.may_ask_again(&self.launch.g, n)
            || matches!(self.launch.g.op(n), Op::Select(..))
        {
            r.memo.insert(n, (e.clone(), depth + 1));
        }
        Ok((e, depth + 1))
    }

    fn slot_in(&mut self, n: NodeId, place: Place) -> Result<Expr> {
        let name = match place {
            Place::Temp(i) => format!("from_s{i}"),
            _ => return Err(Error::bug("E0403", format!("{place:?} is no scalar temporary"))),
        };
        let ty = self.launch.g.ty(n).elem;
        let signature = &mut self.launch.signature;
        let slot = match signature.slots.get_index_of(&Operand::Read(place)) {
            Some(known) => known,
            None => signature.slots.insert_full(Operand::Read(place), (signature.unused(name), ty)).0,
        };
        Ok(Expr::Slot(slot as u32))
    }

    /// Computes a node once, in the prologue, and returns its value.
    fn hoisted(&mut self, n: NodeId) -> Result<Expr> {
        if let Some(e) = self.k.invariant.get(&n) {
            return Ok(e.clone());
        }
        // operands of this value are also computed in the prologue, and found there
        let mut r = Region::at(&Expr::int(0));
        // the prologue computes unlikely arms, even if the loop leaves them out
        let (e, _) = self.on_path(UnlikelyArms::default(), |l| match l.launch.crossing(n) {
            Some(place) => l.slot_in(n, place),
            None => match slow_path::value(l, n, &mut r)? {
                Some(known) => Ok(known.0),
                None => Ok(l.compute(n, &mut r)?.0),
            },
        });
        let e = e?;
        let e = bind_node(&mut self.k.kernel, &self.launch.g, n, e, &mut r.out);
        self.k.prologue.append(&mut r.out);
        self.k.invariant.insert(n, e.clone());
        Ok(e)
    }

    /// Counts an operation that is generated, and returns an error if the variant has too many.
    fn written(&mut self, n: NodeId) -> Result<()> {
        let s = &mut *self.launch.scheduler;
        let written = &mut s.size.written;
        *written += 1;
        if written.is_multiple_of(BETWEEN_CHECKS) {
            budget::check().map_err(|e| e.at(self.launch.g.node(n).loc.first()))?;
        }
        if *written <= MAX_WRITTEN + MAX_OF_EACH * s.f.graph.len() {
            return Ok(());
        }
        let what = "nested operations are written out several times for each operation around them, which is more code here than compiles in reasonable time";
        let advice = "`materialize` what is reduced, or what does not depend on the innermost element, or reduce in fewer levels";
        let message = format!("{}: {what}; {advice}", s.f.name);
        Err(Error::limit("E0405", message).at(self.launch.g.node(n).loc.first()))
    }

    fn compute(&mut self, n: NodeId, r: &mut Region) -> Result<(Expr, u32)> {
        self.written(n)?;
        let op = self.launch.g.op(n).clone();
        if let Some(m) = approximate::of_target(&mut self.launch.g, &op, self.k.is_gpu()) {
            // count a use of the expansion, so that it stays inside its expression if this is its only use
            r.uses.add(m);
            return self.value(m, r);
        }
        if self.scope.full_range
            && !self.launch.g.is_closed(n)
            && let Some(m) = division::full_range(&mut self.launch.g, &op)
        {
            r.uses.add(m);
            // the expansion of a root uses the operand several times
            if let Op::Unary(_, x) = op {
                r.uses.add(x);
            }
            return self.value(m, r);
        }
        if let Op::At(x, i) | Op::Elem(x, i) = op {
            return self.read(n, x, &i, r);
        }
        if op.is_loop() {
            return nested_loop::value(self, n, r).map(|e| (e, 0));
        }
        if let Op::Within(i, len, _) = op {
            return self.inside(n, i, len, r).map(|e| (e, 0));
        }
        if let Op::Leave(label, labels) = op {
            return self.left(n, label, &labels, r).map(|e| (e, 0));
        }
        let mut depth = 0;
        let mut operands: [Option<Box<Expr>>; 3] = [None, None, None];
        for (operand, o) in operands.iter_mut().zip(op.operands()) {
            let (e, d) = self.value(o, r)?;
            *operand = Some(Box::new(e));
            depth = depth.max(d);
        }
        let mut it = operands.into_iter().flatten();
        let mut next = || it.next().unwrap_or_else(|| Box::new(Expr::int(0)));
        let e = match op {
            Op::Unary(UnaryOp::Unlikely, _) => *next(),
            Op::Unary(op, _) => Expr::Unary(op, next()),
            Op::Binary(op, ..) => {
                let (a, b) = (next(), next());
                if self.launch.g.op(n).may_record(&self.launch.g) {
                    let zero = Expr::Lit(Lit::zero(self.k_ty(&b)));
                    let bad = Expr::Binary(BinaryOp::Eq, b.clone(), Box::new(zero));
                    self.record(n, DIVISION.into(), bad, r);
                }
                Expr::Binary(op, a, b)
            }
            Op::MulAdd(..) => Expr::MulAdd(next(), next(), next()),
            Op::Select(..) => Expr::Select(next(), next(), next()),
            Op::Cast(ty, _) => Expr::Cast(ty, next()),
            op => return Err(Error::bug("E0404", format!("{op:?} inside a kernel"))),
        };
        Ok((e, depth))
    }

    /// Emits the test 0 <= i < len, with an error record if it fails, and returns its result.
    pub(super) fn inside(&mut self, n: NodeId, i: NodeId, len: NodeId, r: &mut Region) -> Result<Expr> {
        let index = self.value(i, r)?.0;
        let len = self.value(len, r)?.0;
        let low = Expr::binary(BinaryOp::Ge, index.clone(), Expr::int(0));
        let high = Expr::binary(BinaryOp::Lt, index, len);
        let reg = self.k.reg("inside", Ty::Bool);
        r.out.push(Stmt::Let(reg, Expr::binary(BinaryOp::And, low, high), self.launch.g.node(n).loc.clone()));
        let bad = Expr::Unary(UnaryOp::Not, Box::new(Expr::Reg(reg)));
        if let Some(numbers) = promised_number(&self.launch.g, n) {
            let mut both = Vec::new();
            for n in numbers {
                both.push(self.value(n, r)?.0);
            }
            self.record_numbers(n, (WORDS_OF_NUMBER, both), bad, r);
            return Ok(Expr::Reg(reg));
        }
        let what = match *self.launch.g.op(n) {
            Op::At(x, _) if self.launch.is_param(x) => self.read_of(x),
            _ => words_of_test(&self.launch.g, n).unwrap_or(WORDS_OF_COMPUTED).into(),
        };
        self.record(n, what, bad, r);
        Ok(Expr::Reg(reg))
    }

    /// Emits the test that there is a label, with the error records of the places that the label may name. Returns
    /// its result.
    fn left(&mut self, n: NodeId, label: NodeId, labels: &LabelSet, r: &mut Region) -> Result<Expr> {
        let value = self.value(label, r)?.0;
        let label = bind_node(&mut self.k.kernel, &self.launch.g, label, value, &mut r.out);
        let number = |bits: u32| Expr::Lit(Lit { ty: Ty::U32, bits: bits.into() });
        let is_left = Expr::binary(BinaryOp::Ne, label.clone(), number(0));
        for of in labels.labels() {
            let Some(place) = self.launch.g.labels().place(of).cloned() else { continue };
            let bad = match labels.is_one() {
                true => is_left.clone(),
                false => Expr::binary(BinaryOp::Eq, label.clone(), number(of)),
            };
            let what = match &place.says {
                Says::Param(i) if self.launch.is_param(NodeId(*i)) => self.read_of(NodeId(*i)),
                Says::Param(_) | Says::Read => WORDS_OF_COMPUTED.into(),
                Says::Division => DIVISION.into(),
                Says::Words(words) => words.to_string(),
            };
            self.record_at(n, said(&what, place.loc.as_ref()), bad, r);
        }
        Ok(is_left)
    }

    /// Adds an error record for `n`, to be left if `bad` holds on a path that needs `n`.
    fn record(&mut self, n: NodeId, what: String, bad: Expr, r: &mut Region) {
        let text = said(&what, self.launch.g.node(n).loc.first());
        self.record_at(n, text, bad, r);
    }

    /// Adds an error record with this text, which `n` leaves.
    fn record_at(&mut self, n: NodeId, text: String, bad: Expr, r: &mut Region) {
        let Some(&condition) = r.conditions.get(&n) else { return };
        let site = self.launch.signature.sites.insert_full(text).0 as u32;
        r.records.push(Record { site, condition, bad, number: None });
    }

    /// Leaves an error record that names two numbers instead of an element ([`sites`]).
    fn record_numbers(&mut self, n: NodeId, (what, numbers): (&str, Vec<Expr>), bad: Expr, r: &mut Region) {
        let Some(&condition) = r.conditions.get(&n) else { return };
        let text = said(what, self.launch.g.node(n).loc.first());
        for (text, number) in [text.clone(), sites::second(&text)].into_iter().zip(numbers) {
            let site = self.launch.signature.sites.insert_full(text).0 as u32;
            r.records.push(Record { site, condition, bad: bad.clone(), number: Some(number) });
        }
    }

    /// Returns the text of an error record of a read of the caller's array.
    fn read_of(&self, x: NodeId) -> String {
        format!("a read of {} is out of range", self.launch.array_name(x))
    }
}

/// Returns the text of an error record with the author's line.
fn said(what: &str, place: Option<&Loc>) -> String {
    let place = place.map(|l| format!(" ({l})")).unwrap_or_default();
    format!("{what}{place}")
}
