// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/topology_file.h"

#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>

#include "drivers/network/json_members.h"
#include "drivers/network/profile_file.h"

namespace urnic::network {
namespace {

using Json = nlohmann::ordered_json;

/// Reads the whole document into a topology.
class TopologyReader {
 public:
  Result<Topology, Error> read(const Json& document) {
    const Members members(document, "", {"name", "profiles", "switches", "hosts", "links"}, complaint_);
    members.read_text("name", topology_.name);
    read_profiles(members);
    read_switches(members);
    read_hosts(members);
    if (complaint_.is_made()) return complaint_.error();
    if (const auto checked = check_names(topology_); !checked) return checked.error();
    read_links(members);
    if (complaint_.is_made()) return complaint_.error();
    if (const auto checked = check(topology_); !checked) return checked.error();
    return std::move(topology_);
  }

 private:
  /// Calls `read(element, path)` for each element of the list `name`.
  template <typename Read>
  void for_each(const Members& members, std::string_view name, std::size_t most, Read read) {
    const Json* const list = members.find(name);
    if (list == nullptr) return;
    if (!list->is_array()) {
      complaint_.add(members.path_of(name), fmt::format("a list [...] belongs here, not {}", shown(*list)));
      return;
    }
    if (list->size() > most) {
      complaint_.add(members.path_of(name),
                     fmt::format("it has {} entries; {} are possible", list->size(), most));
      return;
    }
    for (std::size_t i = 0; i < list->size() && !complaint_.is_made(); ++i) {
      read((*list)[i], fmt::format("{}[{}]", members.path_of(name), i));
    }
  }

  void read_profiles(const Members& members) {
    for_each(members, "profiles", Topology::kMaxProfiles, [this](const Json& value, const std::string& path) {
      topology_.profiles.push_back(read_profile(value, path, complaint_));
      profiles_.emplace(topology_.profiles.back().name, profiles_.size());
    });
  }

  void read_switches(const Members& members) {
    for_each(members, "switches", Topology::kMaxSwitches, [this](const Json& value, const std::string& path) {
      const Members own(value, path, {"name", "profile"}, complaint_);
      Switch added;
      std::string profile;
      own.require("name");
      own.read_text("name", added.name);
      if (own.require("profile") != nullptr && own.read_text("profile", profile)) {
        const auto found = profiles_.find(profile);
        if (found != profiles_.end()) added.profile = found->second;
        if (found == profiles_.end()) {
          complaint_.add(own.path_of("profile"),
                         fmt::format("there is no profile {}; 'profiles' lists them", shown(Json(profile))));
        }
      }
      nodes_.emplace(added.name, Node{Node::Kind::kSwitch, topology_.switches.size()});
      topology_.switches.push_back(std::move(added));
    });
  }

  void read_hosts(const Members& members) {
    members.require("hosts");
    for_each(members, "hosts", Topology::kMaxHosts, [this](const Json& value, const std::string& path) {
      Host added;
      if (value.is_string()) {
        added.name = value.get<std::string>();
      } else {
        const Members own(value, path, {"name", "queue"}, complaint_);
        own.require("name");
        own.read_text("name", added.name);
        own.read_size("queue", added.queue_bytes);
      }
      nodes_.emplace(added.name, Node{Node::Kind::kHost, topology_.hosts.size()});
      topology_.hosts.push_back(std::move(added));
    });
  }

  void read_links(const Members& members) {
    members.require("links");
    for_each(members, "links", Topology::kMaxLinks, [this](const Json& value, const std::string& path) {
      const Members own(value, path, {"ends", "rate", "delay", "down", "faults"}, complaint_);
      Link added;
      if (const Json* const ends = own.require("ends")) read_ends(*ends, own.path_of("ends"), added);
      own.require("rate");
      own.read_rate("rate", added.rate_bps);
      own.require("delay");
      own.read_duration("delay", added.delay);
      own.read_text("faults", added.faults);
      for_each(own, "down", Topology::kMaxOutages, [&](const Json& outage, const std::string& outage_path) {
        added.outages.push_back(read_outage(outage, outage_path));
      });
      topology_.links.push_back(std::move(added));
    });
  }

  void read_ends(const Json& value, const std::string& path, Link& link) {
    if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_string()) {
      complaint_.add(path,
                     fmt::format("two names such as [\"a\", \"left\"] belong here, not {}", shown(value)));
      return;
    }
    for (std::size_t end = 0; end < 2; ++end) {
      const auto found = nodes_.find(value[end].get<std::string>());
      if (found == nodes_.end()) {
        complaint_.add(path, fmt::format("there is no host or switch {}", shown(value[end])));
        return;
      }
      link.ends[end] = found->second;
    }
  }

  Outage read_outage(const Json& value, const std::string& path) {
    const Members own(value, path, {"from", "until"}, complaint_);
    Outage outage;
    own.require("from");
    own.read_duration("from", outage.down);
    Duration up{};
    if (own.read_duration("until", up)) outage.up = up;
    return outage;
  }

  Complaint complaint_;
  Topology topology_;
  std::map<std::string, std::size_t, std::less<>> profiles_;
  std::map<std::string, Node, std::less<>> nodes_;
};

}  // namespace

Result<Topology, Error> parse_topology(std::string_view text) {
  const auto document = parse_json(text);
  if (!document) {
    return Error{.code = document.error().code, .message = "topology: " + document.error().message};
  }
  auto topology = TopologyReader().read(document.value());
  if (!topology) {
    return Error{.code = topology.error().code, .message = "topology: " + topology.error().message};
  }
  return topology;
}

}  // namespace urnic::network
