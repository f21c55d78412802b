// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which libraries a program loads when it starts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "transport/result.h"

namespace urnic::tools {

struct LoadedLibrary {
  std::string name;            ///< as the program or a library of it names it: "libibverbs.so.1"
  std::filesystem::path path;  ///< empty: the dynamic linker does not find it

  friend bool operator==(const LoadedLibrary&, const LoadedLibrary&) = default;
};

/// Has the dynamic linker `linker` (glibc's) say what it would load for `file`, a program or a library, below
/// `urnic run` with the drop-in in the folder `dropin`. Runs nothing of `file`. The error says what the
/// dynamic linker complains about.
Result<std::vector<LoadedLibrary>, Error> loaded_libraries(const std::filesystem::path& linker,
                                                           const std::filesystem::path& file,
                                                           const std::string& dropin);

/// Out of what `ld.so --list` prints. Lines of another form are left out.
std::vector<LoadedLibrary> parse_loaded_libraries(const std::string& text);

/// The library whose file name, as the program has it, begins so; null if there is none.
const LoadedLibrary* find_library(const std::vector<LoadedLibrary>& libraries, std::string_view begin);

}  // namespace urnic::tools
