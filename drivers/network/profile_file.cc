// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/profile_file.h"

#include <fmt/core.h>

#include <charconv>
#include <string_view>
#include <system_error>

namespace urnic::network {
namespace {

using Json = nlohmann::ordered_json;

Marking read_marking(const Json& value, const std::string& path, Complaint& complaint) {
  const Members members(value, path, {"kmin", "kmax", "pmax", "not_ect"}, complaint);
  Marking marking;
  for (const std::string_view name : {"kmin", "kmax", "pmax"}) members.require(name);
  members.read_size("kmin", marking.kmin_bytes);
  members.read_size("kmax", marking.kmax_bytes);
  members.read_fraction("pmax", marking.pmax);
  std::string not_ect = "pass";
  members.read_text("not_ect", not_ect);
  if (not_ect != "pass" && not_ect != "drop") {
    complaint.add(members.path_of("not_ect"),
                  fmt::format("\"pass\" or \"drop\", not {}", shown(Json(not_ect))));
  }
  marking.not_ect = not_ect == "drop" ? Marking::NotEct::kDrop : Marking::NotEct::kPass;
  return marking;
}

Lossless read_lossless(const Json& value, const std::string& path, Complaint& complaint) {
  const Members members(value, path,
                        {"headroom", "xoff", "xoff_alpha", "xon_offset", "watchdog", "watchdog_restore"},
                        complaint);
  Lossless lossless;
  members.require("headroom");
  members.read_size("headroom", lossless.headroom_bytes);
  if (members.has("xoff") && members.has("xoff_alpha")) {
    complaint.add(path, "'xoff' is a fixed threshold and 'xoff_alpha' one that moves; write one of them");
  }
  std::uint64_t xoff = 0;
  if (members.read_size("xoff", xoff)) lossless.xoff_bytes = xoff;
  members.read_fraction("xoff_alpha", lossless.xoff_alpha);
  members.read_size("xon_offset", lossless.xon_offset_bytes);
  members.read_duration("watchdog", lossless.watchdog);
  members.read_duration("watchdog_restore", lossless.watchdog_restore);
  return lossless;
}

void read_weight(const Members& members, unsigned& weight, Complaint& complaint) {
  const Json* const member = members.find("weight");
  if (member == nullptr) return;
  if (*member == "strict") {
    weight = 0;
    return;
  }
  const auto number = whole_number(*member, 1, 255);
  if (number) weight = static_cast<unsigned>(*number);
  if (!number) {
    complaint.add(
        members.path_of("weight"),
        fmt::format("a whole number from 1 to 255, or \"strict\", belongs here, not {}", shown(*member)));
  }
}

/// What `value` says, on top of what `settings` is.
void read_priority(const Json& value, const std::string& path, PriorityProfile& settings,
                   Complaint& complaint) {
  const Members members(value, path, {"limit", "ecn", "lossless", "weight"}, complaint);
  const bool has_limit = members.read_size("limit", settings.limit_bytes);
  if (const Json* const ecn = members.find("ecn")) {
    settings.marking = read_marking(*ecn, members.path_of("ecn"), complaint);
  }
  if (const Json* const lossless = members.find("lossless")) {
    settings.lossless = read_lossless(*lossless, members.path_of("lossless"), complaint);
    if (has_limit) {
      complaint.add(members.path_of("limit"),
                    "a lossless priority has no drop-tail limit; take one of them away");
    }
  }
  read_weight(members, settings.weight, complaint);
}

void read_priorities(const Json& value, const std::string& path, Profile& profile, Complaint& complaint) {
  const Members members(value, path, {"default", "0", "1", "2", "3", "4", "5", "6", "7"}, complaint);
  if (const Json* const common = members.find("default")) {
    for (PriorityProfile& settings : profile.priorities) {
      read_priority(*common, members.path_of("default"), settings, complaint);
    }
  }
  for (std::size_t priority = 0; priority < kPriorities; ++priority) {
    const std::string name = fmt::format("{}", priority);
    if (const Json* const own = members.find(name)) {
      read_priority(*own, members.path_of(name), profile.priorities[priority], complaint);
    }
  }
}

/// {"26": 3}: DSCP and priority.
void read_dscp_map(const Json& value, const std::string& path, Profile& profile, Complaint& complaint) {
  if (!value.is_object()) {
    complaint.add(path, fmt::format("an object such as {{\"26\": 3}} belongs here, not {}", shown(value)));
    return;
  }
  for (const auto& item : value.items()) {
    const std::string& key = item.key();
    std::size_t dscp = kDscps;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), dscp);
    const bool is_dscp = error == std::errc{} && end == key.data() + key.size() && dscp < kDscps &&
                         (key.size() == 1 || key[0] != '0');
    const auto priority = whole_number(item.value(), 0, kPriorities - 1);
    if (!is_dscp || !priority) {
      complaint.add(
          path, fmt::format("a DSCP from \"0\" to \"63\" and a priority from 0 to 7 belong here, not {}: {}",
                            shown(Json(key)), shown(item.value())));
      return;
    }
    profile.dscp_to_priority[dscp] = static_cast<std::uint8_t>(*priority);
  }
}

}  // namespace

Profile read_profile(const Json& value, const std::string& path, Complaint& complaint) {
  const Members members(value, path, {"name", "buffer", "pause_quanta", "dscp", "priorities"}, complaint);
  Profile profile;
  members.require("name");
  members.read_text("name", profile.name);
  members.read_size("buffer", profile.buffer_bytes);
  std::uint64_t quanta = profile.pause_quanta;
  if (members.read_whole("pause_quanta", 1, 0xffff, quanta)) {
    profile.pause_quanta = static_cast<std::uint16_t>(quanta);
  }
  if (const Json* const map = members.find("dscp")) {
    read_dscp_map(*map, members.path_of("dscp"), profile, complaint);
  }
  if (const Json* const priorities = members.find("priorities")) {
    read_priorities(*priorities, members.path_of("priorities"), profile, complaint);
  }
  return profile;
}

}  // namespace urnic::network
