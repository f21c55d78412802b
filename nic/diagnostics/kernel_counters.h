// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The counters that a kernel driver shows below /sys/class/infiniband/DEVICE/ports/1, out of a device's own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace urnic::nic {

/// A file, and what is added up for it.
struct KernelCounter {
  std::string_view file;                    ///< below ports/1: "counters/port_xmit_data"
  std::array<std::string_view, 8> sources;  ///< names in Device::all_counters(); none: it is always 0
  std::uint64_t unit = 1;                   ///< what the sum is divided by
};

/// counters/ are those that mlx5 answers on Ethernet ports (fact 54; InfiniBand's PortCounters), hw_counters/
/// the ones of rdma_rxe, mlx5 and EFA that this NIC counts, under all their names. A counter that the NIC
/// does not have, such as roce_adp_retrans or port_xmit_wait, has no file. Those without sources are about
/// things that a NIC of software does not have: symbols, a virtual lane 15, credits of a link layer.
std::span<const KernelCounter> kernel_counters();

/// Device::all_counters().
using CounterValues = std::vector<std::pair<std::string_view, std::uint64_t>>;

/// What the file shows of a device whose counters these are.
std::uint64_t value_of(const KernelCounter& counter, const CounterValues& values);

}  // namespace urnic::nic
