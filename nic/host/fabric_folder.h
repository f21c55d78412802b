// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FabricFolder: where the programs of a fabric and its switches find each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nic/host/switch_files.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// The fabric of programs that name none.
inline constexpr std::string_view kDefaultFabric = "default";

/// Fine when `name` can be a fabric's: 1 to 24 letters, digits, '-' and '_'. EINVAL and the reason otherwise.
Result<void, Error> check_fabric_name(std::string_view name);

/// The folder `fabric-NAME` in the user's private folder. What is in it stays when the switches end, except
/// their sockets.
class FabricFolder {
 public:
  /// Makes it when it is missing. The error: as private_folder(), or the system's; ENAMETOOLONG when the
  /// paths of sockets in it would be too long.
  static Result<FabricFolder, Error> open(std::string_view name);

  const std::string& path() const { return path_; }
  std::string guard() const { return path_ + "/guard"; }      ///< see LeaseSlots
  std::string network() const { return path_ + "/network"; }  ///< see LeaseSlots
  std::string slot(unsigned number) const { return path_ + "/slot." + std::to_string(number); }
  /// Where a switch serves the NIC that has that slot; see switch_of_slot().
  std::string port_socket(unsigned slot) const { return path_ + "/port." + std::to_string(slot) + ".sock"; }
  /// Where the first switch serves another one.
  std::string trunk_socket(unsigned number) const {
    return path_ + "/trunk." + std::to_string(number) + ".sock";
  }
  /// Where the NIC with that MAC lets others make direct links to it.
  std::string link_socket(const transport::wire::Mac& mac) const;
  /// Of the switch with that number, 0 to kFabricSwitches - 1.
  SwitchFiles files_of_switch(unsigned number) const;

 private:
  static Result<void, Error> check_socket_paths_in(const FabricFolder& folder);
  explicit FabricFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

/// What a switch of a fabric says about itself.
struct FabricSwitch {
  int process = 0;
  std::uint16_t link_mtu = 0;  ///< the largest IP packet that it carries, bytes
};

/// The switch that these files belong to, or nothing when it does not run.
std::optional<FabricSwitch> running_switch(const SwitchFiles& files);

}  // namespace urnic::nic
