# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# cmake -D SCRIPTS=FOLDER -D AGENT=FILE -D OUTPUT=FILE.cc -P write_cases.cmake
#
# Writes the scripts below FOLDER and the source of the agent as C++.
file(GLOB_RECURSE scripts RELATIVE ${SCRIPTS} ${SCRIPTS}/*.rdma)
list(SORT scripts)
set(room tools/conformance/conform)
set(text "#include \"${room}/agent/agent_source.h\"\n#include \"${room}/cases/cases.h\"\n")
string(APPEND text "namespace urnic::conform {\nnamespace {\nconstexpr Case kCases[] = {\n")
foreach(script IN LISTS scripts)
  file(READ ${SCRIPTS}/${script} content)
  string(REGEX REPLACE "\\.rdma$" "" name ${script})
  string(APPEND text "{\"${name}\", R\"=====(${content})=====\"},\n")
endforeach()
string(APPEND text "};\n}\nstd::span<const Case> all_cases() { return kCases; }\n")
file(READ ${AGENT} agent)
# Compilers take no longer literals than 64 KiB.
string(LENGTH "${agent}" length)
string(APPEND text "std::string_view agent_source() { return ")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${agent}" ${at} 8000 piece)
  string(APPEND text "R\"=====(${piece})=====\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
string(APPEND text ";\n}\n}\n")
file(WRITE ${OUTPUT} "${text}")
