// Endpoint: one end of a queue pair's conversation, whatever its service.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/qp_state.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/packet.h"

namespace urnic::transport {

/// Takes asynchronous events of queue pairs.
class QpEventSink {
 public:
  virtual ~QpEventSink() = default;
  virtual void on_qp_event(QpNumber qp, QpEvent event) = 0;
};

/// A deterministic state machine without input and output of its own. Inputs are the on_*() calls, outputs
/// the poll_*() calls; time is an argument. Completions go to the sinks given at creation.
///
/// The contract for whoever drives it, under one lock: after any on_*() call, and after new work was posted,
/// call poll_transmit() until it returns 0, and call on_timeout() once next_timeout() has passed.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  /// A packet for this queue pair that passed parse, ICRC, P_Key, service and address checks. `packet` is only
  /// read during the call.
  virtual void on_packet(const wire::Packet& packet, Time now) = 0;

  /// The time next_timeout() named has come. Calling early or for nothing does no harm.
  virtual void on_timeout(Time now) = 0;

  /// When on_timeout() has to be called next; kNever when no timer runs.
  virtual Time next_timeout() const = 0;

  /// Writes the next packet that should leave now, from the BTH to the last byte of padding, to the front of
  /// `out` and returns its size in bytes, or 0 when there is nothing to send until the next input. `out` must
  /// have room for the largest packet of the path: headers (at most 52 bytes) + path MTU.
  virtual std::size_t poll_transmit(std::span<std::byte> out, Time now) = 0;

  /// Whether an acknowledgement or a response waits to be sent. A receive completion must not become visible
  /// to the program before the acknowledgement that goes with it has left.
  virtual bool owes_response() const = 0;

  virtual QpState state() const = 0;
};

}  // namespace urnic::transport
