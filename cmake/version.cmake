# The version for C++: the header tempo_version.h for modules that depend on tempo_version, and for programs also the
# revision of the sources, which is looked up in every build.
configure_file("${PROJECT_SOURCE_DIR}/cmake/tempo_version.h.in" "${CMAKE_BINARY_DIR}/src/version/tempo_version.h" @ONLY)
add_library(tempo_version INTERFACE)
target_include_directories(tempo_version INTERFACE "${CMAKE_BINARY_DIR}/src/version")

set(TEMPO_REVISION "" CACHE STRING "Revision of the sources; empty: that of git")
string(TOLOWER "${CMAKE_BUILD_TYPE}" TEMPO_BUILD)
if(TEMPO_SANITIZE)
  string(APPEND TEMPO_BUILD ", ${TEMPO_SANITIZE}")
endif()
set(revision "${CMAKE_BINARY_DIR}/src/version/revision.cpp")
add_custom_target(tempo_write_revision BYPRODUCTS "${revision}"
  COMMAND "${CMAKE_COMMAND}" "-DOUT=${revision}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DREVISION=${TEMPO_REVISION}"
          "-DBUILD=${TEMPO_BUILD}" -P "${PROJECT_SOURCE_DIR}/cmake/write_revision.cmake"
  VERBATIM)
add_library(tempo_revision OBJECT "${revision}")
add_dependencies(tempo_revision tempo_write_revision)

function(tempo_add_revision program)
  target_sources(${program} PRIVATE $<TARGET_OBJECTS:tempo_revision>)
endfunction()
