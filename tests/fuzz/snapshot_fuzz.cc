// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: what any process might say at its status socket, to the reader of `urnic stat`.
//
// The input is the text. Whatever is taken for a snapshot must be written down as one that says the same, and
// shown without anything that steers a terminal.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nic/diagnostics/snapshot_json.h"
#include "tools/inspection/stat/snapshot_reader.h"
#include "tools/inspection/stat/table.h"

namespace urnic::tools {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

void read(std::string_view text) {
  const auto snapshot = read_snapshot(text);
  if (!snapshot) return require(!snapshot.error().message.empty(), "a refusal has a reason");
  const std::string written = nic::to_json(snapshot.value());
  const auto again = read_snapshot(written);
  require(again.has_value(), "what we write can be read");
  require(nic::to_json(again.value()) == written, "what we write and read says the same");

  const NicProcess process{.socket = "status.1.1", .pid = 1, .snapshot = snapshot.value()};
  const std::string table = table_of(std::span(&process, 1), std::span(&process, 1), 24);
  const bool steers = std::any_of(table.begin(), table.end(),
                                  [](unsigned char c) { return c != '\n' && std::iscntrl(c) != 0; });
  require(!steers, "a table has lines and nothing that steers a terminal");
}

}  // namespace
}  // namespace urnic::tools

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::tools::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
