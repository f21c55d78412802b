// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/connections/aliases.h"

#include <string_view>

namespace urnic::conform::connections {
namespace {

using scripts::connections::Mad;

constexpr std::uint64_t kGuidBytes = 8;

/// Whether it names its sender by a GUID (reason 4, "timeout").
bool has_guid_as_information(const Mad& mad) {
  return mad.name() == "REJ" && mad.get("info-length") == kGuidBytes;
}

/// The number by which the sender, or the receiver, calls the connection; empty: the message has none.
std::string_view senders_id(const Mad& mad) {
  if (mad.has("local-id")) return "local-id";
  return mad.name() == "SIDR_REQ" ? "request-id" : "";
}
std::string_view receivers_id(const Mad& mad) {
  if (mad.has("remote-id")) return "remote-id";
  return mad.name() == "SIDR_REP" ? "request-id" : "";
}

}  // namespace

Mad Aliases::as_peer_has_it(Mad mad) const {
  if (const std::string_view id = senders_id(mad); !id.empty()) mad.set(id, alias_of(mad.get(id)));
  if (mad.has("guid")) mad.set("guid", alias_of_guid(mad.get("guid")));
  if (has_guid_as_information(mad)) mad.set("info", alias_of_guid(mad.get("info")));
  return mad;
}

std::optional<Mad> Aliases::as_script_has_it(Mad mad) const {
  if (const std::string_view id = receivers_id(mad); !id.empty()) {
    const std::uint64_t scripts = alias_of(mad.get(id));
    if (scripts >> kIdBits != 0) return std::nullopt;
    mad.set(id, scripts);
  }
  if (!peers_guid_) return mad;
  if (mad.has("guid") && mad.get("guid") == *peers_guid_) mad.set("guid", kOwnGuid);
  if (has_guid_as_information(mad) && mad.get("info") == *peers_guid_) mad.set("info", kOwnGuid);
  return mad;
}

}  // namespace urnic::conform::connections
