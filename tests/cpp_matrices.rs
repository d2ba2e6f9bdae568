//! Matrices in C++: the classes, and a package made from core IR, built here without the installed tree.

mod cpp_program;

use cpp_program::{package, run};

#[test]
#[ignore = "the project tests/cpp has this program, too"]
fn classes() {
    let folder = tempfile::tempdir().unwrap();
    for compiler in ["g++", "clang++"] {
        run(compiler, "matrices.cpp", folder.path(), &[]);
    }
}

#[test]
fn functions_of_a_package() {
    let folder = tempfile::tempdir().unwrap();
    let archive = [package("functions", include_str!("cpp/without_cmake/functions.core"), folder.path())];
    let out = folder.path().join("functions");
    for compiler in ["g++", "clang++"] {
        run(compiler, "without_cmake/functions.cpp", folder.path(), &archive);
    }
    let header = std::fs::read_to_string(out.join("include/functions.h")).unwrap();
    for words in [
        "@param b matrix of float, as large as a",
        "@param v vector of float of cols(a) elements",
        "@param[out] low matrix of float, as large as a",
        "result is made with the right extents",
    ] {
        assert!(header.contains(words), "no `{words}` in:\n{header}");
    }
    let header = std::fs::read_to_string(out.join("include/functions.hpp")).unwrap();
    for words in [
        "inline arraygpu::gpu_matrix<float> transposed(arraygpu::gpu_matrix_view<const float> a)",
        "@return matrix of float of cols(a) x rows(a) elements",
        "arraygpu::gpu_tensor3_view<std::int32_t> result",
    ] {
        assert!(header.contains(words), "no `{words}` in:\n{header}");
    }
}
