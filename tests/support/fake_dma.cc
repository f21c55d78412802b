// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/fake_dma.h"

#include <algorithm>
#include <cstring>

namespace urnic::transport::test {

void FakeDma::add_region(const Region& region) {
  regions_[region.key] = {.region = region, .memory = pattern(region.address, region.length)};
}

void FakeDma::add_sparse_region(const Region& region) {
  regions_[region.key] = {.region = region, .memory = std::nullopt};
}

Bytes FakeDma::read(std::uint32_t key, std::uint64_t address, std::size_t size) const {
  const Entry& entry = regions_.at(key);
  return slice(entry.memory.value(), address - entry.region.address, size);
}

void FakeDma::write(std::uint32_t key, std::uint64_t address, const Bytes& bytes) {
  Entry& entry = regions_.at(key);
  std::copy(bytes.begin(), bytes.end(), entry.memory.value().data() + (address - entry.region.address));
}

bool FakeDma::is_untouched(std::uint32_t key) const {
  const Entry& entry = regions_.at(key);
  return entry.memory == pattern(entry.region.address, entry.region.length);
}

DmaStatus FakeDma::read_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<std::byte> to,
                              wire::TailCrc* tail) {
  return copy_out(pd, Access::kNone, {DmaCall::Kind::kReadLocal, to_integer(lkey), address, to.size()}, to,
                  tail);
}

DmaStatus FakeDma::write_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<const std::byte> from) {
  return copy_in(pd, Access::kLocalWrite,
                 {DmaCall::Kind::kWriteLocal, to_integer(lkey), address, from.size()}, from);
}

DmaStatus FakeDma::check_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                std::uint64_t length, Access access) {
  return check(user.pd, access, {DmaCall::Kind::kCheckRemote, to_integer(rkey), address, length});
}

DmaStatus FakeDma::read_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                               std::span<std::byte> to, wire::TailCrc* tail) {
  return copy_out(user.pd, Access::kRemoteRead,
                  {DmaCall::Kind::kReadRemote, to_integer(rkey), address, to.size()}, to, tail);
}

DmaStatus FakeDma::write_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                std::span<const std::byte> from) {
  return copy_in(user.pd, Access::kRemoteWrite,
                 {DmaCall::Kind::kWriteRemote, to_integer(rkey), address, from.size()}, from);
}

template <typename Change>
DmaStatus FakeDma::change_number(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                 std::uint64_t& original, Change change) {
  const DmaCall call{DmaCall::Kind::kAtomic, to_integer(rkey), address, sizeof original};
  if (const DmaStatus status = check(user.pd, Access::kRemoteAtomic, call); status != DmaStatus::kOk) {
    return status;
  }
  Entry& entry = regions_.at(call.key);
  std::byte* const place = entry.memory.value().data() + (address - entry.region.address);
  std::memcpy(&original, place, sizeof original);
  const std::uint64_t changed = change(original);
  std::memcpy(place, &changed, sizeof changed);
  return DmaStatus::kOk;
}

DmaStatus FakeDma::compare_swap(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                std::uint64_t compare, std::uint64_t swap, std::uint64_t& original) {
  return change_number(user, rkey, address, original,
                       [&](std::uint64_t now) { return now == compare ? swap : now; });
}

DmaStatus FakeDma::fetch_add(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t add,
                             std::uint64_t& original) {
  return change_number(user, rkey, address, original, [&](std::uint64_t now) { return now + add; });
}

DmaStatus FakeDma::write_remote_atomically(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                           std::span<const std::byte, 8> from) {
  return write_remote(user, rkey, address, from);
}

DmaStatus FakeDma::flush(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t length,
                         FlushScope scope, Access access) {
  const bool is_whole = scope == FlushScope::kRegion && regions_.contains(to_integer(rkey));
  const std::uint64_t first = is_whole ? regions_.at(to_integer(rkey)).region.address : address;
  return check(user.pd, access, {DmaCall::Kind::kFlush, to_integer(rkey), first, is_whole ? 0 : length});
}

DmaStatus FakeDma::invalidate(const MemoryUser&, Rkey rkey) {
  calls_.push_back({DmaCall::Kind::kInvalidate, to_integer(rkey), 0, 0});
  if (invalidatable_.erase(to_integer(rkey)) == 0) return DmaStatus::kNoAccess;
  regions_.erase(to_integer(rkey));
  return DmaStatus::kOk;
}

DmaStatus FakeDma::bind_window(const MemoryUser&, const WindowBinding& binding) {
  calls_.push_back({DmaCall::Kind::kBindWindow, to_integer(binding.window), binding.address, binding.length});
  bindings_.push_back(binding);
  return bind_status_;
}

DmaStatus FakeDma::check(PdId pd, Access needed, const DmaCall& call) {
  last_call_ = call;
  const auto found = regions_.find(call.key);
  if (found == regions_.end() || found->second.memory) calls_.push_back(call);
  if (calls_to_failure_ > 0 && --calls_to_failure_ == 0) return DmaStatus::kInvalidKey;
  if (found == regions_.end()) return DmaStatus::kInvalidKey;
  const Region& region = found->second.region;
  if (region.pd != pd) return DmaStatus::kWrongPd;
  const bool is_inside = call.address >= region.address && call.length <= region.length &&
                         call.address - region.address <= region.length - call.length;
  if (!is_inside) return DmaStatus::kOutOfBounds;
  return allows(region.access, needed) ? DmaStatus::kOk : DmaStatus::kNoAccess;
}

DmaStatus FakeDma::copy_out(PdId pd, Access needed, const DmaCall& call, std::span<std::byte> to,
                            wire::TailCrc* tail) {
  const DmaStatus status = check(pd, needed, call);
  if (status != DmaStatus::kOk) return status;
  const Entry& entry = regions_.at(call.key);
  if (entry.memory) {
    std::copy_n(entry.memory->data() + (call.address - entry.region.address), to.size(), to.data());
  } else {
    std::memcpy(to.data(), &call.address, std::min(to.size(), sizeof call.address));
  }
  if (tail != nullptr) wire::extend(*tail, to);
  return status;
}

DmaStatus FakeDma::copy_in(PdId pd, Access needed, const DmaCall& call, std::span<const std::byte> from) {
  const DmaStatus status = check(pd, needed, call);
  if (status != DmaStatus::kOk) return status;
  Entry& entry = regions_.at(call.key);
  if (entry.memory) {
    std::copy(from.begin(), from.end(), entry.memory->data() + (call.address - entry.region.address));
  }
  return status;
}

}  // namespace urnic::transport::test
