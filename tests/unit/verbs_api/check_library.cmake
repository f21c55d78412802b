# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# cmake -DLIBRARY=... -P check_library.cmake
#
# The drop-in asks for no libraries but the few that are everywhere, and has no thread-local storage that
# would keep it from being opened late.

cmake_minimum_required(VERSION 3.23)

function(fail)
  message(SEND_ERROR ${ARGN})
endfunction()

execute_process(COMMAND readelf --dynamic --wide ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*\\[[^]]+\\]" needed "${dynamic}")
foreach(entry IN LISTS needed)
  string(REGEX REPLACE ".*\\[(.+)\\]" "\\1" name "${entry}")
  if(NOT name MATCHES "^(libc\\.so\\.6|libm\\.so\\.6|ld-linux-x86-64\\.so\\.2|libnuma\\.so\\.1|libbsd\\.so\\.0|libisal\\.so\\.2)$")
    fail("needs ${name}")
  endif()
endforeach()
if(NOT dynamic MATCHES "\\(SONAME\\)[^\n]*\\[libibverbs\\.so\\.1\\]")
  fail("its SONAME is not libibverbs.so.1")
endif()
if(NOT dynamic MATCHES "NODELETE")
  fail("it can be unloaded, although its threads and handlers stay")
endif()
if(dynamic MATCHES "STATIC_TLS")
  fail("its thread-local storage is of the initial-exec kind")
endif()
