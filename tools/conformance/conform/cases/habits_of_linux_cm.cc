// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Linux' connection manager, whatever the NIC: ib_cm (drivers/infiniband/core/cm.c) and rdma_cm (cma.c and
// ucma.c there). Each of these was seen with Linux 6.1 and 6.12, with rdma_rxe. Where a function is named, it
// was read in a version of Linux between 5.7 and 5.12.
#include "tools/conformance/conform/cases/habits.h"

namespace urnic::conform {
namespace {

constexpr std::string_view kLinuxCm = "Linux' connection manager";

constexpr std::string_view kNoWaitForListener =
    "cm.c, cm_match_req(): a request without listener is refused at once; urnic waits 200 ms for one";
constexpr std::string_view kRefusedByRdmaCm =
    "cma.c, cma_ib_req_handler(): ib_cm finds a listener by the service ID alone; what rdma_cm then does not"
    " take is refused as if the program did: 28, or status 2 for datagrams";
constexpr std::string_view kForgetsAnswers =
    "cm.c, cm_reset_to_idle() and cm_dup_req_handler(): no REP and no REJ is kept for a message that comes"
    " again; urnic keeps it";
constexpr std::string_view kForgetsInTimewait =
    "cm.c, cm_enter_timewait(): a peer is forgotten when timewait begins; its REQ is a new request";
constexpr std::string_view kIdleIsSilent =
    "cm.c, cm_dreq_handler(): an id whose connection is over is silent until the program destroys it";
constexpr std::string_view kNoDreqBeforeRtu = "cm.c, ib_send_cm_dreq(): DREQ needs an established connection";
constexpr std::string_view kNoLastRej =
    "cm.c, cm_process_send_error(): when all repetitions are over, no REJ says so";
constexpr std::string_view kNoCheckOfRequest = "cm.c, cm_req_handler(): it does not compare this number";
constexpr std::string_view kReplyUnknown =
    "cm.c, cm_rep_handler() and cm_dup_rep_handler(): a REP that answers no REQ is not refused";

constexpr Habit kHabitsOfLinuxCm[] = {
    // Requests without a listener.
    {"cm/listening/early_request*", "reason=8", kLinuxCm, kNoWaitForListener},
    {"cm/listening/early_datagram_request_refused", "> SIDR_REP", kLinuxCm, kNoWaitForListener},
    {"cm/datagrams/header", "status is 2, expected 1", kLinuxCm, kRefusedByRdmaCm},
    {"cm/datagrams/service_of_connections", "status is 2, expected 1", kLinuxCm, kRefusedByRdmaCm},
    {"cm/rejections/header_version", "reason=28", kLinuxCm, kRefusedByRdmaCm},
    {"cm/rejections/port_of_another_space", "reason is 28, expected 8", kLinuxCm, kRefusedByRdmaCm},
    {"cm/services/ipv6_header_in_ipv4", "reason is 28, expected 8", kLinuxCm, kRefusedByRdmaCm},
    {"cm/rejections/transport_type", "reason is 28, expected 9", kLinuxCm, kRefusedByRdmaCm},
    {"cm/listening/backlog_of_datagrams", "status=2", kLinuxCm,
     "ucma.c, ucma_event_handler(), and cm.c, cm_destroy_id(): a SIDR_REQ beyond the backlog is refused; a"
     " REQ is not, and comes again"},

    // What a REQ says.
    {"cm/rejections/gid_of_the_receiver", "which must be 00", kLinuxCm,
     "cm.c, cm_req_handler(): a REJ for a GID has a GID of the port as its information"},
    {"cm/rejections/gid_of_the_sender", "no message came", kLinuxCm, kNoCheckOfRequest},
    {"cm/rejections/mtu_code", "no message came", kLinuxCm, kNoCheckOfRequest},
    {"cm/rejections/header_addresses", "event CONNECT_REQUEST", kLinuxCm,
     "cma.c, validate_ipv4_net_dev(): addresses in rdma_cm's header must have a route, and may be others than"
     " the frame's"},
    {"cm/rejections/class_version", "no message came", kLinuxCm,
     "mad.c, find_mad_agent(): a message of a class version that no agent has is dropped"},
    {"cm/malformed/length", "event CONNECT_REQUEST", kLinuxCm,
     "mad.c, validate_mad(): does not look at the length"},
    {"cm/alternate_paths/in_a_request", "no event came", kLinuxCm,
     "cm.c, cm_req_handler(): an alternate path without a GID is refused by reason 18"},

    // Messages that come again.
    {"cm/datagrams/request_again", "no message came", kLinuxCm,
     "cm.c, ib_send_cm_sidr_rep(): a SIDR_REQ that comes again after its answer is a new request"},
    {"cm/duplicates/request_after_rejection", "no message came", kLinuxCm, kForgetsAnswers},
    {"cm/duplicates/request_after_reply", "no message came", kLinuxCm, kForgetsAnswers},
    {"cm/duplicates/reply_after_rejection", "no message came", kLinuxCm, kForgetsAnswers},
    {"cm/duplicates/request_in_timewait", "no message came", kLinuxCm, kForgetsInTimewait},
    {"cm/duplicates/disconnect_after_timewait", "no message came", kLinuxCm, kIdleIsSilent},
    {"cm/stale/restarted_with_the_same_id", "no event came", kLinuxCm,
     "cm.c, cm_match_req(): ID and GUID make a repetition, whatever the queue pair"},
    {"cm/establishing/mra_on_the_path_of_the_request", "tos is 0", kLinuxCm,
     "cm.c, cm_alloc_response_msg(): an answer to a repeated message has the traffic class of its frame"},
    {"cm/unknown/reply", "no message came", kLinuxCm, kReplyUnknown},
    {"cm/unknown/reply_to_a_passive_id", "came: RTU", kLinuxCm, kReplyUnknown},

    // The end of a connection.
    {"cm/disconnecting/both_at_once", "no message came", kLinuxCm,
     "cm.c, cm_dreq_handler(): a DREQ that crosses ours waits for the program, which disconnects once more"},
    {"cm/disconnecting/by_us_before_rtu", "no message came", kLinuxCm, kNoDreqBeforeRtu},
    {"cm/stale/before_rtu", "no message came", kLinuxCm, kNoDreqBeforeRtu},
    {"cm/disconnecting/not_connected", "the call succeeds", kLinuxCm,
     "cma.c, rdma_disconnect(): any id with a device will do"},
    {"cm/rejections/when_established", "event REJECTED", kLinuxCm,
     "cma.c, cma_ib_handler(): each REJ is the event REJECTED, in an established connection, too"},
    {"cm/repeats/reply", "no message came", kLinuxCm, kNoLastRej},
    {"cm/repeats/reply_not_repeated", "no message came", kLinuxCm, kNoLastRej},

    {"cm/establishing/service_level", "sl is 0, expected 5", kLinuxCm,
     "cma.c, iboe_tos_to_sl(): the service level is what the network device makes of it; 0 without VLAN"},
};

}  // namespace

std::span<const Habit> habits_of_linux_cm() {
  return kHabitsOfLinuxCm;
}

}  // namespace urnic::conform
