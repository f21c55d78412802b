// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NicEnvironment: what URNIC_* variables say, checked, and what they leave open, filled in.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nic/adversary/settings.h"
#include "nic/clock.h"
#include "nic/config.h"
#include "nic/host/host_addresses.h"
#include "nic/host/lease.h"
#include "nic/host/port_spec.h"
#include "transport/result.h"
#include "verbs_api/fault/fault_list.h"
#include "verbs_api/sanitizer/settings.h"

namespace urnic::verbs_api {

/// What `urnic run` chose because the user left it open: variables, NAME=VALUE with spaces between.
inline constexpr const char* kChosenVariable = "URNIC_CHOSEN";
/// Its process; only set inside of it.
inline constexpr const char* kRunVariable = "URNIC_RUN";

/// Everything a process knows about one NIC of its own. Keep it as long as the device, and longer than its
/// port: the lease in it ends when it does.
struct NicEnvironment {
  unsigned number = 0;       ///< of the process's devices, from 0
  nic::DeviceConfig device;  ///< complete: addresses, MAC, link MTU, progress, seed
  nic::HostAddresses host;   ///< that the NIC shares; empty unless the port is `udp` or `host`
  nic::PortSpec port;        ///< complete: with the side of a wire, the slot of a fabric
  std::string pcap_file;     ///< where to record frames; empty: nowhere
  std::string record_file;   ///< where to record frames, with notes; empty: nowhere
  nic::Column like = nic::Column::kDefault;     ///< whom the device is like, as `device` says in full
  FaultList faults;                             ///< of frames, which the fault injector is told, and of calls
  bool explains = false;                        ///< failures, to the user
  std::optional<nic::AdversarySettings> chaos;  ///< the process's, of its first device; absent: none
  FaultList drawn_faults;  ///< that chaos has drawn, beside `faults`; the user is not told which fired
  std::optional<SanitizerSettings> sanitizer;  ///< the process's, of its first device; absent: it is off
  std::string switch_program;                  ///< to start if none runs; empty: the one beside the drop-in
  std::string paths_folder;                    ///< shows the device's files to programs; empty: none does
  bool has_icrc_always = false;                ///< also between NICs that share memory
  bool is_port_chosen = false;                 ///< by the user; else it is the default
  std::vector<unsigned> processors;            ///< of the NIC's threads; empty: those that the process has
  std::unique_ptr<nic::GrantedClock> granted_clock;  ///< which the port moves; null: time is real
  bool verbose = false;                              ///< say on stderr what happens
  nic::Lease lease;                                  ///< held unless the port needs none
  std::vector<const char*> left_open;  ///< variables of the identity that were not given, and chosen here

  /// `faults` and `drawn_faults` together.
  FaultList all_faults() const;
};

/// Reads the environment of this process, for each of its devices. variable_table.cc lists the variables,
/// with what holds without them. Of device N a variable is NAME_N, or NAME where that is not set (class
/// Variables).
///
/// Inside `urnic run` the first process that reads its environment is the NIC that the run made. Each further
/// one is a NIC of its own: it makes its own choice of what the user left open, and records in FILE.PROCESS.
/// Where the user left too little open for that, the error says so.
///
/// An empty variable counts as absent. The error is one line for a person and names the variable. May wait
/// about a second for a program that is just ending (nic::Lease::take). Needs no privilege and starts
/// nothing. Not thread-safe against setenv().
Result<std::vector<NicEnvironment>, Error> read_environments();

}  // namespace urnic::verbs_api
