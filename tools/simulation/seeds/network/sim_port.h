// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SimPort: the PacketPort between a device under test and the simulated network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/kernel/virtual_port.h"
#include "tools/simulation/seeds/core/event.h"
#include "tools/simulation/seeds/core/random.h"
#include "tools/simulation/seeds/network/network.h"
#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {

/// Sees every frame at the moment a device sends it or takes it.
class FrameTap {
 public:
  virtual ~FrameTap() = default;
  virtual void on_sent(HostId by, std::span<const std::byte> frame) = 0;
  virtual void on_received(HostId by, const Frame& frame) = 0;
};

/// What a port works on. It outlives the port, which belongs to the device.
struct Attachment {
  HostId host;
  const Options& options;
  const kernel::Clock& clock;
  Network& network;
  FrameTap& tap;
  Random random;
  bool faults_on = true;

  kernel::Inbox inbox{};
  Time full_until{};  ///< until then the port takes nothing
  /// Until after the last round that sent as much as one may: what was left comes in the next.
  Time crowded_until{};
  std::uint64_t times_full = 0;
  std::uint64_t times_held_up = 0;         ///< because the path had no room
  Time held_up_since = transport::kNever;  ///< kNever: it is not
  Duration held_up_before{};               ///< in all, until the last time ended
  std::uint64_t frames_not_flushed = 0;    ///< committed and still waiting for flush()

  /// How long the path has held up this port until now, in all.
  Duration held_up() const {
    return held_up_before + (held_up_since == transport::kNever ? Duration(0) : clock.now() - held_up_since);
  }
};

/// May be full for a while (a fault), so that the world notices an engine that ignores it. It is full, too,
/// while the path has no room.
class SimPort final : public kernel::VirtualPort {
 public:
  /// Link MTU and Ethernet header.
  static constexpr std::size_t kMaxFrameBytes = 4200 + 14;

  explicit SimPort(Attachment& at) : VirtualPort(at.inbox, kMaxFrameBytes), at_(at) {}

  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void flush() override;

 private:
  void send(Frame frame) override;
  void on_received(const Frame& frame) override { at_.tap.on_received(at_.host, frame); }

  Attachment& at_;
};

}  // namespace urnic::sim
