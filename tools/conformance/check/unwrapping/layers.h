// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The headers that stand before a RoCE packet's own IP header, with their places.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace urnic::check {

enum class LayerKind : std::uint8_t {
  kEthernet,
  kVlan,
  kMpls,  ///< one label
  kIpv4,
  kIpv6,
  kUdp,
  kGre,
  kErspan2,
  kErspan3,
  kVxlan,
  kGeneve,
};

struct Layer {
  LayerKind kind = LayerKind::kEthernet;
  std::size_t at = 0;  ///< in the bytes of the frame
};

/// At most kMost of them: a frame has more only if it means harm.
class Layers {
 public:
  static constexpr std::size_t kMost = 48;

  /// False if there is no room left.
  bool add(LayerKind kind, std::size_t at) {
    if (size_ == kMost) return false;
    all_[size_++] = {.kind = kind, .at = at};
    return true;
  }
  void clear() { size_ = 0; }
  std::span<const Layer> all() const { return std::span(all_).first(size_); }

 private:
  std::array<Layer, kMost> all_{};
  std::size_t size_ = 0;
};

}  // namespace urnic::check
