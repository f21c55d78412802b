# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# Puts the page's files together:
#
#   cmake -DD3=FILE -DCOPYRIGHT=FILE -DPAGE=FOLDER -DOUT=FILE -P assemble_page.cmake
file(READ ${PAGE}/page.html page)
file(READ ${PAGE}/page.css style)
file(READ ${D3} d3)

# A page that is passed on brings D3 along, so it has D3's notices: paragraphs of the product's copyright.
file(READ ${COPYRIGHT} copyright)
set(notices "")
foreach(heading IN ITEMS "Files: node-d3/*" "License: BSD-3-clause-Bostock" "License: ISC" "License: Expat")
  string(FIND "${copyright}" "\n\n${heading}\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${COPYRIGHT} has no paragraph '${heading}'")
  endif()
  string(SUBSTRING "${copyright}" ${begin} -1 rest)
  string(SUBSTRING "${rest}" 2 -1 rest)
  string(FIND "${rest}\n\n" "\n\n" length)
  string(SUBSTRING "${rest}" 0 ${length} paragraph)
  string(APPEND notices "${paragraph}\n\n")
endforeach()
string(REPLACE "*/" "* /" notices "${notices}")
string(PREPEND d3 "/*\n${notices}*/\n")

file(STRINGS ${PAGE}/scripts.txt names)
set(script "")
foreach(name IN LISTS names)
  file(READ ${PAGE}/${name} text)
  string(APPEND script "${text}")
endforeach()
foreach(part style d3 script)
  string(TOUPPER ${part} name)
  string(REPLACE "@${name}@" "${${part}}" page "${page}")
endforeach()
file(WRITE ${OUT} "${page}")
