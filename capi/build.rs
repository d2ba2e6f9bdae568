//! Sets the name of the shared library: packages link `libarraygpu.so.5`, whatever Cargo calls the
//! file.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libarraygpu.so.5");
        // Worker threads and thread-local destructors must find their code after a dlclose.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
