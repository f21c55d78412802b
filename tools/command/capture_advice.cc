// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/capture_advice.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

namespace urnic::tools {

std::string which_capture(const std::string& command) {
  return fmt::format(
      "{0}: which file? Write: urnic {0} FILE; 'urnic run --pcap FILE -- PROGRAM' records one "
      "(see 'urnic {0} --help')",
      command);
}

std::string advice_on_capture(const std::string& file) {
  if (file == "-") return {};
  std::error_code code;
  const auto status = std::filesystem::status(file, code);
  if (status.type() == std::filesystem::file_type::not_found) {
    return "; 'urnic run --pcap FILE -- PROGRAM' and tcpdump write captures";
  }
  return std::filesystem::is_directory(status) ? "; name the files in it" : "";
}

}  // namespace urnic::tools
