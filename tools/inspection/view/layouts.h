// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Layouts: where the fields of a packet's headers are, and what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "tools/conformance/check/packets/frame.h"
#include "tools/conformance/check/packets/packet.h"
#include "tools/conformance/check/unwrapping/layers.h"

namespace urnic::view {

struct Field {
  const char* name;
  std::uint16_t bit;  ///< from the header's first
  std::uint16_t bits;
  const char* kind;  ///< DATA.md has them
  const char* meaning;
};

struct Header {
  const char* name;
  std::size_t bytes;
  std::span<const Field> fields;
};
std::span<const Header> all_headers();

/// A header at its place in the frame.
struct PlacedHeader {
  const Header* header;
  std::size_t at;
  friend bool operator<(const PlacedHeader& a, const PlacedHeader& b) {
    return std::tie(a.header, a.at) < std::tie(b.header, b.at);
  }
};
using Layout = std::vector<PlacedHeader>;

/// Those that occur, each once.
class Layouts {
 public:
  /// The index of the layout of this packet's headers. `outer` stand before its IP header, or GRH, which
  /// begins at `ip_at`.
  std::size_t index_of(const check::Frame& frame, const check::Packet& packet, const check::Layers& outer,
                       std::size_t ip_at);
  const std::vector<Layout>& all() const { return all_; }

 private:
  std::map<Layout, std::size_t> known_;
  std::vector<Layout> all_;
};

}  // namespace urnic::view
