//! A package that is loaded by its path: its functions, and what its manifest says of them.

use crate::array::show;
use crate::kind::Kind;
use crate::problem::{Result, failure, unknown};
use crate::runtime::Runtime;
use crate::slot::Slot;
use arraygpu_capi::abi::{AgpuEntrySlot, AgpuLoadedModule, AgpuModule};
use arraygpu_compiler::plan::parse;
use arraygpu_compiler::text::blocks;
use serde_json::Value;
use std::ffi::{CStr, CString, c_char};
use std::fmt::Write;
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::{null, null_mut};

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Its number in the package.
    pub number: i32,
    /// Its name.
    pub name: String,
    /// What it takes.
    pub params: Vec<Slot>,
    /// What it gives.
    pub results: Vec<Slot>,
}

/// A package in memory.
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its functions, in the order of their numbers.
    pub functions: Vec<Function>,
    /// The module for calls.
    pub module: *const AgpuModule,
    /// `share/NAME/manifest.json`, if it lies where generators put it.
    manifest: Value,
}

impl Package {
    /// Loads a package's shared library.
    pub fn load(runtime: &Runtime, path: &Path) -> Result<Package> {
        let shown = path.display();
        if path.is_dir() {
            return Err(failure(format!(
                "{shown}: a folder; a package's library, lib<name>.so, is expected"
            )));
        }
        // without a folder the loader would look among the system's libraries
        let absolute = std::path::absolute(path).map_err(|e| failure(format!("{shown}: {e}")))?;
        if !absolute.exists() {
            return Err(failure(format!("{shown}: no such file")));
        }
        let text = absolute.to_str().and_then(|t| CString::new(t).ok());
        let text = text.ok_or_else(|| failure(format!("{shown}: the path is not UTF-8")))?;
        let (mut handle, mut module, mut count) = (null_mut(), null(), 0);
        // SAFETY: the pointers are to locals, and the handle was just made.
        unsafe {
            runtime.check((runtime.module_load)(text.as_ptr(), &mut handle))?;
            runtime.check((runtime.module_get)(handle, &mut module))?;
            runtime.check((runtime.module_entry_count)(handle, &mut count))?;
        }
        let functions = (0..count).map(|i| function(runtime, handle, i)).collect::<Result<_>>()?;
        // SAFETY: the module has a name, a C string of the library, which stays loaded.
        let name = unsafe { string((*module).name) };
        let manifest = manifest(&absolute, &name).unwrap_or_default();
        Ok(Package { name, functions, module, manifest })
    }

    /// Returns the function of a name.
    pub fn function(&self, name: &str) -> Result<&Function> {
        let found = self.functions.iter().find(|f| f.name == name);
        found.ok_or_else(|| {
            unknown(
                &format!("function of {}", self.name),
                name,
                self.functions.iter().map(|f| f.name.as_str()),
            )
        })
    }

    /// Returns the texts of its plans, and of how its kernels are launched on GPUs.
    pub fn texts(&self) -> Result<[&str; 2]> {
        // SAFETY: the package stays loaded.
        let module = unsafe { &*self.module };
        let none = || failure(format!("{} has no code for GPUs", self.name));
        if module.plans.is_null() || module.gpu.is_null() {
            return Err(none());
        }
        let text = |text: *const c_char, length: i64| {
            let length = usize::try_from(length).map_err(|_| none())?;
            // SAFETY: the module has that many bytes there, by the contract of the C ABI.
            std::str::from_utf8(unsafe { std::slice::from_raw_parts(text.cast(), length) })
                .map_err(|_| none())
        };
        Ok([text(module.plans, module.plans_length)?, text(module.gpu, module.gpu_length)?])
    }

    /// Returns the numbers of the kernels of a function, each once.
    pub fn kernels_of(&self, function: &Function) -> Result<Vec<usize>> {
        let [plans, _] = self.texts()?;
        let damaged = |e: arraygpu_compiler::error::Error| failure(format!("{}: {}", self.name, e.message));
        let all = blocks(plans, "plan").map_err(damaged)?;
        let text = all.iter().find(|block| block.name == function.name);
        let text = text.ok_or_else(|| failure(format!("{} has no plan of {}", self.name, function.name)))?;
        let plan = parse::one(text.text).map_err(damaged)?;
        let mut numbers: Vec<usize> = plan.launches().map(|l| l.kernel as usize).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    /// Returns what the manifest says of a function; null if there is none.
    pub fn about(&self, function: &Function) -> &Value {
        let functions = self.manifest["functions"].as_array().map(Vec::as_slice).unwrap_or_default();
        functions.iter().find(|f| f["name"] == *function.name).unwrap_or(&Value::Null)
    }

    /// Returns a line that says what the package has code for; empty without a manifest.
    pub fn targets(&self) -> String {
        let mut has = Vec::new();
        let names = |list: &Value, key: Option<&str>| -> Vec<String> {
            let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
            let name = |v: &Value| key.map_or(v, |key| &v[key]).as_str().map(String::from);
            list.iter().filter_map(name).collect()
        };
        let levels = names(&self.manifest["cpu"]["levels"], Some("name"));
        if !levels.is_empty() {
            let arch = self.manifest["cpu"]["arch"].as_str().unwrap_or("CPU");
            has.push(format!("{arch} ({})", levels.join(", ")));
        }
        if let Some(target) = self.manifest["cuda"]["ptx"]["target"].as_str() {
            let cubin = names(&self.manifest["cuda"]["cubin"], None);
            let made = if cubin.is_empty() {
                String::new()
            } else {
                format!("; machine code for {}", cubin.join(", "))
            };
            has.push(format!("NVIDIA GPUs from {target} on{made}"));
        }
        has.join(", ")
    }

    /// Returns a function's description: signature, documentation, rules of shapes, kernels.
    pub fn describe(&self, function: &Function) -> String {
        let about = self.about(function);
        let mut out = format!("{}\n", function.signature());
        let doc = about["doc"].as_str().unwrap_or_default();
        for line in doc.lines() {
            let _ = writeln!(out, "  {line}");
        }
        let list = |v: &Value| -> Vec<String> {
            let list = v.as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(|v| v.as_str().map(String::from)).collect()
        };
        for (slot, result) in about["results"].as_array().into_iter().flatten().zip(&function.results) {
            let extents = list(&slot["extent"]);
            if !extents.is_empty() {
                let _ = writeln!(out, "  {} has the extents {}", result.name, extents.join(" x "));
            }
        }
        for rule in list(&about["rules"]) {
            let _ = writeln!(out, "  needs {rule}");
        }
        let kernels = list(&about["kernels"]);
        if !kernels.is_empty() {
            let _ = writeln!(out, "  kernels: {}", kernels.join(", "));
        }
        let targets = self.targets();
        if !targets.is_empty() {
            let _ = writeln!(out, "  code for {targets}");
        }
        out
    }
}

impl Function {
    /// Returns the function with its parameters and results on one line.
    pub fn signature(&self) -> String {
        let list = |slots: &[Slot]| slots.iter().map(Slot::to_string).collect::<Vec<_>>().join(", ");
        format!("{}({}) -> {}", self.name, list(&self.params), list(&self.results))
    }
}

/// Reads a C string of the package.
///
/// # Safety
/// The pointer is null or to a C string.
unsafe fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees this.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

type ReadSlot = unsafe extern "C" fn(*mut AgpuLoadedModule, i32, i32, *mut AgpuEntrySlot) -> i32;

fn function(runtime: &Runtime, handle: *mut AgpuLoadedModule, number: i32) -> Result<Function> {
    let (mut name, mut params, mut results) = (null(), 0, 0);
    // SAFETY: the pointers are to locals, and the module is loaded.
    unsafe {
        runtime.check((runtime.module_entry_name)(handle, number, &mut name))?;
        runtime.check((runtime.module_entry_shape)(handle, number, &mut params, &mut results))?;
    }
    // SAFETY: the name lives as long as the module.
    let name = unsafe { string(name) };
    let slots = |count: i32, read: ReadSlot| -> Result<Vec<Slot>> {
        (0..count).map(|i| slot(runtime, handle, [number, i], read, &name)).collect()
    };
    let params = slots(params, runtime.module_entry_param)?;
    let results = slots(results, runtime.module_entry_result)?;
    Ok(Function { number, name, params, results })
}

fn slot(
    runtime: &Runtime,
    handle: *mut AgpuLoadedModule,
    [number, i]: [i32; 2],
    read: ReadSlot,
    function: &str,
) -> Result<Slot> {
    let mut slot = MaybeUninit::<AgpuEntrySlot>::zeroed();
    // SAFETY: the out-pointer is to a local, and the module is loaded. The type is read as a
    // number, because a newer library may have more types.
    let (name, kind, rank) = unsafe {
        runtime.check(read(handle, number, i, slot.as_mut_ptr()))?;
        let slot = slot.as_ptr();
        (string((*slot).name), (&raw const (*slot).r#type).cast::<i32>().read(), (*slot).rank)
    };
    let known = Kind::of_number(kind).zip(usize::try_from(rank).ok());
    let (kind, rank) = known.ok_or_else(|| {
        failure(format!(
            "{function}: `{name}` has a type that this program does not know; install a newer one"
        ))
    })?;
    Ok(Slot { name, kind, rank })
}

/// Reads the manifest of a library `lib/lib<name>.so` at `share/<name>/manifest.json`; a link to the
/// library may lie elsewhere.
fn manifest(library: &Path, name: &str) -> Option<Value> {
    let places = [Some(library.to_path_buf()), library.canonicalize().ok()];
    places.into_iter().flatten().find_map(|library| {
        let path = library.parent()?.parent()?.join("share").join(name).join("manifest.json");
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    })
}

/// Returns an array's type and extents in words: `f32 1024x512`.
pub fn shaped(kind: Kind, extents: &[i64]) -> String {
    if extents.is_empty() { kind.to_string() } else { format!("{kind} {}", show(extents)) }
}
