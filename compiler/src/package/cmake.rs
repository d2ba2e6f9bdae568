//! Writes the CMake files of a package: `find_package(stats CONFIG)` defines `stats::stats`
//! (shared) and `stats::static`.

use super::model::Package;

/// Prints `stats-config.cmake`, which is relocatable: every path is relative to the file itself.
pub fn config(package: &Package) -> String {
    include_str!("templates/config.cmake")
        .replace("@NAME@", &package.name)
        .replace("@RUNTIME_VERSION@", super::VERSION)
}

/// Prints `stats-config-version.cmake`. While the major version is 0, each minor version has an
/// interface of its own.
pub fn version(package: &Package) -> String {
    include_str!("templates/version.cmake").replace("@VERSION@", &package.version)
}
