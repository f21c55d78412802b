# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# cmake -D SCRIPTS=FOLDER -D AGENTS=FOLDER -D OUTPUT=FILE.cc -P write_cases.cmake
#
# Writes the scripts below SCRIPTS and the sources of agent and listener in AGENTS as C++.
file(GLOB_RECURSE scripts RELATIVE ${SCRIPTS} ${SCRIPTS}/*.rdma ${SCRIPTS}/*.cm)
list(SORT scripts)
set(room tools/conformance/conform)
set(text "#include \"${room}/agent/agent_source.h\"\n#include \"${room}/cases/cases.h\"\n")
string(APPEND text "namespace urnic::conform {\nnamespace {\nconstexpr Case kCases[] = {\n")
foreach(script IN LISTS scripts)
  file(READ ${SCRIPTS}/${script} content)
  set(kind kQueuePair)
  if(script MATCHES "\\.cm$")
    set(kind kConnection)
  endif()
  string(REGEX REPLACE "\\.(rdma|cm)$" "" name ${script})
  string(APPEND text "{\"${name}\", R\"=====(${content})=====\", Case::Kind::${kind}},\n")
endforeach()
string(APPEND text "};\n}\nstd::span<const Case> all_cases() { return kCases; }\n")
# As what agent_source.h calls it.
function(append_agent name file)
  file(READ ${AGENTS}/${file} agent)
  # Compilers take no longer literals than 64 KiB.
  string(LENGTH "${agent}" length)
  string(APPEND text "std::string_view ${name}() { return ")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${agent}" ${at} 8000 piece)
    string(APPEND text "R\"=====(${piece})=====\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  set(text "${text};\n}\n" PARENT_SCOPE)
endfunction()
append_agent(c_agent agent.c)
append_agent(python_agent agent.py)
append_agent(c_listener listener.c)
string(APPEND text "}\n")
file(WRITE ${OUTPUT} "${text}")
