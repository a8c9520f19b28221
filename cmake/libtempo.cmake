# libtempo: the network's time and locks for programs of others, as one archive with four headers.
# cmake --install BUILD --component libtempo --prefix DIR; then find_package(tempo), or pkg-config tempo.
add_library(libtempo STATIC $<TARGET_OBJECTS:tempo_client> $<TARGET_OBJECTS:tempo_page>
            $<TARGET_OBJECTS:tempo_ipc> $<TARGET_OBJECTS:tempo_json> $<TARGET_OBJECTS:tempo_base>)
set_target_properties(libtempo PROPERTIES OUTPUT_NAME tempo EXPORT_NAME tempo LINKER_LANGUAGE CXX)
target_compile_features(libtempo PUBLIC cxx_std_23)
target_include_directories(libtempo PUBLIC "$<INSTALL_INTERFACE:include>")
target_link_libraries(libtempo PUBLIC fmt::fmt)
install(TARGETS libtempo EXPORT tempo COMPONENT libtempo ARCHIVE DESTINATION lib COMPONENT libtempo)
install(FILES src/live/client/time.h src/live/client/time_c.h src/live/client/lock.h
        src/live/client/lock_c.h DESTINATION include/tempo
        COMPONENT libtempo)
install(EXPORT tempo NAMESPACE tempo:: FILE tempo-targets.cmake DESTINATION lib/cmake/tempo
        COMPONENT libtempo)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/tempo-config.cmake" CONTENT [[
include(CMakeFindDependencyMacro)
find_dependency(fmt)
include("${CMAKE_CURRENT_LIST_DIR}/tempo-targets.cmake")
]] @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/tempo-config.cmake" DESTINATION lib/cmake/tempo
        COMPONENT libtempo)
# Found by its own place, so that the tree can be installed anywhere.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/tempo.pc" CONTENT [[
prefix=${pcfiledir}/../..

Name: tempo
Description: the network's time, with a bound on its error, and its locks
Version: @PROJECT_VERSION@
Requires: fmt
Cflags: -I${prefix}/include
Libs: -L${prefix}/lib -ltempo -lstdc++
]] @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/tempo.pc" DESTINATION lib/pkgconfig COMPONENT libtempo)
