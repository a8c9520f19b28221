# The headers of the standard library, of fmt and of googletest are a third of what the compiler reads.
# In the builds of `make test` they are read once for all modules, in the release build once more for those optimised less, and
# once for all tests. A file still includes what it uses: all other builds, `make lint` among them, do without this.
#
# These targets exist for their precompiled headers alone; everybody else takes those over.
function(tempo_add_pch name)
  cmake_parse_arguments(PARSE_ARGV 1 READ "" "" "HEADERS;LINKS;OPTIONS")
  set(source "${CMAKE_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(${name} PRIVATE fmt::fmt Threads::Threads ${READ_LINKS})
  target_compile_options(${name} PRIVATE ${READ_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${READ_HEADERS})
endfunction()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (TEMPO_SANITIZE OR TEMPO_LOW_OPT))
  set(common <algorithm> <array> <bit> <chrono> <cmath> <cstdint> <cstring> <functional> <limits> <map>
             <memory> <optional> <set> <span> <string> <string_view> <tuple> <utility> <variant> <vector>
             <fmt/core.h>)
  tempo_add_pch(tempo_pch HEADERS ${common})
  if(TEMPO_LOW_OPT)
    tempo_add_pch(tempo_low_opt_pch HEADERS ${common} OPTIONS ${TEMPO_LOW_OPT})
  endif()
  if(TEMPO_TESTS)
    tempo_add_pch(tempo_test_pch
      HEADERS ${common} <gmock/gmock.h> <gtest/gtest.h>
      LINKS GTest::gmock GTest::gtest
      OPTIONS ${TEMPO_TEST_CHECKS} ${TEMPO_TEST_OPTIMISATION})
  endif()
endif()

# Compiles the sources of a target six at a time: what they instantiate alike is made once. Not those that
# tempo_no_unity names, nor those with definitions of their own.
function(tempo_unity name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${TEMPO_UNITY} UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# Sources whose names would meet others'.
function(tempo_no_unity)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Files that describe a command line: no checks, and so none of those headers.
#
#   tempo_plain_sources(arguments.cpp ...)
function(tempo_plain_sources)
  if(TEMPO_NO_CHECKS)
    set_source_files_properties(${ARGN} PROPERTIES
      COMPILE_OPTIONS "${TEMPO_NO_CHECKS}" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Sources of a module that compute little, where the module as a whole computes much.
#
#   tempo_low_opt_sources(settings.cpp ...)
function(tempo_low_opt_sources)
  if(TEMPO_LOW_OPT)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${TEMPO_LOW_OPT}" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# tempo_use_pch(target tempo_pch)
function(tempo_use_pch name from)
  if(TARGET ${from})
    target_precompile_headers(${name} REUSE_FROM ${from})
  endif()
endfunction()

# How a module or a program is compiled. LOW_OPT: it computes little, and is optimised less in the release build.
#
#   tempo_compile(target [LOW_OPT])
function(tempo_compile name)
  cmake_parse_arguments(PARSE_ARGV 1 COMPILE "LOW_OPT" "" "")
  if(COMPILE_LOW_OPT AND TEMPO_LOW_OPT)
    target_compile_options(${name} PRIVATE ${TEMPO_LOW_OPT})
    tempo_use_pch(${name} tempo_low_opt_pch)
  else()
    tempo_use_pch(${name} tempo_pch)
  endif()
endfunction()
