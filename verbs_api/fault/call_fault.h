// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CallFault and AsyncFault: how a call fails, or which event comes, as the user wrote it, as values.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "transport/result.h"
#include "transport/time.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/fault/verb.h"
#include "verbs_api/fault/words.h"

namespace urnic::verbs_api {

/// Written "verb:ibv_post_send=ENOMEM:nth=5", "verb:ibv_poll_cq:status=RETRY_EXC_ERR" or
/// "verb:rdma_connect:event=REJECTED": a call, what happens to it, and of which of the calls; keys in any
/// order, each at most once. drivers/fault/FAULTS.md has all words.
struct CallFault {
  static constexpr std::uint64_t kAlways = std::numeric_limits<std::uint64_t>::max();

  Verb verb{};

  // What happens to it: one of the three.
  int error = 0;                          ///< an errno value: the call does nothing and fails with it
  std::optional<ibv_wc_status> status{};  ///< of kPollCq: the completion has this status
  const CmEventRow* event = nullptr;      ///< of rdma_cm: the call returns 0, and this event follows
  int event_status = 0;                   ///< with `event`

  // Which of them: those that fit.
  enum class Side : std::uint8_t { kBoth, kSend, kReceive };
  Side side = Side::kBoth;                 ///< with `status`: completions of sends, or of receives
  std::optional<ibv_qp_state> to_state{};  ///< of kModifyQp
  std::uint64_t nth = 1;                   ///< from which one on
  std::uint64_t times = 1;                 ///< how many; kAlways is the default where `probability` is given
  double probability = 1;                  ///< above 0, up to 1, for each of them

  std::string text{};  ///< as it was written

  /// The error says in one line what is wrong, and shows the form.
  static Result<CallFault, Error> parse(std::string_view text);
};

/// Written "async:DEVICE_FATAL:after=100ms" or "async:QP_FATAL:qp=2:call=ibv_post_send:nth=1000".
struct AsyncFault {
  static constexpr transport::Duration kMaxTime = std::chrono::hours(24);

  const AsyncEventRow* event = nullptr;
  /// Which of the queue pairs (or other objects that the event is about) that the process made, from 1.
  std::uint32_t object = 1;

  // When: one of the two.
  std::optional<transport::Duration> after{};  ///< since the process first opened the device
  std::optional<Verb> call{};                  ///< just before such a call
  std::uint64_t nth = 1;                       ///< with `call`: which one

  std::optional<transport::Duration> lasts{};  ///< of PORT_ERR: then PORT_ACTIVE comes

  std::string text{};  ///< as it was written; empty: the adversary has drawn it

  static Result<AsyncFault, Error> parse(std::string_view text);
};

}  // namespace urnic::verbs_api
