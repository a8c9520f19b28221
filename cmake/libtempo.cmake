# libtempo: network time, locks and elections for other programs, as one static library and its headers. The
# headers are C++17; those whose names end in _c are C.
# Install: cmake --install BUILD --component libtempo --prefix DIR; use: find_package(tempo) or pkg-config tempo.
# The library leaves out the configuration files of tempod, which are part of the api module.
add_library(libtempo STATIC $<TARGET_OBJECTS:tempo_client>
            "$<FILTER:$<TARGET_OBJECTS:tempo_api>,EXCLUDE,/(settings|config_[a-z]+)\\.cpp>"
            "$<FILTER:$<TARGET_OBJECTS:tempo_base>,EXCLUDE,/toml\\.cpp>")
set_target_properties(libtempo PROPERTIES OUTPUT_NAME tempo EXPORT_NAME tempo LINKER_LANGUAGE CXX)
target_compile_features(libtempo PUBLIC cxx_std_17)
target_include_directories(libtempo PUBLIC "$<INSTALL_INTERFACE:include>")
target_link_libraries(libtempo PUBLIC fmt::fmt Threads::Threads)
install(TARGETS libtempo EXPORT tempo COMPONENT libtempo ARCHIVE DESTINATION lib COMPONENT libtempo)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tempo" DESTINATION include COMPONENT libtempo
        FILES_MATCHING PATTERN "*.h")
install(EXPORT tempo NAMESPACE tempo:: FILE tempo-targets.cmake DESTINATION lib/cmake/tempo
        COMPONENT libtempo)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/tempo-config.cmake" CONTENT [[
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/tempo-targets.cmake")
]] @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/tempo-config.cmake" DESTINATION lib/cmake/tempo
        COMPONENT libtempo)
# The prefix is relative to the .pc file, so that the installation can be moved.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/tempo.pc" CONTENT [[
prefix=${pcfiledir}/../..

Name: tempo
Description: the network's time, with a bound on its error, and its locks
Version: @PROJECT_VERSION@
Requires: fmt
Cflags: -I${prefix}/include
Libs: -L${prefix}/lib -ltempo -lstdc++ -pthread
]] @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/tempo.pc" DESTINATION lib/pkgconfig COMPONENT libtempo)
