// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// OpenReceive: the receive that a queue pair of an unreliable service has in hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/completion.h"
#include "transport/dependencies.h"
#include "transport/dma.h"
#include "transport/qp_config.h"
#include "transport/receive_queue.h"

namespace urnic::transport {

/// A receive is taken from the queue when a message needs it, and stays in hand when that message is dropped
/// midway: the next one gets it, so that receives are neither lost nor reordered. Only what was received
/// whole completes it, or an error of our own.
class OpenReceive {
 public:
  OpenReceive(const QpDependencies& deps, const QpConfig& config) : deps_(deps), config_(config) {}

  /// Has nothing in hand; what it had is forgotten (queue pair to RESET).
  void start() { is_taken_ = false; }

  /// The room in bytes of the receive in hand, or of the one that take() would take; nothing when there is
  /// none.
  std::optional<std::uint32_t> room() const;

  /// Makes sure of a receive in hand; false when none is posted.
  bool take();

  // --- The receive in hand ---

  /// Writes `bytes` at `offset` of it; there must be room.
  DmaStatus write(std::uint32_t offset, std::span<const std::byte> bytes);
  /// Completes it. Work request and queue pair are filled in here.
  void complete(Completion completion);
  /// Our own memory, or what a program says of it, is at fault: it completes with this status and the device
  /// reports the queue pair as broken; that then goes to ERR.
  void fail(CompletionStatus status);

  /// Completes the receive in hand as flushed, and everything posted to a queue of our own.
  void flush();

 private:
  void report_failure(CompletionStatus status);

  const QpDependencies& deps_;
  const QpConfig& config_;
  bool is_taken_ = false;
  ReceiveWqe wqe_;
};

}  // namespace urnic::transport
