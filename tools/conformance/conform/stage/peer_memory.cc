// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/stage/peer_memory.h"

#include <fmt/core.h>

#include <algorithm>

namespace urnic::conform {
namespace {

/// Farther from a region an address means no place near it, but a number such as 2^64 - 1.
constexpr std::uint64_t kNear = std::uint64_t{1} << 32;

bool is_near(std::uint64_t address, std::uint64_t region) {
  return (address < region ? region - address : address - region) < kNear;
}

}  // namespace

const PeerMemory::Region* PeerMemory::named(const std::string& name) const {
  const auto found = std::find_if(regions_.begin(), regions_.end(),
                                  [&](const Region& region) { return region.script.name == name; });
  return found == regions_.end() ? nullptr : &*found;
}

const PeerMemory::Region* PeerMemory::of_key(std::uint32_t script_key) const {
  const auto found = std::find_if(regions_.begin(), regions_.end(),
                                  [&](const Region& region) { return region.script.key == script_key; });
  return found == regions_.end() ? nullptr : &*found;
}

void PeerMemory::add(const Window& window, std::uint32_t rkey) {
  windows_.push_back(window);
  window_keys_.push_back({.script = window.key, .peers = rkey, .region = 0, .is_zero_based = false});
}

const PeerMemory::Window* PeerMemory::window_named(const std::string& name) const {
  const auto found = std::find_if(windows_.begin(), windows_.end(),
                                  [&](const Window& window) { return window.name == name; });
  return found == windows_.end() ? nullptr : &*found;
}

const PeerMemory::Window* PeerMemory::window_of_key(std::uint32_t script_key) const {
  const auto found = std::find_if(windows_.begin(), windows_.end(),
                                  [&](const Window& window) { return window.key == script_key; });
  return found == windows_.end() ? nullptr : &*found;
}

const PeerMemory::WindowKey* PeerMemory::window_key(std::uint32_t script_key) const {
  const auto found = std::find_if(window_keys_.rbegin(), window_keys_.rend(),
                                  [&](const WindowKey& key) { return key.script == script_key; });
  return found == window_keys_.rend() ? nullptr : &*found;
}

void PeerMemory::change_key(const std::string& region, std::uint32_t rkey) {
  for (Region& candidate : regions_) {
    if (candidate.script.name == region) candidate.rkey = rkey;
  }
}

void PeerMemory::bind(const transport::WindowBinding& binding, std::uint32_t rkey) {
  const auto found = std::find_if(windows_.begin(), windows_.end(), [&](const Window& window) {
    return window.key == to_integer(binding.window);
  });
  if (found == windows_.end()) return;
  found->key = to_integer(binding.new_rkey);
  found->address = binding.is_zero_based ? 0 : binding.address;
  window_keys_.push_back({.script = found->key,
                          .peers = rkey,
                          .region = binding.length > 0 ? to_integer(binding.region) : 0,
                          .is_zero_based = binding.is_zero_based});
}

std::uint32_t PeerMemory::peers_key(std::uint32_t script_key) const {
  if (const Region* region = of_key(script_key)) return region->rkey;
  if (const WindowKey* window = window_key(script_key)) return window->peers;
  const auto is_taken = [&](std::uint32_t key) {
    return std::any_of(regions_.begin(), regions_.end(),
                       [&](const Region& region) { return region.rkey == key; }) ||
           std::any_of(window_keys_.begin(), window_keys_.end(),
                       [&](const WindowKey& window) { return window.peers == key; });
  };
  std::uint32_t key = ~script_key;
  while (is_taken(key)) ++key;
  return key;
}

std::uint32_t PeerMemory::scripts_key(std::uint32_t peers_key) const {
  for (const Region& region : regions_) {
    if (region.rkey == peers_key) return region.script.key;
  }
  for (const WindowKey& window : window_keys_) {
    if (window.peers == peers_key) return window.script;
  }
  return peers_key;
}

std::uint64_t PeerMemory::peers_address(std::uint64_t address, std::uint32_t script_key) const {
  const Region* region = of_key(script_key);
  if (const WindowKey* window = region == nullptr ? window_key(script_key) : nullptr) {
    if (window->is_zero_based) return address;
    region = of_key(window->region);
  }
  for (const Region& candidate : regions_) {
    const bool is_inside = address - candidate.script.address < candidate.script.size;
    if (region == nullptr && is_inside) region = &candidate;
  }
  if (region == nullptr || !is_near(address, region->script.address)) return address;
  return region->address + (address - region->script.address);
}

scripts::PacketFields PeerMemory::as_peer_has_it(const scripts::PacketFields& packet) const {
  scripts::PacketFields translated = packet;
  if (packet_number(packet, "va")) {
    const auto key = static_cast<std::uint32_t>(packet.rkey);
    set_packet_number(translated, "va", peers_address(packet.va, key));
    set_packet_number(translated, "rkey", peers_key(key));
  }
  if (packet_number(packet, "inv")) {
    set_packet_number(translated, "inv", peers_key(static_cast<std::uint32_t>(packet.inv)));
  }
  return translated;
}

std::optional<std::string> PeerMemory::elements_text(std::span<const transport::Sge> elements) const {
  std::string text;
  for (const transport::Sge& sge : elements) {
    const Region* region = of_key(to_integer(sge.lkey));
    if (region == nullptr) return std::nullopt;
    const std::uint64_t offset = sge.address - region->script.address;
    if (offset > UINT32_MAX) return std::nullopt;
    text += fmt::format(" sge={}:{}:{}", region->number, offset, sge.length);
  }
  return text;
}

}  // namespace urnic::conform
