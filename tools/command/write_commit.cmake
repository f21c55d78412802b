# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# cmake -D SOURCE=DIR -D OUTPUT=FILE -P write_commit.cmake
#
# Writes kCommit (build_facts.h): what git says of the tree, or, in an archive that `git archive` made, what
# git has put into archived_commit.txt. An unchanged file keeps its time, so that nothing is built for it.
cmake_minimum_required(VERSION 3.23)

set(commit "")
# Of this tree, and not of one that contains it.
if(EXISTS ${SOURCE}/.git)
  find_program(GIT git)
  if(GIT)
    # A build may run as another user than the owner of the tree, and leaves git's files as they are.
    set(git ${GIT} --no-optional-locks -c safe.directory=* -C ${SOURCE})
    execute_process(COMMAND ${git} describe --tags --always --long --match "v[0-9]*"
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE code)
    execute_process(COMMAND ${git} status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT code EQUAL 0)
      set(commit "")
    elseif(changes)
      string(APPEND commit -dirty)
    endif()
  endif()
else()
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/archived_commit.txt commit LIMIT_COUNT 1)
  # Copied, and not archived.
  if(commit MATCHES Format)
    set(commit "")
  endif()
endif()
if(NOT commit)
  set(commit unknown)
endif()

file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "tools/command/build_facts.h"

namespace urnic::tools {
const char* const kCommit = "@commit@";
}
]] @ONLY)
