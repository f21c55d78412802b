// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ReceivedFrame: what a port gives the NIC.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/port/run_shape.h"

namespace urnic::nic {

/// The bytes of a frame, which may be read only, whether the ICRC in it counts, and whether it stands for
/// several. A sender that wrote the frame into memory that both NICs share may have left the ICRC out, as no
/// wire can have changed anything since, and may have left it to the receiver to cut a run into packets.
class ReceivedFrame {
 public:
  ReceivedFrame() = default;
  template <std::convertible_to<std::span<const std::byte>> Bytes>
  ReceivedFrame(const Bytes& bytes) : ReceivedFrame(bytes, {}, true) {}
  /// A RoCE packet with four bytes of no meaning in place of its ICRC.
  static ReceivedFrame without_icrc(std::span<const std::byte> bytes) { return {bytes, {}, false}; }
  /// The same for a run of such packets.
  static ReceivedFrame run(std::span<const std::byte> bytes, RunShape shape) { return {bytes, shape, false}; }

  // A range of its bytes, so that it is a std::span of them, too, where one is needed.
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  const std::byte* begin() const { return data_; }
  const std::byte* end() const { return data_ + size_; }
  const std::byte& front() const { return *data_; }
  const std::byte& back() const { return data_[size_ - 1]; }
  const std::byte& operator[](std::size_t at) const { return data_[at]; }

  bool has_icrc() const { return has_icrc_; }
  RunShape shape() const { return {mtu_, packets_}; }

 private:
  ReceivedFrame(std::span<const std::byte> bytes, RunShape shape, bool has_icrc)
      : data_(bytes.data()),
        size_(static_cast<std::uint32_t>(bytes.size())),
        mtu_(shape.mtu),
        packets_(shape.packets),
        has_icrc_(has_icrc) {}

  const std::byte* data_ = nullptr;
  std::uint32_t size_ = 0;
  transport::PathMtu mtu_{};
  std::uint8_t packets_ = 1;
  bool has_icrc_ = true;
};

}  // namespace urnic::nic
