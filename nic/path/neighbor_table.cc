// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/neighbor_table.h"

#include <cassert>
#include <cstring>

namespace urnic::nic {

using transport::wire::Gid;

NeighborTable::NeighborTable() : entries_(kCapacity) {
  buckets_.fill(kEnd);
}

std::size_t NeighborTable::bucket_of(const Gid& address) {
  std::uint64_t halves[2];
  static_assert(sizeof halves == Gid::kBytes);
  std::memcpy(halves, address.octets.data(), sizeof halves);
  // Any odd constants will do; these are the golden ratio and the square root of two.
  const std::uint64_t mixed = halves[0] * 0x9e3779b97f4a7c15u + halves[1] * 0x6a09e667f3bcc909u;
  return static_cast<std::size_t>(mixed >> 32) % kBuckets;
}

Neighbor* NeighborTable::find(const Gid& address) {
  for (Index index = buckets_[bucket_of(address)]; index != kEnd; index = entries_[index].next) {
    if (entries_[index].address == address) return &entries_[index];
  }
  return nullptr;
}

Neighbor* NeighborTable::add(const Gid& address) {
  assert(find(address) == nullptr);
  Neighbor* entry = nullptr;
  if (used_ < kCapacity) {
    entry = &entries_[used_++];
  } else {
    entry = least_recently_used();
    if (entry == nullptr) return nullptr;
    unlink(*entry);
  }
  Index& bucket = buckets_[bucket_of(address)];
  *entry = Neighbor{.address = address, .mac = {}, .next = bucket};
  bucket = index_of(*entry);
  return entry;
}

Neighbor* NeighborTable::least_recently_used() {
  Neighbor* oldest = nullptr;
  for (Neighbor& entry : entries_) {
    if (!entry.asking && !entry.request_queued && (oldest == nullptr || entry.used_at < oldest->used_at)) {
      oldest = &entry;
    }
  }
  return oldest;
}

void NeighborTable::unlink(const Neighbor& entry) {
  Index* link = &buckets_[bucket_of(entry.address)];
  while (*link != index_of(entry)) link = &entries_[*link].next;
  *link = entry.next;
}

}  // namespace urnic::nic
