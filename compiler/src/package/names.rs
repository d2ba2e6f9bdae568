//! Checks that names can be used in C and C++.
//!
//! The name of a package becomes a library, a namespace and a prefix; the name of a function
//! becomes a C++ function and, with the prefix, a C function; the names of parameters and results
//! become parameters and fields. So no name may be a keyword, a common macro, or reserved.

use crate::core::Function;
use crate::error::{Error, Result};
use std::collections::HashMap;

/// The keywords of C11 and C++20, and names that common headers and compilers define as macros.
const TAKEN: &str = "
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept const
    consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while
    xor xor_eq complex imaginary noreturn generic atomic
    NULL EOF INFINITY NAN HUGE_VAL I errno assert stdin stdout stderr offsetof va_arg va_start va_end va_copy va_list setjmp signbit isnan
    isinf isfinite isnormal fpclassify linux unix i386 BUFSIZ RAND_MAX CHAR_BIT INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN SIZE_MAX
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t intptr_t uintptr_t ptrdiff_t min_align_t main
";

/// Headers and libraries of the system, which a package of the same name would hide.
const SYSTEM: &str = "
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool stddef stdint
    stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype aio aliases alloca ar argp argz byteswap crypt dirent dlfcn elf
    endian envz err error execinfo fcntl features fmtmsg fnmatch fstab fts ftw gconv getopt glob grp iconv ifaddrs langinfo libgen libintl
    link malloc mcheck memory mntent monetary netdb nl_types obstack paths poll printf proc_service pthread pty pwd re_comp regex regexp
    resolv sched search semaphore sgtty shadow spawn strings syscall sysexits syslog tar termio termios ttyent ucontext ulimit unistd
    utime utmp utmpx values wait wordexp c m dl rt util gcc gcc_s stdc anl nsl z
";

/// Returns the reason why a name cannot be used, if there is one.
pub fn problem(name: &str) -> Option<String> {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() {
        return Some("it is empty".into());
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Some("it must begin with a letter (a to z)".into());
    }
    if let Some(c) = name.chars().find(|&c| !letter(c)) {
        return Some(format!("it holds {c:?}; letters, digits and _ are possible"));
    }
    if name.contains("__") {
        return Some("C++ reserves names with two underscores in a row".into());
    }
    if name.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("agpu_")) {
        return Some("names with agpu_ are arraygpu's own".into());
    }
    let capitals = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if name.len() > 1 && name.chars().all(capitals) {
        return Some("names in capitals are macros in C (EOF, INT32_MAX, M_PI ..)".into());
    }
    if TAKEN.split_whitespace().any(|t| t == name) {
        return Some("it means something else in C or C++".into());
    }
    None
}

pub(super) fn require_good(what: &str, name: &str) -> Result<()> {
    match problem(name) {
        None => Ok(()),
        Some(why) => Err(Error::user("E0501", format!("{what} cannot be named {name:?}: {why}"))),
    }
}

/// Checks every name of a program: each must be usable, and no two may be equal in C or C++.
pub fn check<'f>(package: &str, functions: impl IntoIterator<Item = &'f Function>) -> Result<()> {
    require_good("the package", package)?;
    let lower = package.to_lowercase();
    if ["std", "arraygpu", "agpu"].contains(&lower.as_str()) {
        return Err(Error::user(
            "E0501",
            format!("the package cannot be named {package:?}: that name is taken"),
        ));
    }
    if SYSTEM.split_whitespace().any(|s| s == lower) {
        let why = format!("the system has a {package}.h or lib{package} of its own");
        return Err(Error::user("E0501", format!("the package cannot be named {package:?}: {why}")));
    }
    let mut symbols: HashMap<String, String> = HashMap::new();
    for own in ["module", "images", "cpu_v2", "cpu_v3", "cpu_v4"] {
        symbols.insert(own.into(), "the package itself".into());
    }
    for f in functions {
        function(package, f).and_then(|()| declare(f, &mut symbols)).map_err(|e| e.at(f.loc.as_ref()))?;
    }
    Ok(())
}

/// Checks the names of one function.
fn function(package: &str, f: &Function) -> Result<()> {
    require_good("a function", &f.name)?;
    let module = format!("{package}_module");
    let mut seen: HashMap<&str, &str> = HashMap::new();
    let params = f.params.iter().map(|p| ("parameter", p.name.as_str()));
    for (kind, name) in params.chain(f.results.iter().map(|r| ("result", r.name.as_str()))) {
        require_good(&format!("a {kind} of {}", f.name), name)?;
        if name == module {
            return Err(shadows(f, name, "the package itself"));
        }
        if let Some(first) = seen.insert(name, kind) {
            let message = format!("{}: two values are named {name:?} (a {first} and a {kind})", f.name);
            return Err(Error::user("E0502", message));
        }
    }
    Ok(())
}

/// The error of a parameter or result that hides a name of the headers.
pub(super) fn shadows(f: &Function, name: &str, owner: &str) -> Error {
    let message =
        format!("{}: a value is named {name:?}, which is the name in C of {owner}: rename it", f.name);
    Error::user("E0502", message).at(f.loc.as_ref())
}

/// Adds the names that a function declares in the package's namespace.
fn declare(f: &Function, symbols: &mut HashMap<String, String>) -> Result<()> {
    let mut names = vec![f.name.clone()];
    if f.results.len() > 1 {
        names.push(format!("{}_result", f.name));
    }
    let scalars = f.results.iter().filter(|r| f.graph.ty(r.value).is_scalar()).count();
    if scalars < f.results.len() {
        names.push(format!("{}_new", f.name));
    }
    if scalars > 0 {
        names.push(format!("{}_device", f.name));
    }
    for name in names {
        if let Some(other) = symbols.insert(name.clone(), format!("function {:?}", f.name)) {
            let message = if name == f.name && other == format!("function {:?}", f.name) {
                format!("two functions are named {name:?}")
            } else {
                format!(
                    "function {:?}: the name {name:?} in the generated headers belongs to {other} already",
                    f.name
                )
            };
            return Err(Error::user("E0502", message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Output, Param, Type};
    use crate::scalar::Ty;

    fn identity(name: &str, param: &str, result: &str) -> Function {
        let mut f = Function::new(name, vec![Param { name: param.into(), ty: Type::vector(Ty::F32) }]);
        let value = crate::core::NodeId(0);
        f.results = vec![Output { name: result.into(), value }];
        f
    }

    #[test]
    fn single_names() {
        for good in ["rmse", "x", "camelCase", "x_1", "Result", "result"] {
            assert_eq!(problem(good), None, "{good}");
        }
        for bad in [
            "",
            "1x",
            "_x",
            "x-y",
            "größe",
            "a__b",
            "class",
            "int",
            "NULL",
            "linux",
            "x y",
            "INT32_MAX",
            "M_PI",
            "P_H",
        ] {
            assert!(problem(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn programs() {
        let says = |package: &str, functions: &[Function]| {
            check(package, functions).expect_err("wrong names").to_string()
        };
        assert_eq!(check("stats", &[identity("f", "x", "r"), identity("g", "x", "r")]), Ok(()));
        assert!(says("std", &[]).contains("taken"));
        assert!(says("math", &[]).contains("math.h"));
        assert!(says("Arraygpu", &[]).contains("taken"));
        assert!(says("s", &[identity("f", "agpu_view", "r")]).contains("arraygpu's own"));
        assert!(says("a-b", &[]).contains("'-'"));
        assert!(says("s", &[identity("f", "s_module", "r")]).contains("the name in C of the package itself"));
        assert_eq!(check("t", &[identity("f", "s_module", "r")]), Ok(()));
        assert!(says("s", &[identity("f", "x", "x")]).contains("two values are named \"x\""));
        assert!(says("s", &[identity("f", "for", "r")]).contains("a parameter of f"));
        assert!(
            says("s", &[identity("f", "x", "r"), identity("f", "x", "r")])
                .contains("two functions are named")
        );
        assert!(says("s", &[identity("f", "x", "r"), identity("f_new", "x", "r")]).contains("f_new"));
        assert!(says("s", &[identity("module", "x", "r")]).contains("the package itself"));
        assert!(says("s", &[identity("images", "x", "r")]).contains("the package itself"));
        let mut sum = identity("f", "x", "r");
        sum.results[0].value = sum.graph.add(crate::core::Op::Len(crate::core::NodeId(0), 0));
        assert_eq!(check("s", &[sum.clone(), identity("f_new", "x", "r")]), Ok(()));
        assert!(says("s", &[sum, identity("f_device", "x", "r")]).contains("f_device"));
    }
}
