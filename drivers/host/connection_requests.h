// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ConnectionRequests: hands connection requests to the process that listens.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "drivers/host/early_requests.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc_identification.h"
#include "transport/wire/packet.h"

namespace urnic::drivers {

/// Decides on packets that are for no process's own numbers. Only intact requests of the connection manager
/// (REQ, SIDR_REQ) go on, whole and unchanged; a process that listens to nothing like it refuses it. Time is
/// an argument.
class ConnectionRequests {
 public:
  using Time = EarlyRequests::Time;

  /// The processes of the host.
  class Members {
   public:
    virtual ~Members() = default;
    /// The slot of the process that listens to it.
    virtual std::optional<unsigned> listener_of(const RequestedService& service) const = 0;
    /// The slot of the process that refuses what none listens to; nothing when there is no process.
    virtual std::optional<unsigned> refuser() const = 0;
    /// Gives the process an IP packet; false when it takes none now.
    virtual bool hand_over(unsigned slot, std::span<const std::byte> packet) = 0;
  };

  struct Counters {
    std::uint64_t handed_over = 0;  ///< requests that a process listens to
    std::uint64_t refused = 0;      ///< requests that none listens to, or that cannot be read
    std::uint64_t not_taken = 0;    ///< dropped: the process has too many waiting, or there is none
    std::uint64_t malformed = 0;    ///< dropped: no RoCEv2 packet, or a damaged one
    std::uint64_t stray = 0;        ///< dropped: no request, and for a number that no process has
  };

  /// `members` must outlive it.
  explicit ConnectionRequests(Members& members) : members_(members) {}

  /// An IP packet as PacketPort::receive() gives it.
  void on_packet(std::span<const std::byte> packet, Time now);
  /// A process has begun to listen.
  void on_listen(Time now);
  /// A process has ended.
  void on_leave(unsigned slot) { given_.forget(slot); }
  void on_timeout(Time now);
  /// When on_timeout() has something to do.
  std::optional<Time> next_timeout() const { return early_.next_due(); }

  const Counters& counters() const { return counters_; }

 private:
  void give(unsigned slot, const RequestedService& service, std::span<const std::byte> packet, Time now);
  void show_damaged(const transport::wire::Packet& packet, const transport::wire::Frame& frame,
                    std::span<const std::byte> bytes);
  void refuse(std::span<const std::byte> packet);

  Members& members_;
  EarlyRequests early_;
  GivenRequests given_;
  transport::wire::IcrcIdentification identifications_;
  Counters counters_;
};

}  // namespace urnic::drivers
