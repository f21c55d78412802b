// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/stat/snapshot_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "nic/diagnostics/snapshot_names.h"
#include "nic/rdma_cm/types.h"
#include "transport/enum_names.h"
#include "transport/qp_state.h"

namespace urnic::tools {

namespace {

using nlohmann::json;
namespace rdma_cm = nic::rdma_cm;
using transport::wire::Gid;
using transport::wire::Ipv4Address;

/// Fetches members of one object, and remembers the first that is not what it should be.
class Members {
 public:
  Members(const json& object, std::string& wrong) : object_(object), wrong_(wrong) {}

  const json* find(const char* name, json::value_t type) {
    const auto found = object_.find(name);
    if (found != object_.end() && found->type() == type) return &*found;
    return complain(name);
  }

  template <typename Integer>
  void number(const char* name, Integer& to, std::uint64_t most = std::numeric_limits<Integer>::max()) {
    const json* const value = find(name, json::value_t::number_unsigned);
    if (value == nullptr) return;
    const auto number = value->get<std::uint64_t>();
    if (number > most) {
      complain(name);
    } else {
      to = static_cast<Integer>(number);
    }
  }

  void text(const char* name, std::string& to) {
    if (const json* const value = find(name, json::value_t::string)) {
      to = value->get_ref<const std::string&>();
    }
  }

  void flag(const char* name, bool& to) {
    if (const json* const value = find(name, json::value_t::boolean)) to = value->get<bool>();
  }

  /// The name of a value.
  template <typename Enum>
  void word(const char* name, Enum& to) {
    std::string text_of_it;
    text(name, text_of_it);
    if (const auto found = transport::find_named<Enum>(text_of_it)) {
      to = *found;
    } else {
      complain(name);
    }
  }

  void psn(const char* name, transport::Psn& to) {
    std::uint32_t value = 0;
    number(name, value, transport::Psn::kMask);
    to = transport::Psn(value);
  }

  bool has(const char* name) const { return object_.contains(name); }

  bool is_null(const char* name) const {
    const auto found = object_.find(name);
    return found != object_.end() && found->is_null();
  }

  std::nullptr_t complain(const char* name) {
    if (wrong_.empty()) wrong_ = name;
    return nullptr;
  }

 private:
  const json& object_;
  std::string& wrong_;
};

std::optional<Gid> parse_address(const json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (const auto ipv4 = Ipv4Address::parse(text)) return Gid::from_ipv4(*ipv4);
  return Gid::parse(text);
}

transport::congestion::ControllerState read_controller(const json& object, std::string& wrong) {
  Members members(object, wrong);
  transport::congestion::ControllerState state;
  members.word("controller", state.kind);
  if (!members.is_null("rate")) members.number("rate", state.allowance.rate);
  members.number("target_rate", state.target_rate);
  members.number("alpha_ppm", state.alpha_ppm);
  if (!members.is_null("window_bytes")) members.number("window_bytes", state.allowance.window_bytes);
  return state;
}

nic::QueuePairSnapshot read_queue_pair(const json& object, std::string& wrong) {
  Members members(object, wrong);
  nic::QueuePairSnapshot qp;
  std::uint32_t number = 0;
  members.number("number", number, transport::Psn::kMask);
  qp.number = transport::QpNumber{number};
  members.word("type", qp.type);
  members.word("state", qp.state);
  if (!members.is_null("peer_qp")) {
    std::uint32_t peer = 0;
    members.number("peer_qp", peer, transport::Psn::kMask);
    qp.peer_qp = transport::QpNumber{peer};
    const json* const text = members.find("peer_address", json::value_t::string);
    const auto address = text != nullptr ? parse_address(*text) : std::nullopt;
    if (!address) members.complain("peer_address");
    qp.peer = address.value_or(Gid{});
  }
  members.psn("send_psn", qp.send_psn);
  members.psn("receive_psn", qp.receive_psn);
  members.number("msn", qp.msn);
  members.number("path_mtu", qp.path_mtu);
  members.number("sends_posted", qp.sends_posted);
  members.number("receives_posted", qp.receives_posted);
  members.number("packets_in_flight", qp.progress.packets_in_flight);
  members.number("reads_in_flight", qp.progress.reads_in_flight);
  members.flag("waits_for_receiver", qp.progress.waits_for_receiver);
  members.number("retries_used", qp.progress.retries_used);
  members.number("retry_count", qp.retry_count);
  members.number("rnr_retries_used", qp.progress.rnr_retries_used);
  members.number("rnr_retry", qp.rnr_retry);
  members.number("ack_timeout", qp.ack_timeout);
  members.number("retries", qp.progress.retries);
  members.number("rnr_waits", qp.progress.rnr_waits);
  // Programs whose urnic is older do not say it.
  if (members.has("congestion") && !members.is_null("congestion")) {
    if (const json* const state = members.find("congestion", json::value_t::object)) {
      qp.congestion = read_controller(*state, wrong);
    }
  }
  const auto optional_number = [&members](const char* name, std::optional<std::uint32_t>& to) {
    if (members.has(name) && !members.is_null(name)) members.number(name, to.emplace());
  };
  optional_number("protection_domain", qp.domain);
  optional_number("shared_receive_queue", qp.srq);
  return qp;
}

/// The objects of an array, each as `read` makes one of its members.
template <typename Object, typename Read>
void read_list(Members& members, const char* name, std::string& wrong, std::vector<Object>& to, Read read) {
  const json* const list = members.find(name, json::value_t::array);
  if (list == nullptr) return;
  to.reserve(list->size());
  for (const json& element : *list) {
    if (!element.is_object()) {
      members.complain(name);
      return;
    }
    Members of_element(element, wrong);
    read(of_element, to.emplace_back());
  }
}

nic::ProgramObjects read_objects(const json& object, std::string& wrong) {
  using nic::ProgramObjects;
  Members members(object, wrong);
  ProgramObjects objects;
  if (const json* const contexts = members.find("contexts", json::value_t::array)) {
    for (const json& number : *contexts) {
      const bool fits = number.is_number_unsigned() &&
                        number.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
      if (!fits) {
        members.complain("contexts");
        break;
      }
      objects.contexts.push_back(number.get<std::uint32_t>());
    }
  }
  read_list(members, "protection_domains", wrong, objects.protection_domains,
            [](Members& of, ProgramObjects::ProtectionDomain& to) {
              of.number("number", to.number);
              of.number("context", to.context);
              of.number("users", to.users);
            });
  read_list(members, "completion_queues", wrong, objects.completion_queues,
            [](Members& of, ProgramObjects::CompletionQueue& to) {
              of.number("number", to.number);
              of.number("context", to.context);
              of.number("capacity", to.capacity);
              of.number("users", to.users);
            });
  read_list(members, "shared_receive_queues", wrong, objects.shared_receive_queues,
            [](Members& of, ProgramObjects::SharedReceiveQueue& to) {
              of.number("number", to.number);
              of.number("protection_domain", to.domain);
              if (!of.is_null("completion_queue")) {
                of.number("completion_queue", to.completion_queue.emplace());
              }
            });
  read_list(members, "memory_regions", wrong, objects.memory_regions,
            [](Members& of, ProgramObjects::MemoryRegion& to) {
              of.number("key", to.key);
              of.number("address", to.address);
              of.number("length", to.length);
              of.number("protection_domain", to.domain);
            });
  return objects;
}

/// The family follows from the address; both members are null without one.
rdma_cm::SocketAddress read_socket_address(Members& members, const char* address, const char* port) {
  rdma_cm::SocketAddress to;
  if (members.is_null(address)) return to;
  const json* const text = members.find(address, json::value_t::string);
  const auto parsed = text != nullptr ? parse_address(*text) : std::nullopt;
  if (!parsed) members.complain(address);
  to.address = parsed.value_or(Gid{});
  using Family = rdma_cm::SocketAddress::Family;
  to.family = to.address.is_ipv4_mapped() ? Family::kIpv4 : Family::kIpv6;
  members.number(port, to.port);
  return to;
}

rdma_cm::IdSnapshot read_id(const json& object, std::string& wrong) {
  Members members(object, wrong);
  rdma_cm::IdSnapshot id;
  const auto qp = [&members](const char* name, transport::QpNumber& to) {
    if (members.is_null(name)) return;
    std::uint32_t number = 0;
    members.number(name, number, transport::Psn::kMask);
    to = transport::QpNumber{number};
  };
  std::uint32_t number = 0;
  members.number("number", number, rdma_cm::kMaxIds);
  id.number = rdma_cm::IdNumber{number};
  members.word("service", id.service);
  std::string space;
  members.text("port_space", space);
  const auto* const known = std::find_if(std::begin(rdma_cm::kPortSpaces), std::end(rdma_cm::kPortSpaces),
                                         [&space](auto one) { return name_of(one) == space; });
  if (known != std::end(rdma_cm::kPortSpaces)) {
    id.space = *known;
  } else {
    members.complain("port_space");
  }
  members.word("state", id.state);
  if (!members.is_null("connection_state")) members.word("connection_state", id.connection_state.emplace());
  id.local = read_socket_address(members, "local_address", "local_port");
  id.peer = read_socket_address(members, "peer_address", "peer_port");
  qp("qp", id.qp);
  qp("peer_qp", id.peer_qp);
  if (!members.is_null("backlog_left")) members.number("backlog_left", id.backlog);
  return id;
}

void read_arrays(Members& members, nic::DeviceSnapshot& snapshot, std::string& wrong) {
  if (const json* const addresses = members.find("addresses", json::value_t::array)) {
    for (const json& text : *addresses) {
      const auto gid = parse_address(text);
      if (!gid) members.complain("addresses");
      snapshot.gids.push_back(gid.value_or(Gid{}));
    }
  }
  if (const json* const counters = members.find("counters", json::value_t::object)) {
    for (const auto& [name, value] : counters->items()) {
      if (!value.is_number_unsigned()) {
        members.complain("counters");
        break;
      }
      snapshot.counters.emplace_back(name, value.get<std::uint64_t>());
    }
  }
  if (const json* const queue_pairs = members.find("queue_pairs", json::value_t::array)) {
    for (const json& qp : *queue_pairs) {
      if (!qp.is_object()) {
        members.complain("queue_pairs");
        break;
      }
      snapshot.queue_pairs.push_back(read_queue_pair(qp, wrong));
    }
  }
  // Programs that run with an older urnic have no objects, or no ids either.
  if (members.has("objects")) {
    if (const json* const objects = members.find("objects", json::value_t::object)) {
      snapshot.objects = read_objects(*objects, wrong);
    }
  }
  if (!members.has("rdma_cm_ids")) return;
  if (const json* const ids = members.find("rdma_cm_ids", json::value_t::array)) {
    for (const json& id : *ids) {
      if (!id.is_object()) {
        members.complain("rdma_cm_ids");
        break;
      }
      snapshot.ids.push_back(read_id(id, wrong));
    }
  }
}

Error no_snapshot(std::string why) {
  return {.code = EPROTO, .message = std::move(why)};
}

}  // namespace

Result<nic::DeviceSnapshot, Error> read_snapshot(std::string_view text) {
  const json all = json::parse(text, nullptr, false);
  if (text.empty()) return failure(no_snapshot("it says nothing"));
  if (!all.is_object()) return failure(no_snapshot("what it says is no snapshot of a NIC"));

  std::string wrong;
  Members members(all, wrong);
  std::int64_t version = 0;
  members.number("version", version);
  if (!wrong.empty()) return failure(no_snapshot("what it says is no snapshot of a NIC"));
  if (version != nic::kSnapshotVersion) {
    return failure(no_snapshot(fmt::format("its snapshots are of version {}, and this urnic reads version {}",
                                           version, nic::kSnapshotVersion)));
  }
  nic::DeviceSnapshot snapshot;
  members.text("program", snapshot.program);
  members.number("pid", snapshot.pid);
  members.text("device", snapshot.device);
  members.text("port", snapshot.port);
  members.flag("port_is_open", snapshot.is_started);
  members.flag("has_link", snapshot.has_link);
  members.text("mac", snapshot.mac);
  members.number("link_mtu", snapshot.link_mtu);
  members.number("uptime_ns", snapshot.uptime_ns);
  members.number("completion_queues", snapshot.completion_queues);
  members.number("shared_receive_queues", snapshot.shared_receive_queues);
  members.number("memory_regions", snapshot.memory_regions);
  members.number("memory_windows", snapshot.memory_windows);
  read_arrays(members, snapshot, wrong);
  if (!wrong.empty()) return failure(no_snapshot(fmt::format("its snapshot has no good '{}'", wrong)));
  return snapshot;
}

}  // namespace urnic::tools
