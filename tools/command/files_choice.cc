// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/files_choice.h"

#include <fmt/core.h>

#include <fstream>
#include <system_error>

#include "nic/diagnostics/counter_files.h"
#include "tools/runtime/loader/program_file.h"
#include "tools/runtime/mounts/mount_namespace.h"
#include "tools/runtime/mounts/shown_files.h"

namespace urnic::tools {
namespace {

namespace fs = std::filesystem;

Result<void, Error> enter(const std::string& tree) {
  const auto entered = enter_mount_namespace();
  if (!entered) return entered.error();
  return show_files_by_mounts(tree);
}

/// With mounts no function of ours sees that a program reads a counter: its value is the one that the
/// processes wrote last.
void admit_period(const fs::path& tree) {
  std::error_code code;
  for (fs::directory_iterator device(tree / "sys/class/infiniband", code), end; !code && device != end;
       device.increment(code)) {
    std::ofstream(device->path() / "ports/1/hw_counters/lifespan") << nic::CounterFiles::kPeriodMs << '\n';
  }
}

}  // namespace

std::optional<FilesBy> parse_files_by(std::string_view text) {
  if (text == "auto") return FilesBy::kAuto;
  if (text == "preload") return FilesBy::kPreload;
  if (text == "namespace") return FilesBy::kNamespace;
  return std::nullopt;
}

Result<bool, Error> show_files(FilesBy wanted, const std::optional<fs::path>& file, const std::string& tree,
                               std::string& why_not) {
  if (wanted == FilesBy::kPreload) return false;
  const bool needs_mounts = file && calls_kernel_itself(script_interpreter(*file).value_or(*file));
  if (wanted == FilesBy::kAuto && !needs_mounts) return false;
  const auto entered = enter(tree);
  if (entered) {
    admit_period(tree);
    return true;
  }
  if (wanted == FilesBy::kAuto) {
    why_not = entered.error().message;
    return false;
  }
  return Error{.code = entered.error().code,
               .message = fmt::format("--files namespace: {}; use --files preload", entered.error().message)};
}

}  // namespace urnic::tools
