# cmake -P: copies the package somewhere else and uses it from another project, as KIND says.
get_filename_component(install "${arraygpu_DIR}/../../.." ABSOLUTE)
file(REMOVE_RECURSE "${WORK}")
set(moved "${WORK}/a folder/examples")
file(COPY "${PACKAGE}/" DESTINATION "${moved}")

# where both are to be found; an environment variable, for lists do not survive being handed on
set(ENV{CMAKE_PREFIX_PATH} "${install}:${moved}")

function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(failed)
    message(FATAL_ERROR "${ARGN} failed (${failed}):\n${out}${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

if(KIND STREQUAL "pkgconfig")
  set(ENV{PKG_CONFIG_PATH} "${install}/lib/pkgconfig:${moved}/lib/pkgconfig")
  must(pkg-config --cflags --libs examples)
  separate_arguments(flags UNIX_COMMAND "${out}")
  must("${CC}" -Wall -Wextra -Werror "${SOURCE}/main.c" -o "${WORK}/main" ${flags})
  # the package's own need of the runtime is met by its place or by the loader's
  set(ENV{LD_LIBRARY_PATH} "${install}/lib:${moved}/lib")
  must("${WORK}/main")
elseif(KIND STREQUAL "version")
  # a version that is not there is not found
  foreach(version 0.1 0.2 1)
    execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/${version}" "-DWANT=${version}" -DKIND=shared
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if((failed AND version STREQUAL "0.1") OR (NOT failed AND NOT version STREQUAL "0.1"))
      message(FATAL_ERROR "asking for version ${version}: ${failed}")
    endif()
  endforeach()
else()
  must("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" "-DKIND=${KIND}" -DWANT=0.1)
  must("${CMAKE_COMMAND}" --build "${WORK}/build")
  must("${WORK}/build/main")
  must("${WORK}/build/scalars")
endif()
