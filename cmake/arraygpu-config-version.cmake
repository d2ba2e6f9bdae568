# arraygpu @VERSION@.
# Compatible with a request for the same version up to the first number that is not 0, and not a later one.
set(PACKAGE_VERSION "@VERSION@")

set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  string(REGEX MATCH "^(0\\.[0-9]+|[1-9][0-9]*)" _have "${PACKAGE_VERSION}.0")
  string(REGEX MATCH "^(0\\.[0-9]+|[1-9][0-9]*)" _want "${PACKAGE_FIND_VERSION}.0")
  if(_have STREQUAL _want OR PACKAGE_FIND_VERSION STREQUAL "")
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
  unset(_have)
  unset(_want)
endif()
if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()

# 64-bit only
if(NOT "${CMAKE_SIZEOF_VOID_P}" STREQUAL "" AND NOT "${CMAKE_SIZEOF_VOID_P}" STREQUAL "8")
  set(PACKAGE_VERSION "${PACKAGE_VERSION} (64-bit)")
  set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
