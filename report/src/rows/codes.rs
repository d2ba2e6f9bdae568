//! Rows about machine code: kernels by two compilers, and kernels and functions with an optimisation left out.

use super::Run;
use super::forms::{number, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a kernel needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Code {
    pub registers: f64,
    pub spills: f64,
    pub instructions: f64,
}

impl Code {
    fn of(value: &Value) -> Option<Self> {
        let [registers, spills, instructions] =
            ["registers", "spills", "instructions"].map(|key| number(value, key));
        Some(Self { registers: registers?, spills: spills?, instructions: instructions? })
    }
}

/// A kernel by ptxas from our PTX, and by nvcc from its CUDA C++.
#[derive(Clone, Debug)]
pub struct TwoCompilers {
    pub kernel: String,
    pub ours: Code,
    pub nvcc: Code,
    /// Processor seconds of nvcc, and of ours to the text.
    pub seconds: (f64, f64),
}

/// A kernel with all optimisations, and with each one left out that changes its text.
#[derive(Clone, Debug)]
pub struct LeftOut {
    pub all: Code,
    pub without: BTreeMap<String, Code>,
}

/// A function, and ms by what is left out.
pub type Times = (String, BTreeMap<String, f64>);

/// Rows of one run each.
#[derive(Default)]
pub struct Codes {
    pub compilers: Vec<(Rc<Run>, Vec<TwoCompilers>)>,
    pub left_out: Vec<(Rc<Run>, Vec<LeftOut>)>,
    pub times: Vec<(Rc<Run>, Vec<Times>)>,
}

impl Codes {
    pub fn len(&self) -> usize {
        self.compilers.len() + self.left_out.len() + self.times.len()
    }

    /// Takes a row if it is one of these.
    pub fn take(&mut self, run: &Rc<Run>, value: &Value) -> bool {
        let code = |key: &str| value.get(key).and_then(Code::of);
        if let (Some(kernel), Some(ours), Some(nvcc)) = (text(value, "static"), code("ours"), code("nvcc")) {
            let seconds = number(&value["nvcc"], "seconds").zip(number(value, "text_seconds"));
            let seconds = seconds.unwrap_or((f64::NAN, f64::NAN));
            super::last_of(&mut self.compilers, run).push(TwoCompilers { kernel, ours, nvcc, seconds });
            return true;
        }
        if let (Some(_), Some(all), Some(Value::Object(without))) =
            (text(value, "switches"), code("all"), value.get("without"))
        {
            let without = without.iter().filter_map(|(name, v)| Some((name.clone(), Code::of(v)?)));
            super::last_of(&mut self.left_out, run).push(LeftOut { all, without: without.collect() });
            return true;
        }
        if let (Some(function), Some(Value::Object(ms))) = (text(value, "function"), value.get("left_out_ms"))
        {
            let ms = ms.iter().filter_map(|(name, v)| Some((name.clone(), v.as_f64()?))).collect();
            super::last_of(&mut self.times, run).push((function, ms));
            return true;
        }
        false
    }
}
