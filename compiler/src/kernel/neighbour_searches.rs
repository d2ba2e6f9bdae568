//! Binary searches of neighbouring elements in sorted numbers. Each element looks for the first number that is not
//! below (or is above) its own index, between bounds that a block of elements has in common. Such a loop becomes one
//! linear search through the numbers of the block: an element begins where the one before it has ended.
//!
//! ```text
//! for %i { var %lo = bounds[div(%i, 64)]  var %hi = bounds[add(div(%i, 64), 1)]
//!          while lt(%lo, %hi) { let %m = shr(add(%lo, %hi), 1)  let %t = ge(keys[%m], %i)
//!                               %lo = select(%t, %lo, add(%m, 1))  %hi = select(%t, %m, %hi) }
//!          out[%i] = %lo }
//! ->
//! while lt(%at, %end) {
//!     let %b = div(%at, 64)  let %last = min(mul(add(%b, 1), 64), %end)
//!     let %lo = bounds[%b]  let %hi = bounds[add(%b, 1)]
//!     for %j = %lo to sub(%hi, 1) { %bad = or(%bad, gt(keys[%j], keys[add(%j, 1)])) }
//!     if eq(%bad, 0) { var %k = %lo
//!         seq %i = %at to %last { while .. keys[%k] < %i .. { %k = add(%k, 1) }  out[%i] = %k } }
//!     else { the loop as it is, from %at to %last }
//!     %at = %last }
//! ```
//!
//! Nothing is promised about the numbers: those of a block are compared first, and if they do not ascend the elements
//! search as they did. If they ascend, both searches find the same number. A block that has many more numbers than
//! elements keeps the binary search, too.
//!
//! This pass is for CPUs only. It keeps what stands before and behind the search of an element.

use super::clone_body::{Renaming, copied, declared};
use super::parts::{each_expression, operations};
use super::{Expr, Kernel, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// The maximum number of operations of a body, which the pass writes twice.
const LONGEST: usize = 400;
/// A block is searched linearly if it has at most so many numbers for each element, and so many more (measured:
/// `bench/NOTES.md`, "Groups and segments on one thread").
const NUMBERS: i64 = 16;
const MORE: i64 = 32;
/// A binary search of 64 steps ends, whatever the number of elements.
const ENOUGH: i64 = 64;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(block);
}

fn block(k: &mut Kernel, body: &mut Vec<Stmt>) {
    for mut s in std::mem::take(body) {
        let found = match &s {
            Stmt::For(c, _, _, inner) if operations(inner) <= LONGEST => Search::of(k, *c, inner),
            _ => None,
        };
        match found {
            Some(search) => walks(k, &search, &s, body),
            None => {
                s.blocks_mut().for_each(|b| block(k, b));
                body.push(s);
            }
        }
    }
}

/// The search of an element, and what stands around it.
struct Search {
    counter: Reg,
    before: Vec<Stmt>,
    behind: Vec<Stmt>,
    /// The variable that holds the number that is found.
    found: Reg,
    /// The number of elements with the same bounds; `None` if all have the same.
    block: Option<i64>,
    bounds: [Expr; 2],
    /// A number of the sorted ones, at the index `middle`.
    key: Expr,
    middle: Expr,
    /// What the first number that is found is, compared with the index of the element: `Ge` or `Gt`.
    compared: BinaryOp,
}

impl Search {
    /// Returns the search of a loop's body, if its first loop is one.
    fn of(k: &Kernel, counter: Reg, body: &[Stmt]) -> Option<Search> {
        let place = body.iter().position(Stmt::has_loop)?;
        let Stmt::While(condition, steps) = &body[place] else { return None };
        let states = States::of(condition)?;
        let (before, behind) = (&body[..place], &body[place + 1..]);
        let is_state = |r: Reg| [Some(states.low), Some(states.high), states.step].contains(&Some(r));
        let is_plain = |s: &Stmt| match s {
            Stmt::Let(..) | Stmt::Note(_) => true,
            Stmt::Var(r, _) => is_state(*r),
            _ => false,
        };
        let mut is_needed = false;
        each_expression(behind, &mut |e| {
            is_needed |= matches!(e, Expr::Reg(r) if *r != states.low && is_state(*r));
        });
        each_assigned(behind, &mut |r| is_needed |= is_state(r));
        let begins =
            |r: Reg| first_value(before, r).is_some_and(|e| matches!(e, Expr::Lit(n) if n.bits == 0));
        if is_needed || !before.iter().all(is_plain) || !states.step.is_none_or(begins) {
            return None;
        }
        let (key, compared) = states.key(steps, counter)?;
        let own: Vec<Reg> = declared(body).into_iter().chain([counter]).collect();
        let is_common = |e: &Expr| !own.iter().any(|r| mentions(e, *r));
        let mut block = None;
        let mut bound = |r: Reg| {
            let e = inlined(first_value(before, r)?, before);
            find_block(&e, counter, &mut block)?;
            let mut of_block = e.clone();
            if let Some(size) = block {
                replace(&mut of_block, &number(counter, size), &Expr::int(0));
            }
            is_common(&of_block).then_some(e)
        };
        let bounds = [bound(states.low)?, bound(states.high)?];
        let middle = states.middle();
        let mut of_any = key.clone();
        replace(&mut of_any, &middle, &Expr::int(0));
        let stores_keys = body.iter().any(|s| stores(s, &key));
        if stores_keys || !is_common(&of_any) || k.ty(&key) != Ty::I64 {
            return None;
        }
        let before = before.iter().filter(|s| matches!(s, Stmt::Let(..))).cloned().collect();
        let (behind, found) = (behind.to_vec(), states.low);
        Some(Search { counter, before, behind, found, block, bounds, key, middle, compared })
    }

    /// Returns the number at an index.
    fn key(&self, at: Expr) -> Expr {
        let mut key = self.key.clone();
        replace(&mut key, &self.middle, &at);
        key
    }
}

/// The variables of a search.
struct States {
    low: Reg,
    high: Reg,
    /// The number of steps, which is below a limit that no search reaches.
    step: Option<Reg>,
}

impl States {
    /// Returns the variables of `and(lt(step, 64), lt(low, high))`, or of `lt(low, high)`.
    fn of(condition: &Expr) -> Option<States> {
        let below = |e: &Expr| match e {
            Expr::Binary(BinaryOp::Lt, a, b) => Some(((**a).clone(), (**b).clone())),
            _ => None,
        };
        let (step, range) = match condition {
            Expr::Binary(BinaryOp::And, a, b) => (Some(below(a)?), below(b)?),
            range => (None, below(range)?),
        };
        let step = match step {
            None => None,
            Some((Expr::Reg(step), limit)) if limit.constant()? >= ENOUGH => Some(step),
            Some(_) => return None,
        };
        let (Expr::Reg(low), Expr::Reg(high)) = range else { return None };
        Some(States { low, high, step })
    }

    /// The index at which a step looks.
    fn middle(&self) -> Expr {
        let sum = Expr::Reg(self.low).plus(Expr::Reg(self.high));
        Expr::binary(BinaryOp::Shr, sum, Expr::int(1))
    }

    /// Reads the steps of a search. Returns the number that they compare with the index of the element, and how.
    fn key(&self, steps: &[Stmt], counter: Reg) -> Option<(Expr, BinaryOp)> {
        let is_plain = |s: &Stmt| matches!(s, Stmt::Let(..) | Stmt::Assign(..) | Stmt::Note(_));
        let assigned = |r: Reg| {
            let mut all = steps.iter().filter_map(|s| match s {
                Stmt::Assign(to, e) if *to == r => Some(inlined(e.clone(), steps)),
                _ => None,
            });
            all.next().filter(|_| all.next().is_none())
        };
        let (low, high, middle) = (Expr::Reg(self.low), Expr::Reg(self.high), self.middle());
        let Expr::Select(is_behind, kept, above) = assigned(self.low)? else { return None };
        let next = middle.clone().plus(Expr::int(1));
        if *kept != low
            || *above != next
            || assigned(self.high)? != (*is_behind).clone().select(middle.clone(), high)
            || !steps.iter().all(is_plain)
            || steps.iter().filter(|s| matches!(s, Stmt::Assign(..))).count() != 2 + self.step.iter().count()
            || !assigns_last(steps)
        {
            return None;
        }
        let is_next = |step: Reg| match assigned(step) {
            Some(Expr::Binary(BinaryOp::Add, a, b)) => *a == Expr::Reg(step) && b.constant() == Some(1),
            _ => false,
        };
        if !self.step.is_none_or(is_next) {
            return None;
        }
        let index = Expr::Reg(counter);
        match *is_behind {
            Expr::Binary(op @ (BinaryOp::Ge | BinaryOp::Gt), key, i) if *i == index => Some((*key, op)),
            Expr::Binary(BinaryOp::Le, i, key) if *i == index => Some((*key, BinaryOp::Ge)),
            Expr::Binary(BinaryOp::Lt, i, key) if *i == index => Some((*key, BinaryOp::Gt)),
            _ => None,
        }
    }
}

/// Whether no statement reads a variable after it was assigned: assignments of registers come last.
fn assigns_last(steps: &[Stmt]) -> bool {
    let mut assigned = Vec::new();
    steps.iter().all(|s| {
        let mut is_old = true;
        s.expressions(&mut |e| is_old &= !assigned.iter().any(|r| mentions(e, *r)));
        if let Stmt::Assign(r, _) = s {
            assigned.push(*r);
        }
        is_old
    })
}

/// Returns the value with which a variable is declared.
fn first_value(body: &[Stmt], r: Reg) -> Option<Expr> {
    body.iter().find_map(|s| match s {
        Stmt::Var(to, e) if *to == r => Some(e.clone()),
        _ => None,
    })
}

/// Returns the expression without the registers that the statements define once.
fn inlined(mut e: Expr, body: &[Stmt]) -> Expr {
    for s in body.iter().rev() {
        if let Stmt::Let(r, value, _) = s {
            replace(&mut e, &Expr::Reg(*r), value);
        }
    }
    e
}

fn replace(e: &mut Expr, from: &Expr, to: &Expr) {
    if e == from {
        *e = to.clone();
        return;
    }
    e.children_mut(|child| replace(child, from, to));
}

fn mentions(e: &Expr, r: Reg) -> bool {
    let mut found = *e == Expr::Reg(r);
    e.children(|child| found = found || mentions(child, r));
    found
}

/// Calls `f` on the registers that statements assign.
fn each_assigned(body: &[Stmt], f: &mut dyn FnMut(Reg)) {
    for s in body {
        if let Stmt::Assign(r, _) = s {
            f(*r);
        }
        s.blocks().into_iter().for_each(|b| each_assigned(b, f));
    }
}

/// The number of an element's block of so many elements. The indices of elements are not negative.
fn number(counter: Reg, size: i64) -> Expr {
    Expr::binary(BinaryOp::Div, Expr::Reg(counter), Expr::int(size))
}

/// Finds the size of the blocks on whose number an expression depends. Returns `None` if there are two sizes.
fn find_block(e: &Expr, counter: Reg, found: &mut Option<i64>) -> Option<()> {
    if let Expr::Binary(BinaryOp::Div, _, by) = e
        && let Some(size) = by.constant().filter(|size| *size > 0)
        && *e == number(counter, size)
    {
        let is_one = found.is_none_or(|other| other == size);
        *found = Some(size);
        return is_one.then_some(());
    }
    let mut is_one = Some(());
    e.children(|child| is_one = is_one.and_then(|()| find_block(child, counter, found)));
    is_one
}

/// Whether a statement stores to a memory that an expression reads.
fn stores(s: &Stmt, key: &Expr) -> bool {
    fn loads(e: &Expr, from: Mem) -> bool {
        let mut found = matches!(e, Expr::Load(m, _) | Expr::LoadIf(m, ..) if *m == from);
        e.children(|child| found = found || loads(child, from));
        found
    }
    let own = matches!(s, Stmt::Store(to, ..) | Stmt::Update(_, to, ..) if loads(key, *to));
    own || s.blocks().into_iter().flatten().any(|s| stores(s, key))
}

/// Adds the loop over blocks.
fn walks(k: &mut Kernel, search: &Search, whole: &Stmt, out: &mut Vec<Stmt>) {
    let Stmt::For(counter, from, to, body) = whole else { return };
    let [at, last, low, high, width] =
        ["at", "last", "low", "high", "width"].map(|name| k.reg(name, Ty::I64));
    let value = |r: Reg, e: Expr| Stmt::Let(r, e, Default::default());
    let (mut body_of_block, mut end, mut bounds) = (Vec::new(), to.clone(), search.bounds.clone());
    if let Some(size) = search.block {
        let block = k.reg("block", Ty::I64);
        body_of_block.push(value(block, number(at, size)));
        end = Expr::Reg(block).plus(Expr::int(1)).times(Expr::int(size)).min(end);
        let own = number(search.counter, size);
        bounds.iter_mut().for_each(|e| replace(e, &own, &Expr::Reg(block)));
    }
    let [first_bound, last_bound] = bounds;
    let elements = Expr::Reg(last).minus(Expr::Reg(at));
    let most = elements.times(Expr::int(NUMBERS)).plus(Expr::int(MORE));
    body_of_block.extend([
        value(last, end),
        value(low, first_bound),
        value(high, last_bound),
        value(width, Expr::Reg(high).minus(Expr::Reg(low))),
    ]);
    let is_short = Expr::binary(
        BinaryOp::And,
        Expr::binary(BinaryOp::Le, Expr::int(0), Expr::Reg(width)),
        Expr::binary(BinaryOp::Le, Expr::Reg(width), most),
    );
    let searched = copied(k, &[Stmt::For(*counter, Expr::Reg(at), Expr::Reg(last), body.clone())]);
    let bad = k.reg("bad", Ty::U32);
    let zero = Expr::Lit(Lit::zero(Ty::U32));
    let ascends = {
        let i = k.reg("k", Ty::I64);
        let falls =
            Expr::binary(BinaryOp::Gt, search.key(Expr::Reg(i)), search.key(Expr::Reg(i).plus(Expr::int(1))));
        let any = Expr::binary(BinaryOp::Or, Expr::Reg(bad), Expr::Cast(Ty::U32, Box::new(falls)));
        Stmt::For(i, Expr::Reg(low), Expr::Reg(high).minus(Expr::int(1)), vec![Stmt::Assign(bad, any)])
    };
    let is_long = Expr::Cast(Ty::U32, Box::new(Expr::Unary(UnaryOp::Not, Box::new(is_short.clone()))));
    body_of_block.push(Stmt::Var(bad, is_long));
    body_of_block.push(Stmt::If(is_short, vec![ascends], vec![]));
    let walk = walk(k, search, [at, last], [low, high]);
    body_of_block.push(Stmt::If(Expr::binary(BinaryOp::Eq, Expr::Reg(bad), zero), walk, searched));
    body_of_block.push(Stmt::Assign(at, Expr::Reg(last)));
    out.push(Stmt::Var(at, from.clone()));
    out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(at), to.clone()), body_of_block));
}

/// Returns the loop over the elements of a block that walks through its numbers.
fn walk(k: &mut Kernel, search: &Search, [at, last]: [Reg; 2], [low, high]: [Reg; 2]) -> Vec<Stmt> {
    let (place, key) = (k.reg("k", Ty::I64), k.reg("key", Ty::I64));
    let is_more = k.reg("more", Ty::Bool);
    let number = |to: Expr| Stmt::Assign(key, search.key(to));
    let is_below = |place: Expr| Expr::binary(BinaryOp::Lt, place, Expr::Reg(high));
    let counter = k.like(search.counter);
    // the number at `k` is the next one that an element may stop at
    let passed = match search.compared {
        BinaryOp::Ge => Expr::binary(BinaryOp::Lt, Expr::Reg(key), Expr::Reg(counter)),
        _ => Expr::binary(BinaryOp::Le, Expr::Reg(key), Expr::Reg(counter)),
    };
    let step = vec![
        Stmt::Assign(place, Expr::Reg(place).plus(Expr::int(1))),
        Stmt::Assign(is_more, is_below(Expr::Reg(place))),
        Stmt::If(Expr::Reg(is_more), vec![number(Expr::Reg(place))], vec![]),
    ];
    let goes_on = Expr::binary(BinaryOp::And, Expr::Reg(is_more), passed);
    let mut renaming = Renaming::default();
    let (before, behind) = (&search.before, &search.behind);
    renaming.set(k, &[&before[..], behind].concat());
    renaming.replace(search.counter, counter);
    renaming.replace(search.found, place);
    let mut body = renaming.block(before);
    body.push(Stmt::While(goes_on, step));
    body.extend(renaming.block(behind));
    vec![
        Stmt::Var(place, Expr::Reg(low)),
        Stmt::Var(is_more, is_below(Expr::Reg(low))),
        Stmt::Var(key, Expr::int(0)),
        Stmt::If(Expr::Reg(is_more), vec![number(Expr::Reg(low))], vec![]),
        Stmt::Seq(counter, Expr::Reg(at), Expr::Reg(last), body),
    ]
}
