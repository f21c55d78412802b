// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/config/variable_table.h"

#include <array>

namespace urnic::verbs_api {
namespace {

constexpr std::array kVariables{
    VariableEntry{"URNIC_IP", "A.B.C.D/LEN", "IPv4 address of the NIC, GID 1.",
                  "on a wire 10.77.0.1/24 and .2; on a fabric one of the network that it has drawn; over the "
                  "host's network the host's"},
    VariableEntry{"URNIC_IP6", "ADDRESS/LEN", "IPv6 address of the NIC, GID 2.", "none"},
    VariableEntry{"URNIC_MAC", "M", "Hardware address.", "made from the address"},
    VariableEntry{"URNIC_MTU", "N", "Largest IP packet in bytes.",
                  "4200, or the interface's or fabric's if that is less; with the host's addresses 4200, and "
                  "each path's by its route"},
    VariableEntry{"URNIC_VLAN", "N", "VLAN of every frame, 1 to 4094.", "none, frames have no tag"},
    VariableEntry{"URNIC_PORT", "SPEC", "Where the frames go, as --port.",
                  "host; fabric where the NIC is given an address, a MAC or a VLAN of its own"},
    VariableEntry{"URNIC_DEVICES", "N", "Devices of the process.",
                  "1; with the port host,each one for each interface of the host"},
    VariableEntry{"URNIC_PCAP", "FILE", "Records every frame, as --pcap.", "records nothing"},
    VariableEntry{"URNIC_RECORD", "FILE", "Records every frame and what the NIC knows, as --record.",
                  "records nothing"},
    VariableEntry{"URNIC_FAULT", "SPEC", "Damages frames and lets calls fail, as --fault.", "none"},
    VariableEntry{"URNIC_ICRC", "wires|always", "Which packets have an ICRC.",
                  "wires; packets between two NICs that share memory have one only if one of the two records "
                  "them, or has faults"},
    VariableEntry{"URNIC_CC", "SPEC", "Congestion control, as --cc.", "none, sends as fast as it can"},
    VariableEntry{"URNIC_RECOVERY", "go-back-n|selective-repeat",
                  "What reliable connections are offered, as --recovery.", "go-back-n"},
    VariableEntry{"URNIC_LIKE", "default|connectx5|connectx6|e810|rxe|strict[,identity]",
                  "Which NIC the device is like, as --like.", "default"},
    VariableEntry{"URNIC_SEED", "N", "Seed of everything that is drawn.", "random; 1 over the port bench"},
    VariableEntry{"URNIC_PROGRESS", "hybrid|thread",
                  "Who works: the program's polling too, or the NIC's own thread alone.", "hybrid"},
    VariableEntry{"URNIC_CPUS", "LIST", "Processors of the NIC's threads, such as 0-3,8.",
                  "those that the process had when it started, wherever its own threads are pinned"},
    VariableEntry{"URNIC_MW_TYPE_2", "2A|2B", "What memory windows of type 2 are.", "2B"},
    VariableEntry{"URNIC_VERBOSE", "0|1", "Says on stderr what happens.", "0"},
    VariableEntry{"URNIC_EXPLAIN", "0|1", "Says on stderr why a work request failed or was refused.", "0"},
    VariableEntry{"URNIC_CHAOS", "SPEC", "Does what the rules allow and programs may not expect, as --chaos.",
                  "off"},
    VariableEntry{"URNIC_SANITIZER", "SPEC",
                  "Looks for mistakes that pass here and fail on hardware, as --sanitize.", "does not look"},
    // urnic run sets these for the programs in it.
    VariableEntry{"URNIC_PATHS", "FOLDER", "Where the device's files are that programs are shown.", nullptr},
    VariableEntry{"URNIC_LEASE_FD", "N", "The descriptor that keeps the lease of the NIC.", nullptr},
    VariableEntry{"URNIC_RUN", "N", "The process of the run.", nullptr},
    VariableEntry{"URNIC_CHOSEN", "LIST", "What the run has chosen because the user left it open.", nullptr},
};

}  // namespace

std::span<const VariableEntry> variable_table() {
  return kVariables;
}

}  // namespace urnic::verbs_api
