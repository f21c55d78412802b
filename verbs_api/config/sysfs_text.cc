// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/config/sysfs_text.h"

#include <fmt/core.h>

#include <array>
#include <boost/endian/conversion.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "verbs_api/abi/port_facts.h"
#include "verbs_api/abi/vendor.h"

namespace urnic::verbs_api {
namespace {

/// "fe80:0000:...": eight groups, or four for a GUID.
std::string in_groups(const std::uint8_t* octets, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; i += 2) {
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", octets[i], octets[i + 1]);
  }
  return text;
}

std::string guid_text(const nic::GidTable& gids) {
  std::array<std::uint8_t, 8> octets;
  boost::endian::store_big_u64(octets.data(), gids.node_guid());
  return in_groups(octets.data(), octets.size());
}

/// The number that follows `directory` in `name`; nothing when anything else stands there.
std::optional<std::size_t> index_in(std::string_view directory, std::string_view name) {
  if (name.substr(0, directory.size()) != directory) return std::nullopt;
  const std::string_view digits = name.substr(directory.size());
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool is_number = error == std::errc{} && end == digits.data() + digits.size();
  return is_number ? std::optional(index) : std::nullopt;
}

/// Programs look there for the interface whose routes lead to a peer.
bool has_net_device(const nic::GidTable& gids, std::size_t index) {
  return !gids.interface_at(index).empty();
}

/// As Linux has them (drivers/infiniband/core).
const char* gid_type_text(transport::wire::Encapsulation encapsulation) {
  return encapsulation == transport::wire::Encapsulation::kRoceV1 ? "IB/RoCE v1" : "RoCE v2";
}

/// Files that the imitated driver makes, not Linux for it. With an identity: those that its card has.
std::optional<std::string> driver_text(const nic::DeviceConfig& config, std::string_view name) {
  const nic::Identity* const identity = config.identity;
  switch (config.personality->driver_files) {
    case nic::DriverFiles::kMlx5:
      if (name == "board_id") return std::string(identity != nullptr ? identity->board_id : kBoardId);
      if (name == "hca_type") return std::string(identity != nullptr ? identity->hca_type : "urnic");
      if (name == "hw_rev") return "0";
      break;
    case nic::DriverFiles::kRxe:
      if (name == "parent" && !config.host_addresses.empty()) return config.host_addresses.front().interface;
      break;
    case nic::DriverFiles::kNone:
      break;
  }
  return std::nullopt;
}

std::optional<std::string> port_text(const nic::GidTable& gids, const nic::DeviceConfig& config,
                                     std::string_view name) {
  if (name == "state") return "4: ACTIVE";
  if (name == "phys_state") return "5: LinkUp";
  if (name == "link_layer") return "Ethernet";
  if (name == "rate") return kRateText;
  if (name == "cap_mask") return fmt::format("{:#010x}", kPortCapabilities);
  if (name == "lid") return fmt::format("{:#x}", config.personality->lid);
  if (name == "sm_lid") return "0x0";
  if (name == "lid_mask_count" || name == "sm_sl") return "0";
  if (name == "pkeys/0") return "0xffff";
  if (const auto index = index_in("gids/", name); index && *index < gids.size()) {
    const auto gid = gids.at(*index).value_or(transport::wire::Gid{});
    return in_groups(gid.octets.data(), gid.octets.size());
  }
  if (const auto index = index_in("gid_attrs/types/", name)) {
    const auto entry = gids.entry_at(*index);
    return entry ? std::optional<std::string>(gid_type_text(entry->encapsulation)) : std::nullopt;
  }
  if (const auto index = index_in("gid_attrs/ndevs/", name); index && has_net_device(gids, *index)) {
    return std::string(gids.interface_at(*index));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> sysfs_text(const nic::GidTable& gids, const nic::DeviceConfig& config,
                                      std::string_view name) {
  constexpr std::string_view kPortDirectory = "ports/1/";
  const nic::Identity* const identity = config.identity;
  if (name == "fw_ver") return identity != nullptr ? std::string(identity->fw_ver) : URNIC_VERSION;
  if (name == "node_desc") return "urnic";
  if (name == "node_type") return "1: CA";
  if (name == "node_guid" || name == "sys_image_guid") return guid_text(gids);
  if (name.substr(0, kPortDirectory.size()) == kPortDirectory) {
    return port_text(gids, config, name.substr(kPortDirectory.size()));
  }
  return driver_text(config, name);
}

std::vector<std::string> sysfs_names(const nic::GidTable& gids, const nic::DeviceConfig& config) {
  std::vector<std::string> names = {"fw_ver",
                                    "node_desc",
                                    "node_guid",
                                    "node_type",
                                    "sys_image_guid",
                                    "ports/1/state",
                                    "ports/1/rate",
                                    "ports/1/phys_state",
                                    "ports/1/link_layer",
                                    "ports/1/cap_mask",
                                    "ports/1/lid",
                                    "ports/1/sm_lid",
                                    "ports/1/lid_mask_count",
                                    "ports/1/sm_sl",
                                    "ports/1/pkeys/0"};
  for (const char* const name : {"board_id", "hca_type", "hw_rev", "parent"}) {
    if (driver_text(config, name)) names.emplace_back(name);
  }
  for (std::size_t index = 0; index < gids.size(); ++index) {
    names.push_back(fmt::format("ports/1/gids/{}", index));
    if (gids.at(index)) names.push_back(fmt::format("ports/1/gid_attrs/types/{}", index));
    if (has_net_device(gids, index)) names.push_back(fmt::format("ports/1/gid_attrs/ndevs/{}", index));
  }
  return names;
}

}  // namespace urnic::verbs_api
