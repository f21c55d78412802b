// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whether marked packets are followed by CNPs, and CNPs preceded by marked packets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>

#include "tools/conformance/check/congestion/cnp_spacing.h"
#include "tools/conformance/check/congestion/policy.h"
#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/packets/flow_key.h"
#include "tools/conformance/check/packets/seen.h"

namespace urnic::check {

/// Takes packets with a right ICRC. Memory grows with the number of flows. Nothing is certain here: switches
/// after the place of capture may mark packets, and CNPs may get lost before it.
class Notifications {
 public:
  Notifications(Findings& findings, const CongestionPolicy& policy)
      : findings_(findings), spacing_(findings, policy) {}

  /// A packet of `flow`; `peer` is the flow in the other direction, if that is known by now.
  void on_packet(std::uint32_t flow, std::optional<std::uint32_t> peer, const FlowKey& key, const Seen& seen);
  /// Flows are those below `flows`.
  void finish(std::uint32_t flows, const std::function<std::optional<std::uint32_t>(std::uint32_t)>& peer_of);

  const CnpSpacing& spacing() const { return spacing_; }
  /// Marked packets of `flow`, CNPs left out.
  std::uint64_t marked_in(std::uint32_t flow) const;

 private:
  /// Packets that the network has marked.
  struct Marks {
    std::uint64_t packets = 0;
    std::int64_t newest_ns = 0;
    std::uint64_t data_packets = 0;      ///< those that a receiver answers by CNPs: acknowledgements left out
    std::uint64_t first_data_frame = 0;  ///< 0: none
  };
  struct Record {
    FlowKey key;
    Marks marks;
    std::uint64_t cnps = 0;
    std::uint64_t cnps_with_nak = 0;
    std::int64_t newest_nak_ns = 0;      ///< for a wrong sequence
    std::uint64_t newest_nak_frame = 0;  ///< 0: none, or a CNP has come with it
    std::int64_t unexplained_ns =
        0;  ///< the newest CNP that came without a mark, as long as a NAK may follow
    std::uint64_t unexplained_frame = 0;
    std::uint64_t unmarked_cnps = 0;
    std::uint64_t first_unmarked_frame = 0;
    std::uint32_t newest_icrc = 0;  ///< of CNPs
    std::uint16_t newest_ip_id = 0;
    bool ip_ids_vary = false;
  };

  static bool is_copy(Record& record, const Seen& seen);
  void on_cnp(std::uint32_t flow, std::optional<std::uint32_t> peer, Record& record, const Seen& seen);
  void on_sequence_nak(std::uint32_t flow, Record& record, const Seen& seen);
  bool is_explained(const Record& record, std::optional<std::uint32_t> peer, std::int64_t time_ns) const;
  void give_up(Record& record);
  void judge_marks(std::uint32_t flow, std::optional<std::uint32_t> peer, const Record& record);
  void judge_cnps(std::uint32_t flow, const Record& record);
  const Record* record_of(std::optional<std::uint32_t> flow) const;

  Findings& findings_;
  CnpSpacing spacing_;
  std::unordered_map<std::uint32_t, Record> records_;              ///< of flows with marks, CNPs or NAKs
  std::unordered_map<FlowKey, Marks, FlowKeyHash> marks_between_;  ///< addresses
  std::unordered_map<FlowKey, std::uint64_t, FlowKeyHash> cnps_between_;
};

}  // namespace urnic::check
