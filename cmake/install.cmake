# Installation: programs with their manual pages, completions and units. libtempo.cmake and tempo_lab.cmake install the
# libraries. `make install` (tools/install) installs all components; a Debian package takes what its list in
# packaging/debian names.
#
# The prefix may be chosen as late as by `cmake --install --prefix`, therefore units and completions are written then.
set(TEMPO_UNIT_DIR lib/systemd/system CACHE STRING "Directory of the systemd units, below the prefix")
set(TEMPO_ZSH_DIR share/zsh/site-functions CACHE STRING "Directory of the completions for zsh, below the prefix")
set(TEMPO_PYTHON_DIR "" CACHE STRING "Directory of the Python package, below the prefix; empty: that of python3")

# A program in DIRECTORY (bin or sbin) with its manual pages and units, if its target exists. COMPLETIONS: it prints its
# completions.
#
#   tempo_install_program(tempod sbin COMPONENT tempo MANUALS tempod.8 UNITS tempod.service COMPLETIONS)
function(tempo_install_program name directory)
  cmake_parse_arguments(PARSE_ARGV 2 PROGRAM "COMPLETIONS" "COMPONENT" "MANUALS;UNITS")
  _tempo_no_leftovers(${name} PROGRAM)
  if(NOT TARGET ${name})
    return()
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${directory} COMPONENT ${PROGRAM_COMPONENT})
  foreach(page IN LISTS PROGRAM_MANUALS)
    string(REGEX REPLACE ".*\\." "" section "${page}")
    install(FILES "${PROJECT_SOURCE_DIR}/man/${page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}"
            COMPONENT ${PROGRAM_COMPONENT})
  endforeach()
  foreach(unit IN LISTS PROGRAM_UNITS)
    tempo_install_with_prefix("packaging/${unit}" ${TEMPO_UNIT_DIR} ${PROGRAM_COMPONENT})
  endforeach()
  if(PROGRAM_COMPLETIONS)
    foreach(shell bash zsh fish)
      set(file_bash "${CMAKE_INSTALL_DATADIR}/bash-completion/completions/${name}")
      set(file_zsh "${TEMPO_ZSH_DIR}/_${name}")
      set(file_fish "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/${name}.fish")
      cmake_path(GET file_${shell} PARENT_PATH to)
      cmake_path(GET file_${shell} FILENAME file)
      set(written "${CMAKE_BINARY_DIR}/completions/${shell}/${file}")
      file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/completions/${shell}")
      install(CODE "execute_process(COMMAND \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}\" completion ${shell}
                                    OUTPUT_FILE \"${written}\" COMMAND_ERROR_IS_FATAL ANY)"
              COMPONENT ${PROGRAM_COMPONENT})
      install(FILES "${written}" DESTINATION ${to} COMPONENT ${PROGRAM_COMPONENT})
    endforeach()
  endif()
endfunction()

# A file that names /usr/bin or /usr/sbin, with these below the prefix.
function(tempo_install_with_prefix from to component)
  cmake_path(GET from FILENAME name)
  install(CODE "file(READ \"${PROJECT_SOURCE_DIR}/${from}\" text)
string(REGEX REPLACE \"/usr/(s?bin)/\" \"\${CMAKE_INSTALL_PREFIX}/\\\\1/\" text \"\${text}\")
file(WRITE \"${CMAKE_BINARY_DIR}/units/${name}\" \"\${text}\")" COMPONENT ${component})
  install(FILES "${CMAKE_BINARY_DIR}/units/${name}" DESTINATION "${to}" COMPONENT ${component})
endfunction()

# The CMake package `name` of the targets exported under that name: find_package(name) accepts versions of the same
# major release.
function(tempo_install_package name component)
  set(to "${CMAKE_INSTALL_LIBDIR}/cmake/${name}")
  install(EXPORT ${name} NAMESPACE ${name}:: FILE ${name}-targets.cmake DESTINATION "${to}" COMPONENT ${component})
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/${name}-config.cmake" CONTENT [[
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/@name@-targets.cmake")
]] @ONLY)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file("${CMAKE_BINARY_DIR}/${name}-config-version.cmake"
    VERSION "${PROJECT_VERSION}" COMPATIBILITY SameMajorVersion)
  install(FILES "${CMAKE_BINARY_DIR}/${name}-config.cmake" "${CMAKE_BINARY_DIR}/${name}-config-version.cmake"
          DESTINATION "${to}" COMPONENT ${component})
endfunction()

tempo_install_program(tempod sbin COMPONENT tempo MANUALS tempod.8 tempo.toml.5
                      UNITS tempod.service tempo-wait-sync.service)
tempo_install_program(tempo bin COMPONENT tempo MANUALS tempo.1 UNITS tempo-elect@.service tempo-leader@.target COMPLETIONS)
tempo_install_program(tempo-etcd sbin COMPONENT etcd MANUALS tempo-etcd.8 UNITS tempo-etcd.service)
tempo_install_program(tempo-ntp sbin COMPONENT ntp MANUALS tempo-ntp.8 UNITS tempo-ntp.service)
tempo_install_program(tempo-vip sbin COMPONENT vip MANUALS tempo-vip.8 UNITS tempo-vip.service tempo-vip-sleep.service)
tempo_install_program(tempo-web sbin COMPONENT web MANUALS tempo-web.8 UNITS tempo-web.service)
tempo_install_program(tempo-lab bin COMPONENT lab MANUALS tempo-lab.1 COMPLETIONS)

if(TARGET tempo-web)
  set(examples "${CMAKE_INSTALL_DATADIR}/doc/tempo-web")
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/prometheus/alerts.yml" "${PROJECT_SOURCE_DIR}/packaging/grafana/tempo.json"
          DESTINATION "${examples}/examples" COMPONENT web)
  install(FILES "${PROJECT_SOURCE_DIR}/src/services/web/page/NOTICES" DESTINATION "${examples}" COMPONENT web)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/packaging/tempo.sysusers" DESTINATION lib/sysusers.d RENAME tempo.conf
        COMPONENT tempo)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/tempo-vip.sysusers" DESTINATION lib/sysusers.d RENAME tempo-vip.conf
        COMPONENT vip)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/tempo.tmpfiles" DESTINATION lib/tmpfiles.d RENAME tempo.conf
        COMPONENT tempo)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/tempo.ntp-units" DESTINATION lib/systemd/ntp-units.d RENAME 50-tempo.list
        COMPONENT tempo)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/tempo.toml" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/tempo/examples"
        COMPONENT tempo)

# Debian's python3 looks for packages of Debian in /usr/lib/python3 and for others in /usr/local/lib/python3.N.
find_program(TEMPO_PYTHON3 python3)
set(python_version 3)
if(TEMPO_PYTHON3)
  execute_process(COMMAND "${TEMPO_PYTHON3}" -c "import sys; print('%d.%d' % sys.version_info[:2])"
                  OUTPUT_VARIABLE python_version OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
set(python_packages site-packages)
if(EXISTS /etc/debian_version)
  set(python_packages dist-packages)
endif()
install(CODE "set(to \"${TEMPO_PYTHON_DIR}\")
if(NOT to)
  set(to lib/python${python_version}/${python_packages})
  if(CMAKE_INSTALL_PREFIX STREQUAL /usr AND \"${python_packages}\" STREQUAL dist-packages)
    set(to lib/python3/dist-packages)
  endif()
endif()
file(INSTALL \"${PROJECT_SOURCE_DIR}/python/\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/\${to}\"
     FILES_MATCHING PATTERN \"*.py\" PATTERN \"*.pyi\" PATTERN \"py.typed\")" COMPONENT python)
