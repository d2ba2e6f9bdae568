//! Compiles the judge in x87's extended precision.

fn main() {
    println!("cargo:rerun-if-changed=src/extended.c");
    cc::Build::new().file("src/extended.c").opt_level(2).warnings(true).compile("extended");
    println!("cargo:rustc-link-lib=m");
}
