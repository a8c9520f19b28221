# Compiler and linker flags of all targets. The presets set the optimisation levels.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

file(RELATIVE_PATH TEMPO_ROOT_FROM_BUILD "${CMAKE_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/")
add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Werror
  # No fused multiply-add: results are bit-identical in every build and on every machine.
  -ffp-contract=off
  # File names in messages and debug data are relative to the project's root. The second form matches
  # the relative paths that ccache passes to the compiler.
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" "-ffile-prefix-map=${TEMPO_ROOT_FROM_BUILD}=")

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # false positives inside std::string with g++ 12
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 uses functions that C++17 deprecates; clang warns at our calls.
  add_compile_options(-Wno-deprecated-declarations)
endif()

if(TEMPO_SANITIZE)
  add_compile_options("-fsanitize=${TEMPO_SANITIZE}" -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${TEMPO_SANITIZE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # False positives in instrumented code; the release build keeps this warning.
    add_compile_options(-Wno-maybe-uninitialized)
    # Most of the build is instrumented test code. There, optimisation and the null and alignment checks of
    # every pointer take two thirds of the compile time and find nothing that the address sanitizer misses.
    set(TEMPO_TEST_OPTIMISATION -O0)
    if(TEMPO_SANITIZE MATCHES "undefined")
      set(TEMPO_TEST_CHECKS -fno-sanitize=null,alignment)
      # The lab instantiates the templates of every protocol again; the protocol's own module has all checks.
      set(TEMPO_LAB_CHECKS -fno-sanitize=null,alignment)
    endif()
    # CLI11 is header-only; instrumented, it takes longer to compile than our own code.
    set(TEMPO_NO_CHECKS -fno-sanitize=all)
    if(TEMPO_SANITIZE MATCHES "address")
      list(APPEND TEMPO_TEST_CHECKS --param=asan-instrumentation-with-call-threshold=0)
    endif()
    # The command line, the drivers of tempod and the report compute little either.
    set(TEMPO_LOW_OPT ${TEMPO_TEST_OPTIMISATION} ${TEMPO_TEST_CHECKS})
  endif()
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release")
  # -O3 takes a third of the compile time of files that compute little, without benefit; -Os makes tempod a tenth
  # smaller (decision 021).
  set(TEMPO_LOW_OPT -Os)
  set(TEMPO_TEST_OPTIMISATION -O1)
  # With precompiled headers g++ 12 reports false overruns of strings in initializer lists.
  add_compile_options(-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

if(NOT TEMPO_SANITIZE)
  # The linker drops functions that no program calls; tempod becomes 7 % smaller.
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-Wl,--gc-sections)
endif()

find_program(TEMPO_MOLD mold)
if(TEMPO_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(TEMPO_CCACHE ccache)
if(TEMPO_CCACHE)
  # Paths are hashed relative to the root, so that two checkouts share one cache. ccache requires this
  # sloppiness for precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_ABSSTDERR=1 CCACHE_SLOPPINESS=pch_defines,time_macros "${TEMPO_CCACHE}")
endif()
