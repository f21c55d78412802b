// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

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
#include "nic/port/packet_port.h"
#include "nic/port/port_around.h"
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

/// The faults of a FaultSpec around another port. A frame that still waits for later frames when traffic ends
/// stays until there are more. A frame that is delayed by time goes when that is over, and next_due() says
/// when. Frames that do not fit the bounded memory for held frames are spared, and counted. The statistics
/// are the other port's: frames that this port lost were neither sent nor received.
class FaultPort final : public nic::PortAround {
 public:
  /// Takes a line for people: what the exact faults hit, and whether frames were spared.
  using Tell = std::function<void(const std::string& line)>;

  /// `clock` outlives the port.
  FaultPort(std::unique_ptr<nic::PacketPort> port, const FaultSpec& spec, const nic::Clock& clock,
            Tell tell = {});
  ~FaultPort() override;

  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  bool may_hold_frames() const override {
    return has_taken_burst_ || inner().may_hold_frames() || (receive_ && receive_->stash.has_due(now()));
  }
  /// For frames with ICRC: the receiver of a damaged frame must be able to notice. Frames that are received
  /// must have theirs, too.
  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void flush() override;
  bool is_drained() override;
  /// Says, once, what the exact faults hit; else the destructor does.
  void write_out() override;
  bool arm() override;
  transport::Time next_due() const override;
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
  /// Reads the clock only where a fault needs the time.
  transport::Time now() const { return has_delays_ ? clock_.now() : transport::Time{}; }

  const nic::Clock& clock_;
  LineFaults faults_;
  bool has_delays_ = false;
  bool has_taken_burst_ = false;  // the port gave as many frames as we requested
  std::optional<Line> transmit_;  // nothing when the direction is spared
  std::optional<Line> receive_;
  Tell tell_;
  std::span<std::byte> room_;  // given to the engine by reserve(), until commit() or flush()
};

}  // namespace urnic::drivers
