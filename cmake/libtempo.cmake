# libtempo: network time, locks and elections for other programs, as a shared and a static library with headers. The
# headers are C++17; those whose names end in _c are C.
# Install: cmake --install BUILD --component libtempo --prefix DIR; use: find_package(tempo) or pkg-config tempo.
# The library leaves out the configuration files of tempod, which are part of the api module.
set(TEMPO_ABI 1)  # the soname; a release that removes or changes a symbol or a type increments it

set(of_client "$<TARGET_OBJECTS:tempo_client>")
set(of_api "$<FILTER:$<TARGET_OBJECTS:tempo_api>,EXCLUDE,/(settings|config_[a-z]+)\\.cpp>")
set(of_base "$<FILTER:$<TARGET_OBJECTS:tempo_base>,EXCLUDE,/toml\\.cpp>")
add_library(libtempo_static STATIC ${of_client} ${of_api} ${of_base})
set_target_properties(libtempo_static PROPERTIES OUTPUT_NAME tempo EXPORT_NAME tempo_static LINKER_LANGUAGE CXX)
target_link_libraries(libtempo_static PUBLIC fmt::fmt Threads::Threads)
set(libraries libtempo_static)

# The shared library is compiled from the same sources a second time, as code that can be loaded at any address. A
# build with sanitizers has none, because its users would need the sanitizers too.
if(NOT TEMPO_SANITIZE)
  set(sources "")
  foreach(module client api base)
    get_target_property(of_module tempo_${module} SOURCES)
    list(APPEND sources ${of_module})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/api/(settings|config_[a-z]+)\\.cpp$|/base/toml\\.cpp$")
  add_library(libtempo_objects OBJECT ${sources})
  target_link_libraries(libtempo_objects PRIVATE tempo_client nlohmann_json::nlohmann_json)
  target_compile_options(libtempo_objects PRIVATE -fPIC -Os)
  tempo_unity(libtempo_objects)
  set(fakes ${sources})
  list(FILTER fakes INCLUDE REGEX "/client/fake[a-z_]*\\.cpp$")
  tempo_no_unity(${fakes})
  add_library(libtempo SHARED $<TARGET_OBJECTS:libtempo_objects>)
  set(script "${PROJECT_SOURCE_DIR}/cmake/libtempo.map")
  target_link_options(libtempo PRIVATE "-Wl,--version-script=${script}" -Wl,--no-undefined)
  target_link_libraries(libtempo PRIVATE fmt::fmt PUBLIC Threads::Threads)
  set_target_properties(libtempo PROPERTIES OUTPUT_NAME tempo EXPORT_NAME tempo LINKER_LANGUAGE CXX
                        VERSION ${TEMPO_ABI}.${PROJECT_VERSION} SOVERSION ${TEMPO_ABI} LINK_DEPENDS "${script}"
                        LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
  list(APPEND libraries libtempo)
endif()

foreach(library IN LISTS libraries)
  target_compile_features(${library} PUBLIC cxx_std_17)
  target_include_directories(${library} PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endforeach()
install(TARGETS ${libraries} EXPORT tempo
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT libtempo
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT libtempo)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tempo" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT libtempo
        FILES_MATCHING PATTERN "*.h")
tempo_install_package(tempo libtempo)
# The prefix is relative to the .pc file, so that the installation can be moved.
file(RELATIVE_PATH TEMPO_ROOT_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" TEMPO_ROOT_FROM_PC "${TEMPO_ROOT_FROM_PC}")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/tempo.pc" CONTENT [[
prefix=${pcfiledir}/@TEMPO_ROOT_FROM_PC@

Name: tempo
Description: the network's time, with a bound on its error, and its locks
Version: @TEMPO_VERSION@
Requires.private: fmt
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@ -ltempo
Libs.private: -lstdc++ -pthread
]] @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/tempo.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT libtempo)
