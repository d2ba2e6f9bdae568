# Run by the build (cmake -P) for arraygpu_add_package(): builds the generator if cargo does that, and runs it if it is not the one that
# made the package. Takes NAME, OUT, ARGS, and PROGRAM or CARGO, MANIFEST, SELECT, CARGO_ARGS.
cmake_minimum_required(VERSION 3.19)

set(stamp_file "${OUT}.stamp")
if(NOT PROGRAM)
  # the first build takes its time: cargo shows what it does
  set(quiet "")
  if(EXISTS "${stamp_file}")
    set(quiet --quiet)
  endif()
  execute_process(
    COMMAND "${CARGO}" build ${quiet} --manifest-path "${MANIFEST}" ${SELECT} --message-format json-render-diagnostics ${CARGO_ARGS}
    OUTPUT_VARIABLE messages RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "cargo could not build the generator of the package ${NAME} (${MANIFEST})")
  endif()
  # the program, from cargo's own messages: {"reason":"compiler-artifact",..,"executable":"/path"}
  string(REGEX MATCHALL "\"executable\":\"[^\"]+\"" executables "${messages}")
  list(LENGTH executables count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "cargo built ${count} programs (${SELECT}), one must be the generator: name the program in GENERATOR")
  endif()
  string(REGEX REPLACE "^\"executable\":\"(.*)\"$" "\\1" PROGRAM "${executables}")
endif()

# the package is made by this program with these arguments?
file(SHA256 "${PROGRAM}" stamp)
set(stamp "${stamp} ${ARGS}\n")
if(EXISTS "${stamp_file}" AND EXISTS "${OUT}/share/${NAME}/manifest.json")
  file(READ "${stamp_file}" old)
  if(old STREQUAL stamp)
    return()
  endif()
endif()

execute_process(COMMAND "${PROGRAM}" --out "${OUT}" ${ARGS} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the generator of the package ${NAME} failed (${failed}): ${PROGRAM}")
endif()
if(NOT EXISTS "${OUT}/share/${NAME}/manifest.json")
  message(FATAL_ERROR "${PROGRAM} did not make a package named ${NAME} in ${OUT}")
endif()
file(WRITE "${stamp_file}" "${stamp}")
