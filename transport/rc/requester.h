// Requester: makes request packets of posted work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/completion.h"
#include "transport/rc/config.h"
#include "transport/rc/retry.h"
#include "transport/rc/send_window.h"
#include "transport/rc/surroundings.h"

namespace urnic::transport {

/// Cuts the work requests of a send queue into packets, as far as window, outstanding READs and timers allow.
/// Nothing is kept of a packet: what is sent again is read again from work request and memory.
class Requester {
 public:
  Requester(const RcSurroundings& around, const RcConfig& config, SendWindow& window, Retry& retry)
      : around_(around), config_(config), window_(window), retry_(retry) {}

  /// Forgets which acknowledgements were asked for.
  void start() { packets_since_ack_request_ = 0; }

  /// As Endpoint::poll_transmit().
  std::size_t poll_transmit(std::span<std::byte> out, Time now);

  /// The oldest work request cannot be sent, for this reason: its memory is not what it says.
  std::optional<CompletionStatus> head_error() const { return head_error_; }
  void clear_error() { head_error_.reset(); }

 private:
  bool may_send(const SendWqe& wqe) const;
  std::size_t emit_read_request(const SendWqe& wqe, std::span<std::byte> out) const;
  std::size_t emit_data(const SendWqe& wqe, std::span<std::byte> out);
  bool gather(const SendWqe& wqe, std::uint32_t offset, std::span<std::byte> to);

  const RcSurroundings& around_;
  const RcConfig& config_;
  SendWindow& window_;
  Retry& retry_;
  std::uint32_t packets_since_ack_request_ = 0;
  std::optional<CompletionStatus> head_error_;
};

}  // namespace urnic::transport
