//! The CMake files of a package: `find_package(stats CONFIG)` gives `stats::stats` (shared) and
//! `stats::static`.

use super::model::Package;

/// `stats-config.cmake`. Relocatable: every path is relative to the file itself.
pub fn config(package: &Package) -> String {
    include_str!("templates/config.cmake")
        .replace("@NAME@", &package.name)
        .replace("@RUNTIME_VERSION@", super::VERSION)
}

/// `stats-config-version.cmake`: another minor version is another interface while the major version
/// is 0.
pub fn version(package: &Package) -> String {
    include_str!("templates/version.cmake").replace("@VERSION@", &package.version)
}
