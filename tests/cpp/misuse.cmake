# Calls that fit no overload: the compiler says one error, in words that say what to do, and lists no candidates.
#   cmake -DCXX=compiler "-DINCLUDES=folder;folder" -DWORK=folder -P misuse.cmake
file(MAKE_DIRECTORY "${WORK}")
set(flags "")
foreach(folder ${INCLUDES})
  list(APPEND flags "-I${folder}")
endforeach()

# The statement, and a text that the message has.
function(refused statement expected)
  file(WRITE "${WORK}/call.cpp" "#include <examples.hpp>
void f(arraygpu::gpu_vector<float> &x, arraygpu::gpu_vector<double> &d, std::vector<float> &host, float &result) {
    ${statement}
    (void)x; (void)d; (void)host; (void)result;
}
")
  execute_process(COMMAND "${CXX}" -std=c++17 -fsyntax-only ${flags} "${WORK}/call.cpp" RESULT_VARIABLE status ERROR_VARIABLE said)
  string(REGEX MATCHALL "error:" errors "${said}")
  list(LENGTH errors count)
  string(FIND "${said}" "${expected}" at)
  string(FIND "${said}" "candidate" list)
  if(status EQUAL 0 OR NOT count EQUAL 1 OR at EQUAL -1 OR NOT list EQUAL -1)
    message(SEND_ERROR "${statement}: ${count} errors, `${expected}` was to be one:\n${said}")
  endif()
endfunction()

refused("examples::rmse(host, x, result);" "examples::rmse: an argument is in the memory of the host: copy it by arraygpu::gpu_vector<T>(array)")
refused("result = examples::rmse(x);" "an argument is missing, too many, or of another type; the call is examples::rmse(x (arraygpu::gpu_vector<float>), y")
refused("auto r = examples::rmse(x, d);" "of another type; the call is examples::rmse")
refused("examples::saxpy(2.0f, x, x, host);" "in the memory of the host")
refused("examples::saxpy(2.0f, x, x, x, x, x);" "too many")
