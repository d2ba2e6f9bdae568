//! What a function that is built in this process may take to compile: `ARRAYGPU_BUDGET`.

use crate::environment;
use crate::error::Result;
use crate::interrupt::refused;
use crate::log::log;
use arraygpu_compiler::budget::{self, Budget, Code};
use arraygpu_compiler::core::Function;
use std::sync::OnceLock;

/// Compiles within the budget that the environment names, or within the usual one.
pub(super) fn within<T>(compile: impl FnOnce() -> arraygpu_compiler::Result<T>) -> Result<T> {
    budget::within(allowed(), compile).map_err(refused)
}

/// Returns the limits of what writing the code of a function may take. The code is written when calls need it.
pub(super) fn code_of(function: &Function) -> Code {
    Code::within(allowed(), function.loc.clone())
}

/// Returns the budget that the environment names, or the usual one.
pub(super) fn allowed() -> Budget {
    static ALLOWED: OnceLock<Budget> = OnceLock::new();
    *ALLOWED.get_or_init(|| {
        let Some(text) = environment::variable("ARRAYGPU_BUDGET") else { return Budget::default() };
        text.to_string_lossy().parse().unwrap_or_else(|e: arraygpu_compiler::Error| {
            log!(Warn, "ARRAYGPU_BUDGET: {}: the usual one is taken", e.message);
            Budget::default()
        })
    })
}
