//! What the generator reaches: operation x type x reader x nesting, as a table that is kept beside
//! the code.
//!
//! Four tables: arrays by what reads them, once by their type and once by their rank; scalar
//! operators by where they stand; casts by both types. And a list of the constructs that are more
//! than one operation. A cell that is legal and empty is a fault ([`Table::empty`]).

mod legal;
mod walk;

use crate::count::{self, OPERATIONS};
use crate::generate::{CONSTRUCTS, is_binary_of_users, is_unary_of_users, program};
use arraygpu_compiler::core::{Function, Op};
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Place {
    /// Outside of closures.
    Closed,
    /// Inside of one closure.
    Element,
    /// Inside of two closures or more.
    Nested,
    /// In the function of a reduction or a fold.
    Operator,
    /// In a step of an iteration.
    Step,
}

impl Place {
    fn letter(self) -> char {
        match self {
            Place::Closed => 'c',
            Place::Element => 'e',
            Place::Nested => 'n',
            Place::Operator => 'o',
            Place::Step => 's',
        }
    }
}

/// A row and a column of one of the tables.
pub(crate) type Cell = (String, String);

/// The cells, each with the places that were seen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    arrays: BTreeMap<Cell, BTreeSet<Place>>,
    ranks: BTreeMap<Cell, BTreeSet<Place>>,
    scalars: BTreeMap<Cell, BTreeSet<Place>>,
    casts: BTreeMap<Cell, BTreeSet<Place>>,
    constructs: BTreeSet<&'static str>,
}

impl Table {
    /// Counts the programs of these seeds.
    pub fn of(seeds: impl IntoIterator<Item = u64>) -> Table {
        let mut out = Table::default();
        seeds.into_iter().for_each(|seed| {
            out.add(Table::of_program(seed));
        });
        out
    }

    fn of_program(seed: u64) -> Table {
        let p = program(seed);
        let mut out = Table::default();
        out.function(&p.function, false);
        out.constructs.extend(p.constructs);
        out
    }

    /// Adds what another one has, and says whether any of it was missing.
    fn add(&mut self, other: Table) -> bool {
        let pairs = [
            (&mut self.arrays, other.arrays),
            (&mut self.ranks, other.ranks),
            (&mut self.scalars, other.scalars),
            (&mut self.casts, other.casts),
        ];
        let mut is_new = false;
        for (own, other) in pairs {
            for (cell, places) in other {
                let own = own.entry(cell).or_default();
                is_new |= places.into_iter().fold(false, |new, place| own.insert(place) | new);
            }
        }
        other.constructs.into_iter().fold(is_new, |new, construct| self.constructs.insert(construct) | new)
    }

    fn function(&mut self, f: &Function, step: bool) {
        walk::walk(f, step, self);
        f.steps.iter().for_each(|s| self.function(s, true));
    }

    /// Legal cells without a place, and places that a cell should have.
    pub fn empty(&self) -> Vec<String> {
        let mut out = Vec::new();
        for (name, table, legal) in [
            ("arrays", &self.arrays, legal::arrays()),
            ("ranks", &self.ranks, legal::ranks()),
            ("operators", &self.scalars, legal::scalars()),
            ("casts", &self.casts, legal::casts()),
        ] {
            for (cell, places) in legal {
                let seen = table.get(&cell);
                let missing: String = places
                    .iter()
                    .filter(|p| seen.is_none_or(|s| !s.contains(p)))
                    .map(|p| p.letter())
                    .collect();
                if !missing.is_empty() {
                    out.push(format!("{name}: {} {}: {missing}", cell.0, cell.1));
                }
            }
        }
        let all = CONSTRUCTS.iter().filter(|c| !self.constructs.contains(*c));
        out.extend(all.map(|c| format!("construct: {c}")));
        out
    }

    /// The text of all tables.
    pub fn text(&self) -> String {
        let mut out = String::from(
            "What random programs reach (`arraygpu-fuzz coverage`). c: outside of closures, e: in an element, n: in two closures, o: in the function of a reduction, s: in a step.\n",
        );
        let tables = [
            ("Arrays by what reads them, and where the reader stands", &self.arrays),
            ("Arrays of every rank by what reads them", &self.ranks),
            ("Operators by type", &self.scalars),
            ("Casts", &self.casts),
        ];
        for (title, table) in tables {
            let _ = writeln!(out, "\n{title}\n");
            let columns: BTreeSet<&String> = table.keys().map(|c| &c.1).collect();
            let rows: BTreeSet<&String> = table.keys().map(|c| &c.0).collect();
            let line = |first: &str, cells: Vec<String>| {
                let cells: Vec<String> = cells.iter().map(|c| format!("{c:<11}")).collect();
                format!("{first:<22} {}", cells.join(" ")).trim_end().to_string()
            };
            let _ = writeln!(out, "{}", line("", columns.iter().map(|c| c.to_string()).collect()));
            for row in rows {
                let cell = |c: &&String| match table.get(&(row.clone(), c.to_string())) {
                    Some(places) => places.iter().map(|p| p.letter()).collect(),
                    None => ".".to_string(),
                };
                let _ = writeln!(out, "{}", line(row, columns.iter().map(cell).collect()));
            }
        }
        let _ =
            writeln!(out, "\nConstructs: {}", self.constructs.iter().copied().collect::<Vec<_>>().join(", "));
        out
    }
}

/// Seeds of the range whose programs reach together what all its programs reach. Eight threads look for them,
/// whatever the machine has, so that they are the same everywhere.
pub fn seeds_that_suffice(seeds: Range<u64>) -> Vec<u64> {
    let first_to_reach = |seeds: &mut dyn Iterator<Item = u64>| -> Vec<u64> {
        let mut all = Table::default();
        seeds.filter(|seed| all.add(Table::of_program(*seed))).collect()
    };
    let part = (seeds.end - seeds.start).div_ceil(8).max(1);
    let found: Vec<u64> = std::thread::scope(|scope| {
        let parts = seeds.clone().step_by(part as usize).map(|start| start..(start + part).min(seeds.end));
        let parts: Vec<_> = parts.map(|mut part| scope.spawn(move || first_to_reach(&mut part))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("programs are made")).collect()
    });
    // a program that reaches something rare was found late, and reaches much that is common, too
    let mut fewer = first_to_reach(&mut found.into_iter().rev());
    fewer.sort_unstable();
    fewer
}

/// Returns these seeds and, of further ones, those whose programs reach a legal cell that none before reaches.
pub fn with_further(mut seeds: Vec<u64>, further: Range<u64>) -> Vec<u64> {
    let mut table = Table::of(seeds.iter().copied());
    let mut empty = table.empty().len();
    for seed in further {
        if empty == 0 {
            break;
        }
        let mut more = table.clone();
        if more.add(Table::of_program(seed)) && more.empty().len() < empty {
            (empty, table) = (more.empty().len(), more);
            seeds.push(seed);
        }
    }
    seeds
}

/// Every operation of core IR that was generated, and every operator.
pub fn names(table: &Table) -> BTreeSet<String> {
    let arrays = table.arrays.keys().flat_map(|(row, column)| {
        let maker = row.split(' ').next().unwrap_or_default();
        [maker.to_string(), column.clone()]
    });
    let scalars = table.scalars.keys().map(|(row, _)| row.clone());
    arrays.chain(scalars).collect()
}

/// Every operation and operator that there must be.
pub fn wanted() -> Vec<&'static str> {
    let unary = UnaryOp::ALL.iter().filter(|o| is_unary_of_users(**o)).map(|o| o.name());
    let binary = BinaryOp::ALL.iter().filter(|o| is_binary_of_users(**o)).map(|o| o.name());
    let operations = OPERATIONS.iter().map(|o| o.name);
    operations.chain(unary).chain(binary).collect()
}

/// The row of an operation of scalars, and its column.
pub(crate) fn scalar_cell(op: &Op, operand: Option<Ty>, ty: Ty) -> Option<Cell> {
    let of = match op {
        Op::Unary(..) | Op::Binary(..) => operand.unwrap_or(ty),
        Op::MulAdd(..) | Op::Select(..) | Op::Stage(_) | Op::Const(_) | Op::Var(..) | Op::Within(..) => ty,
        Op::Cast(..) | Op::Loop { .. } | Op::Tuple(_) | Op::Turn | Op::Checked => ty,
        _ => return None,
    };
    Some((count::name(op).into(), of.name().into()))
}
