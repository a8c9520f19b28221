# tempo-lab: the machine contract, the simulator and the checker as a package for machines of other projects.
# Install: cmake --install BUILD --component tempo-lab --prefix DIR; use: find_package(tempo-lab).
target_compile_features(tempo_base PUBLIC cxx_std_23)
install(TARGETS tempo_base tempo_machine tempo_sim tempo_check EXPORT tempo-lab COMPONENT tempo-lab
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT tempo-lab)
foreach(module base machine lab/sim lab/check)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${module}/*.h")
  install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tempo-lab/${module}" COMPONENT tempo-lab)
endforeach()
tempo_install_package(tempo-lab tempo-lab)
