// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/message.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "tools/conformance/check/packets/byte_view.h"

namespace urnic::replay {

namespace {

using check::Operation;
using check::Packet;

constexpr std::size_t kAtomicOperandsAt = 12;  // after address and key

/// Where the headers after the BTH begin, in their order on the wire.
struct Offsets {
  std::size_t feth = 0, reth = 0, atomic = 0, immediate = 0, ieth = 0;

  explicit Offsets(const check::OpcodeInfo& info) {
    std::size_t at = check::kBthBytes + (info.has_xrceth ? 4 : 0) + (info.has_deth ? 8 : 0);
    feth = at;
    at += info.has_feth ? 4 : 0;
    reth = at;
    at += info.has_reth ? 16 : 0;
    atomic = at;
    at += (info.has_atomic ? 28 : 0) + (info.has_aeth ? 4 : 0) + (info.has_atomic_ack ? 8 : 0);
    immediate = at;
    at += info.has_immediate ? 4 : 0;
    ieth = at;
  }
};

void take_headers(Message& message, const CapturedPacket& captured) {
  const Packet& packet = captured.packet;
  const check::OpcodeInfo& info = *packet.info;
  const Offsets offsets(info);
  const auto bytes = captured.ib();
  if (info.has_reth || info.has_atomic) {
    message.address = packet.address;
    message.r_key = packet.r_key;
  }
  if (info.has_atomic) {
    message.swap_or_add = check::load_u64(bytes, offsets.atomic + kAtomicOperandsAt);
    message.compare = check::load_u64(bytes, offsets.atomic + kAtomicOperandsAt + 8);
  }
  if (info.has_feth) {
    const std::uint8_t low = check::load_u8(bytes, offsets.feth + 3);
    message.flush_type = low & 0xf;
    message.flush_selectivity = (low >> 4) & 3;
  }
  if (info.has_immediate) {
    std::uint32_t immediate = 0;
    std::memcpy(&immediate, bytes.data() + offsets.immediate, sizeof immediate);
    message.immediate = immediate;
  }
  if (info.has_ieth) message.invalidate = check::load_u32(bytes, offsets.ieth);
  if (info.ends_message()) message.solicited = packet.solicited;
}

/// Puts the packets of a direction together. Packets come in the order of their PSNs, each once.
class Assembler {
 public:
  explicit Assembler(const Direction& direction) : mtu_(direction.path_mtu), direction_(direction) {}

  void add(ExtendedPsn at, const CapturedPacket& captured);
  /// What was begun and not finished goes on for one packet, or for as long as it announced. Its frame, if
  /// there is one.
  std::optional<std::uint64_t> finish();
  std::vector<Message>& messages() { return messages_; }

 private:
  void fill(ExtendedPsn to);
  void begin(ExtendedPsn at, const CapturedPacket& captured);
  void append(const Packet& packet, bool is_last);
  void close();
  bool continues_open(ExtendedPsn at, const Packet& packet) const;
  std::int64_t announced_packets() const;

  const std::int64_t mtu_;
  const Direction& direction_;
  std::vector<Message> messages_;
  std::optional<Message> open_;
  std::uint32_t announced_ = 0;  // of an open WRITE, its RETH's length; 0 when that is not known
  ExtendedPsn next_ = 0;
};

std::int64_t Assembler::announced_packets() const {
  constexpr std::int64_t kAnyNumber = std::int64_t{1} << 40;
  return announced_ == 0 ? kAnyNumber : direction_.packets_for(announced_);
}

bool Assembler::continues_open(ExtendedPsn at, const Packet& packet) const {
  return open_ && !packet.info->starts_message() && packet.info->operation == open_->operation &&
         at < open_->first + announced_packets();
}

/// The capture has nothing from `next_` up to `to`: all that can be said is how many packets it was.
void Assembler::fill(ExtendedPsn to) {
  if (to == next_) return;
  if (open_) {
    // It may have ended in the gap; its last packet is taken to be full.
    const std::int64_t rest = std::min(to - next_, open_->first + announced_packets() - next_);
    next_ += std::max<std::int64_t>(rest, 0);
    open_->payload.resize(static_cast<std::size_t>((next_ - open_->first) * mtu_));
    if (announced_ != 0) open_->payload.resize(std::min<std::size_t>(open_->payload.size(), announced_));
    open_->is_whole = false;
    close();
  }
  if (to == next_) return;
  messages_.push_back({.operation = Operation::kSend,
                       .first = next_,
                       .packets = to - next_,
                       .is_whole = false,
                       .length = static_cast<std::uint32_t>((to - next_) * mtu_)});
  next_ = to;
}

void Assembler::begin(ExtendedPsn at, const CapturedPacket& captured) {
  const Packet& packet = captured.packet;
  open_ = Message{.operation = packet.info->operation, .first = at, .frame = captured.number};
  announced_ = packet.info->has_reth ? packet.length : 0;
}

void Assembler::append(const Packet& packet, bool is_last) {
  open_->payload.insert(open_->payload.end(), packet.payload.begin(), packet.payload.end());
  // We do not follow a peer that breaks the rules of lengths: no work request makes such a message.
  const auto due = static_cast<std::size_t>((next_ + 1 - open_->first) * mtu_);
  if (!is_last) open_->payload.resize(due);
}

void Assembler::close() {
  open_->packets = next_ - open_->first;
  open_->length = static_cast<std::uint32_t>(open_->payload.size());
  messages_.push_back(std::move(*open_));
  open_.reset();
}

std::optional<std::uint64_t> Assembler::finish() {
  if (!open_) return std::nullopt;
  const std::uint64_t frame = open_->frame;
  open_->is_whole = false;
  next_ = announced_ == 0 ? next_ + 1 : std::max(next_, open_->first + announced_packets());
  const std::int64_t bytes = announced_ == 0 ? (next_ - open_->first) * mtu_ : std::int64_t{announced_};
  close();
  messages_.back().length = static_cast<std::uint32_t>(bytes);
  return frame;
}

void Assembler::add(ExtendedPsn at, const CapturedPacket& captured) {
  const Packet& packet = captured.packet;
  const check::OpcodeInfo& info = *packet.info;
  if (messages_.empty() && !open_) next_ = at;
  if (at < next_) return;  // inside a READ
  if (at > next_ && continues_open(at, packet)) {
    open_->payload.resize(static_cast<std::size_t>((at - open_->first) * mtu_));
    open_->is_whole = false;
    next_ = at;
  } else if (at > next_ && !info.starts_message()) {
    // Its beginning is missing, and with it whatever else was in the gap.
    ExtendedPsn start = next_;
    if (open_) {
      const ExtendedPsn last_of_open = std::min(open_->first + announced_packets() - 1, at - 2);
      fill(std::max(last_of_open + 1, next_));
      if (open_) close();
      start = next_;
    }
    begin(start, captured);
    open_->payload.resize(static_cast<std::size_t>((at - start) * mtu_));
    open_->is_whole = false;
    next_ = at;
  } else if (at > next_ || (open_ && info.starts_message())) {
    fill(at);
  }
  if (open_ && (info.starts_message() || info.operation != open_->operation)) close();
  if (!open_) {
    begin(at, captured);
    open_->is_whole = info.starts_message();
  }
  take_headers(*open_, captured);
  if (info.has_payload && !info.has_deth) {
    append(packet, info.ends_message());
  } else {
    open_->payload.assign(packet.payload.begin(), packet.payload.end());
  }
  if (info.has_deth) {
    open_->destination_qp = packet.destination_qp;
    open_->q_key = packet.q_key;
    open_->datagram = &captured;
  }
  next_ = at + 1;
  if (!info.ends_message()) return;
  const bool is_read = info.operation == Operation::kRead;
  if (is_read) next_ = at + direction_.packets_for(packet.length);
  close();
  const bool has_own_length = is_read || info.operation == Operation::kFlush;
  if (has_own_length) messages_.back().length = packet.length;
  if (info.has_atomic) messages_.back().length = 8;
}

}  // namespace

bool Message::wants_data_back() const {
  return operation == Operation::kRead || operation == Operation::kCompareSwap ||
         operation == Operation::kFetchAdd || operation == Operation::kFlush ||
         operation == Operation::kAtomicWrite;
}

std::vector<Message> messages_of(const Direction& direction, std::vector<std::string>& notes) {
  const bool is_datagram = direction.service == check::Service::kUd;
  std::map<ExtendedPsn, const CapturedPacket*> packets;
  std::vector<Message> messages;
  for (const Event& event : direction.events) {
    if (!event.is_request || event.packet->is_copy) continue;
    if (is_datagram) {
      // Their PSNs mean nothing, not even an order.
      Assembler one(direction);
      one.add(event.psn, *event.packet);
      messages.push_back(std::move(one.messages().back()));
    } else {
      packets.try_emplace(event.psn, event.packet);
    }
  }
  if (is_datagram) return messages;
  Assembler assembler(direction);
  for (const auto& [at, packet] : packets) assembler.add(at, *packet);
  if (const auto frame = assembler.finish()) {
    notes.push_back(fmt::format("the message of frame {} is not finished in the capture", *frame));
  }
  return std::move(assembler.messages());
}

std::optional<std::size_t> find_message(const std::vector<Message>& messages, ExtendedPsn psn) {
  const auto behind =
      std::upper_bound(messages.begin(), messages.end(), psn,
                       [](ExtendedPsn at, const Message& message) { return at < message.first; });
  if (behind == messages.begin()) return std::nullopt;
  const auto index = static_cast<std::size_t>(behind - messages.begin()) - 1;
  return psn < messages[index].end() ? std::optional(index) : std::nullopt;
}

}  // namespace urnic::replay
