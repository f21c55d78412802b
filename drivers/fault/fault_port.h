// FaultPort: a port that loses, repeats, delays and damages frames on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "drivers/fault/fault_spec.h"
#include "drivers/fault/frame_stash.h"
#include "drivers/fault/line_faults.h"
#include "nic/clock.h"
#include "nic/packet_port.h"
#include "transport/time.h"
#include "transport/types.h"

namespace urnic::drivers {

/// How many frames of one direction suffered what.
struct FaultCounters {
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t truncated = 0;
  std::uint64_t delayed = 0;
  std::uint64_t spared = 0;  ///< went on at once, as there was no memory to hold it back
};

/// The faults of a FaultSpec around another port. A frame that is reordered behind others when traffic ends stays until there is more; one that
/// is delayed by time goes when that is over, and next_due() says when. What does not fit the bounded memory for frames held back is
/// spared, and counted.
class FaultPort final : public nic::PacketPort {
 public:
  /// Takes a line for people: what the exact faults hit, and whether frames were spared.
  using Tell = std::function<void(const std::string& line)>;

  /// `clock` outlives the port.
  FaultPort(std::unique_ptr<nic::PacketPort> port, const FaultSpec& spec, const nic::Clock& clock,
            Tell tell = {});
  ~FaultPort() override;

  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  bool may_hold_frames() const override {
    return has_taken_burst_ || port_->may_hold_frames() || (receive_ && receive_->stash.has_due(now()));
  }
  /// For whole frames: who receives a damaged one must be able to see it. What is received must have its ICRC, too.
  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void flush() override;
  bool is_drained() override;
  /// Says, once, what the exact faults hit; else the destructor does.
  void write_out() override;
  nic::Medium medium() const override { return port_->medium(); }
  Result<void, Error> join(const transport::wire::Gid& group) override { return port_->join(group); }
  void leave(const transport::wire::Gid& group) override { port_->leave(group); }
  void find_next_hop(const transport::wire::Gid& source, const transport::wire::Gid& destination) override {
    port_->find_next_hop(source, destination);
  }
  void take_only_from(transport::QpNumber qp, const std::optional<transport::wire::Mac>& station) override {
    port_->take_only_from(qp, station);
  }
  bool is_awaiting_turn_of(const transport::wire::Mac& station) override {
    return port_->is_awaiting_turn_of(station);
  }
  void note_poller(std::uint32_t processor) override { port_->note_poller(processor); }
  bool has_poller_on(std::uint32_t processor) const override { return port_->has_poller_on(processor); }
  std::size_t max_frame_bytes() const override { return port_->max_frame_bytes(); }
  int wake_fd() const override { return port_->wake_fd(); }
  bool arm() override;
  void disarm() override { port_->disarm(); }
  transport::Time next_due() const override;
  /// The other port's: frames that this one lost were neither sent nor received.
  Statistics statistics() const override { return port_->statistics(); }
  std::string description() const override;

  FaultCounters transmit_counters() const { return transmit_ ? transmit_->counters : FaultCounters{}; }
  FaultCounters receive_counters() const { return receive_ ? receive_->counters : FaultCounters{}; }

 private:
  struct Line {
    FrameStash stash;
    FaultCounters counters;
  };

  /// Returns what is passed on of a received frame at once; what is not lost otherwise is in the stash.
  std::optional<std::span<const std::byte>> afflict(std::span<const std::byte> frame, transport::Time now);
  /// A copy that leaves when the fate says; empty, and counted, when there is no memory.
  std::span<std::byte> hold_back(Line& line, std::span<const std::byte> frame, const FrameFate& fate,
                                 transport::Time now);
  void repeat(Line& line, std::span<const std::byte> frame);
  void tell_once();
  std::size_t take_due(std::span<nic::ReceivedFrame> out, transport::Time now);
  void send_due();
  /// Time is asked for only where a fault needs it.
  transport::Time now() const { return has_delays_ ? clock_.now() : transport::Time{}; }

  std::unique_ptr<nic::PacketPort> port_;
  const nic::Clock& clock_;
  LineFaults faults_;
  bool has_delays_ = false;
  bool has_taken_burst_ = false;  // the port gave as many frames as it was asked for
  std::optional<Line> transmit_;  // nothing when the direction is spared
  std::optional<Line> receive_;
  Tell tell_;
  std::span<std::byte> room_;  // given to the engine by reserve(), until commit() or flush()
};

}  // namespace urnic::drivers
