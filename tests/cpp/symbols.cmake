# What the installed libraries show: functions `agpu_*` and nothing else; those of the shared one with the ABI's version.
#   cmake -DLIB=prefix/lib -P symbols.cmake
function(symbols file pattern)
  execute_process(COMMAND nm ${ARGN} --defined-only "${file}" OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+ [A-TV-Z] [^\n]+" lines "${listed}")
  set(count 0)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "${pattern}")
      message(FATAL_ERROR "${file} shows ${line}")
    endif()
    math(EXPR count "${count} + 1")
  endforeach()
  if(count LESS 90)
    message(FATAL_ERROR "${file} shows only ${count} functions:\n${listed}")
  endif()
endfunction()

symbols("${LIB}/libarraygpu.so" " (T agpu_[a-z0-9_]+@@ARRAYGPU_[5678]|A ARRAYGPU_[5678])$" -D)
symbols("${LIB}/libarraygpu.a" " T agpu_[a-z0-9_]+$" -g)
