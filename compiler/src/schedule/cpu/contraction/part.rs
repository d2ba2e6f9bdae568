//! A part of a tile: the packing of its values, the chains of multiply-adds of its columns, and the join of these.

use super::*;

impl Square<'_> {
    /// Emits the packing of the columns' values of a part. Columns past the edge of the matrix are filled with 0.
    pub(super) fn pack(&self, l: &mut Lower, part: &Part, out: &mut Vec<Stmt>) -> Result<()> {
        let (r, mut body) = (l.k.reg("r", Ty::I64), Vec::new());
        let is_full = Expr::binary(BinaryOp::Lt, Expr::Reg(r), part.full.clone());
        let here = Expr::Select(Box::new(is_full), Box::new(Expr::int(PART)), Box::new(part.last.clone()));
        let here = bind(l, "here", here, &mut body);
        let first = part.base.clone().plus(Expr::Reg(r).times(Expr::int(COLUMNS)));
        let first = bind(l, "first", first, &mut body);
        let columns = Columns { p: self.p, tile: &self.tile, packed: &self.packed, flag: self.flag };
        let row = |q: Expr| Expr::Reg(r).times(Expr::int(PART)).plus(q);
        body.extend(columns.pack(l, (&first, &here), &row)?);
        out.push(Stmt::Seq(r, Expr::int(0), part.rows.clone(), body));
        out.push(columns.fill(l, part.rows.clone().times(Expr::int(PART))));
        Ok(())
    }

    /// Emits the part for some rows from `row` on, and pushes the results to the pile.
    pub(super) fn rows(
        &self,
        l: &mut Lower,
        part: &Part,
        (row, count): (&Expr, i64),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (mut single, mut several) = (Vec::new(), Vec::new());
        let all: Vec<Expr> = (0..PART).map(Expr::int).collect();
        self.steps(l, part, (row, count), &Steps::First(all), &mut single)?;
        self.chains(l, part, (row, count), &mut several)?;
        let one = Expr::int(1);
        let is_single = Expr::binary(
            BinaryOp::And,
            Expr::binary(BinaryOp::Eq, part.rows.clone(), one.clone()),
            Expr::binary(BinaryOp::Eq, part.full.clone(), one),
        );
        out.push(Stmt::If(is_single, single, several));
        self.push(l, part, (row, count), out)
    }

    /// Emits the chains of the part's columns for some rows, and joins them.
    fn chains(
        &self,
        l: &mut Lower,
        part: &Part,
        (row, count): (&Expr, i64),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let size = Expr::int(count * SIZE);
        let [q, x] = ["q", "x"].map(|name| l.k.reg(name, Ty::I64));
        let mut body = Vec::new();
        let to = bind(l, "to", Expr::Reg(q).times(size.clone()), &mut body);
        let identity = self.r.absent(l.launch).remove(0);
        let fill = Stmt::Store(self.chains, to.clone().plus(Expr::Reg(x)), identity);
        body.push(Stmt::For(x, Expr::int(0), size.clone(), vec![fill]));
        let is_there = Expr::binary(BinaryOp::Lt, Expr::Reg(q), part.last.clone());
        let more = Expr::Select(Box::new(is_there), Box::new(Expr::int(1)), Box::new(Expr::int(0)));
        let depth = bind(l, "depth", part.full.clone().plus(more), &mut body);
        let turns = Expr::binary(BinaryOp::Div, depth.clone(), Expr::int(STEPS));
        let turns = bind(l, "turns", turns, &mut body);
        for steps in [STEPS, 1] {
            let (turn, mut inner) = (l.k.reg("turn", Ty::I64), Vec::new());
            let first = Expr::Reg(turn).times(Expr::int(steps * PART)).plus(Expr::Reg(q));
            let first = bind(l, "first", first, &mut inner);
            let at = (0..steps).map(|s| first.clone().plus(Expr::int(s * PART))).collect();
            self.steps(l, part, (row, count), &Steps::Next(at, to.clone()), &mut inner)?;
            let range = match steps {
                1 => (turns.clone().times(Expr::int(STEPS)), depth.clone()),
                _ => (Expr::int(0), turns.clone()),
            };
            body.push(Stmt::Seq(turn, range.0, range.1, inner));
        }
        out.push(Stmt::Seq(q, Expr::int(0), Expr::int(PART), body));
        let (x, mut body) = (l.k.reg("x", Ty::I64), Vec::new());
        let load = |q: i64| Expr::load(self.chains, Expr::int(q).times(size.clone()).plus(Expr::Reg(x)));
        let value = self.tree(l, (0..PART).map(load).collect(), &mut body)?;
        body.push(Stmt::Store(self.top, Expr::Reg(x), value));
        out.push(Stmt::For(x, Expr::int(0), size.clone(), body));
        Ok(())
    }

    /// Emits the join of neighbours, a power of two of them.
    fn tree(&self, l: &mut Lower, mut values: Vec<Expr>, out: &mut Vec<Stmt>) -> Result<Expr> {
        while values.len() > 1 {
            let pairs: Vec<Expr> = std::mem::take(&mut values);
            for pair in pairs.chunks(2) {
                values.push(self.joined(l, pair[0].clone(), pair[1].clone(), out)?);
            }
        }
        Ok(values.remove(0))
    }

    /// Emits a loop over the columns j, in which some rows go through some packed inner indices.
    fn steps(
        &self,
        l: &mut Lower,
        part: &Part,
        (row, count): (&Expr, i64),
        steps: &Steps,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let inner = &self.p.of.inner[0];
        let (places, chain) = match steps {
            Steps::First(places) => (places, None),
            Steps::Next(places, chain) => (places, Some(chain)),
        };
        let c = l.k.reg("c", Ty::I64);
        let (_, j) = l.launch.g.fresh_var(Ty::I64);
        let at_column = Env::default().with(&l.launch.g, self.p.outer[1], j);
        let mut vars = self.tile.known(self.p);
        vars.push((j, self.tile.first[1].clone().plus(Expr::Reg(c))));
        let (mut body, mut steps_of, mut rows_of) = (Vec::new(), Vec::new(), Vec::new());
        for at in places {
            let (_, k) = l.launch.g.fresh_var(Ty::I64);
            // a place is 8 times the row of the tile, plus the column of the part
            let shift = Expr::int(PART.trailing_zeros().into());
            let of_row = Expr::binary(BinaryOp::Shr, at.clone(), shift).times(Expr::int(COLUMNS));
            let of_column = Expr::binary(BinaryOp::And, at.clone(), Expr::int(PART - 1));
            let index = part.base.clone().plus(of_row).plus(of_column);
            vars.push((k, bind(l, "index", index, out)));
            let env = at_column.with(&l.launch.g, self.p.k, k);
            for (value, m) in self.p.sides[1].parts.iter().zip(&self.packed) {
                let e = Expr::load(*m, at.clone().times(Expr::int(SIZE)).plus(Expr::Reg(c)));
                let e = bind(l, "b", e, &mut body);
                vars.push((env.of(&mut l.launch.g, *value), e));
            }
            steps_of.push(k);
        }
        for r in 0..count {
            let (_, i) = l.launch.g.fresh_var(Ty::I64);
            vars.push((i, self.tile.first[0].clone().plus(row.clone()).plus(Expr::int(r))));
            for k in &steps_of {
                let env =
                    Env::default().with(&l.launch.g, self.p.outer[0], i).with(&l.launch.g, self.p.k, *k);
                let parts = self.p.sides[0].parts.iter();
                let nodes: Vec<NodeId> = parts.map(|n| env.of(&mut l.launch.g, *n)).collect();
                let values = l.flagged(self.flag, &vars, &nodes, out)?;
                for (n, e) in nodes.into_iter().zip(values) {
                    let e = bind(l, "a", e, out);
                    vars.push((n, e));
                }
            }
            rows_of.push(i);
        }
        for (r, i) in (0..).zip(&rows_of) {
            let at = Expr::int(r * SIZE).plus(Expr::Reg(c));
            let at_row = at_column.with(&l.launch.g, self.p.outer[0], *i);
            let Some(chain) = chain else {
                let mut values = Vec::new();
                for k in &steps_of {
                    let first = inner.tree.map_or(inner.next, |t| t.0);
                    let root = at_row.with(&l.launch.g, self.p.k, *k).of(&mut l.launch.g, first);
                    let e = l.region(&vars, &[root], &Expr::int(0), &mut body)?.remove(0);
                    values.push(bind(l, "column", e, &mut body));
                }
                let value = self.tree(l, values, &mut body)?;
                body.push(Stmt::Store(self.top, at, value));
                continue;
            };
            let at = chain.clone().plus(at);
            let mut value = bind(l, "chain", Expr::load(self.chains, at.clone()), &mut body);
            for k in &steps_of {
                let (_, before) = l.launch.g.fresh_var(inner.ty);
                vars.push((before, value));
                let env = at_row.with(&l.launch.g, self.p.k, *k);
                let root = env.with(&l.launch.g, inner.acc, before).of(&mut l.launch.g, inner.next);
                let next = l.region(&vars, &[root], &Expr::int(0), &mut body)?.remove(0);
                value = bind(l, "chain", next, &mut body);
            }
            body.push(Stmt::Store(self.chains, at, value));
        }
        // the loop takes all 64 columns, unless it reads values that only columns of the matrix have
        let whole = self.p.sides[1].invariants.is_empty();
        let end = if whole { Expr::int(SIZE) } else { self.tile.counts[1].clone() };
        out.push(Stmt::For(c, Expr::int(0), end, body));
        Ok(())
    }

    /// Emits the push of a part's values for some rows: as long as lower levels of the pile are filled, the values
    /// are joined with these, like a carry, and then stored at the first free level.
    fn push(
        &self,
        l: &mut Lower,
        part: &Part,
        (row, count): (&Expr, i64),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let level = l.k.reg("level", Ty::I64);
        let from = row.clone().times(Expr::int(SIZE));
        let place = |l: &mut Lower, out: &mut Vec<Stmt>| {
            let e = Expr::Reg(level).times(Expr::int(SIZE * SIZE)).plus(from.clone());
            bind(l, "there", e, out)
        };
        let (x, mut body, mut join) = (l.k.reg("x", Ty::I64), Vec::new(), Vec::new());
        let there = place(l, &mut body);
        let lower = Expr::load(self.pile, there.plus(Expr::Reg(x)));
        let joined = self.joined(l, lower, Expr::load(self.top, Expr::Reg(x)), &mut join)?;
        join.push(Stmt::Store(self.top, Expr::Reg(x), joined));
        body.push(Stmt::For(x, Expr::int(0), Expr::int(count * SIZE), join));
        body.push(Stmt::Assign(level, Expr::Reg(level).plus(Expr::int(1))));
        out.push(Stmt::Var(level, Expr::int(0)));
        out.push(Stmt::While(is_set(&part.number, Expr::Reg(level)), body));
        let there = place(l, out);
        let x = l.k.reg("x", Ty::I64);
        let copy = Stmt::Store(self.pile, there.plus(Expr::Reg(x)), Expr::load(self.top, Expr::Reg(x)));
        out.push(Stmt::For(x, Expr::int(0), Expr::int(count * SIZE), vec![copy]));
        Ok(())
    }
}

/// What a loop over the columns j does with packed inner indices, given by their places in the buffer.
enum Steps {
    /// Each of them begins a column, and the columns are joined.
    First(Vec<Expr>),
    /// They continue the chain that begins there in the buffer of chains.
    Next(Vec<Expr>, Expr),
}
