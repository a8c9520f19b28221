# tempo-lab: the machine contract, the simulator and the checker as a package for machines of other projects.
# Install: cmake --install BUILD --component tempo-lab --prefix DIR; use: find_package(tempo-lab).
target_compile_features(tempo_base PUBLIC cxx_std_23)
install(TARGETS tempo_base tempo_machine tempo_sim tempo_check EXPORT tempo-lab COMPONENT tempo-lab
        ARCHIVE DESTINATION lib COMPONENT tempo-lab)
foreach(module base machine lab/sim lab/check)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${module}/*.h")
  install(FILES ${headers} DESTINATION "include/tempo-lab/${module}" COMPONENT tempo-lab)
endforeach()
install(EXPORT tempo-lab NAMESPACE tempo-lab:: FILE tempo-lab-targets.cmake
        DESTINATION lib/cmake/tempo-lab COMPONENT tempo-lab)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/tempo-lab-config.cmake" CONTENT [[
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/tempo-lab-targets.cmake")
]] @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/tempo-lab-config.cmake" DESTINATION lib/cmake/tempo-lab
        COMPONENT tempo-lab)
