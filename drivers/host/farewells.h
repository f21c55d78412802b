// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Farewells: what the switch says to the peers of a process that was killed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "drivers/host/management_packet.h"
#include "nic/cm/types.h"
#include "nic/host/last_words_table.h"
#include "nic/host/repetition.h"

namespace urnic::drivers {

/// The process has left a packet for each of its connections (nic/port/last_words.h): most often a DREQ,
/// which is sent a few times until the peer's DREP comes. The packets are a process's, and may be anything:
/// only messages between connection managers that end a connection are sent. Time is an argument.
class Farewells {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Packet = std::vector<std::byte>;

  /// How often each is sent at most.
  static constexpr unsigned kTimes = 4;

  /// Begins to say them.
  void add(std::vector<nic::KeptFrame> packets, Time now);
  /// The peer has heard what the process said of this connection of its.
  void on_answer(nic::cm::CommunicationId own);
  /// Gives `send` what is due, some at a time.
  void on_timeout(Time now, const std::function<void(std::span<const std::byte>)>& send);
  /// When on_timeout() has something to do.
  std::optional<Time> next_timeout() const;

 private:
  struct Farewell {
    Packet packet;
    nic::cm::CommunicationId own{};  ///< of a DREQ
    nic::Repetition repetition;
  };

  std::vector<Farewell> farewells_;
};

/// The answer to a message for a process that is not there, an IP packet: DREP to a DREQ, so that the peer
/// need not ask again, and REJ to a REP. Nothing to others.
std::optional<Farewells::Packet> answer_for_absent(const ManagementPacket& message);

}  // namespace urnic::drivers
