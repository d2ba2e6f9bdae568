# arraygpu @VERSION@: the targets arraygpu::arraygpu (shared library) and arraygpu::static, and arraygpu_add_package().
# Relocatable: every path is relative to this file.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

get_filename_component(_arraygpu_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET arraygpu::arraygpu)
  add_library(arraygpu::arraygpu SHARED IMPORTED)
  set_target_properties(arraygpu::arraygpu PROPERTIES
    IMPORTED_LOCATION "${_arraygpu_prefix}/lib/@SONAME@.@VERSION@"
    IMPORTED_SONAME "@SONAME@"
    INTERFACE_INCLUDE_DIRECTORIES "${_arraygpu_prefix}/include")

  add_library(arraygpu::static STATIC IMPORTED)
  set_target_properties(arraygpu::static PROPERTIES
    IMPORTED_LOCATION "${_arraygpu_prefix}/lib/libarraygpu.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES "C"
    INTERFACE_INCLUDE_DIRECTORIES "${_arraygpu_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")

  # arraygpu.hpp is C++17; a C project has no such feature to ask for
  get_property(_arraygpu_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("CXX" IN_LIST _arraygpu_languages)
    set_property(TARGET arraygpu::arraygpu arraygpu::static PROPERTY INTERFACE_COMPILE_FEATURES cxx_std_17)
  endif()
  unset(_arraygpu_languages)
endif()
unset(_arraygpu_prefix)

include("${CMAKE_CURRENT_LIST_DIR}/ArraygpuAddPackage.cmake")
