# A program in C and C++ that is optimised when it is linked, with the static libraries of a package and the runtime.
#   cmake -DCC=compiler -DCXX=compiler -DSOURCE=folder -DWORK=folder -DINSTALL=prefix -DPACKAGE=folder -P lto.cmake
foreach(compiler CC CXX)
  find_program(found_${compiler} "${${compiler}}")
  if(NOT found_${compiler})
    message(STATUS "skipped: there is no ${${compiler}}")
    return()
  endif()
endforeach()
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(failed)
    message(FATAL_ERROR "${ARGN}: ${failed}\n${out}${err}")
  endif()
endfunction()

set(flags -O2 -flto -Wall -Wextra -Werror "-I${INSTALL}/include" "-I${PACKAGE}/include")
must("${found_CC}" ${flags} -c "${SOURCE}/part.c" -o "${WORK}/part.o")
must("${found_CXX}" -std=c++17 ${flags} -c "${SOURCE}/program.cpp" -o "${WORK}/program.o")
get_filename_component(name "${PACKAGE}" NAME)
must("${found_CXX}" -O2 -flto -Wall -Wextra -Werror "${WORK}/program.o" "${WORK}/part.o" "${PACKAGE}/lib/lib${name}.a" "${INSTALL}/lib/libarraygpu.a"
  -lpthread -ldl -lm -o "${WORK}/program")
must("${WORK}/program")
