# Writes OUT, a source that defines the revision REVISION, or that of the git repository SOURCE, and the kind of build
# BUILD. An unchanged file is not written, so that nothing is linked again.
if(NOT REVISION)
  # A directory inside another repository, as of a package build, has no revision.
  if(EXISTS "${SOURCE}/.git")
    execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE REVISION
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
set(text "extern \"C\" {
extern const char tempo_revision[];
extern const char tempo_build[];
const char tempo_revision[] = \"${REVISION}\";
const char tempo_build[] = \"${BUILD}\";
}
")
set(old "")
if(EXISTS "${OUT}")
  file(READ "${OUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUT}" "${text}")
endif()
