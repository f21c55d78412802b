// SimPort: the PacketPort between a device under test and the simulated network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "nic/packet_port.h"
#include "tools/sim/core/clock.h"
#include "tools/sim/core/event_queue.h"
#include "tools/sim/core/random.h"
#include "tools/sim/network/network.h"
#include "tools/sim/scenario/options.h"

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
  const SimClock& clock;
  Network& network;
  FramePool& frames;
  FrameTap& tap;
  Random random;
  bool faults_on = true;

  std::deque<Frame*> inbox{};  ///< delivered, not yet taken by the device
  Time full_until{};           ///< until then the port takes nothing
  std::uint64_t times_full = 0;
  std::uint64_t frames_not_flushed = 0;  ///< committed and still waiting for flush()
  nic::PacketPort::Statistics statistics{};
};

/// Keeps committed frames until flush(), and may be full for a while (a fault), so that an engine which
/// forgets to flush or ignores a full port is found out.
class SimPort final : public nic::PacketPort {
 public:
  explicit SimPort(Attachment& at);
  ~SimPort() override;

  std::size_t receive(std::span<std::span<const std::byte>> frames) override;
  std::span<std::byte> reserve_to(const transport::wire::Mac& destination) override;
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
