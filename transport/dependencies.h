// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a queue pair's endpoint uses and does not own.
#pragma once

#include <cstdint>

#include "transport/completion.h"
#include "transport/counters.h"
#include "transport/dma.h"
#include "transport/endpoint.h"
#include "transport/observer.h"
#include "transport/receive_queue.h"
#include "transport/send_queue.h"

namespace urnic::transport {

/// Where messages are received: the queue of a queue pair, or one that several share.
struct ReceiveEnd {
  ReceiveQueue* queue = nullptr;
  CompletionSink* completions = nullptr;
  /// Whose regions the posted elements name: the queue pair's, but the shared queue's for XRC.
  PdId pd{};
  /// A shared queue outlives this queue pair's failures: it is not flushed with it.
  bool is_shared = false;
  std::uint32_t srq = 0;  ///< its number, of a shared queue
};

/// Finds the shared receive queues of an XRC domain by the number in XRCETH.
class XrcReceivers {
 public:
  virtual ~XrcReceivers() = default;
  /// Nothing for a number that is not one of the domain's queues. The queue that is found stays good until
  /// the endpoint is told to forget it; what is returned, for this call of the endpoint.
  virtual const ReceiveEnd* find(std::uint32_t srq_number) = 0;
};

/// All of it must outlive the endpoint.
struct QpDependencies {
  Dma& dma;
  SendQueue& send_queue;
  CompletionSink* send_completions = nullptr;  ///< null only for those that never send: XRC targets
  /// Without a queue for XRC, and for those that only send.
  ReceiveEnd receiver;
  QpEventSink& events;
  Counters& counters;
  XrcReceivers* xrc_receivers = nullptr;          ///< of an XRC target; otherwise null
  QpObserver* observer = nullptr;                 ///< wants to know why things fail; null: none
  const WithdrawnKeys* withdrawn_keys = nullptr;  ///< null: the peer is told of every refusal at once
};

}  // namespace urnic::transport
