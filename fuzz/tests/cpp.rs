//! C++ reads every construct: views and expressions of what a package's functions give, and functions of views. Each day takes another eighth of the constructs.

#[path = "../../tests/cpp_program/mod.rs"]
mod cpp_program;

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_fuzz::dsl;
use arraygpu_suite::today;
use std::fmt::Write;

/// A C++ list of an argument's elements, as bits.
fn list(argument: &Value) -> String {
    let (Value::Vector(elements) | Value::Array(_, elements)) = argument else { unreachable!("an array") };
    let elements: Vec<String> = elements.iter().map(|l| format!("0x{:x}", l.bits)).collect();
    format!("{{{}}}", elements.join(", "))
}

/// What the program prints of an array.
fn bits(result: &Value) -> String {
    let (Value::Vector(elements) | Value::Array(_, elements)) = result else { unreachable!("an array") };
    elements.iter().map(|l| format!(" {:08x}", l.bits)).collect()
}

#[test]
fn constructs_in_cpp() {
    let all = today::share(dsl::constructs(), 8);
    let (mut functions, mut constructs, mut wanted) = (Vec::new(), String::new(), String::new());
    let mut args = Vec::new();
    for number in &all {
        let (name, mut case) = dsl::program(*number).expect("a pair is a program");
        case.function.name = format!("f{number}");
        args = case.calls.pop().expect("a call").args;
        let outcome = interp::run(&case.function, &args).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (macro_name, says) = match outcome.recorded {
            true => ("RECORDS", " a record".into()),
            false => ("READ", bits(&outcome.results[0])),
        };
        let _ = write!(constructs, " {macro_name}({number})");
        let _ = writeln!(wanted, "{number}{says}");
        functions.push(case.function);
    }
    let [x, y, k, a, b, t] = [0, 1, 2, 3, 4, 5].map(|i| list(&args[i]));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let call = format!(
        "static const bits X{x}, Y{y}, A{a}, B{b}, T{t};\nstatic const auto K = indices({k});\n#define CONSTRUCTS{constructs}\n"
    );
    std::fs::write(folder.path().join("call.inc"), call).expect("written");
    let source = folder.path().join("readers.cpp");
    std::fs::write(&source, include_str!("cpp/readers.cpp")).expect("written");
    let archive = cpp_program::package_of("constructs", functions, folder.path());
    let said = cpp_program::output("g++", &source, folder.path(), &[archive]).expect("a C++ compiler");
    assert_eq!(said, wanted);
}
