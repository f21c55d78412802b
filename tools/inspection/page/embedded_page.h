// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// URNIC_EMBEDDED_PAGE: a page that the build has put together (urnic_embed_page() of CMakeLists.txt), as
// bytes of the program.
#pragma once

#include <cstddef>
#include <string_view>

/// Defines `std::string_view name()`. `symbol` is a name for the linker that no other page has, `file` a
/// string literal. Once in a file, outside of namespaces.
#define URNIC_EMBEDDED_PAGE(name, symbol, file)                                                       \
  asm(".section .rodata\n.global " #symbol "\n.global " #symbol "_end\n" #symbol ":\n.incbin \"" file \
      "\"\n" #symbol "_end:\n.previous\n");                                                           \
  extern "C" const char symbol[] __attribute__((visibility("hidden")));                               \
  extern "C" const char symbol##_end[] __attribute__((visibility("hidden")));                         \
  static std::string_view name() {                                                                    \
    return {symbol, static_cast<std::size_t>(symbol##_end - symbol)};                                 \
  }
