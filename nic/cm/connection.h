// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Connection: what the communication manager knows of one connection, or of one question for a service.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "nic/cm/message.h"
#include "nic/cm/types.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic::cm {

/// The names are IBTA's, as cited by Linux' enum ib_cm_state. MRA changes how long is waited, and no state.
enum class State : std::uint8_t {
  kReqSent,
  kReqReceived,
  kRepSent,
  kRepReceived,
  kEstablished,
  kDreqSent,
  kDreqReceived,
  kTimewait,
  kSidrReqSent,
  kSidrReqReceived,
  kAnswered,  ///< REJ or SIDR_REP was the end of it; the answer is kept for a peer that asks again
};

/// As people call it; "" for what is no state.
constexpr std::string_view name_of(State state) {
  using enum State;
  switch (state) {
    case kReqSent:
      return "REQ_SENT";
    case kReqReceived:
      return "REQ_RCVD";
    case kRepSent:
      return "REP_SENT";
    case kRepReceived:
      return "REP_RCVD";
    case kEstablished:
      return "ESTABLISHED";
    case kDreqSent:
      return "DREQ_SENT";
    case kDreqReceived:
      return "DREQ_RCVD";
    case kTimewait:
      return "TIMEWAIT";
    case kSidrReqSent:
      return "SIDR_REQ_SENT";
    case kSidrReqReceived:
      return "SIDR_REQ_RCVD";
    case kAnswered:
      return "ANSWERED";
  }
  return "";
}

/// Where messages go.
struct MadPath {
  transport::wire::Gid source{};
  transport::wire::Gid destination{};
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t service_level = 0;
  /// Of the station that sent what is answered; otherwise the NIC asks for the destination's neighbor.
  std::optional<transport::wire::Mac> mac{};
};

using MadBytes = std::array<std::byte, kMadBytes>;

/// A message that is to be sent.
struct OutgoingMad {
  MadPath path;
  MadBytes bytes{};
};

/// Names a peer's connection.
struct PeerKey {
  std::uint64_t guid = 0;
  std::uint32_t number = 0;

  friend bool operator<(const PeerKey& one, const PeerKey& other) {
    return one.guid != other.guid ? one.guid < other.guid : one.number < other.number;
  }
};

/// A queue pair of a peer. Its host's address is a part of it: GUIDs are made of MACs, and hosts with the
/// same container bridge may have the same one.
struct PeerQp {
  PeerKey key;  ///< its number
  transport::wire::Gid address{};

  friend bool operator<(const PeerQp& one, const PeerQp& other) {
    return std::tie(one.key, one.address.octets) < std::tie(other.key, other.address.octets);
  }
};

struct Connection {
  State state{};
  bool is_active = false;    ///< our side asked
  bool is_awaited = false;   ///< the peer has said that its answer takes a while (MRA)
  bool is_released = false;  ///< the consumer wants no more news of it
  CommunicationId local_id{};
  CommunicationId remote_id{};
  std::uint64_t transaction_id = 0;
  MadPath path;
  transport::QpNumber local_qp{};
  transport::QpNumber remote_qp{};
  transport::Psn receive_psn{};  ///< of the passive side: of the first request that `local_qp` receives
  std::uint64_t remote_guid = 0;

  /// The message that is repeated when the peer does not answer it, or when its cause comes again.
  MadBytes last{};
  transport::Duration interval{};  ///< between repeats
  std::uint8_t retries = 0;        ///< that are left
  std::uint8_t max_retries = 0;
  transport::Duration response_timeout{};  ///< the peer answers within it
  transport::Duration timewait{};
  transport::Time deadline = transport::kNever;

  PeerKey peer_id() const { return {remote_guid, static_cast<std::uint32_t>(remote_id)}; }
  PeerQp peer_qp() const {
    return {.key = {remote_guid, transport::to_integer(remote_qp)}, .address = path.destination};
  }
};

}  // namespace urnic::nic::cm
