// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// XdpSocket: an AF_XDP socket with its memory for frames (UMEM) and its four rings.
#pragma once

#include <linux/if_xdp.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "drivers/af_xdp/ring.h"
#include "drivers/descriptor.h"
#include "drivers/interface/network_interface.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Memory that the kernel writes received frames into, and reads frames to send from, cut into frames of
/// kFrameBytes.
class Umem {
 public:
  static constexpr std::uint32_t kFrameBytes = 4096;

  Umem() = default;
  /// is_mapped() says whether there was memory for so many frames.
  explicit Umem(std::uint32_t frames);
  Umem(Umem&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Umem& operator=(Umem&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Umem();

  bool is_mapped() const { return !bytes_.empty(); }
  std::span<std::byte> bytes() const { return bytes_; }
  /// From an address as the rings have it: an offset.
  std::byte* at(std::uint64_t address) const { return bytes_.data() + address; }

 private:
  std::span<std::byte> bytes_;
};

/// Bound to the first queue of an interface. It receives nothing until an XdpProgram sends it there.
struct XdpSocket {
  static constexpr std::uint32_t kReceiveEntries = 512;
  static constexpr std::uint32_t kTransmitEntries = 256;

  /// Needs CAP_NET_RAW. `frames` is of the UMEM. The error says what is missing, and what to do.
  static Result<XdpSocket, Error> open(const std::string& name, const NetworkInterface& interface,
                                       std::uint32_t frames);

  Umem umem;
  Descriptor socket;
  ProducerRing<std::uint64_t> fill;        ///< kReceiveEntries frames for the kernel to receive into
  ConsumerRing<xdp_desc> received;         ///< kReceiveEntries
  ProducerRing<xdp_desc> transmit;         ///< kTransmitEntries
  ConsumerRing<std::uint64_t> completion;  ///< kTransmitEntries; frames that the kernel has sent
};

}  // namespace urnic::drivers
