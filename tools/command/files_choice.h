// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How a program gets to see the device's files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "transport/result.h"

namespace urnic::tools {

enum class FilesBy : std::uint8_t {
  kAuto,       ///< by mounts for programs that the preloaded library does not reach, where that is possible
  kPreload,    ///< by the preloaded library alone
  kNamespace,  ///< by mounts in a namespace of the program's own
};

/// "auto", "preload" or "namespace".
std::optional<FilesBy> parse_files_by(std::string_view text);

/// Gives this process, which is to become the program in `file` (nothing: not known), the mounts that
/// `wanted` asks for, out of the folder `tree` (path_tree.h). Returns whether it has them. The error is for
/// kNamespace: the system does not allow them. What keeps kAuto from them goes to `why_not`.
Result<bool, Error> show_files(FilesBy wanted, const std::optional<std::filesystem::path>& file,
                               const std::string& tree, std::string& why_not);

}  // namespace urnic::tools
