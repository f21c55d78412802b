// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>

namespace urnic::network {
namespace {

constexpr std::uint64_t kMinRate = 1'000'000;
constexpr std::uint64_t kMaxRate = 10'000'000'000'000;
constexpr Duration kMaxDelay = std::chrono::seconds(1);
constexpr Duration kMaxOutageTime = std::chrono::hours(24);
constexpr Duration kMaxWatchdog = std::chrono::seconds(60);
constexpr std::uint64_t kMaxBuffer = std::uint64_t{1} << 36;
constexpr unsigned kMaxWeight = 255;
constexpr double kMaxAlpha = 64;
constexpr std::size_t kMaxNameLength = 63;

template <typename... Arguments>
Error misfit(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error{.code = EINVAL, .message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

bool is_name(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !text.empty() && text.size() <= kMaxNameLength &&
         text.find_first_not_of(kLetters) == std::string_view::npos;
}

Result<void, Error> check_name(std::string_view where, std::size_t index, const std::string& name,
                               std::set<std::string_view>& taken) {
  if (!is_name(name)) {
    return misfit("{}[{}].name: a name has 1 to {} letters, digits, '_', '.' and '-'", where, index,
                  kMaxNameLength);
  }
  if (!taken.insert(name).second) {
    return misfit("{}[{}].name: '{}' is taken; hosts and switches, or profiles, have names of their own",
                  where, index, name);
  }
  return success();
}

Result<void, Error> check_counts(const Topology& topology) {
  struct Count {
    std::string_view what;
    std::size_t is, least, most;
  };
  for (const Count& count : std::initializer_list<Count>{
           {"hosts", topology.hosts.size(), 2, Topology::kMaxHosts},
           {"switches", topology.switches.size(), 0, Topology::kMaxSwitches},
           {"links", topology.links.size(), 1, Topology::kMaxLinks},
           {"profiles", topology.profiles.size(), 0, Topology::kMaxProfiles},
       }) {
    if (count.is < count.least || count.is > count.most) {
      return misfit("{}: there are {} of them; {} to {} are possible", count.what, count.is, count.least,
                    count.most);
    }
  }
  return success();
}

Result<void, Error> check_marking(const std::string& where, const Marking& marking, bool is_lossless) {
  if (marking.kmin_bytes > marking.kmax_bytes) {
    return misfit("{}.ecn: kmin ({}) is more than kmax ({})", where, marking.kmin_bytes, marking.kmax_bytes);
  }
  if (!(marking.pmax >= 0 && marking.pmax <= 1)) {
    return misfit("{}.ecn.pmax: a probability is 0 to 1, not {}", where, marking.pmax);
  }
  if (is_lossless && marking.not_ect == Marking::NotEct::kDrop) {
    return misfit("{}.ecn.not_ect: a lossless priority drops nothing; write \"pass\"", where);
  }
  return success();
}

Result<void, Error> check_lossless(const std::string& where, const Lossless& lossless, std::uint64_t buffer) {
  if (!lossless.xoff_bytes && !(lossless.xoff_alpha > 0 && lossless.xoff_alpha <= kMaxAlpha)) {
    return misfit("{}.lossless.xoff_alpha: more than 0 and at most {}, not {}", where, kMaxAlpha,
                  lossless.xoff_alpha);
  }
  if (lossless.xoff_bytes && *lossless.xoff_bytes > buffer) {
    return misfit("{}.lossless.xoff: {} bytes are more than the buffer has ({})", where, *lossless.xoff_bytes,
                  buffer);
  }
  if (lossless.xoff_bytes && lossless.xon_offset_bytes > *lossless.xoff_bytes) {
    return misfit("{}.lossless.xon_offset: {} bytes are more than xoff ({}): there would be no XON", where,
                  lossless.xon_offset_bytes, *lossless.xoff_bytes);
  }
  if (lossless.watchdog < Duration(0) || lossless.watchdog > kMaxWatchdog) {
    return misfit("{}.lossless.watchdog: 0s to 60s", where);
  }
  if (lossless.watchdog_restore < Duration(0) || lossless.watchdog_restore > kMaxWatchdog) {
    return misfit("{}.lossless.watchdog_restore: 0s to 60s", where);
  }
  return success();
}

Result<void, Error> check_profile(std::size_t index, const Profile& profile) {
  if (profile.buffer_bytes == 0 || profile.buffer_bytes > kMaxBuffer) {
    return misfit("profiles[{}].buffer: 1B to 64GiB", index);
  }
  if (profile.pause_quanta == 0) {
    return misfit("profiles[{}].pause_quanta: 1 to 65535; 0 would be an XON", index);
  }
  for (std::size_t priority = 0; priority < kPriorities; ++priority) {
    const PriorityProfile& settings = profile.priorities[priority];
    const std::string where = fmt::format("profiles[{}].priorities.{}", index, priority);
    if (settings.limit_bytes == 0 || settings.limit_bytes > kMaxBuffer) {
      return misfit("{}.limit: 1B to 64GiB", where);
    }
    if (settings.weight > kMaxWeight) return misfit("{}.weight: 1 to {}, or \"strict\"", where, kMaxWeight);
    if (settings.marking) {
      auto checked = check_marking(where, *settings.marking, settings.lossless.has_value());
      if (!checked) return checked;
    }
    if (settings.lossless) {
      auto checked = check_lossless(where, *settings.lossless, profile.buffer_bytes);
      if (!checked) return checked;
    }
  }
  for (std::size_t dscp = 0; dscp < kDscps; ++dscp) {
    if (profile.dscp_to_priority[dscp] >= kPriorities) {
      return misfit("profiles[{}].dscp.{}: a priority is 0 to 7, not {}", index, dscp,
                    profile.dscp_to_priority[dscp]);
    }
  }
  return success();
}

bool exists(const Topology& topology, const Node& node) {
  return node.index < (node.kind == Node::Kind::kHost ? topology.hosts.size() : topology.switches.size());
}

Result<void, Error> check_outages(std::size_t index, const Link& link) {
  if (link.outages.size() > Topology::kMaxOutages) {
    return misfit("links[{}].down: at most {} times", index, Topology::kMaxOutages);
  }
  Duration free_from{0};
  for (std::size_t i = 0; i < link.outages.size(); ++i) {
    const Outage& outage = link.outages[i];
    const bool has_next = i + 1 < link.outages.size();
    if (outage.down < free_from) {
      return misfit("links[{}].down[{}]: it begins before the one before it has ended; write them in order",
                    index, i);
    }
    if (outage.up && *outage.up <= outage.down) {
      return misfit("links[{}].down[{}].until: it must be later than 'from'", index, i);
    }
    if (!outage.up && has_next) {
      return misfit("links[{}].down[{}]: without 'until' it never ends, and no other follows", index, i);
    }
    if (outage.down > kMaxOutageTime || (outage.up && *outage.up > kMaxOutageTime)) {
      return misfit("links[{}].down[{}]: times are at most {} seconds", index, i,
                    std::chrono::duration_cast<std::chrono::seconds>(kMaxOutageTime).count());
    }
    free_from = outage.up.value_or(Duration(0));
  }
  return success();
}

Result<void, Error> check_link(const Topology& topology, std::size_t index) {
  const Link& link = topology.links[index];
  for (const Node& end : link.ends) {
    if (!exists(topology, end)) return misfit("links[{}].ends: there is no such host or switch", index);
  }
  if (link.ends[0] == link.ends[1]) {
    return misfit("links[{}].ends: both are '{}'; a link joins two", index, topology.name_of(link.ends[0]));
  }
  if (link.rate_bps < kMinRate || link.rate_bps > kMaxRate) {
    return misfit("links[{}].rate: 1Mb/s to 10Tb/s, not {} bit/s", index, link.rate_bps);
  }
  if (link.delay < Duration(0) || link.delay > kMaxDelay) {
    return misfit("links[{}].delay: 0ns to 1s", index);
  }
  return check_outages(index, link);
}

/// One number for each node: hosts first.
std::size_t number_of(const Topology& topology, const Node& node) {
  return node.kind == Node::Kind::kHost ? node.index : topology.hosts.size() + node.index;
}

const std::string& name_of_number(const Topology& topology, std::size_t number) {
  const std::size_t hosts = topology.hosts.size();
  return number < hosts ? topology.hosts[number].name : topology.switches[number - hosts].name;
}

Result<void, Error> check_hosts(const Topology& topology) {
  for (std::size_t host = 0; host < topology.hosts.size(); ++host) {
    const std::uint64_t queue = topology.hosts[host].queue_bytes;
    if (queue == 0 || queue > kMaxBuffer) return misfit("hosts[{}].queue: 1B to 64GiB", host);
  }
  std::vector<std::size_t> links(topology.hosts.size());
  for (const Link& link : topology.links) {
    for (const Node& end : link.ends) {
      if (end.kind == Node::Kind::kHost) ++links[end.index];
    }
  }
  for (std::size_t host = 0; host < links.size(); ++host) {
    if (links[host] != 1) {
      return misfit("hosts[{}]: '{}' has {} links; a host has one", host, topology.hosts[host].name,
                    links[host]);
    }
  }
  return success();
}

Result<void, Error> check_connected(const Topology& topology) {
  const std::size_t nodes = topology.hosts.size() + topology.switches.size();
  std::vector<std::vector<std::size_t>> neighbors(nodes);
  for (const Link& link : topology.links) {
    const std::size_t one = number_of(topology, link.ends[0]);
    const std::size_t other = number_of(topology, link.ends[1]);
    neighbors[one].push_back(other);
    neighbors[other].push_back(one);
  }
  std::vector<bool> is_reached(nodes);
  std::vector<std::size_t> open{0};
  is_reached[0] = true;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    for (const std::size_t neighbor : neighbors[node]) {
      if (is_reached[neighbor]) continue;
      is_reached[neighbor] = true;
      open.push_back(neighbor);
    }
  }
  const auto lost = std::find(is_reached.begin(), is_reached.end(), false);
  if (lost == is_reached.end()) return success();
  return misfit("links: no way leads from '{}' to '{}'; add a link", name_of_number(topology, 0),
                name_of_number(topology, static_cast<std::size_t>(lost - is_reached.begin())));
}

/// The headrooms of all ports of a switch leave something of its buffer.
Result<void, Error> check_headrooms(const Topology& topology) {
  std::vector<std::uint64_t> ports(topology.switches.size());
  for (const Link& link : topology.links) {
    for (const Node& end : link.ends) {
      if (end.kind == Node::Kind::kSwitch) ++ports[end.index];
    }
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Profile& profile = topology.profiles[topology.switches[i].profile];
    std::uint64_t left = profile.buffer_bytes;
    for (const PriorityProfile& settings : profile.priorities) {
      if (!settings.lossless || ports[i] == 0) continue;
      const std::uint64_t headroom = settings.lossless->headroom_bytes;
      if (headroom >= left / ports[i]) {
        return misfit(
            "switches[{}]: the headrooms of its {} ports leave nothing of the {} bytes of buffer of '{}'", i,
            ports[i], profile.buffer_bytes, profile.name);
      }
      left -= headroom * ports[i];
    }
  }
  return success();
}

}  // namespace

std::array<std::uint8_t, kDscps> default_dscp_map() {
  std::array<std::uint8_t, kDscps> map{};
  map[3] = 3;
  map[4] = 4;
  map[26] = 3;
  map[48] = 6;
  return map;
}

Result<void, Error> check_names(const Topology& topology) {
  std::set<std::string_view> nodes;
  std::set<std::string_view> profiles;
  for (std::size_t i = 0; i < topology.profiles.size(); ++i) {
    if (auto checked = check_name("profiles", i, topology.profiles[i].name, profiles); !checked) {
      return checked;
    }
  }
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    if (auto checked = check_name("switches", i, topology.switches[i].name, nodes); !checked) return checked;
  }
  for (std::size_t i = 0; i < topology.hosts.size(); ++i) {
    if (auto checked = check_name("hosts", i, topology.hosts[i].name, nodes); !checked) return checked;
  }
  return success();
}

Result<void, Error> check(const Topology& topology) {
  if (auto checked = check_counts(topology); !checked) return checked;
  if (auto checked = check_names(topology); !checked) return checked;
  for (std::size_t i = 0; i < topology.profiles.size(); ++i) {
    if (auto checked = check_profile(i, topology.profiles[i]); !checked) return checked;
  }
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    if (topology.switches[i].profile >= topology.profiles.size()) {
      return misfit("switches[{}].profile: there is no such profile", i);
    }
  }
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    if (auto checked = check_link(topology, i); !checked) return checked;
  }
  if (auto checked = check_hosts(topology); !checked) return checked;
  if (auto checked = check_connected(topology); !checked) return checked;
  return check_headrooms(topology);
}

}  // namespace urnic::network
