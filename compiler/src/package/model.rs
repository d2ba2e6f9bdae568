//! What a package holds, in the words of its users: entries with typed, described parameters and results.

use super::shapes;
pub use crate::backend::c::ctype as c_type;
use crate::core::Type;
use crate::driver::Compiled;

/// A package.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name: library, namespace and prefix of the C functions.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The functions, in the author's order.
    pub entries: Vec<Entry>,
    /// The text of all plans; entry i is the i-th plan.
    pub plans: String,
    /// The names of the kernels, in the order of the tables.
    pub kernels: Vec<String>,
}

/// One function.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name, without the package's.
    pub name: String,
    /// The author's documentation.
    pub doc: String,
    /// Parameters, in order.
    pub params: Vec<Value>,
    /// Results, in order.
    pub results: Vec<Value>,
    /// The shape rules: `len(x) == len(y)`.
    pub rules: Vec<String>,
    /// The kernels that it launches, in order.
    pub launches: Vec<String>,
    /// How many temporaries it needs.
    pub temporaries: usize,
}

/// A parameter or a result.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its shape in words: `, as long as x`, `of len(x) - 14 elements`; may be empty.
    pub shape: String,
    /// The number of elements of a vector result: `len(x) - 14`.
    pub extent: Option<String>,
}

impl Value {
    /// Whether it is a scalar.
    pub fn is_scalar(&self) -> bool {
        self.ty.is_scalar()
    }

    /// The element type in C.
    pub fn c_type(&self) -> &'static str {
        c_type(self.ty.elem)
    }

    /// `float`, `vector of float, as long as x`.
    pub fn describe(&self) -> String {
        let kind = if self.is_scalar() { "" } else { "vector of " };
        format!("{kind}{}{}", self.c_type(), self.shape)
    }
}

impl Entry {
    /// Whether a result is a vector, so that there is a form that makes it.
    pub fn makes_vectors(&self) -> bool {
        self.results.iter().any(|r| !r.is_scalar())
    }

    /// A name close to `name` that no parameter or result has.
    pub fn free_name(&self, name: &str) -> String {
        let mut name = name.to_string();
        while self.params.iter().chain(&self.results).any(|v| v.name == name) {
            name.push('_');
        }
        name
    }
}

impl Package {
    /// The package of a compiled program.
    pub fn new(compiled: &Compiled, version: &str) -> Package {
        let mut entries = Vec::new();
        for (f, plan) in compiled.functions.iter().zip(&compiled.plans) {
            let param = |(i, p): (usize, &crate::core::Param)| Value {
                name: p.name.clone(),
                ty: p.ty,
                shape: shapes::param(plan, i),
                extent: None,
            };
            let result = |(i, r): (usize, &crate::core::Output)| Value {
                name: r.name.clone(),
                ty: f.graph.ty(r.value),
                shape: shapes::result(plan, i),
                extent: shapes::extent(plan, i),
            };
            entries.push(Entry {
                name: f.name.clone(),
                doc: f.doc.trim().to_string(),
                params: f.params.iter().enumerate().map(param).collect(),
                results: f.results.iter().enumerate().map(result).collect(),
                rules: shapes::rules(plan),
                launches: shapes::launches(plan),
                temporaries: plan.temps.len(),
            });
        }
        Package {
            name: compiled.name.clone(),
            version: version.into(),
            entries,
            plans: compiled.plans.iter().map(|p| p.to_string()).collect(),
            kernels: compiled.kernels.clone(),
        }
    }
}
