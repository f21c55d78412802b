// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the operations of requests need: how they are answered, and the rights that they take.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/dma.h"
#include "transport/rc/responder_resources.h"
#include "transport/types.h"
#include "transport/wire/packet.h"

namespace urnic::transport {

/// What an atomic operation works on, and its alignment (fact 32).
inline constexpr std::uint32_t kAtomicBytes = 8;

/// How a request is answered that has a response of its own; nullopt for one that is acknowledged.
constexpr std::optional<ResponderResources::ResponseKind> response_kind_of(wire::Operation operation) {
  using ResponseKind = ResponderResources::ResponseKind;
  struct Responding {
    wire::Operation operation;
    ResponseKind kind;
  };
  constexpr Responding kResponding[] = {
      {wire::Operation::kReadRequest, ResponseKind::kReadData},
      {wire::Operation::kCompareSwap, ResponseKind::kAtomicAck},
      {wire::Operation::kFetchAdd, ResponseKind::kAtomicAck},
      {wire::Operation::kFlush, ResponseKind::kEmptyReadResponse},
      {wire::Operation::kAtomicWrite, ResponseKind::kEmptyReadResponse},
  };
  for (const Responding& row : kResponding) {
    if (row.operation == operation) return row.kind;
  }
  return std::nullopt;
}

/// The placement types of a FLUSH as rights.
constexpr Access flush_access(const wire::Feth& feth) {
  return ((feth.placement_type & 1) != 0 ? Access::kFlushGlobal : Access::kNone) |
         ((feth.placement_type & 2) != 0 ? Access::kFlushPersistent : Access::kNone);
}

/// The right that a request needs on the queue pair and on the memory. Meaningful for requests that name
/// memory.
constexpr Access access_wanted(const wire::Packet& packet) {
  switch (packet.info->operation) {
    case wire::Operation::kReadRequest:
      return Access::kRemoteRead;
    case wire::Operation::kCompareSwap:
    case wire::Operation::kFetchAdd:
      return Access::kRemoteAtomic;
    case wire::Operation::kFlush:
      return flush_access(packet.feth);
    default:
      return Access::kRemoteWrite;
  }
}

}  // namespace urnic::transport
