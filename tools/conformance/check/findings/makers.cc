// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/findings/makers.h"

#include <algorithm>
#include <iterator>

namespace urnic::check {
namespace {

struct Entry {
  std::string_view name;
  Makers maker;
};
constexpr Entry kKnown[] = {{"rxe", Makers::kRxe},
                            {"connectx", Makers::kConnectX},
                            {"e810", Makers::kE810},
                            {"hns", Makers::kHns},
                            {"fpga", Makers::kFpga}};

}  // namespace

std::optional<Makers> read_makers(std::string_view text) {
  Makers makers = Makers::kNone;
  for (;;) {
    const std::size_t end = std::min(text.find('+'), text.size());
    const auto* const found = std::ranges::find(kKnown, text.substr(0, end), &Entry::name);
    if (found == std::end(kKnown)) return std::nullopt;
    makers = makers | found->maker;
    if (end == text.size()) return makers;
    text.remove_prefix(end + 1);
  }
}

std::string known_makers() {
  std::string names;
  for (const Entry& entry : kKnown) names += (names.empty() ? "" : "|") + std::string(entry.name);
  return names;
}

}  // namespace urnic::check
