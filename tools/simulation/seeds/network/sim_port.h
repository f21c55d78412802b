// SimPort: the PacketPort between a device under test and the simulated network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "nic/port/packet_port.h"
#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/seeds/core/event_queue.h"
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
  FramePool& frames;
  FrameTap& tap;
  Random random;
  bool faults_on = true;

  std::deque<Frame*> inbox{};  ///< delivered, not yet taken by the device
  Time full_until{};           ///< until then the port takes nothing
  Time
      crowded_until{};  ///< until after the last round that sent as much as one may: what was left comes in the next
  std::uint64_t times_full = 0;
  std::uint64_t times_held_up = 0;         ///< because the path had no room
  Time held_up_since = transport::kNever;  ///< kNever: it is not
  Duration held_up_before{};               ///< in all, until the last time ended
  std::uint64_t frames_not_flushed = 0;    ///< committed and still waiting for flush()
  nic::PacketPort::Statistics statistics{};

  /// How long the path has held up this port until now, in all.
  Duration held_up() const {
    return held_up_before + (held_up_since == transport::kNever ? Duration(0) : clock.now() - held_up_since);
  }
};

/// Keeps committed frames until flush(), and may be full for a while (a fault), so that an engine which
/// forgets to flush or ignores a full port is found out. It is full, too, while the path has no room.
class SimPort final : public nic::PacketPort {
 public:
  /// Link MTU and Ethernet header.
  static constexpr std::size_t kMaxFrameBytes = 4200 + 14;

  explicit SimPort(Attachment& at);
  ~SimPort() override;

  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  bool may_hold_frames() const override { return !at_.inbox.empty(); }
  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void flush() override;
  std::size_t max_frame_bytes() const override { return room_.size(); }
  Statistics statistics() const override { return at_.statistics; }
  std::string description() const override { return "simulated network"; }

 private:
  void take_back_handed_out();

  Attachment& at_;
  std::vector<Frame*> handed_out_;
  std::vector<Frame*> committed_;
  std::vector<std::byte> room_;
};

}  // namespace urnic::sim
