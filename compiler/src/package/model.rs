//! The contents of a package in the terms of its users: entries with typed, described parameters
//! and results.

use super::level::Level;
use super::records::{Leaf, Records, Struct};
use super::{Options, shapes};
pub use crate::backend::c::ctype as c_type;
use crate::core::{Type, print};
use crate::driver::{Compiled, CompiledFunction, CompiledKernel, GpuCode, Targets};
use crate::plan::Step;
use crate::plan::gpu::GpuVariant;
use crate::scalar::Ty;
use crate::stage;
use rustc_hash::FxHashSet;

/// A package.
#[derive(Clone, Debug)]
pub struct Package {
    /// The package's name, which names the library and the namespace and is the prefix of the C
    /// functions.
    pub name: String,
    /// The package's version.
    pub version: String,
    /// The functions, in the author's order.
    pub entries: Vec<Entry>,
    /// The structs of the interface.
    pub records: Records,
    /// The text of all plans; plan i belongs to entry i.
    pub plans: String,
    /// The text of the functions that stage scalars, as the author wrote them; it may be empty.
    pub staged: String,
    /// The kernels, in the order of the tables.
    pub kernels: Vec<Kernel>,
    /// The text of how the kernels are launched on a GPU; empty without that target.
    pub gpu: String,
    /// The targets for which there is code.
    pub targets: Targets,
    /// The levels of the processor for which kernels are compiled.
    pub levels: Vec<Level>,
}

/// One kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel's name.
    pub name: String,
    /// Whether GPUs run it at all: not without that target, and not if the launch is an alternative to
    /// others on CPUs only.
    pub is_for_gpus: bool,
    /// The variants for GPUs, in order of preference. There are none without that target.
    pub variants: Vec<Variant>,
    /// The reason why there are no variants for GPUs, if there are none in spite of that target.
    pub absent: Option<String>,
}

/// One variant of a kernel for GPUs.
#[derive(Clone, Debug)]
pub struct Variant {
    /// How it is launched, and when.
    pub launch: GpuVariant,
    /// Its PTX.
    pub ptx: String,
}

/// One function.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The function's name, without the package's.
    pub name: String,
    /// The author's documentation.
    pub doc: String,
    /// Whether `fast_math` is on, so that GPUs may compute other bits.
    pub fast: bool,
    /// Whether `tensor_cores` is on, so that GPUs may compute other bits of products.
    pub tensor_cores: bool,
    /// The parameters, in order.
    pub params: Vec<Value>,
    /// The results, in order.
    pub results: Vec<Value>,
    /// The shape rules, such as `len(x) == len(y)`.
    pub rules: Vec<String>,
    /// The kernels that the function launches, in order.
    pub launches: Vec<String>,
    /// Number of temporaries.
    pub temporaries: usize,
    /// The types of the scalars that the function stages.
    pub staged: Vec<Ty>,
}

/// How a C function hands over its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Arrays are written into views, scalars to the host.
    Plain,
    /// Arrays are allocated, scalars are written to the host.
    New,
    /// Arrays and scalars are written into views: nothing is copied to the host, and the host does
    /// not wait for the device.
    Device,
}

impl Form {
    /// Returns the suffix of the form's function names.
    pub fn suffix(self) -> &'static str {
        match self {
            Form::Plain => "",
            Form::New => "_new",
            Form::Device => "_device",
        }
    }

    /// Returns how the form hands over a result.
    pub fn gives(self, result: &Value) -> Gives {
        match (result.is_scalar(), self) {
            (true, Form::Plain | Form::New) => Gives::ToHost,
            (false, Form::New) => Gives::Made,
            (_, Form::Device) | (false, Form::Plain) => Gives::IntoView,
        }
    }
}

/// How a C function hands over one result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// A scalar is written to the host's memory.
    ToHost,
    /// An array, or a scalar as one element, is written into a view.
    IntoView,
    /// An array is returned in a new buffer.
    Made,
}

/// A parameter or a result.
#[derive(Clone, Debug)]
pub struct Value {
    /// The value's name.
    pub name: String,
    /// The value's type; of structs that of their bytes.
    pub ty: Type,
    /// If it is a struct or an array of structs, what these are.
    pub record: Option<Record>,
    /// The shape in words, such as `, as long as x` or ` of len(x) - 14 elements`; it may be empty.
    pub shape: String,
    /// The extents of an array result, such as `len(x) - 14`.
    pub extent: Vec<String>,
}

/// What a parameter or result that is a struct consists of.
#[derive(Clone, Debug)]
pub struct Record {
    /// The struct's name in C.
    pub c_name: String,
    /// The struct's name in C++.
    pub cpp_name: String,
    /// Its leaves, each of which is a parameter or result of the plan.
    pub leaves: Vec<Leaf>,
}

impl Value {
    /// Returns how many parameters or results of the plan it stands for.
    pub fn places(&self) -> usize {
        self.record.as_ref().map_or(1, |r| r.leaves.len())
    }

    /// Whether the value is a scalar.
    pub fn is_scalar(&self) -> bool {
        self.ty.is_scalar()
    }

    /// Returns the element type in C.
    pub fn c_type(&self) -> &str {
        if let Some(record) = &self.record {
            return &record.c_name;
        }
        match self.ty.elem {
            Ty::F16 => "agpu_half",
            Ty::Bf16 => "agpu_bfloat16",
            ty => c_type(ty),
        }
    }

    /// Returns a description such as `float` or `vector of float, as long as x`.
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
    /// Whether a result is an array, so that there is a form that allocates it.
    pub fn makes_vectors(&self) -> bool {
        self.results.iter().any(|r| !r.is_scalar())
    }

    /// Whether a result is a scalar, so that there is a form that leaves it on the device.
    pub fn gives_scalars(&self) -> bool {
        self.results.iter().any(Value::is_scalar)
    }

    /// Returns the forms that the function has in C.
    pub fn forms(&self) -> impl Iterator<Item = Form> {
        let made = self.makes_vectors().then_some(Form::New);
        let device = self.gives_scalars().then_some(Form::Device);
        [Some(Form::Plain), made, device].into_iter().flatten()
    }

    /// Returns a name similar to `name` that no parameter or result has.
    pub fn free_name(&self, name: &str) -> String {
        let mut name = name.to_string();
        while self.params.iter().chain(&self.results).any(|v| v.name == name) {
            name.push('_');
        }
        name
    }
}

impl Package {
    /// Describes the package of a compiled program.
    pub fn new(compiled: &Compiled, options: &Options) -> Package {
        let mut entries = Vec::new();
        for CompiledFunction { source, fused: f, plan, .. } in &compiled.functions {
            let param = |(i, p): (usize, &crate::core::Param)| Value {
                name: p.name.clone(),
                ty: p.ty,
                record: None,
                shape: shapes::param(plan, i),
                extent: Vec::new(),
            };
            let result = |(i, r): (usize, &crate::core::Output)| Value {
                name: r.name.clone(),
                ty: f.graph.ty(r.value),
                record: None,
                shape: shapes::result(plan, i),
                extent: shapes::extent(plan, i),
            };
            entries.push(Entry {
                name: f.name.clone(),
                doc: f.doc.trim().to_string(),
                fast: f.fast,
                tensor_cores: f.tensor_cores,
                params: joined(compiled, options, &f.name, false, f.params.iter().enumerate().map(param)),
                results: joined(compiled, options, &f.name, true, f.results.iter().enumerate().map(result)),
                rules: shapes::rules(plan),
                launches: shapes::launches(plan),
                temporaries: plan.temps.len(),
                staged: stage::types(source),
            });
        }
        let staged = compiled.functions.iter().map(|f| &f.source).filter(|f| stage::has_stages(f));
        Package {
            name: compiled.name.clone(),
            version: options.version.clone(),
            records: options.records.clone(),
            entries,
            plans: compiled.functions.iter().map(|f| f.plan.to_string()).collect(),
            staged: staged.map(|f| print::print(f, true)).collect(),
            kernels: kernels(compiled),
            gpu: if compiled.targets.cuda { compiled.gpu_launches() } else { String::new() },
            targets: compiled.targets,
            levels: Level::all().iter().copied().filter(|l| options.levels.contains(l)).collect(),
        }
    }
}

/// Joins the fields of each struct among the parameters, or results, of a function to one value.
fn joined(
    compiled: &Compiled,
    options: &Options,
    function: &str,
    is_result: bool,
    values: impl Iterator<Item = Value>,
) -> Vec<Value> {
    let records = &options.records;
    let of = |u: &&super::records::Use| u.function == function && u.is_result == is_result;
    let uses: Vec<_> = records.uses.iter().filter(of).collect();
    let (mut out, mut skip) = (Vec::new(), 0);
    for (i, mut value) in values.enumerate() {
        for u in records.uses.iter().filter(|u| u.function == function) {
            let lengths = |text: &str| of_structs(records, u, text);
            value.shape = lengths(&value.shape);
            value.extent = value.extent.iter().map(|e| lengths(e)).collect();
        }
        if skip > 0 {
            skip -= 1;
            continue;
        }
        let Some(u) = uses.iter().find(|u| u.first == i) else {
            out.push(value);
            continue;
        };
        let leaves = records.leaves(&u.record);
        skip = leaves.len() - 1;
        let (c_name, cpp_name) =
            records.of(&u.record).map_or_else(Default::default, |s| struct_names(&compiled.name, s));
        let record = Some(Record { c_name, cpp_name, leaves });
        let ty = Type { elem: Ty::U8, ..value.ty };
        out.push(Value { name: u.name.clone(), ty, record, ..value });
    }
    out
}

/// Returns a text about shapes with the name of a struct in place of its fields'.
fn of_structs(records: &Records, u: &super::records::Use, text: &str) -> String {
    let mut names: Vec<String> = records.leaves(&u.record).iter().map(|l| l.flat(&u.name)).collect();
    names.sort_by_key(|n| std::cmp::Reverse(n.len()));
    names.iter().fold(text.to_string(), |text, name| text.replace(name.as_str(), &u.name))
}

/// Returns the names of a struct in C and in C++.
pub fn struct_names(package: &str, s: &Struct) -> (String, String) {
    let c_name = format!("{package}_{}", s.name);
    let cpp_name = match (s.is_complex, s.fields.first()) {
        (true, Some((_, super::records::FieldType::Elem(ty)))) => format!("std::complex<{}>", c_type(*ty)),
        _ => format!("{package}::{}", s.name),
    };
    (c_name, cpp_name)
}

/// Describes the kernels of a compiled program.
fn kernels(compiled: &Compiled) -> Vec<Kernel> {
    let mut alternatives = FxHashSet::default();
    for steps in compiled.functions.iter().flat_map(|f| f.plan.steps.windows(2)) {
        if let [Step::Instead(_), Step::Launch(l)] = steps {
            alternatives.insert(l.kernel);
        }
    }
    let of = |(k, number)| kernel(k, compiled.targets, alternatives.contains(&number));
    compiled.kernels.iter().zip(0..).map(of).collect()
}

fn kernel(k: &CompiledKernel, targets: Targets, is_alternative: bool) -> Kernel {
    let variant = |code: &GpuCode| Variant { launch: code.launch.clone(), ptx: code.ptx.clone() };
    let gpu = k.gpu.as_ref().filter(|_| targets.cuda);
    Kernel {
        name: k.name.clone(),
        is_for_gpus: gpu.is_some_and(|gpu| !is_alternative || !gpu.variants.is_empty()),
        variants: gpu.map_or_else(Vec::new, |gpu| gpu.variants.iter().map(variant).collect()),
        absent: gpu.and_then(|gpu| gpu.absent.clone()),
    }
}

/// Returns the C++ class of an array of this rank, without its namespace.
pub fn cpp_class(rank: u8) -> &'static str {
    match rank {
        1 => "gpu_vector",
        2 => "gpu_matrix",
        _ => "gpu_tensor3",
    }
}
