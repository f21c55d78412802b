// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/adversary/placement.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "nic/adversary/adversary.h"
#include "transport/types.h"

namespace urnic::nic {

using transport::Access;
using transport::DmaStatus;
using transport::Lkey;
using transport::MemoryUser;
using transport::PdId;
using transport::Rkey;
using transport::Time;
using transport::to_integer;
using transport::wire::TailCrc;
using namespace std::chrono_literals;

namespace {

/// A cache line, in which processors and buses move memory.
constexpr std::size_t kPieceBytes = 64;
/// A message of which more is held back is placed, and goes on.
constexpr std::size_t kMostKeptBytes = 256 * 1024;

constexpr std::uint32_t kOneLateMessageIn = 4;
constexpr std::uint32_t kOneReversedMessageIn = 2;
constexpr std::uint32_t kOneSlowReadIn = 8;
constexpr transport::Duration kLongestDelay = 300us;
/// Under the engine lock.
constexpr transport::Duration kLongestSpin = 20us;

}  // namespace

Placement::~Placement() {
  settle();
}

void Placement::begin_packet(bool begins_message, bool may_wait, Time now) {
  now_ = now;
  may_wait_ = may_wait;
  if (!begins_message) return;
  settle();
  ++message_;
  is_late_ = adversary_.strikes(Behavior::kLatePlacement, queue_pair_, message_, kOneLateMessageIn);
  is_last_first_ =
      adversary_.strikes(Behavior::kLastBytesFirst, queue_pair_, message_, kOneReversedMessageIn);
}

/// Where it is in the process, if the write would succeed now, and later as well while nothing changes; null
/// otherwise, also of windows and of memory that comes and goes: those are written at once.
const std::byte* Placement::find_lasting(const Target& target, std::size_t size) {
  const DmaStatus status =
      target.is_local
          ? memory_.check_local(target.user.pd, Lkey{target.key}, target.address, size, Access::kLocalWrite)
          : memory_.check_remote(target.user, Rkey{target.key}, target.address, size, Access::kRemoteWrite);
  if (status != DmaStatus::kOk) return nullptr;
  const MemoryRegion* const region =
      memory_.find(target.is_local ? target.key : memory_.key_of(Rkey{target.key}));
  if (region == nullptr || region->backing != Backing::kMapped) return nullptr;
  return region->memory + (target.address - region->address);
}

bool Placement::is_about_to_write(std::span<const std::byte> memory) const {
  return std::any_of(chunks_.begin(), chunks_.end(), [memory](const Chunk& chunk) {
    const std::less<> is_before;
    return is_before(chunk.memory, memory.data() + memory.size()) &&
           is_before(memory.data(), chunk.memory + chunk.size);
  });
}

// Of two WRITEs to one place the one that came last stays, by whatever queue pairs they came.
DmaStatus Placement::write(const Target& target, std::span<const std::byte> from) {
  if (from.empty()) return write_now(target, from);
  const std::byte* const memory = find_lasting(target, from.size());
  if (memory == nullptr) {
    adversary_.settle_all();
    return write_now(target, from);
  }
  adversary_.settle_others(*this, {memory, from.size()});
  if (!is_late_ || !may_wait_) return place(target, from);
  keep(target, memory, from);
  return DmaStatus::kOk;
}

DmaStatus Placement::write_now(const Target& target, std::span<const std::byte> from) {
  if (target.is_local) return memory_.write_local(target.user.pd, Lkey{target.key}, target.address, from);
  return memory_.write_remote(target.user, Rkey{target.key}, target.address, from);
}

/// In pieces, if that was drawn for this message: the last one, a pause, and then the others from the end.
DmaStatus Placement::place(const Target& target, std::span<const std::byte> from) {
  if (!is_last_first_ || from.size() <= kPieceBytes) return write_now(target, from);
  for (std::size_t end = from.size(); end > 0;) {
    const std::size_t in_line = (target.address + end) % kPieceBytes;
    const std::size_t size = std::min(end, in_line == 0 ? kPieceBytes : in_line);
    Target piece = target;
    piece.address += end - size;
    const DmaStatus status = write_now(piece, from.subspan(end - size, size));
    if (status != DmaStatus::kOk) return status;
    if (end == from.size()) {
      const auto pause = adversary_.pause(Behavior::kLastBytesFirst, queue_pair_, message_, kLongestSpin);
      adversary_.note(Behavior::kLastBytesFirst, "queue pair", queue_pair_, "message", message_, pause);
      spin(pause);
    }
    end -= size;
  }
  return DmaStatus::kOk;
}

void Placement::keep(const Target& target, const std::byte* memory, std::span<const std::byte> from) {
  if (chunks_.empty()) {
    adversary_.add_pending(*this);
    const auto pause = adversary_.pause(Behavior::kLatePlacement, queue_pair_, message_, kLongestDelay);
    adversary_.note(Behavior::kLatePlacement, "queue pair", queue_pair_, "message", message_, pause);
    due_ = now_ + pause;
  }
  chunks_.push_back({.target = target, .memory = memory, .begin = bytes_.size(), .size = from.size()});
  bytes_.insert(bytes_.end(), from.begin(), from.end());
  if (bytes_.size() >= kMostKeptBytes) settle();
}

void Placement::settle() {
  if (chunks_.empty()) return;
  adversary_.remove_pending(*this);
  due_ = transport::kNever;
  for (std::size_t left = chunks_.size(); left > 0; --left) {
    const std::uint64_t drawn =
        spread(adversary_.number(Behavior::kLatePlacement, queue_pair_, message_) + left);
    std::swap(chunks_[drawn % left], chunks_[left - 1]);
    const Chunk& chunk = chunks_[left - 1];
    // It was checked when it came. What happened to the memory since is the program's doing.
    static_cast<void>(place(chunk.target, std::span(bytes_).subspan(chunk.begin, chunk.size)));
  }
  chunks_.clear();
  bytes_.clear();
}

DmaStatus Placement::write_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<const std::byte> from) {
  return write({.is_local = true, .user = {.pd = pd}, .key = to_integer(lkey), .address = address}, from);
}

DmaStatus Placement::write_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                  std::span<const std::byte> from) {
  return write({.user = user, .key = to_integer(rkey), .address = address}, from);
}

DmaStatus Placement::read_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<std::byte> to,
                                TailCrc* tail) {
  return memory_.read_local(pd, lkey, address, to, tail);
}

DmaStatus Placement::check_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                  std::uint64_t length, Access access) {
  return memory_.check_remote(user, rkey, address, length, access);
}

// What reads memory for a peer, or says that it is written, finds everything there that came before.

DmaStatus Placement::read_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                 std::span<std::byte> to, TailCrc* tail) {
  adversary_.settle_all();
  ++reads_;
  if (adversary_.strikes(Behavior::kSlowRead, queue_pair_, reads_, kOneSlowReadIn)) {
    const auto pause = adversary_.pause(Behavior::kSlowRead, queue_pair_, reads_, kLongestSpin);
    adversary_.note(Behavior::kSlowRead, "queue pair", queue_pair_, "response", reads_, pause);
    spin(pause);
  }
  return memory_.read_remote(user, rkey, address, to, tail);
}

DmaStatus Placement::compare_swap(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                  std::uint64_t compare, std::uint64_t swap, std::uint64_t& original) {
  adversary_.settle_all();
  return memory_.compare_swap(user, rkey, address, compare, swap, original);
}

DmaStatus Placement::fetch_add(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t add,
                               std::uint64_t& original) {
  adversary_.settle_all();
  return memory_.fetch_add(user, rkey, address, add, original);
}

DmaStatus Placement::write_remote_atomically(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                             std::span<const std::byte, 8> from) {
  adversary_.settle_all();
  return memory_.write_remote_atomically(user, rkey, address, from);
}

DmaStatus Placement::flush(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t length,
                           transport::FlushScope scope, Access access) {
  adversary_.settle_all();
  return memory_.flush(user, rkey, address, length, scope, access);
}

DmaStatus Placement::invalidate(const MemoryUser& user, Rkey rkey) {
  adversary_.settle_all();
  return memory_.invalidate(user, rkey);
}

DmaStatus Placement::bind_window(const MemoryUser& user, const transport::WindowBinding& binding) {
  adversary_.settle_all();
  return memory_.bind_window(user, binding);
}

}  // namespace urnic::nic
