//! Compiles the judge that computes in the extended precision of x87.

fn main() {
    println!("cargo:rerun-if-changed=src/extended.c");
    cc::Build::new().file("src/extended.c").opt_level(2).warnings(true).compile("extended");
    println!("cargo:rustc-link-lib=m");
}
