// What a reliable connection uses and does not own.
#pragma once

#include "transport/completion.h"
#include "transport/counters.h"
#include "transport/dma.h"
#include "transport/endpoint.h"
#include "transport/receive_queue.h"
#include "transport/send_queue.h"

namespace urnic::transport {

/// All of it must outlive the endpoint.
struct RcSurroundings {
  Dma& dma;
  SendQueue& send_queue;
  ReceiveQueue& receive_queue;
  CompletionSink& send_completions;
  CompletionSink& receive_completions;
  QpEventSink& events;
  Counters& counters;
};

}  // namespace urnic::transport
