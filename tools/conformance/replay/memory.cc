// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/memory.h"

#include <algorithm>
#include <cstring>

namespace urnic::replay {

using transport::Access;
using transport::DmaStatus;
using transport::Lkey;
using transport::PdId;
using transport::Rkey;
using transport::to_integer;

namespace {

/// Writes into the block that `address` lies in, which grows as it must.
void write_block(std::map<std::size_t, std::vector<std::byte>>& blocks, std::uint64_t room,
                 std::uint64_t address, std::span<const std::byte> from) {
  std::vector<std::byte>& block = blocks[static_cast<std::size_t>(address / room)];
  const auto offset = static_cast<std::size_t>(address % room);
  block.resize(std::max(block.size(), offset + from.size()));
  std::copy(from.begin(), from.end(), block.begin() + static_cast<std::ptrdiff_t>(offset));
}

std::span<const std::byte> find_block(const std::map<std::size_t, std::vector<std::byte>>& blocks,
                                      std::size_t index) {
  const auto found = blocks.find(index);
  return found == blocks.end() ? std::span<const std::byte>() : found->second;
}

}  // namespace

DmaStatus NoMemory::read_local(PdId, Lkey, std::uint64_t, std::span<std::byte>, transport::wire::TailCrc*) {
  return Status::kInvalidKey;
}
DmaStatus NoMemory::write_local(PdId, Lkey, std::uint64_t, std::span<const std::byte>) {
  return Status::kInvalidKey;
}
DmaStatus NoMemory::check_remote(const User&, Rkey, std::uint64_t, std::uint64_t, Access) {
  return Status::kInvalidKey;
}
DmaStatus NoMemory::read_remote(const User&, Rkey, std::uint64_t, std::span<std::byte>,
                                transport::wire::TailCrc*) {
  return Status::kInvalidKey;
}
DmaStatus NoMemory::write_remote(const User&, Rkey, std::uint64_t, std::span<const std::byte>) {
  return Status::kInvalidKey;
}
DmaStatus NoMemory::compare_swap(const User&, Rkey, std::uint64_t, std::uint64_t, std::uint64_t,
                                 std::uint64_t&) {
  return Status::kInvalidKey;
}
DmaStatus NoMemory::fetch_add(const User&, Rkey, std::uint64_t, std::uint64_t, std::uint64_t&) {
  return Status::kInvalidKey;
}
DmaStatus NoMemory::write_remote_atomically(const User&, Rkey, std::uint64_t, std::span<const std::byte, 8>) {
  return Status::kInvalidKey;
}
DmaStatus NoMemory::flush(const User&, Rkey, std::uint64_t, std::uint64_t, transport::FlushScope, Access) {
  return Status::kInvalidKey;
}
DmaStatus NoMemory::invalidate(const User&, Rkey) {
  return Status::kInvalidKey;
}
DmaStatus NoMemory::bind_window(const User&, const transport::WindowBinding&) {
  return Status::kInvalidKey;
}

DmaStatus RequesterMemory::read_local(PdId, Lkey, std::uint64_t address, std::span<std::byte> to,
                                      transport::wire::TailCrc*) {
  const auto index = static_cast<std::size_t>(address / kRoom);
  if (index >= messages_.size()) return Status::kOutOfBounds;
  const std::vector<std::byte>& payload = messages_[index].payload;
  const auto offset = std::min(static_cast<std::size_t>(address % kRoom), payload.size());
  const std::size_t known = std::min(to.size(), payload.size() - offset);
  std::copy_n(payload.begin() + static_cast<std::ptrdiff_t>(offset), known, to.begin());
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(known), to.end(), std::byte{0});
  return Status::kOk;
}

DmaStatus RequesterMemory::write_local(PdId, Lkey, std::uint64_t address, std::span<const std::byte> from) {
  write_block(fetched_, kRoom, address, from);
  return Status::kOk;
}

std::span<const std::byte> RequesterMemory::fetched(std::size_t index) const {
  return find_block(fetched_, index);
}

std::byte& ResponderMemory::at(std::uint32_t key, std::uint64_t address, Page*& page) {
  // Callers ask for neighboring bytes one after another.
  if (page == nullptr || address % kPageBytes == 0) page = &pages_[{key, address / kPageBytes}];
  return page->bytes[address % kPageBytes];
}

void ResponderMemory::learn(std::uint32_t key, std::uint64_t address, std::span<const std::byte> bytes,
                            Belief belief) {
  Page* page = nullptr;
  for (const std::byte byte : bytes) {
    std::byte& place = at(key, address, page);
    const std::uint64_t index = address++ % kPageBytes;
    const bool keeps = belief == Belief::kKeepKnown
                           ? page->is_known[index]
                           : belief == Belief::kKeepWritten && page->is_written[index];
    if (keeps) continue;
    place = byte;
    page->is_known.set(index);
  }
}

void ResponderMemory::write(std::uint32_t key, std::uint64_t address, std::span<const std::byte> from) {
  Page* page = nullptr;
  for (const std::byte byte : from) {
    at(key, address, page) = byte;
    page->is_known.set(address % kPageBytes);
    page->is_written.set(address % kPageBytes);
    ++address;
  }
}

void ResponderMemory::look(std::uint32_t key, std::uint64_t address, std::span<std::byte> to) const {
  auto page = pages_.end();
  bool is_new_page = true;
  for (std::byte& byte : to) {
    if (is_new_page || address % kPageBytes == 0) page = pages_.find({key, address / kPageBytes});
    is_new_page = false;
    byte = page == pages_.end() ? std::byte{0} : page->second.bytes[address % kPageBytes];
    ++address;
  }
}

std::span<const std::byte> ResponderMemory::received(std::size_t receive) const {
  return find_block(receives_, receive);
}

DmaStatus ResponderMemory::reach(Rkey rkey) const {
  return refuses_ || invalidated_.count(to_integer(rkey)) != 0 ? Status::kInvalidKey : Status::kOk;
}

DmaStatus ResponderMemory::write_local(PdId, Lkey, std::uint64_t address, std::span<const std::byte> from) {
  write_block(receives_, kRoom, address, from);
  return Status::kOk;
}

DmaStatus ResponderMemory::check_remote(const User&, Rkey rkey, std::uint64_t, std::uint64_t, Access) {
  return reach(rkey);
}

DmaStatus ResponderMemory::read_remote(const User&, Rkey rkey, std::uint64_t address, std::span<std::byte> to,
                                       transport::wire::TailCrc*) {
  if (reach(rkey) != Status::kOk) return reach(rkey);
  look(to_integer(rkey), address, to);
  return Status::kOk;
}

DmaStatus ResponderMemory::write_remote(const User&, Rkey rkey, std::uint64_t address,
                                        std::span<const std::byte> from) {
  if (reach(rkey) != Status::kOk) return reach(rkey);
  write(to_integer(rkey), address, from);
  return Status::kOk;
}

// Numbers are in host order in memory (fact 55).
std::uint64_t ResponderMemory::number_at(std::uint32_t key, std::uint64_t address) const {
  std::array<std::byte, 8> bytes{};
  look(key, address, bytes);
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

void ResponderMemory::store_number(std::uint32_t key, std::uint64_t address, std::uint64_t number) {
  write(key, address, std::as_bytes(std::span(&number, 1)));
}

DmaStatus ResponderMemory::compare_swap(const User&, Rkey rkey, std::uint64_t address, std::uint64_t compare,
                                        std::uint64_t swap, std::uint64_t& original) {
  if (reach(rkey) != Status::kOk) return reach(rkey);
  original = number_at(to_integer(rkey), address);
  store_number(to_integer(rkey), address, original == compare ? swap : original);
  return Status::kOk;
}

DmaStatus ResponderMemory::fetch_add(const User&, Rkey rkey, std::uint64_t address, std::uint64_t add,
                                     std::uint64_t& original) {
  if (reach(rkey) != Status::kOk) return reach(rkey);
  original = number_at(to_integer(rkey), address);
  store_number(to_integer(rkey), address, original + add);
  return Status::kOk;
}

DmaStatus ResponderMemory::write_remote_atomically(const User& user, Rkey rkey, std::uint64_t address,
                                                   std::span<const std::byte, 8> from) {
  return write_remote(user, rkey, address, from);
}

DmaStatus ResponderMemory::flush(const User&, Rkey rkey, std::uint64_t, std::uint64_t, transport::FlushScope,
                                 Access) {
  return reach(rkey);
}

// A window that was taken back; its key fits nothing any more.
DmaStatus ResponderMemory::invalidate(const User&, Rkey rkey) {
  if (reach(rkey) != Status::kOk) return reach(rkey);
  invalidated_.insert(to_integer(rkey));
  return Status::kOk;
}

}  // namespace urnic::replay
