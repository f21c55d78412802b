// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NicEnvironment: what URNIC_* variables say, checked, and what they leave open, filled in.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  FaultList faults;          ///< of frames, which the fault injector is told, and of calls
  std::optional<SanitizerSettings> sanitizer;  ///< the process's, of its first device; absent: it is off
  std::string paths_folder;                    ///< shows the device's files to programs; empty: none does
  bool has_icrc_always = false;                ///< also between NICs that share memory
  bool is_port_chosen = false;                 ///< by the user; else it is the default
  std::vector<unsigned> processors;            ///< of the NIC's threads; empty: those that the process has
  bool verbose = false;                        ///< say on stderr what happens
  nic::Lease lease;                            ///< held unless the port needs none
  std::vector<const char*> left_open;  ///< variables of the identity that were not given, and chosen here
};

/// Reads the environment of this process, for each of its devices:
///
///   URNIC_IP=A.B.C.D/LEN   IPv4 address, GID 1     default: on a wire 10.77.0.1/24 and .2; on a
///                                                   fabric of the network that this has drawn;
///                                                   over UDP always the host's
///   URNIC_IP6=ADDRESS/LEN  IPv6 address, GID 2     default: none
///   URNIC_MAC=M            hardware address        default: made from the address
///   URNIC_MTU=N            largest IP packet       default: 4200, or the interface's or fabric's if less;
///                                                with the host's addresses 4200, and each way's by its route
///   URNIC_VLAN=N           VLAN of every frame     default: none, frames have no tag
///   URNIC_PORT=SPEC        see nic::PortSpec       default: fabric
///   URNIC_DEVICES=N        devices of the process  default: 1; with the port host,each one for each
///                                                   interface of the host
///   URNIC_PCAP=FILE        records every frame     default: records nothing
///   URNIC_RECORD=FILE      the same, with notes    default: records nothing
///   URNIC_FAULT=SPEC       see drivers/fault and   default: none
///                          verbs_api/fault
///   URNIC_ICRC=wires|always  what packets have an  default: wires, but those between two NICs that share
///                          ICRC                    memory only if one records them, or has faults
///   URNIC_CC=SPEC          see nic/congestion      default: none, sends as fast as it can
///   URNIC_RECOVERY=MODE    what is offered to      default: go-back-n; the other one is
///                          reliable connections    selective-repeat
///   URNIC_SEED=N           of everything drawn     default: random
///   URNIC_PROGRESS=MODE    hybrid or thread        default: hybrid
///   URNIC_CPUS=LIST        processors of the       default: those that the process had when it
///                          NIC's threads: 0-3,8    started, wherever its own threads are pinned
///   URNIC_MW_TYPE_2=2A|2B  what type 2 windows are default: 2B
///   URNIC_VERBOSE=1        says what happens       default: 0
///   URNIC_EXPLAIN=1        says why things fail    default: 0
///   URNIC_SANITIZER=SPEC   looks for mistakes,     default: does not look
///                          see verbs_api/sanitizer
///   URNIC_PATHS=FOLDER     shows the device's      default: outside
///                          files, see tools/runtime/paths
///   URNIC_LEASE_FD=N       inside `urnic run`      default: outside
///   URNIC_RUN=N            see kRunVariable        default: outside
///   URNIC_CHOSEN=LIST      see kChosenVariable     default: nothing
///
/// Of device N a variable is NAME_N, or NAME where that is not set (class Variables).
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
