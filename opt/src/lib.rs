//! What `arraygpu-opt` does, without IO: core IR or kernel IR as text in, any later stage out. The file tests
//! (`compiler/tests/files`, `kernels`, `strategies`) run it in-process. It is a crate of its own so that the
//! compiler, which is part of the runtime, has no parser of command lines.

mod arguments;
mod core_text;
mod kernel_text;

pub use arguments::Arguments;

use arraygpu_compiler::error::{Error, Result};
use arraygpu_compiler::text::Cursor;

/// Runs on a text.
pub fn run(text: &str, arguments: &Arguments) -> Result<String> {
    if arguments.list_passes {
        return Ok(format!("core IR:\n{}kernel IR:\n{}", core_text::passes(), kernel_text::passes()));
    }
    // kernels begin with their keyword, functions with another
    if Cursor::new(text)?.eat("kernel") {
        return kernel_text::run(text, arguments);
    }
    if !arguments.run.is_empty() {
        return Err(usage("--run is for kernel IR; this text is core IR"));
    }
    core_text::run(text, arguments)
}

/// A wrong command line.
fn usage(message: impl Into<String>) -> Error {
    Error::user("E0104", message)
}

/// Names, one a line.
fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("  {name}\n")).collect()
}
