// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a responder checks before it executes a request packet, in the order of facts 29 to 31.
#include "transport/rc/request_operation.h"
#include "transport/rc/responder.h"

namespace urnic::transport {

using wire::Operation;
using wire::Packet;
using wire::Position;

std::optional<Refusal> Responder::check(const Packet& packet) const {
  if (const auto nak = check_length(packet, 1)) return nak;
  return check_access(packet);
}

std::optional<Refusal> Responder::check_sequence(const Packet& packet) const {
  const Operation operation = packet.info->operation;
  if (packet.info->begins_message()) {
    return is_message_open() ? std::optional(refusal::kBadSequence) : std::nullopt;
  }
  return message_.operation == operation ? std::nullopt : std::optional(refusal::kBadSequence);
}

// The first packet of a message says where XRC receives it. That queue may be destroyed before the last
// packet comes.
std::optional<Refusal> Responder::find_xrc_receiver(const Packet& packet) {
  if (deps_.xrc_receivers == nullptr) return std::nullopt;
  if (packet.info->begins_message()) {
    const ReceiveEnd* const found = deps_.xrc_receivers->find(packet.xrc_srq);
    receiver_ = found != nullptr ? *found : ReceiveEnd();
  }
  return receiver_.queue == nullptr ? std::optional(refusal::kNoXrcReceiver) : std::nullopt;
}

// First and middle packets fill the path MTU, a last packet is not empty, none exceeds it, and a WRITE brings
// exactly what its RETH announced (fact 29). The same holds of a run as of its last packet.
std::optional<Refusal> Responder::check_length(const Packet& packet, std::uint32_t packets) const {
  const std::size_t size = packet.payload.size();
  const std::size_t full = std::size_t{packets} * bytes(config_.path_mtu);
  const Position position = packet.info->position;
  const bool more_follow = position == Position::kFirst || position == Position::kMiddle;

  if (size > full) return refusal::kBadLength;
  if (more_follow && size < full) return refusal::kBadLength;
  if (position == Position::kLast && size == 0) return refusal::kBadLength;

  const bool has_reth = has(packet.info->headers, wire::Headers::kReth);
  if (has_reth && packet.reth.length > kMaxMessageBytes) return refusal::kBadLength;
  if (packet.info->operation == Operation::kAtomicWrite) {
    const bool fits = size == kAtomicBytes && packet.reth.length == kAtomicBytes;
    return fits ? std::nullopt : std::optional(refusal::kBadLength);
  }
  if (packet.info->operation != Operation::kWrite) return std::nullopt;
  const std::uint32_t announced = has_reth ? packet.reth.length : message_.remaining;
  const bool fits = more_follow ? size < announced : size == announced;
  return fits ? std::nullopt : std::optional(refusal::kBadLength);
}

// The queue pair's own rights first, then key, bounds and rights of the region (facts 30, 31). Later packets
// of a WRITE are checked as they are written.
std::optional<Refusal> Responder::check_access(const Packet& packet) const {
  const bool has_atomic_eth = has(packet.info->headers, wire::Headers::kAtomicEth);
  if (!has(packet.info->headers, wire::Headers::kReth) && !has_atomic_eth) return std::nullopt;
  const Access wanted = access_wanted(packet);

  if (!allows(config_.access, wanted)) return refusal::kNotAllowed;
  if (response_kind_of(packet.info->operation) && resources_.is_full()) return refusal::kTooManyRequests;
  const Operation operation = packet.info->operation;
  // What it reaches for is known to the memory only: a whole region, perhaps.
  if (operation == Operation::kFlush) {
    const bool is_known = wanted != Access::kNone && packet.feth.selectivity <= 1;
    return is_known ? std::nullopt : std::optional(refusal::kNotAllowed);
  }
  const Rkey rkey = has_atomic_eth ? packet.atomic.rkey : packet.reth.rkey;
  const std::uint64_t address = has_atomic_eth ? packet.atomic.address : packet.reth.address;
  const bool is_by_packet = config_.checks_writes_by_packet && operation == Operation::kWrite;
  const std::uint32_t announced =
      is_by_packet ? static_cast<std::uint32_t>(packet.payload.size()) : packet.reth.length;
  const std::uint32_t length = has_atomic_eth ? kAtomicBytes : announced;
  const bool is_atomic = has_atomic_eth || operation == Operation::kAtomicWrite;

  if (length == 0) return std::nullopt;
  const DmaStatus status = deps_.dma.check_remote(memory_user(), rkey, address, length, wanted);
  if (status != DmaStatus::kOk) return refusal::no_access(status);
  return is_atomic && address % kAtomicBytes != 0 ? std::optional(refusal::kMisaligned) : std::nullopt;
}

// A SEND takes its receive with the first packet, a WRITE with immediate with the last one.
bool Responder::needs_receive(const Packet& packet) const {
  if (packet.info->operation == Operation::kSend) return packet.info->begins_message();
  return packet.info->has_immediate();
}

}  // namespace urnic::transport
