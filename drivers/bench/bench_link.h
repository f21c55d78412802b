// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// BenchLink: a wire to a test bench, on which each side grants the other the time that it may go on to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/bench/bench_message.h"
#include "drivers/descriptor.h"
#include "nic/clock.h"
#include "nic/port/granted_time.h"
#include "nic/port/received_frame.h"
#include "transport/result.h"
#include "transport/time.h"

namespace urnic::drivers {

/// The end of the NIC. Both ends are at their own time; what one sends arrives a latency later. A side that
/// says "I am at 5 us" with a latency of 1 us so grants the other all times before 6 us: nothing that it has
/// still to send arrives before. This end moves its clock to a time only if that is granted, and all that
/// arrives until then has been read, and tells the peer then. So what the engine sees depends on times alone,
/// and not on how fast either process is.
///
/// A poll without any event moves the clock by a step of one latency, less the clock's resolution: two ends
/// that both step grant each other the next one.
///
/// Frames are committed and received by the holder of the engine's lock, and time is moved without it.
class BenchLink final : public nic::GrantedTime {
 public:
  /// Frames that may be sent at one and the same time: memory for so many is taken when the link is made.
  static constexpr std::size_t kFramesAtOnce = 256;
  /// Frames that may be on the way to us.
  static constexpr std::size_t kFramesOnTheWay = 1024;

  struct Config {
    BenchHello own;  ///< its latency does not count
    /// Told one line, for a person, when the link is lost.
    std::function<void(const std::string&)> tell{};
  };

  /// Connects to the Unix socket (SOCK_SEQPACKET) at which the bench listens, and waits for its hello,
  /// half a minute at most. The error is for a person. `clock` stands at 0, and is moved from now on.
  static Result<std::unique_ptr<BenchLink>, Error> connect(const std::string& path, const Config& config,
                                                           nic::GrantedClock& clock);
  /// The same over a connected socket; `name` is for people.
  static Result<std::unique_ptr<BenchLink>, Error> over(Descriptor socket, const std::string& name,
                                                        const Config& config, nic::GrantedClock& clock);
  BenchLink(const BenchLink&) = delete;
  BenchLink& operator=(const BenchLink&) = delete;

  // --- Time: see GrantedTime ---

  bool step(transport::Time due) override;
  bool follow(transport::Time due) override;
  bool is_lost() const override { return is_lost_.load(std::memory_order_relaxed); }

  // --- Frames: under the engine's lock ---

  std::size_t max_frame_bytes() const { return max_frame_bytes_; }
  /// Frames that have arrived by now. They stay until the next call.
  std::size_t receive(std::span<nic::ReceivedFrame> frames);
  bool has_arrivals() const;
  /// Empty until the clock moves, if too many frames were committed at this time.
  std::span<std::byte> reserve();
  /// The frame in the first `length` bytes of what was reserved is sent now. False: the link is lost.
  bool commit(std::size_t length);
  /// Does not wait.
  void flush();
  bool is_drained() const;

  const std::string& name() const { return name_; }
  const BenchHello& peer() const { return peer_; }

 private:
  /// Numbers of the wire's clock, in nanoseconds since its beginning.
  using Nanoseconds = std::int64_t;
  enum class Pace : std::uint8_t { kStep, kFollow };

  BenchLink(Descriptor socket, std::string name, const Config& config, const BenchHello& peer,
            nic::GrantedClock& clock);

  bool move(transport::Time due, Pace pace);
  std::optional<Nanoseconds> find_target(Nanoseconds due, bool is_due, Pace pace) const;
  bool is_granted(Nanoseconds time) const;
  bool try_move_to(Nanoseconds target);
  bool flush_with_grant();
  bool send_departures();
  bool send_grant();
  bool send_message(std::span<const std::byte> message);
  bool has_no_room() const;
  bool has_arrival() const;
  bool read_message();
  bool take(const BenchMessage& message);
  bool wait(transport::Duration at_most, bool wants_input, bool waits_for_room) const;
  void lose(const std::string& why);
  void tell_if_lost();

  Nanoseconds now() const { return clock_.on_wire().count(); }
  std::span<std::byte> arrival_slot(std::size_t position);
  std::span<std::byte> departure_slot(std::size_t position);

  Descriptor socket_;
  std::string name_;
  std::function<void(const std::string&)> tell_;
  BenchHello peer_;
  nic::GrantedClock& clock_;
  std::size_t max_frame_bytes_;
  std::size_t slot_bytes_;
  std::atomic<bool> is_lost_{false};

  /// Held while the clock is moved, by a thread that may wait for the peer.
  std::mutex turn_;
  std::string why_;  // it is lost, until that was told; of the thread that has the turn
  /// Held for moments, by that one and the engine's thread: for all below, and when the clock moves. Only the
  /// thread that has the turn writes granted_ps_ and end_.
  mutable std::mutex mutex_;

  std::uint64_t granted_ps_;  // by the peer: what it has still to send arrives then or later
  std::uint64_t told_ps_;     // the last grant that we have sent

  // Messages that are whole, one in a slot. What arrives: free-running positions; [released_, first_) was
  // handed out by the last receive(), [first_, end_) waits.
  std::unique_ptr<std::byte[]> arrivals_;
  struct Arrival {
    Nanoseconds time = 0;
    std::size_t bytes = 0;  // of the frame
  };
  std::vector<Arrival> arrival_of_;
  std::size_t released_ = 0;
  std::size_t first_ = 0;
  std::size_t end_ = 0;

  // What leaves: free-running positions, too. [sent_, committed_) waits for room in the socket. The clock may
  // move while the engine writes into a room that it has reserved, at committed_.
  std::unique_ptr<std::byte[]> departures_;
  std::vector<std::size_t> departure_bytes_;
  std::size_t committed_before_ = 0;  // the present time
  std::size_t committed_ = 0;
  std::size_t sent_ = 0;
};

/// Whether a bench seems to listen there. The error is for a person.
Result<void, Error> check_bench_path(const std::string& path);

}  // namespace urnic::drivers
