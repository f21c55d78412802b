// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The GID table in its five forms. An empty index is no error to programs that walk the table, and ENODATA to
// programs that ask for an entry.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "nic/path/gid_table.h"
#include "verbs_api/abi/gid_type.h"
#include "verbs_api/device/address.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/fault/call_faults.h"

namespace urnic::verbs_api {
namespace {

using transport::wire::Encapsulation;

bool is_index(const nic::GidTable& gids, std::uint32_t port, std::int64_t index) {
  return port == kPort && index >= 0 && index < static_cast<std::int64_t>(gids.size());
}

/// Writes one entry of the caller's idea of its size. `found` is what the table has at that index.
void write_entry(void* to, std::size_t size, const nic::GidTable& gids, std::uint32_t index,
                 const nic::GidEntry& found) {
  const bool is_v1 = found.encapsulation == Encapsulation::kRoceV1;
  const ibv_gid_entry entry{
      .gid = to_ibv_gid(found.gid),
      .gid_index = index,
      .port_num = kPort,
      .gid_type = is_v1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2,
      .ndev_ifindex = gids.interface_index_at(index),  // 0: the host has no interface for it
  };
  std::memset(to, 0, size);
  std::memcpy(to, &entry, std::min(size, sizeof(entry)));
}

/// What ibv_query_gid_ex returns, with errno set as well.
int query_entry(ibv_context* context, std::uint32_t port, std::uint32_t index, void* entry,
                std::uint32_t flags, std::size_t entry_size) {
  const Context& owner = Context::of(context);
  if (owner.is_closed()) return refuse(owner.dead_error());
  if (flags != 0) return refuse(EOPNOTSUPP);
  const nic::GidTable& gids = owner.nic().gids();
  if (!is_index(gids, port, index) || entry_size < sizeof(ibv_gid)) return refuse(EINVAL);
  const auto found = gids.entry_at(index);
  if (!found) return refuse(ENODATA);
  write_entry(entry, entry_size, gids, index, *found);
  return 0;
}

}  // namespace
}  // namespace urnic::verbs_api

using urnic::nic::GidTable;
using urnic::verbs_api::Context;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::is_index;
using urnic::verbs_api::query_entry;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" {

int ibv_query_gid(ibv_context* context, uint8_t port_num, int index, ibv_gid* gid) {
  if (const int error = injected_error(Verb::kQueryGid); error != 0) {
    errno = error;
    return -1;
  }
  const Context& owner = Context::of(context);
  if (owner.is_closed() || !is_index(owner.nic().gids(), port_num, index)) {
    errno = owner.is_closed() ? owner.dead_error() : EINVAL;
    return -1;
  }
  const auto entry = owner.nic().gids().at(static_cast<std::size_t>(index));
  *gid = entry ? urnic::verbs_api::to_ibv_gid(*entry) : ibv_gid{};
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context, uint32_t port_num, uint32_t gid_index, ibv_gid_entry* entry,
                      uint32_t flags, size_t entry_size) {
  if (const int error = injected_error(Verb::kQueryGidEx); error != 0) return refuse(error);
  return query_entry(context, port_num, gid_index, entry, flags, entry_size);
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t max_entries, uint32_t flags,
                             size_t entry_size) {
  if (const int error = injected_error(Verb::kQueryGidTable); error != 0) return -refuse(error);
  const Context& owner = Context::of(context);
  if (owner.is_closed()) return -refuse(owner.dead_error());
  if (flags != 0) return -refuse(EOPNOTSUPP);
  if (entry_size < sizeof(ibv_gid)) return -refuse(EINVAL);
  auto* const rows = reinterpret_cast<std::byte*>(entries);
  std::size_t count = 0;
  const GidTable& gids = owner.nic().gids();
  for (std::uint32_t index = 0; index < gids.size(); ++index) {
    const auto found = gids.entry_at(index);
    if (!found) continue;
    if (count == max_entries) return -refuse(EINVAL);
    urnic::verbs_api::write_entry(rows + count * entry_size, entry_size, gids, index, *found);
    ++count;
  }
  return static_cast<ssize_t>(count);
}

int ibv_query_gid_type(ibv_context* context, uint8_t port_num, unsigned int index, ibv_gid_type_sysfs* type) {
  ibv_gid_entry entry{};
  const int error = query_entry(context, port_num, index, &entry, 0, sizeof(entry));
  if (error != 0 && error != ENODATA) return -1;
  const bool is_v2 = error == 0 && entry.gid_type == IBV_GID_TYPE_ROCE_V2;
  *type = is_v2 ? IBV_GID_TYPE_SYSFS_ROCE_V2 : IBV_GID_TYPE_SYSFS_IB_ROCE_V1;
  return 0;
}

}  // extern "C"
