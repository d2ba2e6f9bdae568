//! A program of the corpus, and its fields.

use crate::array::{Array, Expected, Input};
use crate::reason::Reason;
use arraygpu::{Callable, Outputs, Package, ParameterNames, Parameters};
use arraygpu_compiler::core::Function;
use arraygpu_compiler::scalar::Ty;

/// A program: what its author wrote, a small call of it, and what a plain loop computes there.
pub struct Program {
    /// The field that it comes from.
    pub field: &'static str,
    /// Its name, which no other program has.
    pub name: &'static str,
    /// The function in core IR.
    pub function: Function,
    /// The arguments of a small call.
    pub inputs: Vec<Array>,
    /// What makes them, of any size.
    made: Vec<Input>,
    /// What that call gives.
    pub expected: Vec<Array>,
    /// The fewest launches that the dependences allow; of an iteration for each step.
    pub fewest: f64,
    /// The greatest error that is allowed, relative to numbers above 1.
    pub tolerance: f64,
    /// Extents of the small call that are the same in a large one are below this.
    pub kept: usize,
    /// Extents of the small call, and what they are in a large one: so many, or that many of `n`.
    pub others: Vec<(usize, Large)>,
    /// Why it is as it is, where it is not ideal.
    pub reasons: Vec<Reason>,
}

/// Where a program is far from the ideal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excess {
    /// Bytes moved.
    Bytes,
    /// Operations or loads: something is computed again.
    Work,
    /// Launches.
    Launches,
}

impl Excess {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Excess::Bytes => "bytes",
            Excess::Work => "work",
            Excess::Launches => "launches",
        }
    }
}

/// An extent of a large call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Large {
    /// This, whatever the others are.
    Is(i64),
    /// That many times the others.
    Times(i64),
}

/// The corpus.
#[derive(Default)]
pub struct Corpus {
    /// The programs in order.
    pub programs: Vec<Program>,
    field: &'static str,
}

impl Corpus {
    /// Returns the programs whose names contain `name`, or are in it, if it is a list with commas.
    pub fn wanted<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Program> {
        let is_wanted = move |p: &&Program| p.name.contains(name) || name.split(',').any(|n| p.name == n);
        self.programs.iter().filter(is_wanted)
    }

    /// Begins a field.
    pub fn field(&mut self, name: &'static str) -> &mut Corpus {
        self.field = name;
        self
    }

    /// Adds a program: its name, the names of its parameters and results, a small call's inputs,
    /// the function, and the reference. A record has an input for each field.
    #[track_caller]
    pub fn add<const K: usize, const N: usize, A: Parameters, F: Callable<K, A>, E: Expected>(
        &mut self,
        name: &'static str,
        params: impl ParameterNames<K>,
        results: &str,
        inputs: [Input; N],
        f: F,
        reference: impl FnOnce([&Array; N]) -> E,
    ) -> &mut Program
    where
        F::Out: Outputs,
    {
        let results: Vec<&str> = results.split(' ').collect();
        let package = Package::new("p").function(name, params, results, f);
        let function = package.functions().unwrap_or_else(|e| panic!("{name}: {e}")).remove(0);
        assert_eq!(function.params.len(), N, "{name}: an input for each parameter");
        let made = Vec::from(inputs);
        let inputs: Vec<Array> = made.iter().zip(0..).map(|(input, seed)| input.array(seed)).collect();
        let of_reference = std::array::from_fn(|i| &inputs[i]);
        let expected = reference(of_reference).arrays();
        self.programs.push(Program {
            field: self.field,
            name,
            function,
            inputs,
            made,
            expected,
            fewest: 1.0,
            tolerance: 1e-4,
            kept: 5,
            others: Vec::new(),
            reasons: Vec::new(),
        });
        let last = self.programs.len() - 1;
        &mut self.programs[last]
    }
}

impl Program {
    /// Says how many launches the dependences ask for.
    pub fn fewest(&mut self, launches: u32) -> &mut Program {
        self.fewest = launches.into();
        self
    }

    /// Says why the program is not ideal; several reasons may be needed.
    pub fn because(&mut self, reason: Reason) -> &mut Program {
        self.reasons.push(reason);
        self
    }

    /// Allows this error.
    pub fn within(&mut self, tolerance: f64) -> &mut Program {
        self.tolerance = tolerance;
        self
    }

    /// Extents below this stay the same in large calls.
    pub fn keep(&mut self, below: usize) -> &mut Program {
        self.kept = below;
        self
    }

    /// Says what an extent of the small call is in a large one.
    pub fn extent(&mut self, of: usize, large: Large) -> &mut Program {
        self.others.push((of, large));
        self
    }

    /// Returns the arguments of a large call.
    pub fn large_inputs(&self, n: i64) -> Vec<Array> {
        let large = |(input, seed): (&Input, u64)| {
            let extents: Vec<usize> = input.extents.iter().map(|e| self.scaled(*e, n) as usize).collect();
            let mut array = input.sized(seed, extents);
            if array.extents.is_empty() && self.function.params[seed as usize].ty.elem == Ty::I64 {
                array.elements[0] = self.scaled(array.elements[0] as usize, n) as f64;
            }
            array
        };
        self.made.iter().zip(0..).map(large).collect()
    }

    /// Returns what an extent of the small call is in a large one, where the others are `n`.
    pub fn scaled(&self, extent: usize, n: i64) -> i64 {
        match self.others.iter().find(|(of, _)| *of == extent) {
            Some((_, Large::Is(size))) => *size,
            Some((_, Large::Times(factor))) => factor * n,
            None if extent < self.kept => extent as i64,
            None => n,
        }
    }
}
