//! Writes the C header of the runtime with cbindgen into OUT_DIR. `include/arraygpu.h` is the committed copy:
//! `tests/header.rs` fails if it is stale, and updates it with BLESS=1. Also writes the pages whose Rust code the
//! documentation tests compile.

use std::path::{Path, PathBuf};

/// Pages whose Rust code is compiled (`src/lib.rs`).
const PAGES: [&str; 2] = ["language.md", "from-cuda-numpy.md"];

/// The sources of the header, in the header's order.
const SOURCES: [&str; 27] = [
    "abi.rs",
    "abi/packages.rs",
    "guard.rs",
    "error.rs",
    "devices.rs",
    "times.rs",
    "context.rs",
    "buffer.rs",
    "view.rs",
    "copy.rs",
    "pinned.rs",
    "stream.rs",
    "event.rs",
    "loader.rs",
    "tuning.rs",
    "package.rs",
    "cancel.rs",
    "online/builder.rs",
    "online/written.rs",
    "online/operations.rs",
    "online/joined.rs",
    "online/composites.rs",
    "online/stencils.rs",
    "online/iterated.rs",
    "online/compile.rs",
    "online/programs.rs",
    "online/cc.rs",
];

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("set by Cargo"));
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("set by Cargo"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=cbindgen.toml");
    println!("cargo:rerun-if-changed=capi/src");
    header(&root).write_to_file(out.join("arraygpu.h"));
    for page in PAGES {
        println!("cargo:rerun-if-changed=docs/{page}");
        let text = std::fs::read_to_string(root.join("docs").join(page)).expect("the page is readable");
        std::fs::write(out.join(page), compiled(&text)).expect("OUT_DIR is writable");
    }
}

/// A page whose code has the imports that readers know from its first example, and is compiled, but not run.
fn compiled(page: &str) -> String {
    let imports = "```rust,no_run\n# #[allow(unused_imports)]\n# use arraygpu::prelude::*;\n";
    page.replace("```rust\n", imports)
}

fn header(root: &Path) -> cbindgen::Bindings {
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml is readable");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in SOURCES {
        builder = builder.with_src(root.join("capi/src").join(file));
    }
    builder.generate().expect("capi/src parses")
}
