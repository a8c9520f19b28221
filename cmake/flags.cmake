# Compiler and linker flags for everything we build. Optimisation levels are in the presets.

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
  # No fused multiply-add: a run gives the same bits in every build and on every machine.
  -ffp-contract=off
  # File names in messages and debug data start at the project's root, wherever that is; the second
  # form is how ccache passes them on.
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" "-ffile-prefix-map=${TEMPO_ROOT_FROM_BUILD}=")

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # g++ 12 sees overlaps inside std::string that are not there
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # g++ 12's own std::stable_sort uses what C++17 deprecates, and clang says so where we call it.
  add_compile_options(-Wno-deprecated-declarations)
endif()

if(TEMPO_SANITIZE)
  add_compile_options("-fsanitize=${TEMPO_SANITIZE}" -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${TEMPO_SANITIZE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code confuses this warning; the release build still has it.
    add_compile_options(-Wno-maybe-uninitialized)
    # Most of the build is instrumented test code. There, optimising and checks of every single pointer
    # cost two thirds of the compiler's time and find nothing that the address sanitizer does not.
    set(TEMPO_TEST_OPTIMISATION -O0)
    if(TEMPO_SANITIZE MATCHES "undefined")
      set(TEMPO_TEST_CHECKS -fno-sanitize=null,alignment)
      # The lab makes every protocol's code again from its templates, with all checks where it lives.
      set(TEMPO_LAB_CHECKS -fno-sanitize=null,alignment)
    endif()
    # CLI11 is all in its headers; instrumented, it takes longer to compile than what is ours.
    set(TEMPO_NO_CHECKS -fno-sanitize=all)
    if(TEMPO_SANITIZE MATCHES "address")
      list(APPEND TEMPO_TEST_CHECKS --param=asan-instrumentation-with-call-threshold=0)
    endif()
  endif()
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release")
  # Of a file that computes little, -O3 takes a third of the compiler's time for nothing (decision 021).
  set(TEMPO_LOW_OPT -O1)
  set(TEMPO_TEST_OPTIMISATION ${TEMPO_LOW_OPT})
  # Where headers are precompiled g++ 12 takes strings in a list for overruns.
  add_compile_options(-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

find_program(TEMPO_MOLD mold)
if(TEMPO_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(TEMPO_CCACHE ccache)
if(TEMPO_CCACHE)
  # Paths are hashed relative to the root, so two checkouts share one cache. The sloppiness is what
  # ccache asks for before it works with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_ABSSTDERR=1 CCACHE_SLOPPINESS=pch_defines,time_macros "${TEMPO_CCACHE}")
endif()
