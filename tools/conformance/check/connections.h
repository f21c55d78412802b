// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Sorts packets into flows and connections, and hands them to the models.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/conformance/check/choice.h"
#include "tools/conformance/check/cm/agreement.h"
#include "tools/conformance/check/cm/dialogs.h"
#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/ladder.h"
#include "tools/conformance/check/models/exchange.h"
#include "tools/conformance/check/models/requester.h"
#include "tools/conformance/check/models/responder.h"
#include "tools/conformance/check/packets/flow_key.h"
#include "tools/conformance/check/packets/seen.h"
#include "tools/conformance/check/silences.h"

namespace urnic::check {

/// What the connection manager's messages say of a flow, whose packets may be still to come.
struct Agreed {
  AgreedFlow flow;
  FlowKey peer;
  bool is_active = false;         ///< its sender asked for the connection
  bool may_send = false;          ///< its sender knows that the other side is ready
  bool has_sent = false;          ///< a request
  std::uint64_t ended_frame = 0;  ///< its sender's DREQ or DREP; 0: none
  std::int64_t ended_ns = 0;
};

/// One direction of a connection: the requests in a flow, and the answers to them, which come in another one.
struct Direction {
  Direction(Findings& findings, std::uint32_t flow, std::size_t history)
      : exchange(findings, flow, history), requester(exchange), responder(exchange) {}
  Exchange exchange;
  RequesterModel requester;
  ResponderModel responder;
  Agreed* agreed = nullptr;  ///< what REQ and REP said, if they are here
};

struct Flow {
  FlowKey key;
  Service service = Service::kCnp;  ///< CNP until another packet tells
  std::uint16_t source_port = 0;
  std::optional<std::uint32_t> peer;  ///< index of the flow in the other direction, once known
  std::uint32_t source_qp = 0;        ///< of datagrams, which name it
  std::uint32_t q_key = 0;            ///< of the first datagram
  std::uint16_t p_key = 0;            ///< of the first packet that is no CNP
  bool migration = false;             ///< as `p_key`; ConnectX' CNPs carry 0 beside 1 in all else (fact 49)
  std::uint64_t packets = 0;
  std::uint64_t datagram_bytes = 0;
  std::uint64_t cnps = 0;
  std::uint64_t copies = 0;  ///< of frames that the network delivered twice
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::unique_ptr<Direction> direction;  ///< of connected services, from the first request on
  LadderRows ladder;
  Landmark latest;       ///< the newest packet
  bool is_shown = true;  ///< false: the user chose other ones

 private:
  friend class Connections;
  /// Enough of the latest frames to know one again.
  struct Imprint {
    std::uint32_t icrc = 0;
    std::uint16_t ip_id = 0;
  };
  std::array<Imprint, 8> imprints_{};
  std::size_t next_imprint_ = 0;
  bool ip_ids_vary_ = false;
  bool ip_ids_restart_ = false;  ///< they number the segments of a buffer, not packets
  std::uint16_t newest_ip_id_ = 0;
  std::uint32_t failed_matches_ = 0;
};

/// What is kept beside what the models need.
struct Keeping {
  std::size_t ladder_rows = 0;     ///< per direction of a connection; 0 for no ladder
  std::size_t silences = 0;        ///< so many of the longest
  const FlowSet* shown = nullptr;  ///< of these flows alone; null: of all
};

/// Every flow of a capture. Memory is bounded: kMaxFlows flows, and a history per flow that shrinks when
/// there are many.
class Connections {
 public:
  static constexpr std::size_t kMaxFlows = 16384;

  Connections(Findings& findings, const Keeping& keeping)
      : findings_(findings), keeping_(keeping), silences_(keeping.silences), cm_dialogs_(findings) {
    if (keeping.shown != nullptr) findings_.choose();
  }

  /// Index of the packet's flow; kNoFlow when there is none, and it may not or cannot found one.
  std::uint32_t flow_of(const Frame& frame, const Packet& packet, bool may_found);
  /// Follows a packet of flow `index`.
  void on_packet(std::uint32_t index, const Seen& packet);
  void finish(std::int64_t end_ns);

  const std::vector<Flow>& flows() const { return flows_; }
  const Silences& silences() const { return silences_; }
  /// The queue pair that sends the packets of a flow, where an answer or a datagram has shown it.
  std::optional<std::uint32_t> source_qp_of(const Flow& flow) const;
  /// "10.0.0.1 qp 0x000011 > 10.0.0.2 qp 0x000012"; the first queue pair is "?" when no answer has shown it.
  std::string name_of_flow(std::uint32_t index) const;

 private:
  static void watch_ip_ids(Flow& flow, const Seen& seen);
  static bool has_imprint(const Flow& flow, const Flow::Imprint& imprint);
  static Order order_of(Flow& flow, const Seen& seen);
  bool is_network_copy(Flow& flow, const Seen& seen);
  void check_constancy(std::uint32_t index, const Seen& seen);
  void on_datagram(std::uint32_t index, const Seen& seen);
  bool on_request(std::uint32_t index, const Seen& seen);
  void on_response(std::uint32_t index, const Seen& seen);
  void note_pause(std::uint32_t index, const Landmark& own, bool was_idle, const Seen& seen, bool is_again);
  /// Whether all requests of a connection are answered, as far as the capture tells.
  bool is_idle(const Flow& flow) const;
  void note_answer(std::uint32_t index, Psn acknowledged_before, const Seen& seen);
  void note_open_waits(std::int64_t end_ns);
  /// The flow with the request that an answer in `flow` is for, and how many flows there are that it may be
  /// for: without exactly one there is no match.
  struct Match {
    std::optional<std::uint32_t> flow;
    std::size_t candidates = 0;
  };
  Match match_response(const Flow& flow, const Seen& seen) const;
  void match_by_port(std::uint32_t index);
  void on_management(std::uint32_t index, const Seen& seen);
  void agree(const AgreedFlow& flow, const FlowKey& peer, bool is_active);
  void judge_by_agreement(std::uint32_t index, const Seen& seen);
  void pair_as_agreed(std::uint32_t index);
  void pair(std::uint32_t a, std::uint32_t b);

  Findings& findings_;
  Keeping keeping_;
  Silences silences_;
  std::vector<Flow> flows_;
  std::unordered_map<FlowKey, std::uint32_t, FlowKeyHash> index_;
  std::unordered_map<FlowKey, std::vector<std::uint32_t>, FlowKeyHash> between_;  ///< by addresses alone
  std::uint32_t last_flow_ = kNoFlow;
  CmDialogs cm_dialogs_;
  std::unordered_map<FlowKey, Agreed, FlowKeyHash> agreed_;
};

}  // namespace urnic::check
