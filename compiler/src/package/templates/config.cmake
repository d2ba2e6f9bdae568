# @NAME@: made by arraygpu. Gives the targets @NAME@::@NAME@ (shared library) and @NAME@::static.
include(CMakeFindDependencyMacro)
find_dependency(arraygpu @RUNTIME_VERSION@ CONFIG)

get_filename_component(_@NAME@_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET @NAME@::@NAME@)
  add_library(@NAME@::@NAME@ SHARED IMPORTED)
  set_target_properties(@NAME@::@NAME@ PROPERTIES
    IMPORTED_LOCATION "${_@NAME@_prefix}/lib/lib@NAME@.so"
    IMPORTED_SONAME "lib@NAME@.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_@NAME@_prefix}/include"
    # a program that calls nothing but the package still has to bring the runtime, which only it knows where to find
    INTERFACE_LINK_OPTIONS "$<$<PLATFORM_ID:Linux>:LINKER:--no-as-needed>"
    INTERFACE_LINK_LIBRARIES arraygpu::arraygpu)
  add_library(@NAME@::static STATIC IMPORTED)
  set_target_properties(@NAME@::static PROPERTIES
    IMPORTED_LOCATION "${_@NAME@_prefix}/lib/lib@NAME@.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES "C"
    INTERFACE_INCLUDE_DIRECTORIES "${_@NAME@_prefix}/include"
    INTERFACE_LINK_LIBRARIES "arraygpu::static;m")
endif()
unset(_@NAME@_prefix)
