# Precompiled headers. The headers of the standard library, fmt and googletest are a third of the compiler's
# input. The builds of `make test` precompile them once for all modules and once for all tests; the release build
# also precompiles them for the modules with LOW_OPT. Every file still includes the headers it uses, because the
# other builds, including `make lint`, have no precompiled headers.
#
# These targets exist only for their precompiled headers; other targets reuse them.
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

# Compiles the sources of a target in groups of fourteen, so that common templates are instantiated once per group.
# Sources named by tempo_no_unity and sources with their own compile definitions are compiled alone.
function(tempo_unity name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${TEMPO_UNITY} UNITY_BUILD_BATCH_SIZE 14)
endfunction()

# Sources that must be compiled alone because their names would clash with those of other sources.
function(tempo_no_unity)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Files that define command-line options with CLI11: compiled without sanitizers, hence without precompiled headers.
#
#   tempo_plain_sources(arguments.cpp ...)
function(tempo_plain_sources)
  if(TEMPO_NO_CHECKS)
    set_source_files_properties(${ARGN} PROPERTIES
      COMPILE_OPTIONS "${TEMPO_NO_CHECKS}" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Sources that compute little, in a module without LOW_OPT: optimised less in the release build.
#
#   tempo_low_opt_sources(settings.cpp ...)
function(tempo_low_opt_sources)
  if(TEMPO_LOW_OPT)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${TEMPO_LOW_OPT}" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Reuses the precompiled headers of tempo_pch, if they exist.
#
#   tempo_use_pch(target tempo_pch)
function(tempo_use_pch name from)
  if(TARGET ${from})
    target_precompile_headers(${name} REUSE_FROM ${from})
  endif()
endfunction()

# Sets the options of a module or a program. LOW_OPT: it computes little; optimised less in the release build.
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
