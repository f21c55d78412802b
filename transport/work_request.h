// Work requests as the transport keeps them.
#pragma once

#include <cstdint>

#include "transport/types.h"

namespace urnic::transport {

/// Scatter/gather element: `length` bytes at `address` of the region `lkey`.
struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  Lkey lkey{};
};

enum class SendOperation : std::uint8_t { kSend, kSendWithImmediate, kWrite, kWriteWithImmediate, kRead };

constexpr bool is_read(SendOperation operation) {
  return operation == SendOperation::kRead;
}

/// What a program posts to a send queue, without its scatter/gather elements or inline bytes.
struct SendRequest {
  std::uint64_t wr_id = 0;
  SendOperation operation = SendOperation::kSend;
  bool signaled = false;
  bool solicited = false;
  bool fence = false;
  std::uint32_t immediate = 0;  ///< the four bytes as they go on the wire (network order in memory)
  std::uint64_t remote_address = 0;
  Rkey rkey{};
};

/// What a program posts to a receive queue, without its scatter/gather elements.
struct ReceiveRequest {
  std::uint64_t wr_id = 0;
};

}  // namespace urnic::transport
