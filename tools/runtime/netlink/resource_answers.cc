// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is answered about resources.
#include <algorithm>
#include <cerrno>

#include "tools/runtime/netlink/conversation.h"

namespace urnic::netlink {
void Conversation::summarize(const Device& device) {
  AttributeWriter table;
  for (const ResourceKind& kind : resource_kinds()) {
    AttributeWriter entry;
    entry.text(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, kind.name);
    entry.u64(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, resources_of(kind, device.name, processes()).size());
    table.nested(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY, entry);
  }
  AttributeWriter attributes = handle_of(device);
  attributes.nested(RDMA_NLDEV_ATTR_RES_SUMMARY, table);
  say(attributes);
}

std::optional<Failure> Conversation::summary_get() {
  const Device* const device = named_device();
  if (device == nullptr) return Failure{EINVAL};
  summarize(*device);
  return std::nullopt;
}

std::optional<Failure> Conversation::summary_dump() {
  for (const Device& device : devices()) summarize(device);
  return std::nullopt;
}

/// By number, which two processes may use: the first one's is meant then.
std::optional<Failure> Conversation::resource_get() {
  const ResourceKind& kind = resource_kind_of(command());
  const auto number = attributes_.u32(kind.number);
  const auto port = attributes_.u32(RDMA_NLDEV_ATTR_PORT_INDEX);
  const Device* const device = port ? device_of_named_port() : named_device();
  if (device == nullptr || !number || kind.is_of_port != port.has_value()) return Failure{EINVAL};
  const auto resources = resources_of(kind, device->name, processes());
  const auto found = std::find_if(resources.begin(), resources.end(),
                                  [&](const Resource& one) { return one.number == *number; });
  if (found == resources.end()) return Failure{ENOENT};
  const Bytes handle = handle_of(*device).written();
  Bytes payload = handle;
  const Bytes& own = found->attributes.written();
  payload.insert(payload.end(), own.begin(), own.end());
  if (NLMSG_HDRLEN + payload.size() > Answerer::kMostAtOnce) return Failure{EMSGSIZE};
  answers_.push_back(message(head(0), payload));
  return std::nullopt;
}

std::optional<Failure> Conversation::resource_dump() {
  const Device* const device =
      attributes_.has(RDMA_NLDEV_ATTR_PORT_INDEX) ? device_of_named_port() : named_device();
  if (device == nullptr) return Failure{EINVAL};
  const ResourceKind& kind = resource_kind_of(command());
  return resources_in_parts(kind, *device, resources_of(kind, device->name, processes()));
}

/// As many messages as it takes, each with a table of its own.
std::optional<Failure> Conversation::resources_in_parts(const ResourceKind& kind, const Device& device,
                                                        const std::vector<Resource>& resources) {
  const AttributeWriter handle = handle_of(device);
  const std::size_t room =
      Answerer::kMostAtOnce - NLMSG_HDRLEN - handle.written().size() - attribute_bytes(0);
  AttributeWriter table;
  const auto say_table = [&] {
    if (table.written().empty()) return;
    AttributeWriter attributes = handle;
    attributes.nested(kind.table, table);
    say(attributes);
    table = {};
  };
  for (const Resource& one : resources) {
    const std::size_t size = attribute_bytes(one.attributes.written().size());
    if (size > room) return Failure{EMSGSIZE};
    if (table.written().size() + size > room) say_table();
    table.nested(kind.entry, one.attributes);
  }
  say_table();
  return std::nullopt;
}

}  // namespace urnic::netlink
