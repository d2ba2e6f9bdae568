//! Writes the pkg-config file of a package, which is relocatable: paths are relative to the file
//! itself.

use super::model::Package;

/// Prints `stats.pc`.
pub fn print(package: &Package) -> String {
    let functions: Vec<&str> = package.entries.iter().map(|e| e.name.as_str()).collect();
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         includedir=${{prefix}}/include\n\
         libdir=${{prefix}}/lib\n\
         \n\
         Name: {name}\n\
         Description: array functions made by arraygpu: {list}\n\
         Version: {version}\n\
         Requires: arraygpu >= {runtime}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -l{name}\n\
         Libs.private: -lm\n",
        name = package.name,
        list = functions.join(", "),
        version = package.version,
        runtime = super::VERSION,
    )
}
