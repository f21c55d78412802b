// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/checks/capability_checks.h"

#include <fmt/core.h>

#include <cstdint>
#include <string_view>

namespace urnic::verbs_api {
namespace {

struct KnownNic {
  std::string_view name;
  ibv_qp_cap most;
};

// As public prints of ibv_devinfo, the kernel's drivers and rdma-core's providers have it; where they differ,
// the larger one. ConnectX has room for inline data by the queue pair's type, so the largest that was seen.
constexpr KnownNic kKnownNics[] = {
    {"ConnectX-5 and -6",
     {.max_send_wr = 32768,
      .max_recv_wr = 32768,
      .max_send_sge = 30,
      .max_recv_sge = 32,
      .max_inline_data = 988}},
    {"E810",
     {.max_send_wr = 8127,
      .max_recv_wr = 8127,
      .max_send_sge = 13,
      .max_recv_sge = 13,
      .max_inline_data = 101}},
    {"rdma_rxe",
     {.max_send_wr = 1048576,
      .max_recv_wr = 1048576,
      .max_send_sge = 32,
      .max_recv_sge = 32,
      .max_inline_data = 512}},
};

struct QueueLimit {
  std::string_view name;
  std::uint32_t ibv_qp_cap::*value;
};

constexpr QueueLimit kQueueLimits[] = {
    {"max_send_wr", &ibv_qp_cap::max_send_wr},         {"max_recv_wr", &ibv_qp_cap::max_recv_wr},
    {"max_send_sge", &ibv_qp_cap::max_send_sge},       {"max_recv_sge", &ibv_qp_cap::max_recv_sge},
    {"max_inline_data", &ibv_qp_cap::max_inline_data},
};

}  // namespace

void check_capabilities(Complaints& complaints, const std::string& name, const ibv_qp_cap& wanted) {
  std::string lacking;
  for (const QueueLimit& capability : kQueueLimits) {
    for (const KnownNic& nic : kKnownNics) {
      const std::uint32_t most = nic.most.*capability.value;
      if (wanted.*capability.value <= most) continue;
      lacking += fmt::format("{}{} is {} ({}: {})", lacking.empty() ? "" : ", ", capability.name,
                             wanted.*capability.value, nic.name, most);
    }
  }
  if (lacking.empty()) return;
  complaints.complain(Finding::kMoreThanSomeNicsHave, name, [&] { return lacking; });
}

}  // namespace urnic::verbs_api
