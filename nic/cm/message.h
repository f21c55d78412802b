// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The messages of the connection manager, and what they look like in a management datagram.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "nic/cm/counters.h"
#include "nic/cm/types.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic::cm {

template <std::size_t kBytes>
using PrivateData = std::array<std::byte, kBytes>;

/// The path in a REQ. LIDs mean nothing on Ethernet: 0xffff when routers may be on the way, as Linux writes
/// it.
struct PrimaryPath {
  transport::wire::Gid local_gid{};   ///< of the sender
  transport::wire::Gid remote_gid{};  ///< of the receiver
  std::uint16_t local_lid = 0xffff;
  std::uint16_t remote_lid = 0xffff;
  std::uint32_t flow_label = 0;  ///< 20 bits
  std::uint8_t packet_rate = 0;  ///< the code of ibv_rate, 6 bits
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t service_level = 0;  ///< 4 bits
  bool subnet_local = false;
  std::uint8_t local_ack_timeout = 0;  ///< 4.096 us x 2^t, 5 bits; for the receiver's QP
};

/// Asks for a connection. Timeouts are codes t of 5 bits: 4.096 us x 2^t.
struct Req {
  CommunicationId local_id{};
  ServiceId service_id{};
  std::uint64_t local_ca_guid = 0;
  transport::QpNumber local_qp{};
  TransportType transport = TransportType::kRc;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t remote_response_timeout = 0;  ///< within which the sender expects an answer
  std::uint8_t local_response_timeout = 0;   ///< within which the sender answers
  bool end_to_end_flow_control = false;
  transport::Psn starting_psn{};  ///< of the requests that the sender will receive (captures/rxe/rping)
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  std::uint16_t pkey = 0xffff;
  transport::PathMtu path_mtu = transport::PathMtu::k256;
  std::uint8_t max_cm_retries = 0;
  bool srq = false;
  PrimaryPath path{};
  bool has_alternate_path = false;  ///< which is not read: no such path is ever used
  Ece ece{};
  PrivateData<kReqPrivateBytes> private_data{};
};

/// Accepts it.
struct Rep {
  CommunicationId local_id{};
  CommunicationId remote_id{};
  std::uint32_t local_qkey = 0;
  transport::QpNumber local_qp{};
  std::uint32_t local_eec = 0;  ///< XRC: the number of the sender's other queue pair
  transport::Psn starting_psn{};
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;  ///< 5 bits
  std::uint8_t failover_accepted = 0;
  bool end_to_end_flow_control = false;
  std::uint8_t rnr_retry_count = 0;
  bool srq = false;
  std::uint64_t local_ca_guid = 0;
  Ece ece{};  ///< what is agreed, below the vendor of the REQ
  PrivateData<kRepPrivateBytes> private_data{};

  /// The queue pair of the sender. Linux names an XRC queue pair in `local_eec` alone.
  transport::QpNumber queue_pair() const {
    return local_qp != transport::QpNumber{} ? local_qp : transport::QpNumber{local_eec};
  }
};

/// The other side may send.
struct Rtu {
  CommunicationId local_id{};
  CommunicationId remote_id{};
  PrivateData<kRtuPrivateBytes> private_data{};
};

/// The sender will not connect.
struct Rej {
  CommunicationId local_id{};  ///< zero when a REQ is answered (fact 46)
  CommunicationId remote_id{};
  Answered answered = Answered::kReq;
  std::uint8_t information_length = 0;  ///< at most kInformationBytes
  RejectReason reason{};
  std::array<std::byte, kInformationBytes> information{};
  PrivateData<kRejPrivateBytes> private_data{};
};

/// The sender needs longer than it had said.
struct Mra {
  CommunicationId local_id{};
  CommunicationId remote_id{};
  Answered answered = Answered::kReq;
  std::uint8_t service_timeout = 0;  ///< 4.096 us x 2^t from now on, 5 bits
  PrivateData<kMraPrivateBytes> private_data{};
};

/// Ends a connection.
struct Dreq {
  CommunicationId local_id{};
  CommunicationId remote_id{};
  transport::QpNumber remote_qp{};
  PrivateData<kDreqPrivateBytes> private_data{};
};

struct Drep {
  CommunicationId local_id{};
  CommunicationId remote_id{};
  PrivateData<kDrepPrivateBytes> private_data{};
};

/// Asks for the datagram queue pair of a service.
struct SidrReq {
  CommunicationId request_id{};
  std::uint16_t pkey = 0xffff;
  ServiceId service_id{};
  PrivateData<kSidrReqPrivateBytes> private_data{};
};

struct SidrRep {
  CommunicationId request_id{};
  SidrStatus status{};
  std::uint8_t information_length = 0;  ///< at most kInformationBytes
  transport::QpNumber qp{};
  ServiceId service_id{};
  std::uint32_t qkey = 0;
  std::array<std::byte, kInformationBytes> information{};
  PrivateData<kSidrRepPrivateBytes> private_data{};
};

/// LAP and APR, which are about alternate paths: known by name only, so that they can be refused.
struct AlternatePath {
  CommunicationId local_id{};
  CommunicationId remote_id{};
  bool is_load = false;  ///< LAP
};

using Message = std::variant<Req, Rep, Rtu, Rej, Mra, Dreq, Drep, SidrReq, SidrRep, AlternatePath>;

/// A management datagram of the connection manager.
struct Mad {
  std::uint64_t transaction_id = 0;
  Message message;
};

enum class MadError : std::uint8_t {
  kWrongLength,        ///< not kMadBytes
  kWrongVersion,       ///< of the header
  kOtherClass,         ///< not the communication management class
  kWrongClassVersion,  ///< of this class: RejectReason::kInvalidClassVersion
  kOtherMethod,        ///< not Send
  kUnknownAttribute,
  kBadField,  ///< a code that means nothing: path MTU, transport type
};

/// Reads a datagram. Reserved fields are not looked at. A REQ that cannot be read may still need an answer:
/// unreadable_request().
std::variant<Mad, MadError> parse(std::span<const std::byte> bytes);

/// Of bytes that parse() takes, or write() made.
MessageKind kind_of(std::span<const std::byte> bytes);

/// Why a REQ cannot be read: what to reject it with. Nothing when its sender cannot be told, or when it is no
/// REQ.
struct Unreadable {
  std::uint64_t transaction_id = 0;
  CommunicationId remote_id{};  ///< of its sender
  RejectReason reason{};
};
std::optional<Unreadable> unreadable_request(std::span<const std::byte> bytes);

/// Writes it; everything reserved is zero. AlternatePath cannot be written.
std::array<std::byte, kMadBytes> write(const Mad& mad);

}  // namespace urnic::nic::cm
