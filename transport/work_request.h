// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Work requests as the transport keeps them.
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/dma.h"
#include "transport/types.h"

namespace urnic::transport {

/// Scatter/gather element: `length` bytes at `address` of the region `lkey`.
struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  Lkey lkey{};
};

/// The most scatter/gather elements of one work request, on either queue.
inline constexpr std::uint32_t kMaxSges = 32;

/// The order counts: first those whose packets carry a payload (data_opcode.h), last those without a packet
/// (is_local()).
enum class SendOperation : std::uint8_t {
  kSend,
  kSendWithImmediate,
  kSendWithInvalidate,
  kWrite,
  kWriteWithImmediate,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kFlush,
  kAtomicWrite,
  kLocalInvalidate,
  kBindWindow,
};

/// Without IBV_WR_; "" for what is no operation.
constexpr std::string_view name_of(SendOperation operation) {
  using enum SendOperation;
  switch (operation) {
    case kSend:
      return "SEND";
    case kSendWithImmediate:
      return "SEND_WITH_IMM";
    case kSendWithInvalidate:
      return "SEND_WITH_INV";
    case kWrite:
      return "RDMA_WRITE";
    case kWriteWithImmediate:
      return "RDMA_WRITE_WITH_IMM";
    case kRead:
      return "RDMA_READ";
    case kCompareSwap:
      return "ATOMIC_CMP_AND_SWP";
    case kFetchAdd:
      return "ATOMIC_FETCH_AND_ADD";
    case kFlush:
      return "FLUSH";
    case kAtomicWrite:
      return "ATOMIC_WRITE";
    case kLocalInvalidate:
      return "LOCAL_INV";
    case kBindWindow:
      return "BIND_MW";
  }
  return "";
}

/// Whether the peer answers it with more than an acknowledgement: it then counts against max_rd_atomic, and
/// an acknowledgement of something later does not complete it (fact 21).
constexpr bool has_response(SendOperation operation) {
  return operation >= SendOperation::kRead && operation <= SendOperation::kAtomicWrite;
}
constexpr bool has_immediate(SendOperation operation) {
  return operation == SendOperation::kSendWithImmediate || operation == SendOperation::kWriteWithImmediate;
}
constexpr bool is_send(SendOperation operation) {
  return operation <= SendOperation::kSendWithInvalidate;
}
constexpr bool is_atomic(SendOperation operation) {
  return operation == SendOperation::kCompareSwap || operation == SendOperation::kFetchAdd;
}
/// Whether the NIC does it alone, without a packet.
constexpr bool is_local(SendOperation operation) {
  return operation >= SendOperation::kLocalInvalidate;
}
/// Whether the elements name memory that is sent; otherwise memory that is written, or none.
constexpr bool sends_data(SendOperation operation) {
  return operation < SendOperation::kRead || operation == SendOperation::kAtomicWrite;
}

/// Names an address handle of the device for as long as it exists; 0 names none.
enum class AddressHandleId : std::uint32_t {};

/// Where one datagram goes.
struct Destination {
  AddressHandleId address{};
  QpNumber qp{};
  std::uint32_t qkey = 0;  ///< with the top bit set the queue pair's own is sent instead (fact 16)
};

/// FLUSH: what is to be made sure of, for `length` bytes at remote_address of rkey.
struct Flush {
  std::uint32_t length = 0;
  Access access = Access::kFlushGlobal;  ///< kFlushGlobal, kFlushPersistent or both
  FlushScope scope = FlushScope::kRange;
};

/// What a program posts to a send queue, without its scatter/gather elements or inline bytes. Each operation
/// and service reads what it needs.
struct SendRequest {
  std::uint64_t wr_id = 0;
  SendOperation operation = SendOperation::kSend;
  bool signaled = false;
  bool solicited = false;
  bool fence = false;
  std::uint32_t immediate = 0;  ///< the four bytes as they go on the wire (network order in memory)
  std::uint64_t remote_address = 0;
  Rkey rkey{};
  Rkey invalidate_rkey{};         ///< of kSendWithInvalidate and kLocalInvalidate
  std::uint64_t compare = 0;      ///< of kCompareSwap
  std::uint64_t swap_or_add = 0;  ///< of kCompareSwap and kFetchAdd
  std::uint32_t xrc_srq = 0;      ///< of XRC: where the peer receives
  Destination destination{};      ///< of datagrams
  Flush flush{};                  ///< of kFlush
  WindowBinding binding{};        ///< of kBindWindow
};

/// What a program posts to a receive queue, without its scatter/gather elements.
struct ReceiveRequest {
  std::uint64_t wr_id = 0;
};

}  // namespace urnic::transport
