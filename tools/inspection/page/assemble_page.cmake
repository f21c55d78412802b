# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# Puts the page's files together: cmake -DD3=FILE -DPAGE=FOLDER -DOUT=FILE -P assemble_page.cmake
file(READ ${PAGE}/page.html page)
file(READ ${PAGE}/page.css style)
file(READ ${D3} d3)
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
