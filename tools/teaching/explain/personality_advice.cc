// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program does about each row of nic/personality, so that it works with all columns.
#include "tools/teaching/explain/advice.h"

namespace urnic::explain {
namespace {

using verbs_api::Finding;

// init, device, device_ex and port stand for what the program has requested or queried.
constexpr Advice kOnPersonalities[] = {
    // Queues.
    {"granted-room", "count with what you have requested, or with the capabilities that the verb gives back",
     Finding::kRoomNotRequested},
    {"send-room", "signal at least one request in each half of the send queue, and poll its completion",
     Finding::kSendQueueNeverDrained},
    {"receive-room", "poll a receive's completion before you post the next one in its place",
     Finding::kReceiveQueueNeverDrained},

    // Posts.
    {.name = "too-many-elements-of-a-send",
     .text = "compare num_sge with max_send_sge yourself: the errno does not tell what was too much",
     .wrong = R"(while (ibv_post_send(qp, &wr, &bad) == ENOMEM) poll(cq);  // forever: num_sge is too large)",
     .right = R"(assert(wr.num_sge <= (int)init.cap.max_send_sge);
while (ibv_post_send(qp, &wr, &bad) == ENOMEM) poll(cq);)"},
    {.name = "inline-too-long",
     .text = "compare the length with the max_inline_data that ibv_create_qp() has given back",
     .wrong = R"(wr.send_flags |= IBV_SEND_INLINE;)",
     .right = R"(if (length <= init.cap.max_inline_data) wr.send_flags |= IBV_SEND_INLINE;)"},
    {"send-before-rts", "post sends from RTS on", Finding::kPostInWrongState},
    {.name = "receive-before-init",
     .text = "post receives from INIT on",
     .finding = Finding::kPostInWrongState,
     .wrong = R"(ibv_post_recv(qp, &wr, &bad);
modify_to_init(qp);)",
     .right = R"(modify_to_init(qp);
ibv_post_recv(qp, &wr, &bad);)"},
    {"atomic-address", "align what atomics work on to 8 bytes", Finding::kMisalignedAtomic},

    // What there is.
    {.name = "atomics",
     .text = "look at atomic_cap of ibv_query_device(), and have a way without atomics",
     .finding = Finding::kMissingOnSomeNics,
     .wrong = R"(wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;)",
     .right = R"(if (device.atomic_cap == IBV_ATOMIC_NONE) return count_by_messages();
wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;)"},
    {"shared-receive-queues", "look at max_srq of ibv_query_device(), and have a way without them",
     Finding::kMissingOnSomeNics},
    {.name = "xrc",
     .text = "look at IBV_DEVICE_XRC in device_cap_flags, and have a way by RC",
     .finding = Finding::kMissingOnSomeNics,
     .wrong = R"(xrcd = ibv_open_xrcd(context, &attr);)",
     .right = R"(if (device.device_cap_flags & IBV_DEVICE_XRC) xrcd = ibv_open_xrcd(context, &attr);)"},
    {.name = "unreliable-connections",
     .text = "no capability tells of UC: take RC where ibv_create_qp() refuses it",
     .wrong = R"(init.qp_type = IBV_QPT_UC;
qp = ibv_create_qp(pd, &init);)",
     .right = R"(init.qp_type = IBV_QPT_UC;
qp = ibv_create_qp(pd, &init);
if (qp == NULL) {
  init.qp_type = IBV_QPT_RC;
  qp = ibv_create_qp(pd, &init);
})"},
    {.name = "on-demand-paging",
     .text = "look at odp_caps of ibv_query_device_ex(), and pin the memory where there is none",
     .wrong = R"(mr = ibv_reg_mr(pd, memory, length, access | IBV_ACCESS_ON_DEMAND);)",
     .right = R"(if (device_ex.odp_caps.general_caps & IBV_ODP_SUPPORT) access |= IBV_ACCESS_ON_DEMAND;
mr = ibv_reg_mr(pd, memory, length, access);)"},
    {.name = "completion-times",
     .text = "look at completion_timestamp_mask of ibv_query_device_ex(), and take the time yourself without",
     .wrong = R"(attr.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;)",
     .right = R"(if (device_ex.completion_timestamp_mask != 0) {
  attr.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
})"},

    // Completions.
    {.name = "fields-of-a-failure",
     .text = "look at the status first, and find the request by its wr_id",
     .finding = Finding::kUndefinedFieldRead,
     .wrong = R"(switch (wc.opcode) {  // whatever the status is
  case IBV_WC_RECV: handle_message(wc.wr_id, wc.byte_len);)",
     .right = R"(if (wc.status != IBV_WC_SUCCESS) return handle_failure(wc.wr_id, wc.status);
switch (wc.opcode) {
  case IBV_WC_RECV: handle_message(wc.wr_id, wc.byte_len);)"},
    {.name = "fields-of-a-send",
     .text = "keep the length of a send yourself: byte_len is of receives, READs and atomics",
     .wrong = R"(bytes_written += wc.byte_len;)",
     .right = R"(bytes_written += request_of(wc.wr_id)->length;)"},
    {.name = "vendor-errors",
     .text = "decide by the status; write vendor_err into the log, for people",
     .wrong = R"(if (wc.vendor_err == 0x81) reconnect();)",
     .right = R"(if (wc.status == IBV_WC_RETRY_EXC_ERR) reconnect();)"},
    {.name = "grh-flag",
     .text = "test bits of wc_flags, and do not compare the whole",
     .wrong = R"(if (wc.wc_flags == IBV_WC_WITH_IMM) use(ntohl(wc.imm_data));)",
     .right = R"(if (wc.wc_flags & IBV_WC_WITH_IMM) use(ntohl(wc.imm_data));)"},
    {.name = "immediate-flag",
     .text = "read imm_data of receives alone: a send's completion may have the flag and no data",
     .wrong = R"(if (wc.wc_flags & IBV_WC_WITH_IMM) use(ntohl(wc.imm_data));)",
     .right =
         R"(if ((wc.opcode & IBV_WC_RECV) && (wc.wc_flags & IBV_WC_WITH_IMM)) use(ntohl(wc.imm_data));)"},
    {"unpolled-completions", "poll all completions of a queue pair before you destroy it",
     Finding::kDestroyedWithWorkOutstanding},
    {.name = "named-failure",
     .text =
         "after a failure repeat everything that has no successful completion, not the named request only",
     .wrong = R"(if (wc.status != IBV_WC_SUCCESS) repeat(request_of(wc.wr_id));)",
     .right = R"(if (wc.status != IBV_WC_SUCCESS) {
  reconnect();
  for (request = oldest_without_success(); request != NULL; request = request->next) repeat(request);
})"},

    // What happens between the ends of a connection.
    {"ack-timers", "do not count on a fast failure: ask the peer by messages of your own",
     Finding::kShortAckTimeout},
    {.name = "seven-retries",
     .text = "rely neither on an end of the retries nor on retries without end: have a limit of your own",
     .wrong = R"(attr.retry_cnt = 7;  // so that a dead peer is noticed in the end
while (ibv_poll_cq(cq, 1, &wc) == 0) {})",
     .right = R"(attr.retry_cnt = 7;
while (ibv_poll_cq(cq, 1, &wc) == 0) {
  if (now() > deadline) modify_to_error(qp);  // flushes what is outstanding
})"},
    {.name = "long-send",
     .text = "tell the peer how long its messages may be; do not find it out from a status",
     .wrong = R"(if (wc.status == IBV_WC_REM_INV_REQ_ERR) send_in_pieces(message);)",
     .right = R"(if (message->length > length_that_the_peer_receives) send_in_pieces(message);
else send_whole(message);)"},
    {.name = "long-write",
     .text = "take memory for undefined after a WRITE has failed: a part of it may have been written",
     .wrong = R"(if (wc.status == IBV_WC_REM_ACCESS_ERR) use_what_was_there_before();)",
     .right = R"(if (wc.status != IBV_WC_SUCCESS) {
  reconnect();
  write_all_of_it_again();
})"},
    {"silence-after-deregistration", "let the peer say that it is done, and then deregister the region",
     Finding::kRegionDeregisteredUnderPeer},
    {"gid-table", "look for the GID by type and by address, each time that you connect",
     Finding::kGidOfOtherKind},

    // What monitors read.
    {.name = "counters",
     .text = "let monitoring do without a counter that is not there, and know how each driver counts",
     .wrong = R"(value = read_counter(device, "hw_counters/local_ack_timeout_err");  // of mlx5)",
     .right = R"(while ((file = readdir(hw_counters)) != NULL) report(file->d_name);)"},
    {.name = "files",
     .text = "let monitoring do without a file or a folder that is not there",
     .wrong =
         R"(sent = 4 * read_counter(port, "counters/port_xmit_data");  // neither of E810 nor of rdma_rxe)",
     .right = R"(if (access(counters, F_OK) == 0) report_all_below(counters);)"},

    // Numbers.
    {.name = "max_mr_size",
     .text = "register large memory in several regions where one is too large",
     .wrong = R"(mr = ibv_reg_mr(pd, memory, length, access);)",
     .right = R"(for (size_t at = 0; at < length; at += part) {
  part = min(length - at, device.max_mr_size);
  mrs[count++] = ibv_reg_mr(pd, memory + at, part, access);
})"},
    {.name = "page_size_cap", .text = "nothing: drivers choose the pages, and no program of verbs names one"},
    {.name = "max_qp",
     .text = "have a way with fewer queue pairs: ibv_create_qp() fails, and others use the device, too",
     .wrong = R"(for (int i = 0; i < peers * threads; ++i) qps[i] = ibv_create_qp(pd, &init);)",
     .right = R"(count = min(peers * threads, device.max_qp);  // threads share them
for (int i = 0; i < count && (qps[i] = ibv_create_qp(pd, &init)) != NULL; ++i) {})"},
    {.name = "max_qp_wr",
     .text = "request no more than the device has",
     .finding = Finding::kMoreThanSomeNicsHave,
     .wrong = R"(init.cap.max_send_wr = 16384;)",
     .right = R"(init.cap.max_send_wr = min(16384, device.max_qp_wr);)"},
    {.name = "max_sge",
     .text = "request no more than the device has, and gather by memcpy() where it has fewer",
     .finding = Finding::kMoreThanSomeNicsHave,
     .wrong = R"(init.cap.max_send_sge = 16;)",
     .right = R"(init.cap.max_send_sge = min(16, device.max_sge);)"},
    {.name = "max_sge_rd",
     .text = "give a READ no more elements than max_sge_rd, which may be less than max_sge",
     .wrong = R"(read.num_sge = pieces;)",
     .right = R"(read.num_sge = min(pieces, device.max_sge_rd);  // the rest by another READ)"},
    {"max_inline_data", "no query tells: try, and do with less where ibv_create_qp() refuses",
     Finding::kMoreThanSomeNicsHave},
    {.name = "max_cq",
     .text = "let queue pairs share completion queues",
     .wrong = R"(for (int i = 0; i < peers; ++i) cqs[i] = ibv_create_cq(context, 64, NULL, NULL, 0);)",
     .right = R"(cq = ibv_create_cq(context, 64 * peers, NULL, NULL, 0);  // wc.qp_num tells which)"},
    {.name = "max_cqe",
     .text = "spread queue pairs over several completion queues where one is too small",
     .finding = Finding::kCompletionQueueTooSmall,
     .wrong = R"(cq = ibv_create_cq(context, peers * depth, NULL, NULL, 0);)",
     .right =
         R"(if (peers * depth <= device.max_cqe) cq = ibv_create_cq(context, peers * depth, NULL, NULL, 0);
else make_several();)"},
    {.name = "max_mr",
     .text = "register few large regions, and cut them up yourself",
     .finding = Finding::kRegistrationPerMessage,
     .wrong = R"(for (int i = 0; i < buffers; ++i) mrs[i] = ibv_reg_mr(pd, buffer[i], length, access);)",
     .right = R"(mr = ibv_reg_mr(pd, all_buffers, buffers * length, access);)"},
    {.name = "max_pd",
     .text = "have one protection domain for each trust that you give, not for each connection",
     .wrong = R"(connection->pd = ibv_alloc_pd(context);)",
     .right = R"(connection->pd = pd_of_the_service;)"},
    {.name = "max_qp_rd_atom",
     .text = "set max_dest_rd_atomic to at most this, and tell the peer the number",
     .finding = Finding::kResponderResourcesExceeded,
     .wrong = R"(attr.max_dest_rd_atomic = 64;)",
     .right = R"(attr.max_dest_rd_atomic = min(64, device.max_qp_rd_atom);
tell_peer(attr.max_dest_rd_atomic);)"},
    {.name = "max_qp_init_rd_atom",
     .text = "set max_rd_atomic to the smaller one of this and the peer's max_dest_rd_atomic",
     .finding = Finding::kResponderResourcesExceeded,
     .wrong = R"(attr.max_rd_atomic = 64;)",
     .right = R"(attr.max_rd_atomic = min(device.max_qp_init_rd_atom, max_dest_rd_atomic_of_peer);)"},
    {.name = "max_res_rd_atom",
     .text = "nothing: it bounds all queue pairs together, and ibv_modify_qp() says where it is reached"},
    {.name = "max_mw",
     .text = "look at max_mw and at IBV_DEVICE_MEM_WINDOW, and have a way by regions",
     .finding = Finding::kMissingOnSomeNics,
     .wrong = R"(mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);)",
     .right = R"(mw = device.max_mw > 0 ? ibv_alloc_mw(pd, IBV_MW_TYPE_2) : NULL;)"},
    {.name = "max_mcast_grp",
     .text = "join few groups, and name the receiver in the message",
     .wrong = R"(for (int i = 0; i < topics; ++i) ibv_attach_mcast(qp, &group[i], 0);)",
     .right = R"(for (int i = 0; i < topics; ++i) {
  if (ibv_attach_mcast(qp, &group[i], 0) != 0) fetch_by_unicast(i);
})"},
    {.name = "max_mcast_qp_attach",
     .text = "attach one queue pair of a process to a group, and share out what it gets",
     .wrong = R"(for (int i = 0; i < threads; ++i) ibv_attach_mcast(qps[i], &group, 0);)",
     .right = R"(ibv_attach_mcast(qp, &group, 0);  /* its receives go to all threads */)"},
    {.name = "max_ah",
     .text = "keep an address handle for each peer, and destroy it after the last completion",
     .finding = Finding::kAddressHandleDestroyedInUse,
     .wrong = R"(wr.wr.ud.ah = ibv_create_ah(pd, &attr);  // for each datagram, and never destroyed)",
     .right = R"(if (peer->ah == NULL) peer->ah = ibv_create_ah(pd, &attr);
wr.wr.ud.ah = peer->ah;)"},
    {"max_srq", "have a way without shared receive queues: there may be none", Finding::kMissingOnSomeNics},
    {.name = "max_srq_wr",
     .text = "request no more than the device has",
     .wrong = R"(attr.attr.max_wr = 65536;)",
     .right = R"(attr.attr.max_wr = min(65536, device.max_srq_wr);)"},
    {.name = "max_srq_sge",
     .text = "request no more than the device has",
     .wrong = R"(attr.attr.max_sge = 32;)",
     .right = R"(attr.attr.max_sge = min(32, device.max_srq_sge);)"},
    {.name = "max_pkeys",
     .text = "take P_Key index 0, which all have",
     .wrong = R"(attr.pkey_index = 1;)",
     .right = R"(attr.pkey_index = 0;)"},
    {.name = "local_ca_ack_delay",
     .text = "add it to a timeout that you work out yourself, as connection managers do",
     .wrong = R"(attr.timeout = code_for(2 * round_trip);)",
     .right = R"(attr.timeout = code_for(2 * round_trip + 4.096 * us * (1 << peer_local_ca_ack_delay));)"},
    {.name = "max_dm_size",
     .text = "take ordinary memory where ibv_alloc_dm() refuses",
     .wrong = R"(dm = ibv_alloc_dm(context, &attr);
mr = ibv_reg_dm_mr(pd, dm, 0, length, access);)",
     .right = R"(dm = ibv_alloc_dm(context, &attr);
mr = dm != NULL ? ibv_reg_dm_mr(pd, dm, 0, length, access) : ibv_reg_mr(pd, memory, length, access);)"},
    {.name = "max_cq_count",
     .text = "look at cq_mod_caps of ibv_query_device_ex(), and do without moderation where it is 0",
     .wrong = R"(ibv_modify_cq(cq, &moderation);)",
     .right = R"(if (device_ex.cq_mod_caps.max_cq_count > 0) ibv_modify_cq(cq, &moderation);)"},
    {.name = "max_cq_period",
     .text = "wait no longer than max_cq_period of cq_mod_caps, and check what ibv_modify_cq() returns",
     .wrong = R"(moderation.moderate.cq_period = 10000;)",
     .right = R"(moderation.moderate.cq_period = MIN(10000, device_ex.cq_mod_caps.max_cq_period);)"},
    {.name = "gid_tbl_len",
     .text = "look at gid_tbl_len entries, and pass over those that are empty",
     .wrong = R"(for (i = 0; i < 3; i++) ibv_query_gid(context, 1, i, &gid[i]);)",
     .right = R"(for (i = 0; i < port.gid_tbl_len; i++)
  if (ibv_query_gid_ex(context, 1, i, &entry, 0) == 0) consider(&entry);)"},
    {"max_msg_sz", "cut a message into pieces of max_msg_sz", Finding::kMessageTooLongElsewhere},
    {.name = "lid",
     .text = "do not take the LID for a sign of InfiniBand: RoCE addresses by GID, whatever the LID is",
     .finding = Finding::kAddressWithoutGrh,
     .wrong = R"(attr.ah_attr.is_global = port.lid == 0;)",
     .right = R"(attr.ah_attr.is_global = port.link_layer == IBV_LINK_LAYER_ETHERNET;)"},
};

constexpr Advice kOnTheRest[] = {
    {.name = "identity",
     .text = "do not look at vendor_id to decide what a NIC can do: query its limits",
     .wrong = R"(if (device.vendor_id == 0x02c9) use_inline(220);)",
     .right = R"(use_inline(init.cap.max_inline_data);  // as ibv_create_qp() gave it back)"},
    {.name = "capability-flags",
     .text = "test the flag of each service that you use, and have a way without it",
     .wrong = R"(init.send_ops_flags |= IBV_QP_EX_WITH_FLUSH;)",
     .right = R"(if (device_ex.device_cap_flags_ex & IB_UVERBS_DEVICE_FLUSH_GLOBAL)
  init.send_ops_flags |= IBV_QP_EX_WITH_FLUSH;)"},
    {.name = "clock",
     .text = "divide differences of completion times by hca_core_clock, which is in kHz",
     .wrong = R"(us = (last - first) / 1000;  // nanoseconds here, and on few cards)",
     .right = R"(us = (last - first) * 1000 / device_ex.hca_core_clock;)"},
    {"moving-gids", "look for the GID by type and by address, each time that you connect",
     Finding::kGidOfOtherKind},
    {.name = "virtual-lanes",
     .text = "do not count with max_vl_num: RoCE has traffic classes and no virtual lanes",
     .wrong = R"(lane = flow % port.max_vl_num;  // a division by 0 on a ConnectX)",
     .right = R"(attr.ah_attr.grh.traffic_class = class_of(flow);)"},
    {.name = "members-of-all-groups",
     .text = "attach queue pairs until ibv_attach_mcast() refuses, and say so",
     .wrong = R"(for (i = 0; i < device.max_total_mcast_qp_attach; i++) ibv_attach_mcast(qp[i], &gid, 0);)",
     .right = R"(if (ibv_attach_mcast(qp, &gid, 0) != 0) return use_unicast(qp);)"},
    {.name = "uncounted",
     .text = "nothing: build alarms on a counter of which you have seen the card move it"},
    {.name = "congestion-notifications",
     .text = "nothing: no verb tells of them; compare counters on the card itself"},
    {.name = "migration-bit", .text = "nothing: no verb sets it"},
    {.name = "data-in-completions",
     .text = "poll the completion before you look at memory: until then the data need not be there",
     .wrong = R"(while (buffer[0] == 0) {}  // of a receive that is posted
use(buffer);)",
     .right = R"(while (ibv_poll_cq(cq, 1, &wc) == 0) {}
use(buffer);)"},
    {"quanta", "request room by ibv_create_qp() for the largest requests, and take ENOMEM for 'poll first'",
     Finding::kSendQueueNeverDrained},
};

}  // namespace

std::span<const Advice> advice_on_personalities() {
  return kOnPersonalities;
}

std::span<const Advice> advice_on_what_is_not_imitated() {
  return kOnTheRest;
}

}  // namespace urnic::explain
