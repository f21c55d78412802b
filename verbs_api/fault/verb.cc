// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/fault/verb.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "verbs_api/fault/likeness.h"

namespace urnic::verbs_api {
namespace {

constexpr auto kVerbs = std::to_array<VerbRow>({
    {Verb::kGetDeviceList, "ibv_get_device_list", {}, true},
    {Verb::kOpenDevice, "ibv_open_device"},
    {Verb::kCloseDevice, "ibv_close_device", {}, true},
    {Verb::kImportDevice, "ibv_import_device"},
    {Verb::kQueryDevice, "ibv_query_device", "ibv_query_device_ex"},
    {Verb::kQueryPort, "ibv_query_port"},
    {Verb::kQueryGid, "ibv_query_gid"},
    {Verb::kQueryGidEx, "ibv_query_gid_ex"},
    {Verb::kQueryGidTable, "ibv_query_gid_table"},
    {Verb::kQueryPkey, "ibv_query_pkey"},
    {Verb::kQueryRtValues, "ibv_query_rt_values_ex"},
    {Verb::kGetAsyncEvent, "ibv_get_async_event", {}, true},

    {Verb::kAllocPd, "ibv_alloc_pd"},
    {Verb::kDeallocPd, "ibv_dealloc_pd", {}, true},
    {Verb::kAllocTd, "ibv_alloc_td"},
    {Verb::kDeallocTd, "ibv_dealloc_td", {}, true},
    {Verb::kAllocParentDomain, "ibv_alloc_parent_domain"},
    {Verb::kRegMr, "ibv_reg_mr", "ibv_reg_mr_iova ibv_reg_mr_iova2 ibv_reg_mr_ex"},
    {Verb::kRegDmabufMr, "ibv_reg_dmabuf_mr"},
    {Verb::kReregMr, "ibv_rereg_mr"},
    {Verb::kDeregMr, "ibv_dereg_mr", {}, true},
    {Verb::kAllocNullMr, "ibv_alloc_null_mr"},
    {Verb::kAdviseMr, "ibv_advise_mr"},
    {Verb::kAllocDm, "ibv_alloc_dm"},
    {Verb::kFreeDm, "ibv_free_dm", {}, true},
    {Verb::kRegDmMr, "ibv_reg_dm_mr"},
    {Verb::kAllocMw, "ibv_alloc_mw"},
    {Verb::kDeallocMw, "ibv_dealloc_mw", {}, true},
    {Verb::kBindMw, "ibv_bind_mw"},

    {Verb::kCreateCompChannel, "ibv_create_comp_channel"},
    {Verb::kDestroyCompChannel, "ibv_destroy_comp_channel", {}, true},
    {Verb::kGetCqEvent, "ibv_get_cq_event", {}, true},
    {Verb::kCreateCq, "ibv_create_cq", "ibv_create_cq_ex"},
    {Verb::kModifyCq, "ibv_modify_cq"},
    {Verb::kResizeCq, "ibv_resize_cq"},
    {Verb::kDestroyCq, "ibv_destroy_cq", {}, true},
    {Verb::kReqNotifyCq, "ibv_req_notify_cq", {}, true},
    {Verb::kPollCq, "ibv_poll_cq", {}, true},
    {Verb::kStartPoll, "ibv_start_poll", {}, true},
    {Verb::kNextPoll, "ibv_next_poll", {}, true},

    {Verb::kCreateQp, "ibv_create_qp", "ibv_create_qp_ex"},
    {Verb::kOpenQp, "ibv_open_qp"},
    {Verb::kModifyQp, "ibv_modify_qp"},
    {Verb::kQueryQp, "ibv_query_qp"},
    {Verb::kDestroyQp, "ibv_destroy_qp", {}, true},
    {Verb::kPostSend, "ibv_post_send"},
    {Verb::kPostRecv, "ibv_post_recv"},
    {Verb::kWrComplete, "ibv_wr_complete"},
    {Verb::kSetEce, "ibv_set_ece"},
    {Verb::kQueryEce, "ibv_query_ece"},
    {Verb::kCreateAh, "ibv_create_ah"},
    {Verb::kCreateAhFromWc, "ibv_create_ah_from_wc"},
    {Verb::kDestroyAh, "ibv_destroy_ah", {}, true},
    {Verb::kAttachMcast, "ibv_attach_mcast"},
    {Verb::kDetachMcast, "ibv_detach_mcast", {}, true},

    {Verb::kCreateSrq, "ibv_create_srq", "ibv_create_srq_ex"},
    {Verb::kModifySrq, "ibv_modify_srq"},
    {Verb::kQuerySrq, "ibv_query_srq"},
    {Verb::kDestroySrq, "ibv_destroy_srq", {}, true},
    {Verb::kPostSrqRecv, "ibv_post_srq_recv"},
    {Verb::kGetSrqNum, "ibv_get_srq_num"},
    {Verb::kOpenXrcd, "ibv_open_xrcd"},
    {Verb::kCloseXrcd, "ibv_close_xrcd", {}, true},

    {Verb::kCreateWq, "ibv_create_wq"},
    {Verb::kModifyWq, "ibv_modify_wq"},
    {Verb::kDestroyWq, "ibv_destroy_wq", {}, true},
    {Verb::kCreateRwqIndTable, "ibv_create_rwq_ind_table"},
    {Verb::kDestroyRwqIndTable, "ibv_destroy_rwq_ind_table", {}, true},
    {Verb::kCreateFlow, "ibv_create_flow"},
    {Verb::kDestroyFlow, "ibv_destroy_flow", {}, true},
    {Verb::kCreateCounters, "ibv_create_counters"},
    {Verb::kDestroyCounters, "ibv_destroy_counters", {}, true},
    {Verb::kAttachCounters, "ibv_attach_counters_point_flow"},
    {Verb::kReadCounters, "ibv_read_counters"},

    {Verb::kCmCreateEventChannel, "rdma_create_event_channel", {}, true},
    {Verb::kCmCreateId, "rdma_create_id", {}, true},
    {Verb::kCmDestroyId, "rdma_destroy_id", {}, true},
    {Verb::kCmMigrateId, "rdma_migrate_id", {}, true},
    {Verb::kCmSetOption, "rdma_set_option", {}, true},
    {Verb::kCmBindAddr, "rdma_bind_addr"},
    {Verb::kCmResolveAddr, "rdma_resolve_addr"},
    {Verb::kCmResolveRoute, "rdma_resolve_route"},
    {Verb::kCmListen, "rdma_listen"},
    {Verb::kCmConnect, "rdma_connect"},
    {Verb::kCmAccept, "rdma_accept"},
    {Verb::kCmEstablish, "rdma_establish"},
    {Verb::kCmReject, "rdma_reject", "rdma_reject_ece"},
    {Verb::kCmDisconnect, "rdma_disconnect", {}, true},
    {Verb::kCmNotify, "rdma_notify", {}, true},
    {Verb::kCmJoinMulticast, "rdma_join_multicast", "rdma_join_multicast_ex"},
    {Verb::kCmLeaveMulticast, "rdma_leave_multicast", {}, true},
    {Verb::kCmGetEvent, "rdma_get_cm_event", {}, true},
});

static_assert(kVerbs.size() == kVerbCount);
static_assert([] {
  for (std::size_t i = 0; i < kVerbs.size(); ++i) {
    if (static_cast<std::size_t>(kVerbs[i].verb) != i) return false;
  }
  return true;
}());

/// Whether `name` is one of the words of `names`.
bool is_one_of(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t space = std::min(names.find(' '), names.size());
    if (names.substr(0, space) == name) return true;
    names.remove_prefix(std::min(space + 1, names.size()));
  }
  return false;
}

}  // namespace

std::span<const VerbRow> verbs() {
  return kVerbs;
}

const VerbRow* find_verb(std::string_view name) {
  const auto* const found = std::find_if(kVerbs.begin(), kVerbs.end(), [&](const VerbRow& row) {
    return row.name == name || is_one_of(row.other_names, name);
  });
  return found != kVerbs.end() ? found : nullptr;
}

std::string verbs_like(std::string_view name) {
  std::vector<std::string_view> names;
  for (const VerbRow& row : kVerbs) names.push_back(row.name);
  return names_like(name, names);
}

}  // namespace urnic::verbs_api
