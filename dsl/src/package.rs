//! The package builder: functions with names, documentation and the author's lines.
//!
//! A closure is called when it is registered, so handles that escape panic at that line. Every
//! other mistake is an error value of [`Package::run`], found before anything is written: names
//! (whose rules are the compiler's, beside the header writers), wrong counts, and the errors of
//! lowering and compiling.

use crate::error::Result;
use crate::item::{Described, Leaf, leaf_name};
use crate::kernel_fn::{Callable, KernelFn, Outputs, ParameterNames, Parameters};
use crate::lower::{self, Definition, RecordParam};
use crate::node::{NodeRef, Op, make_in};
use crate::results::ResultNames;
use crate::scope::{Open, Owner, Place};
use arraygpu_compiler::budget::Budget;
use arraygpu_compiler::core::{Function, Param, StencilHint, Type};
use arraygpu_compiler::driver::{self, Compiled, Targets};
use arraygpu_compiler::loc::Loc;
use arraygpu_compiler::package::records::{FieldType, Records, Use};
use arraygpu_compiler::{Error, explain, package};
use std::panic::Location;

/// A package under construction.
///
/// ```
/// use arraygpu_dsl::prelude::*;
///
/// let package = Package::new("stats")
///     .function("mean", ["x"], "result", |x: VExp<f32>| x.sum() / x.len().cast::<f32>())
///     .doc("The mean of the elements.");
/// assert_eq!(package.functions().unwrap()[0].name, "mean");
/// ```
#[must_use = "a package does nothing until `.run()`"]
#[derive(Debug)]
pub struct Package {
    name: String,
    at: Place,
    functions: Vec<Definition>,
    /// `fast_math` for the functions that follow.
    fast: bool,
    /// `tensor_cores` for the functions that follow.
    tensor_cores: bool,
    /// `structs` for the functions that follow.
    structs: bool,
    /// How to keep the stencils of the functions that follow.
    stencil: Option<StencilHint>,
    /// What one function may take to compile.
    budget: Budget,
    /// The first mistake that a registration found.
    mistake: Option<Error>,
}

impl Package {
    /// A package without functions. Its name becomes the name of the library, the C++ namespace and
    /// the prefix of the C functions.
    ///
    /// Cost: none; it runs in the generator only.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// assert_eq!(Package::new("stats").name(), "stats");
    /// ```
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Package {
        Package {
            name: name.into(),
            at: Location::caller(),
            functions: Vec::new(),
            fast: false,
            tensor_cores: false,
            structs: false,
            stencil: None,
            budget: Budget::default(),
            mistake: None,
        }
    }

    /// Exports a function: its name, a name for each parameter, a name for the result (an array of
    /// names for a tuple), and a closure or `fn` of up to 16 parameters, each
    /// [`SExp`](crate::SExp), [`VExp`](crate::VExp), [`MExp`](crate::MExp) or
    /// [`TExp`](crate::TExp), or an array or `Vec` of these: `[VExp<f32>; 2]` with the name `w` has the
    /// parameters `w0` and `w1`, and so has `Vec<VExp<f32>>` with the name `w[2]`. A wrong number of result
    /// names is an error of [`Package::run`].
    ///
    /// Cost: one call of `f`, in the generator.
    ///
    /// # Panics
    ///
    /// If `f` uses a handle outside of the closure or function that it belongs to; the message
    /// names both places.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let package = Package::new("stats")
    ///     .function("scaled", ["a", "x"], "result", |a: SExp<f32>, x: VExp<f32>| a * x)
    ///     .function("minmax", ["x"], ["lo", "hi"], |x: VExp<f32>| (x.min(), x.max()));
    /// assert_eq!(package.functions()?.len(), 2);
    /// # arraygpu_dsl::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn function<const K: usize, A: Parameters, F: Callable<K, A>>(
        mut self,
        name: impl Into<String>,
        params: impl ParameterNames<K>,
        results: impl ResultNames,
        f: F,
    ) -> Package
    where
        F::Out: Outputs,
    {
        let (name, at) = (name.into(), Location::caller());
        let called = call(&name, at, params.names(), f);
        let given = results.names();
        let mistake =
            (called.of.len() != given.len()).then(|| wrong_count(&name, called.of.len(), given.len()));
        let names = given.iter().zip(&called.of).flat_map(|(name, of)| named(name, &of.leaves));
        let result_names = names.collect();
        let interface = [called.given, given.into_iter().zip(called.of).collect()];
        let definition = Definition {
            doc: String::new(),
            fast: self.fast,
            tensor_cores: self.tensor_cores,
            stencil: self.stencil,
            at,
            params: called.params,
            records: called.records,
            structs: self.structs,
            interface,
            result_names,
            results: called.results,
            name,
        };
        if let Some(mistake) = mistake {
            self.wrong(mistake, at);
        }
        self.functions.push(definition);
        self
    }

    /// Documents the function exported last; the text goes into the generated headers. Before the
    /// first function it is an error of [`Package::run`].
    ///
    /// Cost: none; it runs in the generator only.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let package = Package::new("stats")
    ///     .function("mean", ["x"], "result", |x: VExp<f32>| x.sum() / x.len().cast::<f32>())
    ///     .doc("The mean of the elements.");
    /// assert_eq!(package.functions()?[0].doc, "The mean of the elements.");
    /// # arraygpu_dsl::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn doc(mut self, text: impl Into<String>) -> Package {
        match self.functions.last_mut() {
            Some(function) => function.doc = text.into(),
            None => {
                let message = "`.doc(..)` documents the function before it, and there is none yet";
                self.wrong(Error::user("E0202", message), Location::caller());
            }
        }
        self
    }

    /// Allows approximations in the function exported last; before the first function, in all of
    /// the package. `docs/semantics.md` 8 lists them: on GPUs f32 divisions, square roots, `exp`,
    /// `log`, `sin` and some others are those of the hardware, sums of products are contracted, and
    /// subnormals are flushed to zero. f16 and bf16, which are computed in f32, are approximated
    /// alike. Other functions (`pow`, `erf`, ..) keep their bits. The bits differ from those of
    /// CPUs, which stay precise, and may differ between GPUs. The manifest says so.
    ///
    /// Cost: none; it saves operations on GPUs.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let package = Package::new("p")
    ///     .function("roots", ["x"], "result", |x: VExp<f32>| x.sqrt())
    ///     .fast_math();
    /// assert!(package.functions()?[0].fast);
    /// # arraygpu_dsl::Result::Ok(())
    /// ```
    pub fn fast_math(mut self) -> Package {
        match self.functions.last_mut() {
            Some(function) => function.fast = true,
            None => self.fast = true,
        }
        self
    }

    /// Allows tensor cores in the function exported last; before the first function, in all of the
    /// package. `docs/semantics.md` 8 has the details: on GPUs of compute capability 8.0 and above,
    /// matrix products of f16 and bf16, and of f32 rounded to TF32 (11 bits of precision), are sums
    /// of exact products in f32, in an order that is not promised. What is computed before and
    /// after a product keeps its bits. CPUs compute as ever, so bits differ between devices. The
    /// manifest says so.
    ///
    /// Cost: none; large products are several times as fast on such GPUs.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let package = Package::new("p")
    ///     .function("product", ["a", "b"], "c", |a: MExp<f16>, b: MExp<f16>| a.matmul(b))
    ///     .tensor_cores();
    /// assert!(package.functions()?[0].tensor_cores);
    /// # arraygpu_dsl::Result::Ok(())
    /// ```
    pub fn tensor_cores(mut self) -> Package {
        match self.functions.last_mut() {
            Some(function) => function.tensor_cores = true,
            None => self.tensor_cores = true,
        }
        self
    }

    /// Makes the records of the function exported last structs for its callers; before the first function,
    /// those of all functions of the package. In C a record `Body` of the package `sky` is `sky_body`, in C++
    /// `sky::body`, and a vector, matrix or volume of it an array of these, `gpu_vector<sky::body>`. (Without
    /// it a record is one parameter or result a field.) Complex numbers of f32 and f64 are `std::complex` in
    /// C++.
    ///
    /// Cost: nothing is copied; each field is read and written with the stride of a struct, so that memory moves all
    /// fields of a struct where a function needs one of them. An array a field moves what is needed.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let package = Package::new("p")
    ///     .function("conjugates", ["z"], "result", |z: VExp<Complex<f32>>| z.conj())
    ///     .structs();
    /// assert_eq!(package.functions()?[0].params.len(), 2);
    /// # arraygpu_dsl::Result::Ok(())
    /// ```
    pub fn structs(mut self) -> Package {
        match self.functions.last_mut() {
            Some(function) => function.structs = true,
            None => self.structs = true,
        }
        self
    }

    /// Sets what each function of the package may take to compile: nodes of core IR, bytes of PTX, and time. Beyond
    /// that, compiling it is an error (E0903) at the line that went beyond. `--budget` of generators sets another.
    ///
    /// Cost: none.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// use arraygpu_dsl::Budget;
    /// let package = Package::new("p")
    ///     .function("total", ["x"], "result", |x: VExp<f32>| x.sum())
    ///     .budget(Budget { nodes: 3, ..Budget::default() });
    /// assert_eq!(package.compile().unwrap_err().code(), Some("E0903"));
    /// ```
    pub fn budget(mut self, budget: Budget) -> Package {
        self.budget = budget;
        self
    }

    /// The structs of the interface, and where they are.
    pub(crate) fn interface(&self) -> Result<Records> {
        self.records_of(self.functions.iter().filter(|f| f.structs))
    }

    /// The records of all functions, for a report.
    pub(crate) fn explained(&self) -> Vec<explain::Record> {
        let describe = |f: &Definition| {
            let records = self.records_of(std::iter::once(f)).unwrap_or_default();
            let one = |u: &Use| explain::Record {
                function: u.function.clone(),
                name: u.name.clone(),
                is_result: u.is_result,
                first: u.first,
                fields: records.leaves(&u.record).len(),
                bytes: records.size_of(&u.record) as u64,
                is_struct: f.structs,
            };
            records.uses.iter().map(one).collect::<Vec<_>>()
        };
        self.functions.iter().flat_map(describe).collect()
    }

    fn records_of<'a>(&self, functions: impl Iterator<Item = &'a Definition>) -> Result<Records> {
        let mut records = Records::default();
        for f in functions {
            for (values, is_result) in f.interface.iter().zip([false, true]) {
                let mut first = 0;
                for (name, of) in values {
                    if let FieldType::Struct(record) = &of.ty {
                        let place = Loc::caller(f.at);
                        let added = of.structs.iter().try_for_each(|s| records.add(s.clone()));
                        added.map_err(|e| e.at(Some(&place)))?;
                        let (function, name, record) = (f.name.clone(), name.clone(), record.clone());
                        records.uses.push(Use { function, is_result, first, name, record });
                    }
                    first += of.leaves.len();
                }
            }
        }
        Ok(records)
    }

    /// Chooses how the function exported last keeps its stencils on GPUs, where that is possible;
    /// before the first function, all functions of the package. Without it a cost model chooses.
    /// `--explain` says what was done; no bit of any result changes.
    ///
    /// Cost: that of the strategy; see [`StencilHint`].
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let package = Package::new("p")
    ///     .function("slope", ["x"], "result", |x: VExp<f32>| x.slice(1, x.len()) - x.slice(0, x.len() - 1))
    ///     .stencil(StencilHint::Tile);
    /// assert_eq!(package.functions()?[0].stencil, Some(StencilHint::Tile));
    /// # arraygpu_dsl::Result::Ok(())
    /// ```
    pub fn stencil(mut self, strategy: StencilHint) -> Package {
        match self.functions.last_mut() {
            Some(function) => function.stencil = Some(strategy),
            None => self.stencil = Some(strategy),
        }
        self
    }

    /// Remembers the first mistake.
    fn wrong(&mut self, error: Error, at: Place) {
        self.mistake.get_or_insert(error.at(Some(&Loc::caller(at))));
    }

    /// The package's name.
    ///
    /// Cost: none.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// assert_eq!(Package::new("stats").name(), "stats");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The functions in core IR, with all names checked. The error is the first mistake that a
    /// registration or lowering found.
    ///
    /// Cost: lowers every function, in the generator.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let empty = Package::new("stats");
    /// assert_eq!(empty.functions().unwrap_err().code(), Some("E0203"));
    /// ```
    pub fn functions(&self) -> Result<Vec<Function>> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone().into());
        }
        let place = Loc::caller(self.at);
        if self.functions.is_empty() {
            let message = format!("the package `{}` has no functions", self.name);
            return Err(Error::user("E0203", message).at(Some(&place)).into());
        }
        let definitions = &self.functions;
        let functions: Vec<Function> =
            driver::on_big_stack(|| definitions.iter().map(lower::lower).collect())?;
        package::names::check(&self.name, &functions).map_err(|e| e.at(Some(&place)))?;
        Ok(functions)
    }

    /// The compiled package for all targets, in memory. The error is that of
    /// [`Package::functions`], or what the compiler refuses.
    ///
    /// Cost: compiles every function, in the generator; no file is written and no C compiler runs.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let package = Package::new("p").function("total", ["x"], "result", |x: VExp<f32>| x.sum());
    /// assert!(package.compile()?.emit("plan")?.contains("total"));
    /// # arraygpu_dsl::Result::Ok(())
    /// ```
    pub fn compile(&self) -> Result<Compiled> {
        self.compile_for(Targets { cpu: true, cuda: true }, None)
    }

    /// The compiled package for these targets, within a budget other than the package's own.
    pub(crate) fn compile_for(&self, targets: Targets, other: Option<Budget>) -> Result<Compiled> {
        let budget = other.unwrap_or(self.budget);
        Ok(driver::compile_within(budget, &self.name, self.functions()?, targets)?)
    }
}

/// The names of the leaves of what has the name `name`.
fn named(name: &str, leaves: &[Leaf]) -> Vec<String> {
    let full = |leaf: &Leaf| if leaf.name.is_empty() { name.into() } else { leaf_name(name, &leaf.name) };
    leaves.iter().map(full).collect()
}

/// A function that was called once.
pub(crate) struct Called {
    /// The parameters, one for each leaf.
    pub params: Vec<Param>,
    /// The parameters that are leaves of arrays of records.
    pub records: Vec<RecordParam>,
    pub results: Vec<NodeRef>,
    /// The name of each parameter, and what it is.
    pub given: Vec<(String, Described)>,
    /// What each result that has a name is.
    pub of: Vec<Described>,
}

impl Called {
    /// The function as one that no package has, for a single call: its results have the names `result` with numbers.
    pub(crate) fn alone(self, name: &str, at: Place, result: &str) -> Definition {
        Definition {
            name: name.into(),
            doc: String::new(),
            fast: false,
            tensor_cores: false,
            stencil: None,
            at,
            params: self.params,
            records: self.records,
            structs: false,
            interface: Default::default(),
            result_names: (0..self.results.len()).map(|i| format!("{result}{i}")).collect(),
            results: self.results,
        }
    }
}

/// Calls an author's function on its parameters, which have these names.
pub(crate) fn call<const K: usize, A>(
    name: &str,
    at: Place,
    names: &[&str],
    f: impl KernelFn<K, A>,
) -> Called {
    let open = Open::new(Owner::Function(name.into()), at);
    let (mut params, mut records) = (Vec::new(), Vec::new());
    let mut given = Vec::new();
    let called = f.call(names, &mut |name, parameter| {
        let first = params.len() as u32;
        let leaf_params =
            named(name, &parameter.of.leaves).into_iter().zip(&parameter.of.leaves).map(|(name, leaf)| {
                let ty = Type { elem: leaf.ty, rank: parameter.rank };
                Param { name, ty }
            });
        params.extend(leaf_params);
        let leaves = first..params.len() as u32;
        if leaves.len() > 1 && parameter.rank > 0 {
            records.push(RecordParam { name: name.into(), leaves: leaves.clone() });
        }
        given.push((name.into(), parameter.of));
        leaves.map(|i| make_in(at, params[i as usize].ty, Op::Param(i), open.0)).collect()
    });
    for result in &called.nodes {
        result.scopes.check_open(result.at, at);
    }
    Called { params, records, results: called.nodes, given, of: called.of }
}

fn wrong_count(function: &str, values: usize, names: usize) -> Error {
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let hint = match values {
        1 => "give one name, `\"result\"`",
        _ => "give one name for each element of the tuple, `[\"lo\", \"hi\"]`",
    };
    let message = format!(
        "{function} returns {}, but {} for results: {hint}",
        plural(values, "value"),
        match names {
            1 => "there is 1 name".into(),
            n => format!("there are {}", plural(n, "name")),
        }
    );
    Error::user("E0201", message)
}
