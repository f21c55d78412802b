// The states of a queue pair.
#pragma once

#include <cstdint>

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

constexpr bool can_receive(QpState state) {
  return state == QpState::kReadyToReceive || state == QpState::kReadyToSend ||
         state == QpState::kSqDrained || state == QpState::kSqError;
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

}  // namespace urnic::transport
