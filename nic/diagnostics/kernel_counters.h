// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The counters that a kernel driver shows below /sys/class/infiniband/DEVICE/ports/1, out of a device's own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "nic/personality/personality.h"

namespace urnic::nic {

/// A file, and what is added up for it.
struct KernelCounter {
  std::string_view file;                    ///< below ports/1: "counters/port_xmit_data"
  unsigned lists = 0;                       ///< in which it is: bits 1 << CounterNames
  std::array<std::string_view, 8> sources;  ///< names in Device::all_counters(); none: it is always 0
  std::uint64_t unit = 1;                   ///< what the sum is divided by
  std::string_view less{};                  ///< a counter that is taken from the sum
};

/// The counters of a list. A counter of which the NIC does not know the value, as port_xmit_wait, has no
/// file. Those without sources are about things that a NIC of software does not have or do: symbols, a
/// virtual lane 15, credits of a link layer, TCP, connections of mlx5's DC.
///
/// kOwn: counters/ has those that mlx5 answers on Ethernet ports (fact 54; InfiniBand's PortCounters),
/// hw_counters/ the ones of rdma_rxe, mlx5 and EFA that this NIC counts, under all their names. Of the other
/// lists each has the names of one driver; those whose driver makes no counters/ have none there. A file's
/// name is once in a list. The first one is what processes lock. Lives as long as the program.
std::span<const KernelCounter> kernel_counters(CounterNames names);

/// A word without spaces, as a list is named in files; and the list of that name.
std::string_view name_of(CounterNames names);
std::optional<CounterNames> counter_names_named(std::string_view name);

/// Device::all_counters().
using CounterValues = std::vector<std::pair<std::string_view, std::uint64_t>>;

/// What the file shows of a device whose counters these are.
std::uint64_t value_of(const KernelCounter& counter, const CounterValues& values);

}  // namespace urnic::nic
