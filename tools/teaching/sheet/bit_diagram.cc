// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/teaching/sheet/bit_diagram.h"

#include <fmt/core.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace urnic::sheet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRowBits = 32;
/// So many letters fit into the width of a bit, about.
constexpr double kLettersOfBit = 2.4;

std::size_t longest_word(const std::string& name) {
  std::size_t longest = 0;
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t end = std::min(name.find(' ', begin), name.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

void write_scale(HtmlWriter& html) {
  const auto head = html.begin("thead");
  const auto row = html.begin("tr");
  html.element("th", "Byte", {{"scope", "col"}});
  for (std::size_t bit = 0; bit < kRowBits; ++bit) {
    html.element("th", fmt::format("{}", bit), {{"scope", "col"}});
  }
}

/// The part of a field that begins at `bit` of the header and is `bits` long: within a row, or whole rows.
void write_cell(HtmlWriter& html, const Json& field, std::size_t bits) {
  const std::size_t width = std::min(bits, kRowBits);
  const std::string name = field["name"].get<std::string>() + (field["taken_for_ones"] ? "*" : "");
  const bool is_narrow = static_cast<double>(longest_word(name)) > kLettersOfBit * static_cast<double>(width);
  const auto cell = html.begin("td", {{"colspan", fmt::format("{}", width)},
                                      {"rowspan", fmt::format("{}", bits / width)},
                                      {"class", field["taken_for_ones"] ? "ones" : "sent"}});
  html.element("span", name, {{"class", is_narrow ? "upright" : "flat"}});
}

}  // namespace

void write_bit_diagram(HtmlWriter& html, const Json& header) {
  const std::size_t all_bits = CHAR_BIT * header["bytes"].get<std::size_t>();
  const auto table = html.begin("table", {{"class", "bits"}});
  html.element("caption", fmt::format("{}, {} bytes", header["name"].get<std::string>(),
                                      header["bytes"].get<std::size_t>()));
  write_scale(html);
  const auto body = html.begin("tbody");
  for (std::size_t row_begin = 0; row_begin < all_bits; row_begin += kRowBits) {
    const auto row = html.begin("tr");
    html.element("th", fmt::format("{}", row_begin / CHAR_BIT), {{"scope", "row"}});
    for (const Json& field : header["fields"]) {
      const std::size_t begin = field["bit"].get<std::size_t>();
      const std::size_t end = begin + field["bits"].get<std::size_t>();
      const bool begins_here = begin >= row_begin && begin < row_begin + kRowBits;
      if (begins_here) write_cell(html, field, end - begin);
    }
  }
}

}  // namespace urnic::sheet
