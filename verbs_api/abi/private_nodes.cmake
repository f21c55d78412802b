# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# Writes the part of private_node.cc that is the same for each name: it is there under every private node, and
# does nothing if it is a command to the kernel. The names come from rdma_core_exports.txt.

function(urnic_write_private_nodes facts output)
  file(STRINGS ${facts} private_nodes REGEX "^private ")
  file(STRINGS ${facts} names REGEX "^[A-Za-z0-9_]+ PRIVATE ")
  set(commands "")
  set(versions "")
  foreach(line IN LISTS names)
    string(REGEX MATCH "^([^ ]+) PRIVATE ([0-9]+)$" unused "${line}")
    set(name ${CMAKE_MATCH_1})
    set(since ${CMAKE_MATCH_2})
    if(name MATCHES "^ibv_(cmd|dmabuf_heap)_")
      string(APPEND commands "int ${name}() { return EOPNOTSUPP; }\n")
    endif()
    # The nodes of these versions, the first one as the default.
    set(nodes "")
    foreach(node IN LISTS private_nodes)
      string(REGEX MATCH "^private ([0-9]+) ([0-9]+)$" unused "${node}")
      if(CMAKE_MATCH_2 LESS_EQUAL since)
        set(nodes ${CMAKE_MATCH_1})
      else()
        list(APPEND nodes ${CMAKE_MATCH_1})
      endif()
    endforeach()
    list(POP_FRONT nodes default)
    if(name MATCHES "^(ibv_query_gid_type|ibv_wr_opcode_str)$")
      set(definition ${name}_again)  # the default is another file's
    else()
      set(definition ${name})
      string(APPEND versions ".symver ${name}, ${name}@@@IBVERBS_PRIVATE_${default}\n")
    endif()
    foreach(node IN LISTS nodes)
      string(APPEND versions
        ".globl ${name}_of_${node}\n"
        ".set ${name}_of_${node}, ${definition}\n"
        ".symver ${name}_of_${node}, ${name}@IBVERBS_PRIVATE_${node}\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "extern \"C\" {\n\n@commands@\n}\n\n__asm__(R\"(\n@versions@)\");\n" @ONLY)
endfunction()
