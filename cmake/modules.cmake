# Modules and their tests.
#
# A module is a directory under src/ and a library target. There is no -I src: each module has a directory of
# symbolic links to its headers, build/<preset>/modules/<module>/<path>/x.h, and a target that links the module
# gets only that directory. The compiler does not find an include outside the DEPENDS line.
#
#   tempo_module(tempo_sim lab/sim             target, and directory below src/
#     SUMMARY "..."                          contents, for doc/internals/architecture.md
#     ROOT tests                             the directory is below tests/ instead
#     SUBDIRECTORIES a b                     subdirectories that belong to the same module
#     DEPENDS tempo_base                     modules it may include (and their dependencies)
#     LINKS fmt::fmt                         external libraries
#     PRIVATE_LINKS ...                      libraries that no header of the module uses
#     LOW_OPT                                computes little: optimised less in the release build
#     UNITY TEST_UNITY                       compile its sources, its tests in unity builds
#     TEST_DEPENDS tempo_election            modules only its tests may include
#     TEST_LINKS ...                         libraries only its tests use
#     TEST_LABELS release soak               also run its tests in the release build (its
#                                            arithmetic could differ there); in `make soak`
#     SHARDS 2                               split a slow test program into parallel parts
#     TEST_OPTIMISED                         its tests are compute-bound: optimise them
#     TEST_HEAVY)                            its tests take long to build or run: `make test` runs
#                                            them in the release build only (TEMPO_HEAVY_TESTS)
#
#   tempo_program(tempo cli DEPENDS tempo_cli) program whose main.cpp is in src/cli
#
#   tempo_test(contract_test                 every *.cpp of the current directory as one test program
#     DEPENDS ... LINKS ... LABELS ... SHARDS ... HEAVY UNITY
#     LONG                                   start it before all other tests
#     DEFINES NAME="value"                   compile definitions
#     PROGRAMS tempo)                        programs it runs; built first
#
# The name of a source decides its target: x.cpp belongs to the module, x_test.cpp and x_prop_test.cpp to its
# test program <module>_test, x_check_test.cpp (exhaustive checks) to a separate heavy test program,
# <module>_check_test, and main.cpp to a program. The next build picks up new files. TEMPO_TESTDATA is the path
# of the module's testdata/ directory in its tests.

# `tests` builds every test program; `tests_<label>` those with that label.
foreach(target tests tests_release tests_soak tests_netns)
  add_custom_target(${target})
endforeach()

function(tempo_module name path)
  cmake_parse_arguments(PARSE_ARGV 2 MODULE "LOW_OPT;UNITY;TEST_UNITY;TEST_OPTIMISED;TEST_HEAVY" "SUMMARY;ROOT;SHARDS"
                        "SUBDIRECTORIES;DEPENDS;LINKS;PRIVATE_LINKS;TEST_DEPENDS;TEST_LINKS;TEST_LABELS")
  _tempo_no_leftovers(${name} MODULE)
  if(NOT MODULE_ROOT)
    set(MODULE_ROOT src)
  endif()
  set(dir "${PROJECT_SOURCE_DIR}/${MODULE_ROOT}/${path}")
  file(GLOB sources CONFIGURE_DEPENDS "${dir}/*.cpp")
  foreach(below IN LISTS MODULE_SUBDIRECTORIES)
    file(GLOB more CONFIGURE_DEPENDS "${dir}/${below}/*.cpp")
    list(APPEND sources ${more})
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(checks ${tests})
  list(FILTER checks INCLUDE REGEX "_check_test\\.cpp$")
  list(FILTER tests EXCLUDE REGEX "_check_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")

  if(sources)
    add_library(${name} STATIC ${sources})
    if(path MATCHES "^(lab|cli)(/|$)")
      target_compile_options(${name} PRIVATE ${TEMPO_LAB_CHECKS})
    endif()
    if(MODULE_LOW_OPT)
      tempo_compile(${name} LOW_OPT)
    else()
      tempo_compile(${name})
    endif()
    if(MODULE_UNITY)
      tempo_unity(${name})
    endif()
    set(reach PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(reach INTERFACE)
  endif()
  _tempo_link_headers(${name} "${dir}" "${path}")
  foreach(below IN LISTS MODULE_SUBDIRECTORIES)
    _tempo_link_headers(${name} "${dir}/${below}" "${path}/${below}")
  endforeach()
  set(module "${CMAKE_BINARY_DIR}/modules/${name}")
  target_include_directories(${name} ${reach} "$<BUILD_INTERFACE:${module}>"
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/tempo-lab>")
  target_compile_options(${name} ${reach} "$<BUILD_INTERFACE:-ffile-prefix-map=${module}/=${MODULE_ROOT}/>"
                         "$<BUILD_INTERFACE:-ffile-prefix-map=modules/${name}/=${MODULE_ROOT}/>")
  target_link_libraries(${name} ${reach} ${MODULE_DEPENDS} ${MODULE_LINKS})
  foreach(library IN LISTS MODULE_PRIVATE_LINKS)
    target_link_libraries(${name} PRIVATE "$<BUILD_INTERFACE:${library}>")
  endforeach()

  if(MODULE_ROOT STREQUAL "src")
    string(REGEX REPLACE "tempo_([a-z_]+)" "\\1" depends "${MODULE_DEPENDS}")
    list(REMOVE_ITEM depends version)
    list(JOIN depends ", " depends)
    set_property(GLOBAL APPEND_STRING PROPERTY TEMPO_MODULE_TABLE
      "| `src/${path}` | ${MODULE_SUMMARY} | ${depends} |\n")
  endif()

  if(TEMPO_TESTS AND tests)
    _tempo_test_program(${name}_test "${dir}" SOURCES ${tests}
      LINKS ${name} ${MODULE_TEST_DEPENDS} ${MODULE_TEST_LINKS}
      LABELS ${MODULE_TEST_LABELS} SHARDS ${MODULE_SHARDS} OPTIMISED ${MODULE_TEST_OPTIMISED}
      HEAVY ${MODULE_TEST_HEAVY} UNITY ${MODULE_TEST_UNITY})
  endif()
  if(TEMPO_TESTS AND checks)
    _tempo_test_program(${name}_check_test "${dir}" SOURCES ${checks}
      LINKS ${name} ${MODULE_TEST_DEPENDS} ${MODULE_TEST_LINKS}
      LABELS ${MODULE_TEST_LABELS} OPTIMISED ${MODULE_TEST_OPTIMISED} HEAVY ON)
  endif()
endfunction()

function(tempo_program name path)
  cmake_parse_arguments(PARSE_ARGV 2 PROGRAM "" "" "DEPENDS;LINKS")
  _tempo_no_leftovers(${name} PROGRAM)
  file(GLOB main CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${path}/main.cpp")
  if(main)
    add_executable(${name} ${main})
    tempo_compile(${name} LOW_OPT)
    target_link_libraries(${name} PRIVATE ${PROGRAM_DEPENDS} ${PROGRAM_LINKS})
    tempo_add_revision(${name})
  endif()
endfunction()

function(tempo_test name)
  cmake_parse_arguments(PARSE_ARGV 1 TEST "HEAVY;LONG;UNITY" "SHARDS" "DEPENDS;LINKS;LABELS;DEFINES;PROGRAMS")
  _tempo_no_leftovers(${name} TEST)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  if(NOT sources)
    return()
  endif()
  _tempo_test_program(${name} "${CMAKE_CURRENT_SOURCE_DIR}" SOURCES ${sources}
    LINKS ${TEST_DEPENDS} ${TEST_LINKS} LABELS ${TEST_LABELS} SHARDS ${TEST_SHARDS} HEAVY ${TEST_HEAVY}
    LONG ${TEST_LONG} UNITY ${TEST_UNITY})
  if(NOT TARGET ${name})
    return()
  endif()
  target_compile_definitions(${name} PRIVATE ${TEST_DEFINES})
  if(TEST_PROGRAMS)
    add_dependencies(${name} ${TEST_PROGRAMS})
  endif()
endfunction()

# Creates the links to the headers of one module and removes links whose header no longer exists.
function(_tempo_link_headers name dir path)
  set(links "${CMAKE_BINARY_DIR}/modules/${name}/${path}")
  file(MAKE_DIRECTORY "${links}")
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${dir}" "${dir}/*.h")
  file(GLOB old RELATIVE "${links}" "${links}/*.h")
  foreach(header IN LISTS old)
    if(NOT header IN_LIST headers)
      file(REMOVE "${links}/${header}")
    endif()
  endforeach()
  foreach(header IN LISTS headers)
    if(NOT EXISTS "${links}/${header}")
      file(CREATE_LINK "${dir}/${header}" "${links}/${header}" SYMBOLIC)
    endif()
  endforeach()
endfunction()

# One googletest program. It writes its results to build/<preset>/results/<entry>.xml, and tools/count-tests
# counts the test cases there; the name of an entry must therefore end in _test or _test_<shard>.
function(_tempo_test_program name dir)
  cmake_parse_arguments(PARSE_ARGV 2 TEST "" "SHARDS;OPTIMISED;HEAVY;LONG;UNITY" "SOURCES;LINKS;LABELS")
  if(TEST_HEAVY)
    if(NOT TEMPO_HEAVY_TESTS)
      return()
    endif()
    list(APPEND TEST_LABELS release)
    list(REMOVE_DUPLICATES TEST_LABELS)
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${TEST_SOURCES})
  set(main GTest::gtest_main)
  if("${TEST_SOURCES}" MATCHES "/main\\.cpp")
    set(main "")  # a test program that runs itself as a command has its own main()
  endif()
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} rapidcheck_gtest GTest::gmock GTest::gtest
                        ${main} Threads::Threads)
  # Only for files that use it: a path on every command line would prevent checkouts from sharing a cache.
  foreach(source IN LISTS TEST_SOURCES)
    file(STRINGS "${source}" uses REGEX "TEMPO_TESTDATA")
    if(uses)
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_DEFINITIONS TEMPO_TESTDATA="${dir}/testdata")
    endif()
  endforeach()
  target_compile_options(${name} PRIVATE ${TEMPO_TEST_CHECKS})
  if(TEST_OPTIMISED)
    tempo_compile(${name})
  else()
    target_compile_options(${name} PRIVATE ${TEMPO_TEST_OPTIMISATION})
    tempo_use_pch(${name} tempo_test_pch)
  endif()
  if(TEST_UNITY)
    tempo_unity(${name})
  endif()

  add_dependencies(tests ${name})
  foreach(label IN LISTS TEST_LABELS)
    add_dependencies(tests_${label} ${name})
  endforeach()

  if(NOT TEST_SHARDS)
    set(TEST_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${TEST_SHARDS})
    set(entry ${name})
    set(environment "UBSAN_OPTIONS=print_stacktrace=1")
    set(cost "")
    if(TEST_LONG)
      set(cost COST 200)
    elseif(TEST_SHARDS GREATER 1)
      set(cost COST 100)
    endif()
    if(TEST_SHARDS GREATER 1)
      set(entry ${name}_${shard})
      math(EXPR index "${shard} - 1")
      list(APPEND environment GTEST_TOTAL_SHARDS=${TEST_SHARDS} GTEST_SHARD_INDEX=${index})
    endif()
    add_test(NAME ${entry} COMMAND ${name} --gtest_brief=1
             "--gtest_output=xml:${CMAKE_BINARY_DIR}/results/${entry}.xml")
    set_tests_properties(${entry} PROPERTIES LABELS "${TEST_LABELS}" ENVIRONMENT "${environment}" ${cost})
  endforeach()
endfunction()

function(_tempo_no_leftovers name prefix)
  if(${prefix}_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: unknown arguments: ${${prefix}_UNPARSED_ARGUMENTS}; "
                        "see cmake/modules.cmake for the valid ones")
  endif()
endfunction()
