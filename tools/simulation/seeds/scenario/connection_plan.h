// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ConnectionPlan: what two programs are going to do that connect by rdma_cm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/simulation/seeds/scenario/memory_plan.h"
#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {

/// A program that waits for others on its host.
struct ListenerPlan {
  HostId host{};
  std::uint16_t port = 0;
  bool is_datagram = false;
  std::uint32_t backlog = 0;
  Duration since{};  ///< from the beginning of the world
};

/// What one side of a connection sends: WRITEs and SENDs in turns, a SEND last.
struct ConnectionData {
  struct Message {
    std::uint64_t id = 0;  ///< its wr_id, and names the pattern that it carries
    Range source{};
    Range target{};  ///< of a WRITE where it goes, of a SEND the receive that it takes
    bool is_write = false;
  };
  std::vector<Message> messages{};
};

/// What the program of one side of a connection waits for.
enum class ConnectionStage : std::uint8_t {
  kResolving,
  kAsking,    ///< the active side waits for an answer
  kDeciding,  ///< the passive side has not answered
  kAccepted,  ///< it has
  kReplied,   ///< the active side has the answer, and is not ready
  kEstablished,
  kDisconnecting,  ///< by us
  kDisconnected,   ///< by the peer, and not answered
  kTimewait,
  kOver,  ///< its id is destroyed
};

std::string_view name_of(ConnectionStage stage);

/// One attempt to connect, from its first step to its end.
struct ConnectionPlan {
  enum class Answer : std::uint8_t { kAccept, kReject, kIgnore };
  enum class Finish : std::uint8_t { kActive, kPassive, kBoth, kActiveDestroys, kPassiveDestroys };

  std::uint32_t number = 0;       ///< names it, in its private data, too
  std::array<HostId, 2> hosts{};  ///< of the active and the passive side
  std::uint16_t port = 0;
  bool is_datagram = false;  ///< asks for a datagram queue pair (SIDR)
  Duration start{};
  std::array<std::uint8_t, 2>
      private_bytes{};  ///< how many each side sends; all that there is room for included

  // What the active side asks for.
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  std::optional<std::uint8_t> ack_timeout{};

  Answer answer = Answer::kAccept;
  std::uint8_t reason = 0;     ///< of a rejection; 0: the usual one
  Duration answer_delay{};     ///< from the request to the answer
  Duration ready_delay{};      ///< from the reply until the active side is ready
  bool refuses_reply = false;  ///< rejects it instead

  std::array<ConnectionData, 2> data{};  ///< by side
  Finish finish = Finish::kActive;
  Duration lifetime{};    ///< from when all data have come to the end
  bool is_hasty = false;  ///< does not wait for data
  bool answers_disconnect =
      true;  ///< the side that is disconnected answers by itself, and not only when it ends its id

  /// When a side destroys its id, whatever state it is in by then: so long after it came to this stage.
  struct Departure {
    ConnectionStage stage{};
    Duration delay{};
  };
  std::array<std::optional<Departure>, 2> departures{};
  /// As soon as it is disconnected the active side's queue pair connects again, while the old connection is
  /// not forgotten.
  bool starts_over = false;
};

struct ConnectionPlans {
  std::vector<ListenerPlan> listeners;
  std::vector<ConnectionPlan> attempts;
};

/// What REQ, SIDR_REQ, REP, SIDR_REP and REJ leave for programs, in bytes (CM.md 2).
inline constexpr std::uint8_t kReqUserBytes = 56;
inline constexpr std::uint8_t kSidrReqUserBytes = 180;
inline constexpr std::uint8_t kRepUserBytes = 196;
inline constexpr std::uint8_t kSidrRepUserBytes = 136;
inline constexpr std::uint8_t kRejUserBytes = 148;

ConnectionPlans draw_connection_plans(const Options& options, MemoryPlan& memory, std::uint64_t& next_id);

}  // namespace urnic::sim
