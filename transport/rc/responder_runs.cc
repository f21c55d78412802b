// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a responder does with a run of requests: all of its packets in one step, or none.
#include "transport/rc/responder.h"
#include "transport/request_counters.h"
#include "transport/scatter_gather.h"

namespace urnic::transport {

using wire::Headers;
using wire::Operation;
using wire::Packet;
using wire::Run;

// What fails a check, finds no receive or memory, or stands in a connection that is not in order now, comes
// again packet by packet. So everything but the usual is decided in one place.
bool Responder::on_run(const Run& run, Time now) {
  const Packet& whole = run.whole();
  if (!is_usual(run) || check_sequence(whole) || check_length(whole, run.packets()) || check_access(whole)) {
    return false;
  }
  const bool is_done = whole.info->operation == Operation::kSend ? receive_run(whole) : write_run(whole);
  if (!is_done) return false;
  count_received(whole, deps_.counters);
  expected_psn_ = run.last_psn() + 1;
  if (whole.info->ends_message()) complete_message(whole);
  on_executed(whole, run.last_psn(), now);
  return true;
}

// With selective repeat, packets that waited for the run may follow it. XRC looks for its receiver, and a key
// may have to be invalidated: these are rare.
bool Responder::is_usual(const Run& run) const {
  const Packet& whole = run.whole();
  const bool is_in_order = whole.bth.psn == expected_psn_ && !owes_selective_nak_ && !holds_packets();
  return is_in_order && !has_failed_ && run.mtu() == config_.path_mtu && deps_.xrc_receivers == nullptr &&
         !has(whole.info->headers, Headers::kIeth);
}

// The receive that an immediate consumes is taken with the last packet, after all others were written.
bool Responder::write_run(const Packet& whole) {
  if (needs_receive(whole)) return false;
  const Message before = message_;
  if (!execute_write(whole)) return true;
  message_ = before;
  return false;
}

bool Responder::receive_run(const Packet& whole) {
  if (needs_receive(whole)) {
    if (!has_receive_ && !receiver_.queue->take(receive_)) return false;
    has_receive_ = true;
  }
  const std::uint32_t received = whole.info->begins_message() ? 0 : received_bytes_;
  if (whole.payload.size() > receive_.length - received) return false;
  if (scatter(deps_.dma, receiver_.pd, receive_.elements(), received, whole.payload) != DmaStatus::kOk) {
    return false;
  }
  message_ = {.operation = Operation::kSend};
  received_bytes_ = received + static_cast<std::uint32_t>(whole.payload.size());
  return true;
}

}  // namespace urnic::transport
