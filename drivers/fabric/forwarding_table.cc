// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/forwarding_table.h"

#include <algorithm>

namespace urnic::drivers {
namespace {

using transport::wire::Mac;

std::uint64_t key_of(const Mac& mac) {
  std::uint64_t key = 0;
  for (const std::uint8_t octet : mac.octets) key = key << 8 | octet;
  return key;
}

Mac mac_of(std::uint64_t key) {
  Mac mac;
  for (auto octet = mac.octets.rbegin(); octet != mac.octets.rend(); ++octet) {
    *octet = static_cast<std::uint8_t>(key);
    key >>= 8;
  }
  return mac;
}

}  // namespace

void ForwardingTable::learn(const Mac& mac, PortNumber port, Clock::time_point now) {
  const std::uint64_t key = key_of(mac);
  if (const auto known = entries_.find(key); known != entries_.end()) {
    if (known->second.port != port) ++generation_;
    known->second = {.port = port, .seen = now};
  } else if (entries_.size() < kMaxAddresses) {
    entries_.emplace(key, Entry{.port = port, .seen = now});
    ++generation_;
  }
}

std::optional<ForwardingTable::PortNumber> ForwardingTable::find(const Mac& mac) const {
  const auto known = entries_.find(key_of(mac));
  return known == entries_.end() ? std::nullopt : std::optional(known->second.port);
}

void ForwardingTable::forget_old(Clock::time_point now) {
  const auto is_old = [now](const auto& entry) { return now - entry.second.seen > kMaxAge; };
  if (std::erase_if(entries_, is_old) > 0) ++generation_;
}

std::vector<Mac> ForwardingTable::addresses_behind(PortNumber port) const {
  std::vector<std::uint64_t> keys;
  for (const auto& [key, entry] : entries_) {
    if (entry.port == port) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<Mac> addresses;
  for (const std::uint64_t key : keys) addresses.push_back(mac_of(key));
  return addresses;
}

}  // namespace urnic::drivers
