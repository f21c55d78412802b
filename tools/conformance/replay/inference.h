// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What must have been the case at the captured responder, from how it answered. README.md lists the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tools/conformance/replay/direction.h"
#include "tools/conformance/replay/message.h"

namespace urnic::replay {

/// Events are named by their index in the direction, which must outlive it.
class Inference {
 public:
  /// Room of a receive of which nothing is known: for the longest message.
  static constexpr std::uint32_t kAnyRoom = 1u << 31;

  explicit Inference(const Direction& direction);

  /// An RNR NAK answers this arrival of a request: no receive was posted.
  bool finds_no_receive(std::size_t event) const { return not_ready_.count(event) != 0; }
  /// The syndrome of the NAK that refuses this arrival for good.
  std::optional<std::uint8_t> refusal_of(std::size_t event) const;
  /// The responder never saw this arrival: a sequence NAK asks for it although the capture has it.
  bool is_lost_behind(std::size_t event) const { return lost_.count(event) != 0; }
  /// What RNR NAKs carry: the first one's code.
  std::uint8_t rnr_timer() const { return rnr_timer_; }
  /// Room of the receive that this message takes: any, unless a NAK says that it did not fit.
  std::uint32_t room_for(const Message& message) const;
  /// The Q_Key of the receiving queue pair: the one of most datagrams.
  std::uint32_t q_key() const { return q_key_; }

  /// Captured answers with PSNs from `first` up to, not including, `end`: for each PSN the first one after
  /// `event`.
  std::map<ExtendedPsn, const CapturedPacket*> answers_to(ExtendedPsn first, ExtendedPsn end,
                                                          std::size_t event) const;

 private:
  void find_losses();
  void find_refusals();
  void find_q_key();

  const Direction& direction_;
  std::map<ExtendedPsn, std::vector<std::size_t>> answers_;  // events, by what they answer
  std::set<std::size_t> not_ready_;
  std::map<std::size_t, std::uint8_t> refusals_;
  std::map<ExtendedPsn, std::uint8_t> refused_psns_;
  std::set<std::size_t> lost_;
  std::uint8_t rnr_timer_ = 0;
  std::uint32_t q_key_ = 0;
};

}  // namespace urnic::replay
