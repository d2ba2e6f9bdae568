# arraygpu_add_package(<name> GENERATOR <program of a cargo package, cargo package, CMake target or executable file>
#                      [TARGETS cpu|cuda...] [CUBIN <sm_90>...] [MANIFEST_DIR <dir>] [CARGO_ARGS <arg>...] [ARGS <arg>...] [OUT <dir>])
#
# Runs a generator when the project is built and defines <name>::<name> (shared library) and <name>::static, to be linked by targets of
# the same project. docs/cmake.md of arraygpu describes it.
include_guard(GLOBAL)

# What cargo must be told to build the program or the package `name`: --package P [--bin NAME].
function(_arraygpu_cargo_program manifest name result)
  execute_process(COMMAND "${ARRAYGPU_CARGO}" metadata --no-deps --format-version 1 --manifest-path "${manifest}"
    OUTPUT_VARIABLE metadata RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "arraygpu_add_package: cargo cannot read ${manifest}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${manifest}")
  string(JSON packages LENGTH "${metadata}" packages)
  set(known "")
  set(found "")
  foreach(p RANGE 1 ${packages})
    math(EXPR p "${p} - 1")
    string(JSON package GET "${metadata}" packages ${p})
    string(JSON package_name GET "${package}" name)
    string(JSON targets LENGTH "${package}" targets)
    foreach(t RANGE 1 ${targets})
      math(EXPR t "${t} - 1")
      string(JSON kind GET "${package}" targets ${t} kind 0)
      string(JSON target_name GET "${package}" targets ${t} name)
      if(kind STREQUAL "bin")
        list(APPEND known ${target_name})
        if(target_name STREQUAL name)
          set(${result} --package ${package_name} --bin ${target_name} PARENT_SCOPE)
          return()
        endif()
      endif()
    endforeach()
    if(package_name STREQUAL name)
      set(found ${package_name})
    endif()
  endforeach()
  if(NOT found)
    message(FATAL_ERROR "arraygpu_add_package: ${manifest} knows no program ${name}; it has: ${known}")
  endif()
  set(${result} --package ${found} PARENT_SCOPE)
endfunction()

set(_ARRAYGPU_GENERATE_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/ArraygpuGenerate.cmake")

function(arraygpu_add_package name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "GENERATOR;MANIFEST_DIR;OUT" "TARGETS;CUBIN;CARGO_ARGS;ARGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "arraygpu_add_package(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_GENERATOR)
    message(FATAL_ERROR "arraygpu_add_package(${name}): GENERATOR is missing: a cargo package, a target or a program")
  endif()
  if(TARGET ${name}::${name})
    message(FATAL_ERROR "arraygpu_add_package(${name}): there is a target ${name}::${name} already")
  endif()
  if(arg_TARGETS)
    list(JOIN arg_TARGETS "," targets)
    list(APPEND arg_ARGS --target "${targets}")
  endif()
  if(arg_CUBIN)
    list(JOIN arg_CUBIN "," cubin)
    list(APPEND arg_ARGS --cubin "${cubin}")
  endif()
  if(NOT arg_OUT)
    set(arg_OUT "${CMAKE_CURRENT_BINARY_DIR}/arraygpu/${name}")
  endif()
  get_filename_component(out "${arg_OUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")

  # what makes the package: a program that is there, one that this project builds, or one that cargo builds
  get_filename_component(program "${arg_GENERATOR}" ABSOLUTE)
  if(TARGET ${arg_GENERATOR})
    set(how "-DPROGRAM=$<TARGET_FILE:${arg_GENERATOR}>")
  elseif(EXISTS "${program}" AND NOT IS_DIRECTORY "${program}")
    set(how "-DPROGRAM=${program}")
  else()
    if(NOT arg_MANIFEST_DIR)
      set(arg_MANIFEST_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    endif()
    get_filename_component(manifest "${arg_MANIFEST_DIR}/Cargo.toml" ABSOLUTE)
    if(NOT EXISTS "${manifest}")
      message(FATAL_ERROR "arraygpu_add_package(${name}): ${arg_GENERATOR} is neither a program nor a target, and as a cargo "
        "package it would need ${manifest}: give MANIFEST_DIR")
    endif()
    find_program(ARRAYGPU_CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin" DOC "cargo, which builds generators")
    if(NOT ARRAYGPU_CARGO)
      message(FATAL_ERROR "arraygpu_add_package(${name}): cargo is missing: it builds the generator ${arg_GENERATOR}")
    endif()
    _arraygpu_cargo_program("${manifest}" "${arg_GENERATOR}" select)
    set(how "-DCARGO=${ARRAYGPU_CARGO}" "-DMANIFEST=${manifest}")
  endif()

  # Runs in every build: cargo knows what changed. The script leaves the package as it is when the generator is the same.
  set(shared "${out}/lib/lib${name}.so")
  set(static "${out}/lib/lib${name}.a")
  add_custom_target(${name}_generate ALL
    COMMAND "${CMAKE_COMMAND}" ${how} "-DNAME=${name}" "-DOUT=${out}" "-DARGS=${arg_ARGS}"
      "-DSELECT=${select}" "-DCARGO_ARGS=${arg_CARGO_ARGS}" -P "${_ARRAYGPU_GENERATE_SCRIPT}"
    BYPRODUCTS "${shared}" "${static}"
    COMMENT "arraygpu package ${name}"
    USES_TERMINAL
    VERBATIM)
  if(TARGET ${arg_GENERATOR})
    add_dependencies(${name}_generate ${arg_GENERATOR})
  endif()

  # CMake wants the folder to be there before the package is
  file(MAKE_DIRECTORY "${out}/include")
  add_library(${name}::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(${name}::${name} PROPERTIES
    IMPORTED_LOCATION "${shared}"
    IMPORTED_SONAME "lib${name}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${out}/include"
    # a program that calls nothing but the package still has to bring the runtime, which only it knows where to find
    INTERFACE_LINK_OPTIONS "$<$<PLATFORM_ID:Linux>:LINKER:--no-as-needed>"
    INTERFACE_LINK_LIBRARIES arraygpu::arraygpu)
  add_dependencies(${name}::${name} ${name}_generate)
  add_library(${name}::static STATIC IMPORTED GLOBAL)
  set_target_properties(${name}::static PROPERTIES
    IMPORTED_LOCATION "${static}"
    IMPORTED_LINK_INTERFACE_LANGUAGES "C"
    INTERFACE_INCLUDE_DIRECTORIES "${out}/include"
    INTERFACE_LINK_LIBRARIES "arraygpu::static;m")
  add_dependencies(${name}::static ${name}_generate)
endfunction()
