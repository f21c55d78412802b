// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// HostFacts: what `urnic doctor` found out about a host, before `judge` says what it means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nic/host/udp_port_holders.h"
#include "tools/inspection/doctor/system_call_probes.h"
#include "tools/runtime/mounts/mount_namespace.h"
#include "transport/result.h"

namespace urnic::tools {

/// A network interface that is up and has addresses; the loopback is none.
struct InterfaceFacts {
  std::string name;
  std::vector<std::string> addresses;  ///< IPv4 and IPv6, without prefix lengths
  std::uint16_t mtu = 0;               ///< bytes of an IP packet; 0: not known

  friend bool operator==(const InterfaceFacts&, const InterfaceFacts&) = default;
};

/// A device of the kernel below /sys/class/infiniband.
struct RdmaDeviceFacts {
  std::string name;    ///< "mlx5_0"
  std::string driver;  ///< "mlx5_core"; empty for those that are software

  friend bool operator==(const RdmaDeviceFacts&, const RdmaDeviceFacts&) = default;
};

/// What a NIC that shares the host's addresses has at an index of its GID table.
struct HostGid {
  std::size_t index = 0;
  std::string address;
  std::string interface;

  friend bool operator==(const HostGid&, const HostGid&) = default;
};

/// An empty optional, or an empty list, says that it is not known, or not there.
struct HostFacts {
  std::string dropin;          ///< our libibverbs.so.1; empty: not found
  std::string dropin_error;    ///< why it cannot be loaded; empty: it can
  std::string runtime_folder;  ///< where sockets and locks are
  std::string runtime_folder_error;
  std::vector<ProbedSystemCall> system_calls;
  NamespaceProbe mounts;  ///< whether programs may have mounts of their own

  std::optional<std::uint64_t> available_memory;  ///< bytes, of the machine and of our control group
  std::optional<std::uint64_t> shm_bytes;         ///< size of /dev/shm
  std::optional<std::uint64_t> locked_memory;     ///< RLIMIT_MEMLOCK in bytes; none: no limit

  unsigned cores = 0;                  ///< that we may run on
  std::optional<double> core_quota;    ///< of our control group, in cores
  std::string clock_source;            ///< "tsc"; empty: not known
  std::vector<std::string> cpu_flags;  ///< as /proc/cpuinfo names them

  bool may_use_raw_sockets = false;  ///< CAP_NET_RAW, in our network namespace
  bool has_rxe_module = false;
  std::vector<RdmaDeviceFacts> rdma_devices;
  unsigned uid = 0;  ///< ours
  std::vector<nic::UdpPortHolder> roce_port_holders;
  std::string firewall;  ///< "ufw", "firewalld", "nftables" or "iptables" where that seems to be in use
  std::vector<HostGid> host_gids;
  std::vector<InterfaceFacts> interfaces;
};

/// Reads them. `dropin` is the folder of our libibverbs.so.1, which is loaded into this process, or the
/// reason why there is none. Files of the system are read below `root`; system calls tell the rest.
HostFacts read_host_facts(const Result<std::string, Error>& dropin, const std::string& root = "/");

// --- What the files say; for tests ---

/// MemAvailable of /proc/meminfo, bytes.
std::optional<std::uint64_t> available_memory_of(const std::string& meminfo);
/// "nftables" or "iptables" where the text of /proc/modules shows that the kernel's part of it is used;
/// empty: it does not.
std::string packet_filter_of(const std::string& modules);
/// The flags of the first processor in /proc/cpuinfo; arm64 calls them Features.
std::vector<std::string> cpu_flags_of(const std::string& cpuinfo);
/// cpu.max of a control group, in cores; nothing for "max".
std::optional<double> core_quota_of(const std::string& cpu_max);

}  // namespace urnic::tools
