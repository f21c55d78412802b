// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How rows of the table are written.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "nic/personality/table.h"
#include "nic/personality/words.h"

namespace urnic::nic::table {

template <typename Value>
constexpr Cell own(Value value) {
  return {.value = static_cast<std::uint64_t>(value), .standing = Standing::kOwn};
}
template <typename Value>
constexpr Cell measured(Value value, std::string_view source) {
  return {.value = static_cast<std::uint64_t>(value), .standing = Standing::kMeasured, .source = source};
}
template <typename Value>
constexpr Cell read_in(Value value, std::string_view source) {
  return {.value = static_cast<std::uint64_t>(value), .standing = Standing::kRead, .source = source};
}
template <typename Value>
constexpr Cell documented(Value value, std::string_view source) {
  return {.value = static_cast<std::uint64_t>(value), .standing = Standing::kDocumented, .source = source};
}
template <typename Value>
constexpr Cell reported(Value value, std::string_view source) {
  return {.value = static_cast<std::uint64_t>(value), .standing = Standing::kReported, .source = source};
}
constexpr Cell unknown() {
  return {};
}
constexpr Cell smallest() {
  return {.value = 0, .standing = Standing::kSmallest, .source = "the smallest of the others"};
}
constexpr Cell as(Column column) {
  return {.value = static_cast<std::uint64_t>(column), .standing = Standing::kAs};
}

inline constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

/// Sets one member of Personality, which the row is about.
template <auto Member>
constexpr Row row(std::string_view name, std::string_view meaning, const Cells& cells,
                  std::uint64_t most = kNoEnd) {
  using Value = std::remove_reference_t<decltype(Personality{}.*Member)>;
  return {.name = name,
          .meaning = meaning,
          .cells = cells,
          .most = most,
          .set = [](Personality& personality,
                    std::uint64_t value) { personality.*Member = static_cast<Value>(value); },
          .words = [](std::uint64_t value) { return std::string(words_of(static_cast<Value>(value))); }};
}

// Sources.

inline constexpr std::string_view kPollManual = "the manual page of ibv_poll_cq";
inline constexpr std::string_view kStandard = "the InfiniBand specification, as others cite it";
inline constexpr std::string_view kMlx5Verbs = "rdma-core, providers/mlx5/verbs.c";
inline constexpr std::string_view kMlx5Qp = "rdma-core, providers/mlx5/qp.c";
inline constexpr std::string_view kMlx5Cq = "rdma-core, providers/mlx5/cq.c";
inline constexpr std::string_view kMlx5Main = "Linux, drivers/infiniband/hw/mlx5/main.c";
inline constexpr std::string_view kRdmaSysfs = "Linux, drivers/infiniband/core/sysfs.c";
inline constexpr std::string_view kGidManagement = "Linux, drivers/infiniband/core/roce_gid_mgmt.c";
inline constexpr std::string_view kIrdmaUk = "rdma-core, providers/irdma/uk.c";
inline constexpr std::string_view kIrdmaVerbs = "rdma-core, providers/irdma/uverbs.c";
inline constexpr std::string_view kIrdmaDriver = "Linux, drivers/infiniband/hw/irdma/verbs.c";
inline constexpr std::string_view kRxeVerbs = "rdma-core, providers/rxe/rxe.c";
inline constexpr std::string_view kRxeDriver = "Linux, drivers/infiniband/sw/rxe";
inline constexpr std::string_view kFaults5 = "the public fault characterization of unionxic, on a ConnectX-5";
inline constexpr std::string_view kFaults6 = "the public fault characterization of unionxic, on a ConnectX-6";
inline constexpr std::string_view kPrint5 = "a public print of ibv_devinfo, of a ConnectX-5";
inline constexpr std::string_view kPrint6 = "a public print of ibv_devinfo, of a ConnectX-6 Dx";
inline constexpr std::string_view kPrintE810 =
    "a public print of ibv_devinfo, of an E810 with a driver out of the tree";

}  // namespace urnic::nic::table
