// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the two connection managers of one connection said to each other, from its REQ on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tools/conformance/check/cm/agreement.h"
#include "tools/conformance/check/cm/message.h"
#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/packets/psn.h"
#include "tools/conformance/check/packets/seen.h"

namespace urnic::check {

enum class CmSide : std::uint8_t { kActive, kPassive };

/// What a message changes for the packets of its connection.
struct CmStep {
  std::optional<AgreedConnection> agreed;  ///< by the first REP
  std::optional<FlowKey> may_send;         ///< RTU: the passive side's requests may come
  std::optional<FlowKey> ends;             ///< DREQ or DREP: no requests come in this flow any more
};

/// Judges each message by the messages before it. A message that was captured may still get lost on the way
/// from there to its receiver, so it proves nothing about the receiver: only a side's own messages bind it.
class CmDialog {
 public:
  /// A dialog begins with a REQ, or with a SIDR_REQ.
  CmDialog(const CmMessage& request, const Seen& seen, std::uint32_t flow);

  /// A message of this dialog, the first one excepted.
  CmStep on_message(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings);
  /// The capture ends: finds messages that got no answer in time.
  void finish(std::int64_t end_ns, Findings& findings) const;

  /// Whether another dialog may begin under the same communication ID.
  bool is_over(std::int64_t now_ns) const;
  const CmMessage& request() const { return request_; }

 private:
  struct Moment {
    std::uint64_t frame = 0;
    std::int64_t ns = 0;
  };

  /// All messages of one kind that one side sent.
  struct Said {
    std::uint64_t first_frame = 0;
    std::uint64_t last_frame = 0;
    std::int64_t last_ns = 0;
    std::uint64_t transaction = 0;
    std::uint32_t flow = kNoFlow;
    std::uint32_t digest = 0;
    Psn last_psn;               ///< of the datagram
    std::uint32_t unasked = 0;  ///< sent again without the other side having asked again
    std::uint32_t count = 0;
    std::uint32_t unanswered = 0;  ///< arrivals, the network's copies among them, less answers
    std::optional<Moment> timer;   ///< when the sender's timer began last, as far as that is sure
    std::uint8_t service_timeout = 0;
  };
  static constexpr std::size_t kKinds = 7;  ///< from REQ to DREP

  const Said& said(CmSide side, CmKind kind) const;
  Said& said(CmSide side, CmKind kind);
  bool has_said(CmSide side, CmKind kind) const { return said(side, kind).count > 0; }
  bool has_said_anything(CmSide side) const;
  bool may_be_answer(CmSide side, CmKind kind) const;
  bool is_network_copy(const CmMessage& message, CmSide side, const Seen& seen) const;
  std::int64_t response_time_ns(CmSide sender) const;
  std::optional<std::int64_t> waits_until(CmSide sender, CmKind kind) const;

  void judge_repetition(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings);
  void judge_ids(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings);
  void judge_transaction(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings);
  void on_reply(const CmMessage& message, const Seen& seen, Findings& findings);
  void on_reject(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings);
  void on_disconnect(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings);
  void note(const CmMessage& message, CmSide side, const Seen& seen);
  AgreedConnection agreement() const;

  CmMessage request_;
  Address active_;
  Address passive_;
  std::uint32_t flow_ = kNoFlow;    ///< of the datagrams from the active side
  std::optional<CmMessage> reply_;  ///< the first one
  std::optional<std::uint32_t> passive_id_;
  std::array<std::array<Said, kKinds>, 2> said_;
  bool is_of_two_ = false;  ///< another REQ has the same ID: messages do not tell which one they are about
  bool is_ready_early_ = false;  ///< an RTU came without a REP, which is not judged yet
};

}  // namespace urnic::check
