//! Builders: a function of core IR, made from C node by node. A mistake in a node is returned as an
//! error and leaves the function as it was.

use super::begun::Begun;
use super::numbers::Numbers;
use crate::abi::{AgpuBuilder, AgpuNode, AgpuStatus, AgpuType};
use crate::buffer::ty as type_of;
use crate::error::{INVALID_ARGUMENT, Result, fail, out};
use crate::guard::guard_as;
use crate::handle::{Kind, Table};
use arraygpu_compiler::build;
use arraygpu_compiler::core::{Function, Lambda, NodeId, Op, Output, Param, StencilHint, Type, Var};
use arraygpu_compiler::counted;
use arraygpu_compiler::loc::LocStack;
use arraygpu_compiler::scalar::{Lit, Ty};
use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_void};
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, Mutex, PoisonError};

/// What the author asks of GPUs, in the function and in the steps of its iterations.
#[derive(Clone, Copy, Default)]
pub(super) struct Asked {
    fast: bool,
    tensor_cores: bool,
    pub stencil: Option<StencilHint>,
}

/// A function under construction.
pub(super) struct Builder {
    numbers: Numbers,
    name: String,
    pub asked: Asked,
    params: Vec<Param>,
    loc: LocStack,
    /// The author's word for the nodes that are made.
    word: Option<Arc<str>>,
    /// The compiler's builder, once there is a node that is no parameter.
    begun: Option<build::Builder>,
    results: Vec<Output>,
    /// The names of the parameters and results.
    names: HashSet<String>,
    /// The iteration, if the function is the step of one.
    step_of: Option<Begun>,
}

pub(super) static BUILDERS: Table<Mutex<Builder>> = Table::new(Kind::Builder, "builder");

impl Builder {
    fn new(name: String) -> Builder {
        Builder {
            numbers: Numbers::new(),
            name,
            asked: Asked::default(),
            params: Vec::new(),
            loc: LocStack::default(),
            word: None,
            begun: None,
            results: Vec::new(),
            names: HashSet::new(),
            step_of: None,
        }
    }

    /// Begins a step of an iteration.
    pub fn of_step(function: Function, begun: Begun) -> Builder {
        let mut builder = Builder::new(function.name.clone());
        builder.begun = Some(build::Builder::new(function));
        builder.step_of = Some(begun);
        builder
    }

    /// Returns the iteration whose step this is.
    pub fn step_of(&self) -> Option<&Begun> {
        self.step_of.as_ref()
    }

    pub fn serial(&self) -> u32 {
        self.numbers.serial
    }

    pub fn loc(&self) -> LocStack {
        self.loc.clone()
    }

    /// Sets the place of the nodes that are made from now on.
    pub fn set_place(&mut self, loc: LocStack) {
        if let Some(function) = &mut self.begun {
            function.at(loc.clone());
        }
        self.loc = loc;
    }

    pub fn word(&self) -> Option<Arc<str>> {
        self.word.clone()
    }

    /// Sets the word of the nodes that are made from now on.
    pub fn set_word(&mut self, word: Option<Arc<str>>) {
        if let Some(function) = &mut self.begun {
            function.set_word(word.clone());
        }
        self.word = word;
    }

    /// Takes over what the function of a step asks of GPUs, because that holds for the whole program.
    pub fn ask_as(&mut self, step: &Builder) {
        self.asked.fast |= step.asked.fast;
        self.asked.tensor_cores |= step.asked.tensor_cores;
        self.asked.stencil = self.asked.stencil.or(step.asked.stencil);
    }

    /// Fails if a node depends on a variable that nothing binds.
    pub fn closed(&mut self, nodes: &[NodeId], what: &str) -> Result<()> {
        match nodes.iter().position(|n| !self.function().function.graph.is_closed(*n)) {
            Some(i) => fail!(
                INVALID_ARGUMENT,
                "{what} {i} depends on a variable that no map, generate, reduce, fold or loop binds"
            ),
            None => Ok(()),
        }
    }

    /// Returns the function. After this it takes no more parameters.
    pub fn function(&mut self) -> &mut build::Builder {
        let Builder { name, params, loc, word, begun, .. } = self;
        begun.get_or_insert_with(|| {
            let mut builder = build::Builder::new(Function::new(name, params.clone()));
            builder.at(loc.clone());
            builder.set_word(word.clone());
            builder
        })
    }

    /// Returns the node with the caller's number.
    pub fn node(&self, node: AgpuNode, what: impl Display) -> Result<NodeId> {
        self.numbers.node(node, what)
    }

    /// # Safety
    /// There are `count` nodes.
    pub unsafe fn nodes(&mut self, list: *const AgpuNode, count: i32, what: &str) -> Result<Vec<NodeId>> {
        let Ok(n) = usize::try_from(count) else { fail!(INVALID_ARGUMENT, "{}", counted(count, what)) };
        if n > 0 && list.is_null() {
            fail!(INVALID_ARGUMENT, "the {what}s are NULL");
        }
        // SAFETY: the caller promises it.
        (0..n).map(|i| self.node(unsafe { list.add(i).read() }, format_args!("{what} {i}"))).collect()
    }

    /// Returns the number of a node for the caller.
    pub fn number(&mut self, node: NodeId) -> AgpuNode {
        self.numbers.give(node)
    }

    /// Returns a variable that a lambda will bind.
    pub fn variable(&mut self, node: AgpuNode, what: impl Display) -> Result<Variable> {
        let id = self.node(node, &what)?;
        self.variable_of(id, what)
    }

    fn variable_of(&mut self, id: NodeId, what: impl Display) -> Result<Variable> {
        match self.function().function.graph.op(id) {
            Op::Var(var, ty) => Ok((*var, *ty)),
            _ => fail!(INVALID_ARGUMENT, "{what} is no variable"),
        }
    }

    /// Makes a function of `variables` with this body.
    pub fn lambda(&mut self, variables: &[Variable], body: NodeId) -> Result<Lambda> {
        let twice = variables.iter().enumerate().any(|(i, v)| variables[..i].contains(v));
        if twice {
            fail!(INVALID_ARGUMENT, "a variable is bound twice");
        }
        if !self.function().ty(body).is_scalar() {
            fail!(INVALID_ARGUMENT, "the body is a {}, it must be a scalar", self.function().ty(body));
        }
        Ok(self.function().graph().close(variables, body))
    }

    pub fn result_count(&self) -> usize {
        self.results.len()
    }

    /// Adds a result, unless there is a parameter or result of that name.
    pub fn result(&mut self, name: String, value: NodeId) -> Result<()> {
        if self.names.contains(&name) {
            fail!(INVALID_ARGUMENT, "there is a parameter or result {name} already");
        }
        if !self.function().function.graph.is_closed(value) {
            fail!(
                INVALID_ARGUMENT,
                "{name} depends on a variable that no map, generate, reduce, fold or loop binds"
            );
        }
        self.names.insert(name.clone());
        self.results.push(Output { name, value });
        Ok(())
    }

    pub fn finish(&mut self) -> Result<Function> {
        if self.results.is_empty() {
            fail!(INVALID_ARGUMENT, "{} has no result", self.name);
        }
        if self.step_of.is_some() {
            fail!(
                INVALID_ARGUMENT,
                "{} is the step of an iteration, which agpu_builder_iterate takes",
                self.name
            );
        }
        let (results, asked) = (self.results.clone(), self.asked);
        let mut function = self.function().function.clone();
        function.results = results;
        ask(&mut function, asked);
        Ok(function)
    }
}

/// Says what the author asks of GPUs in a function and in the steps of its iterations.
fn ask(function: &mut Function, asked: Asked) {
    (function.fast, function.tensor_cores, function.stencil) =
        (asked.fast, asked.tensor_cores, asked.stencil);
    for step in &mut function.steps {
        ask(Arc::make_mut(step), asked);
    }
}

/// Calls `f` with a builder, and undoes what it changed if it fails.
pub(super) fn with<T>(
    name: &str,
    builder: *mut AgpuBuilder,
    f: impl FnOnce(&mut Builder) -> Result<T>,
) -> AgpuStatus {
    guard_as(name, || {
        let builder = BUILDERS.pin(builder.addr())?;
        let mut builder = builder.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = builder.begun.as_ref().map(build::Builder::mark);
        let asked = builder.asked;
        f(&mut builder).map(drop).inspect_err(|_| {
            builder.asked = asked;
            match (&mut builder.begun, mark) {
                (Some(begun), Some(mark)) => begun.undo(mark),
                (begun, _) => *begun = None,
            }
            let left = builder.begun.as_ref().map_or(builder.params.len(), |b| b.function.graph.len());
            builder.numbers.truncate(left);
        })
    })
}

/// Calls `f` with a builder as `with` does, and writes the number of the node that it returns.
pub(super) fn make(
    name: &str,
    builder: *mut AgpuBuilder,
    node: *mut AgpuNode,
    f: impl FnOnce(&mut Builder) -> Result<NodeId>,
) -> AgpuStatus {
    with(name, builder, |b| {
        let out = out(node, "node")?;
        let made = f(b)?;
        out.write(b.number(made));
        Ok(())
    })
}

/// Reads a name that can stand in generated code.
pub(super) fn identifier(name: *const c_char, what: &str) -> Result<String> {
    if name.is_null() {
        fail!(INVALID_ARGUMENT, "{what} is NULL");
    }
    // SAFETY: the caller promises a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !fits || name.len() > 200 {
        fail!(INVALID_ARGUMENT, "{what} `{name}` is no name: letters, digits and _, a letter first");
    }
    Ok(name.into_owned())
}

/// Begins a function. Messages and the generated code contain `name`. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_create(
    name: *const c_char,
    builder: *mut *mut AgpuBuilder,
) -> AgpuStatus {
    guard_as("agpu_builder_create", || {
        let out = out(builder, "builder")?;
        let made = Builder::new(identifier(name, "the name")?);
        out.write(without_provenance_mut(BUILDERS.insert(Mutex::new(made))?));
        Ok(())
    })
}

/// Frees a builder; NULL is allowed. Programs that it made are kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_free(builder: *mut AgpuBuilder) -> AgpuStatus {
    guard_as("agpu_builder_free", || if builder.is_null() { Ok(()) } else { BUILDERS.free(builder.addr()) })
}

/// Lets GPUs use approximations, contract operations and flush subnormal numbers: this is faster,
/// and changes bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_fast_math(builder: *mut AgpuBuilder, on: bool) -> AgpuStatus {
    with("agpu_builder_fast_math", builder, |b| {
        b.asked.fast = on;
        Ok(())
    })
}

/// Lets GPUs of compute capability 8.0 and above compute matrix products with tensor cores: products
/// of f16 and bf16, and of f32 rounded to TF32, are added in f32 in an order that is not promised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_tensor_cores(builder: *mut AgpuBuilder, on: bool) -> AgpuStatus {
    with("agpu_builder_tensor_cores", builder, |b| {
        b.asked.tensor_cores = on;
        Ok(())
    })
}

/// Adds a parameter: a scalar if the rank is 0, else an array. Parameters come before all other
/// nodes. Those whose name is NULL are named v0, v1 .. by their position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_param(
    builder: *mut AgpuBuilder,
    name: *const c_char,
    r#type: MaybeUninit<AgpuType>,
    rank: i32,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_param", builder, node, |b| {
        let elem = type_of(r#type)?;
        let n = b.params.len();
        let name = if name.is_null() { format!("v{n}") } else { identifier(name, "the name")? };
        if b.begun.is_some() {
            fail!(INVALID_ARGUMENT, "{name}: parameters come before all other nodes");
        }
        if b.names.contains(&name) {
            fail!(INVALID_ARGUMENT, "there is a parameter {name} already");
        }
        let Some(rank) = u8::try_from(rank).ok().filter(|r| *r <= 3) else {
            fail!(INVALID_ARGUMENT, "{name}: the rank {rank} is not 0 to 3");
        };
        b.names.insert(name.clone());
        b.params.push(Param { name, ty: Type { elem, rank } });
        Ok(NodeId(n as u32))
    })
}

/// Adds a constant, which becomes part of the code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_constant(
    builder: *mut AgpuBuilder,
    r#type: MaybeUninit<AgpuType>,
    value: *const c_void,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_constant", builder, node, |b| {
        let ty = type_of(r#type)?;
        if value.is_null() {
            fail!(INVALID_ARGUMENT, "the value is NULL");
        }
        let mut bytes = [0u8; 8];
        // SAFETY: the caller promises a value of that type, which has at most 8 bytes.
        unsafe { std::ptr::copy_nonoverlapping(value.cast(), bytes.as_mut_ptr(), ty.size()) };
        Ok(b.function().graph().lit(Lit::from_bytes(ty, &bytes)))
    })
}

/// Adds a variable, to be bound by agpu_builder_map(), _generate(), _reduce(), _fold() or _loop().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_variable(
    builder: *mut AgpuBuilder,
    r#type: MaybeUninit<AgpuType>,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_variable", builder, node, |b| {
        let ty = type_of(r#type)?;
        Ok(b.function().graph().fresh_var(ty).1)
    })
}

/// # Safety
/// There are `count` nodes.
pub(super) unsafe fn variables_of(
    b: &mut Builder,
    list: *const AgpuNode,
    count: i32,
) -> Result<Vec<Variable>> {
    // SAFETY: the caller promises it.
    let nodes = unsafe { b.nodes(list, count, "variable") }?;
    nodes.into_iter().enumerate().map(|(i, n)| b.variable_of(n, format_args!("variable {i}"))).collect()
}

/// A variable of a lambda under construction.
pub(super) type Variable = (Var, Ty);
