// The name of these headers. Included by arraygpu.hpp.
#ifndef ARRAYGPU_HEADERS_HPP
#define ARRAYGPU_HEADERS_HPP

/// A hash of the code of all headers behind a prefix, which tests/header.rs keeps (BLESS=1). Two libraries of one process may have been compiled with
/// different headers, whose inline functions and variables the linker would take for the same ones: so everything in them has this in its name, by an
/// inline namespace, but arraygpu::error, which one library throws and another one catches. To pass an array from one to the other is an error of the linker.
#define AGPU_HEADERS(prefix) prefix##5d9507da

#endif // ARRAYGPU_HEADERS_HPP
