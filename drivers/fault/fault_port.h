// FaultPort: a port that loses, repeats, delays and damages frames on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "drivers/fault/exact_faults.h"
#include "drivers/fault/fault_dice.h"
#include "drivers/fault/fault_spec.h"
#include "drivers/fault/frame_stash.h"
#include "nic/packet_port.h"

namespace urnic::drivers {

/// How many frames of one direction suffered what.
struct FaultCounters {
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t truncated = 0;
};

/// The faults of a FaultSpec around another port; the exact ones first. Only frames pass the time: one that is held back when
/// traffic ends stays until there is more. What does not fit the bounded memory for frames held back is
/// spared. IP packets are hurt behind their UDP header only: the host has its own idea of what is before that, and would
/// send the packet elsewhere. Exact faults know the packets' bytes, and do what they say on either medium.
class FaultPort final : public nic::PacketPort {
 public:
  /// Takes a line for people: what the exact faults hit.
  using Tell = std::function<void(const std::string& line)>;

  FaultPort(std::unique_ptr<nic::PacketPort> port, const FaultSpec& spec, Tell tell = {});
  ~FaultPort() override;

  std::size_t receive(std::span<std::span<const std::byte>> frames) override;
  std::span<std::byte> reserve_to(const transport::wire::Mac& destination) override;
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
  std::size_t max_frame_bytes() const override { return port_->max_frame_bytes(); }
  int wake_fd() const override { return port_->wake_fd(); }
  bool arm() override;
  void disarm() override { port_->disarm(); }
  /// The other port's: frames that this one lost were neither sent nor received.
  Statistics statistics() const override { return port_->statistics(); }
  std::string description() const override;

  FaultCounters transmit_counters() const { return transmit_ ? transmit_->counters : FaultCounters{}; }
  FaultCounters receive_counters() const { return receive_ ? receive_->counters : FaultCounters{}; }

 private:
  struct Line {
    Line(const FaultSpec& spec, std::uint64_t seed, std::size_t max_frame_bytes)
        : dice(spec, seed), stash(max_frame_bytes) {}
    FaultDice dice;
    FrameStash stash;
    FaultCounters counters;
  };

  /// What dice and exact faults say of a frame together.
  struct Fate {
    bool is_lost = false;
    bool is_duplicated = false;
    std::uint32_t behind = 0;  ///< held back until so many frames have gone by
    std::optional<std::size_t> length{};
    std::optional<std::size_t> flipped_bit{};
    ExactFaults::Fate exact{};

    bool changes_bytes() const { return flipped_bit || exact.changes != 0; }
  };

  /// Returns what is passed on of a received frame at once; what is not lost otherwise is in the stash.
  std::optional<std::span<const std::byte>> afflict(std::span<const std::byte> frame);
  Fate draw(Way way, Line& line, std::span<const std::byte> frame);
  void change(Line& line, const Fate& fate, std::span<std::byte> frame);
  FaultDice::Fate throw_dice(FaultDice& dice, std::span<const std::byte> frame) const;
  void tell_once();
  std::size_t take_due(std::span<std::span<const std::byte>> out);
  void send_due();

  std::unique_ptr<nic::PacketPort> port_;
  FaultSpec spec_;
  std::optional<Line> transmit_;  // nothing when the direction is spared
  std::optional<Line> receive_;
  ExactFaults exact_;
  Tell tell_;
  std::span<std::byte> room_;  // given to the engine by reserve(), until commit()
};

}  // namespace urnic::drivers
