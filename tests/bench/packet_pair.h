// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PacketPair: two endpoints of a reliable connection with real memory and real frames, for measuring one step
// at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nic/memory/memory_table.h"
#include "nic/path/path.h"
#include "transport/counters.h"
#include "transport/rc/endpoint.h"
#include "transport/receive_queue.h"
#include "transport/send_queue.h"
#include "transport/time.h"
#include "transport/wire/address.h"

namespace urnic::bench {

/// A frame as it is on the wire.
using Frame = std::vector<std::byte>;

/// One end: queues, memory, endpoint, and the headers around its packets.
class End final : private transport::CompletionSink, private transport::QpEventSink {
 public:
  End(transport::QpNumber own, transport::QpNumber peer);

  /// From RESET to RTS, with the first PSNs again.
  void connect();

  void post_send(transport::SendOperation operation, std::uint32_t length, const End& to);
  void post_receive(std::uint32_t length);

  /// The next packet, in a frame with an ICRC, written to `frame`; returns the frame's length, 0 when there
  /// is none.
  std::size_t build(std::span<std::byte> frame);
  /// Everything that a NIC does with a frame that it received: parsing, checks, ICRC, execution. Returns
  /// false when the frame is not one for this end.
  bool take(std::span<const std::byte> frame);

  std::uint64_t completions() const { return completions_; }
  const nic::MemoryRegion& region() const { return region_; }

 private:
  void complete(const transport::Completion&) override { ++completions_; }
  void on_qp_event(transport::QpNumber, transport::QpEvent) override {}

  transport::QpConfig config_;
  std::vector<std::byte> memory_;
  nic::MemoryTable table_{1};
  nic::MemoryRegion region_;
  transport::SendQueue send_queue_{{.work_requests = 256, .sges = 1, .inline_bytes = 0}};
  transport::ReceiveQueue receive_queue_{{.work_requests = 256, .sges = 1}};
  transport::Counters counters_;
  transport::RcEndpoint endpoint_;
  nic::Path path_;
  transport::Time now_{std::chrono::seconds(1)};
  std::uint64_t completions_ = 0;
};

}  // namespace urnic::bench
