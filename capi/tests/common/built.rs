//! A program that is built node by node.
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.

use super::{message, ok};
use arraygpu_capi::abi::AgpuStatus::*;
use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// A builder that is freed when it is dropped.
pub struct Built(pub *mut AgpuBuilder);

impl Drop for Built {
    fn drop(&mut self) {
        assert_eq!(unsafe { agpu_builder_free(self.0) }, AgpuOk);
    }
}

impl Built {
    pub fn new() -> Built {
        let mut b = null_mut();
        assert_eq!(unsafe { agpu_builder_create(c"f".as_ptr(), &mut b) }, AgpuOk);
        Built(b)
    }

    pub fn param(&self, name: &CStr, ty: AgpuType, rank: i32) -> AgpuNode {
        let mut node = 0;
        ok(unsafe { agpu_builder_param(self.0, name.as_ptr(), MaybeUninit::new(ty), rank, &mut node) });
        node
    }

    pub fn variable(&self, ty: AgpuType) -> AgpuNode {
        let mut node = 0;
        ok(unsafe { agpu_builder_variable(self.0, MaybeUninit::new(ty), &mut node) });
        node
    }

    pub fn try_apply(&self, op: &str, operands: &[AgpuNode]) -> Result<AgpuNode, String> {
        let (op, mut node) = (CString::new(op).unwrap(), 77);
        let count = operands.len() as i32;
        let status = unsafe { agpu_builder_apply(self.0, op.as_ptr(), operands.as_ptr(), count, &mut node) };
        if status != AgpuOk {
            assert_eq!(node, 77);
            return Err(message());
        }
        Ok(node)
    }

    pub fn apply(&self, op: &str, operands: &[AgpuNode]) -> AgpuNode {
        self.try_apply(op, operands).unwrap()
    }

    pub fn constant<T>(&self, ty: AgpuType, value: T) -> AgpuNode {
        let mut node = 0;
        let value: *const T = &value;
        ok(unsafe { agpu_builder_constant(self.0, MaybeUninit::new(ty), value.cast(), &mut node) });
        node
    }

    /// The sum of an array of f32.
    pub fn sum(&self, array: AgpuNode) -> AgpuNode {
        let [a, b] = [0, 1].map(|_| self.variable(AgpuType::AgpuF32));
        let (body, init) = (self.apply("add", &[a, b]), self.constant(AgpuType::AgpuF32, 0f32));
        let mut node = 0;
        ok(unsafe { agpu_builder_reduce(self.0, a, b, body, init, array, &mut node) });
        node
    }

    pub fn try_result(&self, value: AgpuNode) -> Result<(), String> {
        let status = unsafe { agpu_builder_result(self.0, null(), value) };
        if status == AgpuOk { Ok(()) } else { Err(message()) }
    }

    /// Compiles the program, with these results behind those that it has.
    pub fn compile(&self, results: &[AgpuNode]) -> *mut AgpuProgram {
        results.iter().for_each(|value| self.try_result(*value).unwrap());
        let mut program = null_mut();
        ok(unsafe { agpu_builder_compile(self.0, &mut program) });
        program
    }
}
