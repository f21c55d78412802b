// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What there is to tell: the devices that a program is shown, and the processes that use them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nic/personality/personality.h"
#include "tools/inspection/stat/processes.h"

namespace urnic::netlink {

/// A character device.
struct Node {
  std::string name;       ///< "uverbs0"
  dev_t device = 0;       ///< what stat(2) says of it
  std::uint64_t abi = 0;  ///< version of its interface
};

/// As the files of a device say (tools/command/path_tree.h). It has one port.
struct Device {
  std::string name;
  std::string firmware;
  std::uint64_t node_guid = 0;
  std::uint64_t system_guid = 0;
  std::uint8_t port_state = 0;           ///< enum ib_port_state
  std::uint8_t port_physical_state = 0;  ///< its physical state, by the numbers of InfiniBand
  std::string interface;                 ///< the network interface of the port; "": none
  std::uint32_t interface_index = 0;
  std::optional<Node> verbs_node{};
  std::map<std::string, std::uint64_t> counters{};  ///< files in hw_counters, if there are any
  nic::CounterNames counter_names{};                ///< which of them there are
};

/// Where answers come from.
class State {
 public:
  State() = default;
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// In the order of their names: urnic2 before urnic10.
  virtual std::vector<Device> devices() = 0;
  /// Of this user, those that answer.
  virtual std::vector<tools::NicProcess> processes() = 0;
};

/// What this process is shown, in a folder of `urnic run` ($URNIC_PATHS), and what its user's processes say.
class ShownState final : public State {
 public:
  explicit ShownState(std::string folder) : folder_(std::move(folder)) {}

  std::vector<Device> devices() override;
  std::vector<tools::NicProcess> processes() override;

 private:
  std::string folder_;
};

}  // namespace urnic::netlink
