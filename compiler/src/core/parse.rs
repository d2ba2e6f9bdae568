//! Reads the text form of core IR (`docs/ir.md`). The input is not trusted: every error is a value
//! that contains the line.

mod labels;
mod sorts;

use super::MAX_RANK;
use super::{
    Check, Form, Function, Lambda, NodeId, Op, Output, Param, Require, Rule, ScanPart, StencilHint, Tested,
    Type,
};
use crate::error::Result;
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use crate::text::{Cursor, Token};
use rustc_hash::FxHashMap as HashMap;
use std::sync::Arc;

/// Returns all functions of a text, in order.
pub fn parse(text: &str) -> Result<Vec<Function>> {
    let mut c = Cursor::new(text)?;
    let mut functions = Vec::new();
    while !c.is_done() {
        c.expect("func")?;
        functions.push(function(&mut c)?);
    }
    Ok(functions)
}

/// Returns the function of a text that has one.
pub fn parse_one(text: &str) -> Result<Function> {
    let mut c = Cursor::new(text)?;
    c.expect("func")?;
    let f = function(&mut c)?;
    if c.is_done() { Ok(f) } else { Err(c.error("a function ends before")) }
}

struct Parser<'c> {
    c: &'c mut Cursor,
    f: Function,
    names: HashMap<String, NodeId>,
    /// The meanings that names had before the enclosing regions redefined them, innermost last.
    hidden: Vec<(String, Option<NodeId>)>,
}

fn function(c: &mut Cursor) -> Result<Function> {
    let name = c.global()?;
    c.expect("(")?;
    let params = c.list(")", |c| {
        let name = c.value()?;
        c.expect(":")?;
        Ok(Param { name, ty: c.ty()? })
    })?;
    c.expect("->")?;
    c.expect("(")?;
    let results = c.list(")", |c| {
        let name = c.word()?;
        c.expect(":")?;
        Ok((name, c.ty()?))
    })?;
    let fast = c.eat("fast");
    let tensor_cores = c.eat("tensor_cores");
    let stencil = if c.eat("stencil") { Some(stencil_hint(c)?) } else { None };
    c.expect("{")?;
    let names = params.iter().zip(0..).map(|(p, i)| (p.name.clone(), NodeId(i))).collect();
    let mut p = Parser { c, f: Function::new(&name, params), names, hidden: Vec::new() };
    (p.f.fast, p.f.tensor_cores, p.f.stencil) = (fast, tensor_cores, stencil);
    while !p.c.eat("return") {
        if p.c.eat("step") {
            let step = p.c.nested(function)?;
            p.f.steps.push(Arc::new(step));
        } else if p.c.eat("require") {
            p.require()?;
        } else {
            p.statement()?;
        }
    }
    let values = p.c.list("}", |c| operand(c, &p.names, &mut p.f))?;
    if values.len() != results.len() {
        return Err(p.c.error(format!(
            "@{name} declares {} results and returns {}",
            results.len(),
            values.len()
        )));
    }
    for ((name, ty), value) in results.into_iter().zip(values) {
        if p.f.graph.ty(value) != ty {
            return Err(p.c.error(format!("result {name} is declared {ty} and is {}", p.f.graph.ty(value))));
        }
        p.f.results.push(Output { name, value });
    }
    Ok(p.f)
}

impl Cursor {
    /// Reads a type: `f32`, `[f32]`, `[[f32]]`.
    pub fn ty(&mut self) -> Result<Type> {
        let mut rank = 0;
        while rank < MAX_RANK && self.eat("[") {
            rank += 1;
        }
        let elem = self.elem()?;
        (0..rank).try_for_each(|_| self.expect("]"))?;
        Ok(Type::array(elem, rank))
    }
}

fn stencil_hint(c: &mut Cursor) -> Result<StencilHint> {
    let word = c.word()?;
    let found = StencilHint::ALL.iter().find(|s| s.1 == word).map(|s| s.0);
    found.ok_or_else(|| c.error(format!("`{word}` is no strategy for stencils")))
}

fn operand(c: &mut Cursor, names: &HashMap<String, NodeId>, f: &mut Function) -> Result<NodeId> {
    if let Some(l) = c.literal()? {
        return Ok(f.graph.lit(l));
    }
    let name = c.value()?;
    names.get(&name).copied().ok_or_else(|| c.error(format!("%{name} is not defined here")))
}

impl Parser<'_> {
    fn operand(&mut self) -> Result<NodeId> {
        operand(self.c, &self.names, &mut self.f)
    }

    fn after(&mut self, word: &str) -> Result<NodeId> {
        self.c.expect(word)?;
        self.operand()
    }

    /// Reads an operand and the comma after it.
    fn after_comma(&mut self) -> Result<NodeId> {
        let n = self.operand()?;
        self.c.expect(",")?;
        Ok(n)
    }

    /// Reads one operand for each dimension.
    fn more(&mut self) -> Result<Vec<NodeId>> {
        let mut all = vec![self.operand()?];
        while all.len() < MAX_RANK && self.c.eat(",") {
            all.push(self.operand()?);
        }
        Ok(all)
    }

    /// Reads operands, at least one.
    fn operands(&mut self) -> Result<Vec<NodeId>> {
        let mut all = vec![self.operand()?];
        while self.c.eat(",") {
            all.push(self.operand()?);
        }
        Ok(all)
    }

    fn small(&mut self) -> Result<u8> {
        let n = self.c.number()?;
        u8::try_from(n).map_err(|_| self.c.error("there are not so many axes"))
    }

    /// Reads what a test of an index is about; no text means that it is about an index.
    fn tested(&mut self) -> Tested {
        let said = |tested: &Tested| tested.word().is_some_and(|word| self.c.eat(word));
        Tested::ALL.into_iter().find(said).unwrap_or(Tested::Index)
    }

    /// Reads `axis 1`; no text means axis 0.
    fn axis(&mut self) -> Result<u8> {
        if self.c.eat("axis") { self.small() } else { Ok(0) }
    }

    fn require(&mut self) -> Result<()> {
        let word = self.c.word()?;
        let rule = Rule::ALL.iter().find(|r| r.1 == word).map(|r| r.0);
        let rule = rule.ok_or_else(|| self.c.error(format!("`{word}` is no shape rule")))?;
        let (a, b) = (self.operand()?, self.after(",")?);
        if [a, b].iter().any(|n| self.f.graph.ty(*n) != Type::scalar(Ty::I64)) {
            return Err(self.c.error("a shape rule is about i64 scalars"));
        }
        let subject = self.c.string()?;
        let loc = self.c.place();
        self.f.requires.push(Require { rule, a, b, subject, loc });
        Ok(())
    }

    /// Reads `["let"] %id = op [loc]`.
    fn statement(&mut self) -> Result<()> {
        let bound = self.c.eat("let");
        let name = self.c.value()?;
        self.c.expect("=")?;
        let op = self.op()?;
        let loc = self.c.place();
        let before = self.f.graph.set_loc(loc);
        let node = self.f.graph.try_add(op).map_err(|e| self.c.error(format!("%{name}: {e}")))?;
        self.f.graph.set_loc(before);
        if bound {
            self.f.graph.mark_bound(node);
        }
        self.name(name, node);
        Ok(())
    }

    /// Gives a name a meaning in the enclosing region.
    fn name(&mut self, name: String, node: NodeId) {
        let before = self.names.insert(name.clone(), node);
        self.hidden.push((name, before));
    }

    fn op(&mut self) -> Result<Op> {
        if let Some(Token::Number(_)) = self.c.peek() {
            return Err(self.c.error("a literal needs no name: write it as an operand"));
        }
        let word = self.c.word()?;
        Ok(match word.as_str() {
            "mul_add" => Op::MulAdd(self.operand()?, self.after(",")?, self.after(",")?),
            "select" => Op::Select(self.operand()?, self.after(",")?, self.after(",")?),
            "cast" => Op::Cast(self.c.elem()?, self.operand()?),
            "stage" => Op::Stage(self.operand()?),
            "turn" => Op::Turn,
            "checked" => Op::Checked,
            "len" => Op::Len(self.operand()?, self.axis()?),
            "at" => Op::At(self.after_comma()?, self.more()?),
            "elem" => Op::Elem(self.after_comma()?, self.more()?),
            "within" => Op::Within(self.operand()?, self.after(",")?, self.tested()),
            "leave" => Op::Leave(self.operand()?, self.labels()?),
            "reverse" => Op::Reverse(self.operand()?, self.axis()?),
            "permute" => {
                let src = self.operand()?;
                self.c.expect("to")?;
                let mut axes = vec![self.small()?];
                while self.c.eat(",") {
                    axes.push(self.small()?);
                }
                Op::Permute(src, axes)
            }
            "pick" => Op::Pick { src: self.operand()?, axis: self.axis()?, index: self.after("at")? },
            "spread" => Op::Spread { src: self.operand()?, axis: self.axis()?, n: self.after("by")? },
            "iota" => Op::Iota(self.operand()?),
            "argsort" => Op::Argsort(self.operand()?),
            "place" => {
                let src = self.operand()?;
                Op::Place { at: self.after("at")?, src }
            }
            "put" => {
                let src = self.operand()?;
                let (at, base) = (self.after("at")?, self.after("over")?);
                Op::Put { at, src, base, after: self.after("after")? }
            }
            "bins" => self.bins()?,
            name @ ("digit_counts" | "digit_ends" | "by_digit") => self.step_of_sort(name)?,
            "materialize" => Op::Materialize(self.operand()?),
            "fill" => Op::Fill(self.operand()?, self.after(",")?),
            "slice" => Op::Slice {
                src: self.operand()?,
                axis: self.axis()?,
                start: self.after("from")?,
                stop: self.after("to")?,
                stride: self.after("by")?,
            },
            "panel_dot" => {
                Op::PanelDot { init: self.after("from")?, a: self.after("over")?, b: self.after(",")? }
            }
            "dot" => Op::Dot { init: self.after("from")?, a: self.after("over")?, b: self.after(",")? },
            "squared_deviations" => {
                Op::SquaredDeviations { init: self.after("from")?, src: self.after("over")? }
            }
            "iterate" => self.iterate()?,
            "tuple" => Op::Tuple(self.operands()?),
            "loop" => {
                let which = self.small()?.into();
                let binders = self.binders()?;
                let count = self.after("by")?;
                self.c.expect("from")?;
                let init = self.operands()?;
                Op::Loop { step: self.region(binders)?, which, count, init }
            }
            "generate" => {
                let extents = self.more()?;
                let binders = self.binders()?;
                Op::Generate(extents, self.region(binders)?)
            }
            "map" => {
                let binders = self.binders()?;
                let mut srcs = vec![self.after("over")?];
                while self.c.eat(",") {
                    srcs.push(self.operand()?);
                }
                Op::Map(self.region(binders)?, srcs)
            }
            "reduce" | "reduce_ordered" | "fold" | "scan" | "scan_totals" | "scan_before" | "scan_tiles" => {
                let which = match self.c.peek() {
                    Some(Token::Number(_)) => self.small()?.into(),
                    _ => 0,
                };
                let binders = self.binders()?;
                let (init, src) = (self.after("from")?, self.after("over")?);
                let lambda = self.region(binders)?;
                match word.as_str() {
                    "fold" => Op::Fold { step: lambda, init, src, which },
                    "reduce" => Op::Reduce { join: lambda, init, src, which },
                    "reduce_ordered" => Op::ReduceOrdered { join: lambda, init, src, which },
                    name => {
                        let part = ScanPart::parse(name).expect("one of the names");
                        Op::Scan { part, join: lambda, init, src, which }
                    }
                }
            }
            name => {
                if let Some(op) = UnaryOp::parse(name) {
                    Op::Unary(op, self.operand()?)
                } else if let Some(op) = BinaryOp::parse(name) {
                    Op::Binary(op, self.operand()?, self.after(",")?)
                } else {
                    return Err(self.c.error(format!("`{name}` is no operation")));
                }
            }
        })
    }

    /// Reads the name of a step of the function.
    fn step(&mut self) -> Result<u32> {
        let name = self.c.global()?;
        let step = self.f.steps.iter().position(|s| s.name == name);
        let step = step.ok_or_else(|| self.c.error(format!("@{name} is no step of this function")))?;
        Ok(step as u32)
    }

    /// Reads `iterate @step 0 by %k from %x, ..`.
    fn iterate(&mut self) -> Result<Op> {
        let step = self.step()?;
        let (which, count) = (self.small()?.into(), self.after("by")?);
        let form = if self.c.eat("each") {
            Form::Each
        } else if self.c.eat("or") {
            Form::Or(self.step()?)
        } else if self.c.eat("until") {
            let step = self.step()?;
            self.c.expect("every")?;
            let every = u32::try_from(self.c.number()?).ok().filter(|n| *n > 0);
            let every = every.ok_or_else(|| self.c.error("a check is made every 1 or more steps"))?;
            Form::Until(Check { step, every })
        } else {
            Form::Last
        };
        let mut args = vec![self.after("from")?];
        while self.c.eat(",") {
            args.push(self.operand()?);
        }
        Ok(Op::Iterate { step, which, form, count, args })
    }

    fn binders(&mut self) -> Result<Vec<(String, Ty)>> {
        self.c.expect("(")?;
        self.c.list(")", |c| {
            let name = c.value()?;
            c.expect(":")?;
            Ok((name, c.elem()?))
        })
    }

    /// Reads a region. Its variables and values are visible only inside it.
    fn region(&mut self, binders: Vec<(String, Ty)>) -> Result<Lambda> {
        self.c.enter()?;
        let outer = self.hidden.len();
        let mut vars = Vec::new();
        for (name, ty) in binders {
            let (v, node) = self.f.graph.fresh_var(ty);
            vars.push((v, ty));
            self.name(name, node);
        }
        self.c.expect("{")?;
        while !self.c.eat("yield") {
            self.statement()?;
        }
        let body = self.operand()?;
        self.c.expect("}")?;
        if !self.f.graph.ty(body).is_scalar() {
            return Err(self.c.error("a region yields a scalar"));
        }
        // the innermost entry goes first, so that the outermost meaning is restored last
        for (name, before) in self.hidden.drain(outer..).rev() {
            match before {
                Some(node) => self.names.insert(name, node),
                None => self.names.remove(&name),
            };
        }
        self.c.leave();
        Ok(self.f.graph.close(&vars, body))
    }
}
