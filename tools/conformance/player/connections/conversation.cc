// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/player/connections/conversation.h"

#include <utility>

namespace urnic::scripts::connections {

Conversation::Exchange& Conversation::exchange(std::uint64_t peer_id) {
  const auto found = exchanges_.find(peer_id);
  return found == exchanges_.end() ? begun_ : found->second;
}

void Conversation::fill_in(Mad& mad, std::optional<std::uint64_t> wanted_id) {
  const std::string_view name = mad.name();
  const bool is_request = name == "REQ" || name == "SIDR_REQ";
  const std::uint64_t peer_id = wanted_id.value_or(is_request ? kPeerId : peer_id_);
  if (mad.has("local-id")) mad.set("local-id", peer_id);
  if (name == "SIDR_REQ") mad.set("request-id", peer_id);
  if (is_request || name == "DREQ") {
    mad.set("tid", next_peer_tid_++);
  } else if (name == "DREP") {
    mad.set("tid", disconnect_tid_);
  } else {
    mad.set("tid", exchange(peer_id).tid);
  }
  const Exchange& with = exchange(peer_id);
  if (mad.has("remote-id")) mad.set("remote-id", with.own_id);
  if (name == "SIDR_REP") mad.set("request-id", begun_.own_id);
  if (name == "DREQ") mad.set("qpn", with.own_qpn);
}

const Mad* Conversation::last_arrived(std::string_view name) const {
  const auto found = arrived_.find(name);
  return found == arrived_.end() ? nullptr : &found->second;
}

void Conversation::learn_arrived(const Mad& mad) {
  const std::string_view name = mad.name();
  arrived_.insert_or_assign(std::string(name), mad);
  peer_tids_[std::string(name)].insert(mad.get("tid"));
  if (mad.has("local-id")) peer_ids_.insert(mad.get("local-id"));
  if (name == "REQ" || name == "REP") peer_id_ = mad.get("local-id");
  if (name == "REQ") {
    Exchange& with = exchanges_[mad.get("local-id")];
    if (with.tid != mad.get("tid")) with = {.tid = mad.get("tid")};
  }
  if (name == "REP" && begun_.own_id == mad.get("remote-id")) exchanges_[mad.get("local-id")] = begun_;
}

KnownNumbers Conversation::learn_sent(const Mad& mad, std::optional<std::uint64_t> own_guid) {
  const std::string_view name = mad.name();
  KnownNumbers known;
  if (name == "REQ" || name == "SIDR_REQ") {
    begun_ = {.own_id = mad.get(name == "REQ" ? "local-id" : "request-id"),
              .own_qpn = name == "REQ" ? mad.get("qpn") : 0,
              .tid = mad.get("tid")};
  }
  if (own_guid && (name == "REQ" || name == "REP")) known["guid"] = {*own_guid};
  if (name == "SIDR_REP") known["tid"] = peer_tids_["SIDR_REQ"];
  if (name == "DREP") known["tid"] = peer_tids_["DREQ"];
  if (name == "DREQ") disconnect_tid_ = mad.get("tid");
  if (!mad.has("remote-id")) return known;

  std::set<std::uint64_t> remote_ids = peer_ids_;
  // A side that gives up before any answer came knows no ID.
  if (name == "REJ") remote_ids.insert(0);
  known["remote-id"] = std::move(remote_ids);
  const auto found = exchanges_.find(mad.get("remote-id"));
  if (found == exchanges_.end()) return known;
  Exchange& with = found->second;
  if (name == "REP" || name == "RTU" || name == "MRA" || name == "REJ") known["tid"] = {with.tid};
  if (name == "REJ") return known;
  if (with.own_id != 0) known["local-id"] = {with.own_id};
  if (name == "REP" || name == "MRA") with.own_id = mad.get("local-id");
  if (name == "REP") with.own_qpn = mad.get("qpn");
  return known;
}

}  // namespace urnic::scripts::connections
