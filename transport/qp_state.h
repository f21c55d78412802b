// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The states of a queue pair.
#pragma once

#include <cstdint>
#include <string_view>

namespace urnic::transport {

/// As in libibverbs' ibv_qp_state.
enum class QpState : std::uint8_t {
  kReset,
  kInit,
  kReadyToReceive,
  kReadyToSend,
  kSqDrained,
  kSqError,
  kError
};

/// As people call it; "" for what is no state.
constexpr std::string_view name_of(QpState state) {
  using enum QpState;
  switch (state) {
    case kReset:
      return "RESET";
    case kInit:
      return "INIT";
    case kReadyToReceive:
      return "RTR";
    case kReadyToSend:
      return "RTS";
    case kSqDrained:
      return "SQD";
    case kSqError:
      return "SQE";
    case kError:
      return "ERR";
  }
  return "";
}

constexpr bool can_receive(QpState state) {
  return state == QpState::kReadyToReceive || state == QpState::kReadyToSend ||
         state == QpState::kSqDrained || state == QpState::kSqError;
}

/// Work requests are sent and completed; in SQD those that were begun.
constexpr bool can_send(QpState state) {
  return state == QpState::kReadyToSend || state == QpState::kSqDrained;
}

/// Asynchronous events that concern one queue pair; the names of libibverbs.
enum class QpEvent : std::uint8_t {
  kFatal,
  kRequestError,
  kAccessError,
  kCommunicationEstablished,
  kSqDrained,
  kLastWqeReached,
};

/// Without IBV_EVENT_; "" for what is no event.
constexpr std::string_view name_of(QpEvent event) {
  using enum QpEvent;
  switch (event) {
    case kFatal:
      return "QP_FATAL";
    case kRequestError:
      return "QP_REQ_ERR";
    case kAccessError:
      return "QP_ACCESS_ERR";
    case kCommunicationEstablished:
      return "COMM_EST";
    case kSqDrained:
      return "SQ_DRAINED";
    case kLastWqeReached:
      return "LAST_WQE_REACHED";
  }
  return "";
}

}  // namespace urnic::transport
