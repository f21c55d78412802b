// FabricFolder: where the programs of a fabric and its switch find each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "transport/result.h"

namespace urnic::nic {

/// How many NICs a fabric connects. With the uplink, as many ports as DPDK has in one process.
inline constexpr unsigned kFabricPorts = 31;

/// The fabric of those who name none.
inline constexpr std::string_view kDefaultFabric = "default";

/// Fine when `name` can be a fabric's: 1 to 24 letters, digits, '-' and '_'. EINVAL and the reason otherwise.
Result<void, Error> check_fabric_name(std::string_view name);

/// The folder `fabric-NAME` in the user's private folder. What is in it stays when the switch ends, but for
/// its sockets.
class FabricFolder {
 public:
  /// Makes it when it is missing. The error: as private_folder(), or the system's.
  static Result<FabricFolder, Error> open(std::string_view name);

  const std::string& path() const { return path_; }
  std::string guard() const { return path_ + "/guard"; }  ///< see LeaseSlots
  std::string slot(unsigned number) const { return path_ + "/slot." + std::to_string(number); }
  /// Where the switch takes requests.
  std::string control_socket() const { return path_ + "/control.sock"; }
  /// Where it serves the NIC that has that slot.
  std::string port_socket(unsigned slot) const { return path_ + "/port." + std::to_string(slot) + ".sock"; }
  /// Locked by the switch as long as it lives. It says "process N" and "mtu N".
  std::string switch_lock() const { return path_ + "/switch.lock"; }
  /// What a switch that was started on demand has to say.
  std::string log_file() const { return path_ + "/switch.log"; }

 private:
  explicit FabricFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

/// What the switch of a fabric says about itself.
struct FabricSwitch {
  int process = 0;
  std::uint16_t link_mtu = 0;  ///< the largest IP packet that it carries, bytes
};

/// The switch that serves the fabric now, or nothing when none does.
std::optional<FabricSwitch> running_switch(const FabricFolder& folder);

}  // namespace urnic::nic
