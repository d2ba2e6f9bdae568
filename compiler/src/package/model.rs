//! What a package holds, in the words of its users: entries with typed, described parameters and
//! results.

use super::level::Level;
use super::{Options, shapes};
pub use crate::backend::c::ctype as c_type;
use crate::core::{Type, print};
use crate::driver::{Compiled, Targets};
use crate::plan::gpu::GpuKernel;
use crate::scalar::Ty;
use crate::stage;

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
    /// The text of the functions that stage scalars, as the author wrote them; may be empty.
    pub staged: String,
    /// The names of the kernels, in the order of the tables.
    pub kernels: Vec<String>,
    /// What there is code for.
    pub targets: Targets,
    /// The levels of the processor that kernels are compiled for.
    pub levels: Vec<Level>,
    /// How the kernels are launched on a GPU, one each; empty without that target.
    pub gpu: Vec<GpuKernel>,
    /// The PTX of each kernel's versions, in the order of `gpu`.
    pub ptx: Vec<Vec<String>>,
}

/// One function.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name, without the package's.
    pub name: String,
    /// The author's documentation.
    pub doc: String,
    /// `fast_math`: other bits on GPUs.
    pub fast: bool,
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
    /// The types of the scalars that it stages.
    pub staged: Vec<Ty>,
}

/// How a C function gives its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Vectors into views, scalars to the host.
    Plain,
    /// Vectors are made, scalars go to the host.
    New,
    /// Vectors into views, scalars as well: nothing comes back to the host, and nothing waits for
    /// the device.
    Device,
}

impl Form {
    /// What its name has behind the function's.
    pub fn suffix(self) -> &'static str {
        match self {
            Form::Plain => "",
            Form::New => "_new",
            Form::Device => "_device",
        }
    }

    /// How it gives a result.
    pub fn gives(self, result: &Value) -> Gives {
        match (result.is_scalar(), self) {
            (true, Form::Plain | Form::New) => Gives::ToHost,
            (false, Form::New) => Gives::Made,
            (_, Form::Device) | (false, Form::Plain) => Gives::IntoView,
        }
    }
}

/// How a C function gives one result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// A scalar, written to the host's memory.
    ToHost,
    /// A vector or, as one element, a scalar: written into a view.
    IntoView,
    /// A vector in a new buffer.
    Made,
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
    /// The extents of an array result: `len(x) - 14`.
    pub extent: Vec<String>,
}

impl Value {
    /// Whether it is a scalar.
    pub fn is_scalar(&self) -> bool {
        self.ty.is_scalar()
    }

    /// The element type in C.
    pub fn c_type(&self) -> &'static str {
        match self.ty.elem {
            Ty::F16 => "agpu_half",
            Ty::Bf16 => "agpu_bfloat16",
            ty => c_type(ty),
        }
    }

    /// `float`, `vector of float, as long as x`.
    pub fn describe(&self) -> String {
        let kind = match self.ty.rank {
            0 => "",
            1 => "vector of ",
            2 => "matrix of ",
            _ => "array of three dimensions of ",
        };
        format!("{kind}{}{}", self.c_type(), self.shape)
    }
}

impl Entry {
    /// Whether a result is a vector, so that there is a form that makes it.
    pub fn makes_vectors(&self) -> bool {
        self.results.iter().any(|r| !r.is_scalar())
    }

    /// Whether a result is a scalar, so that there is a form that leaves it on the device.
    pub fn gives_scalars(&self) -> bool {
        self.results.iter().any(Value::is_scalar)
    }

    /// The forms that the function has in C.
    pub fn forms(&self) -> impl Iterator<Item = Form> {
        let made = self.makes_vectors().then_some(Form::New);
        let device = self.gives_scalars().then_some(Form::Device);
        [Some(Form::Plain), made, device].into_iter().flatten()
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
    pub fn new(compiled: &Compiled, options: &Options) -> Package {
        let mut entries = Vec::new();
        for ((f, plan), source) in compiled.functions.iter().zip(&compiled.plans).zip(&compiled.sources) {
            let param = |(i, p): (usize, &crate::core::Param)| Value {
                name: p.name.clone(),
                ty: p.ty,
                shape: shapes::param(plan, i),
                extent: Vec::new(),
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
                fast: f.fast,
                params: f.params.iter().enumerate().map(param).collect(),
                results: f.results.iter().enumerate().map(result).collect(),
                rules: shapes::rules(plan),
                launches: shapes::launches(plan),
                temporaries: plan.temps.len(),
                staged: stage::types(source),
            });
        }
        let staged = compiled.sources.iter().filter(|f| stage::has_stages(f));
        Package {
            name: compiled.name.clone(),
            version: options.version.clone(),
            entries,
            plans: compiled.plans.iter().map(|p| p.to_string()).collect(),
            staged: staged.map(|f| print::print(f, true)).collect(),
            kernels: compiled.kernels.clone(),
            targets: compiled.targets,
            levels: Level::all().iter().copied().filter(|l| options.levels.contains(l)).collect(),
            gpu: if compiled.targets.cuda { compiled.gpu.clone() } else { Vec::new() },
            ptx: compiled.gpu_code.iter().map(|k| k.iter().map(|v| v.ptx.clone()).collect()).collect(),
        }
    }
}

/// The class of an array of that rank in C++, without its namespace.
pub fn cpp_class(rank: u8) -> &'static str {
    match rank {
        1 => "gpu_vector",
        2 => "gpu_matrix",
        _ => "gpu_tensor3",
    }
}
