// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/failure_cause.h"

#include <array>
#include <cstddef>

#include "nic/diagnostics/connection_text.h"

namespace urnic::nic {

using transport::CompletionStatus;
using transport::DmaStatus;
using transport::RefusalReason;
using Cause = FailureCause;

namespace {

constexpr std::string_view kRetriesRule =
    "a requester gives up when retry_cnt repetitions brought no acknowledgement (fact 36)";
constexpr std::string_view kKeyRule =
    "key, bounds and rights of the memory are checked in this order, and a failure is a NAK remote access "
    "(fact 30)";

constexpr std::string_view kServiceRule =
    "a request names a port space and a port, and is rejected where no program listens (reason 8, fact 46)";
constexpr std::string_view kAddressRule =
    "the NIC asks for an address on the link, by ARP or neighbor discovery; there is no routing";

constexpr auto kWords = std::to_array<CauseWords>({
    {Cause::kNobodyHasAddress, kRetriesRule,
     "is the peer's NIC up (urnic stat), at this address, on the same wire? Did the program exchange the "
     "right GID?"},
    {Cause::kOtherSegment, kRetriesRule,
     "is the peer on another fabric (of another user, or in a container that has another $XDG_RUNTIME_DIR)? "
     "urnic asks for every address on its own link and knows no router: give both NICs addresses of one "
     "network (--ip), or use the GID of the network that both are in"},
    {Cause::kNoRocePeer, kRetriesRule,
     "has the peer's program made the queue pair with this number and brought it to RTR, with our address "
     "and QP number in it? Compare with 'urnic stat' there. A firewall, or a link MTU below ours, loses "
     "packets without a word, too"},
    {Cause::kNothingComesOverIp, kRetriesRule,
     "does 'ping' reach the address? Has the peer's program made the queue pair with this number and brought "
     "it to RTR, with our address and QP number in it? 'urnic doctor --peer' finds out whether UDP port 4791 "
     "gets through, and packets of which size; in 'urnic stat --json' port_returned_frames counts what ICMP "
     "says was not taken"},
    {Cause::kPeerFellSilent, kRetriesRule,
     "the peer's process has ended or is stopped, its queue pair is gone or in ERR, or the wire is cut: look "
     "at what it said last"},
    {Cause::kPacketsLost, kRetriesRule,
     "the peer sees gaps: packets get lost on the way. Is a --fault set, or a link MTU too small for the "
     "path MTU?"},
    {Cause::kPsnsDiffer,
     "both ends agree on where the PSNs of a direction begin: the sq_psn of one is the rq_psn of the other",
     "compare the sq_psn that this program gave to ibv_modify_qp() with the rq_psn that the peer's program "
     "gave, and the other way round: programs tell each other before RTR"},
    {Cause::kNoReceivePosted,
     "a SEND or WRITE with immediate needs a posted receive; rnr_retry n allows n + 1 attempts, 7 any number "
     "(facts 34, 37)",
     "post receives earlier, or more of them; or raise rnr_retry here, or min_rnr_timer at the receiver"},
    {Cause::kPeerRefusedAccess, kKeyRule,
     "compare key, address and length with the peer's ibv_reg_mr() and its access flags; if the peer is "
     "urnic, URNIC_EXPLAIN=1 there says which check failed"},
    {Cause::kPeerRefusedRequest,
     "rights of the queue pair, lengths, alignment and the number of READs are checked first, and a failure "
     "is a NAK invalid request (facts 29, 30, 32)",
     "does the peer's queue pair allow the operation (qp_access_flags), is its path MTU ours, are its "
     "receives long enough, is its max_dest_rd_atomic at least our max_rd_atomic? If the peer is urnic, "
     "URNIC_EXPLAIN=1 there says which it is"},
    {Cause::kPeerFailed, "a fault in the responder's own memory is a NAK remote operation",
     "look at the receives that the peer has posted: their memory is not, or no longer, registered for "
     "writing"},
    {Cause::kMtuDiffers,
     "FIRST and MIDDLE packets are as long as the path MTU, and none is longer (facts 29, 41)",
     "give both queue pairs the same path_mtu: there is no negotiation"},
    {Cause::kBadLength, "packets are as long as their place in the message and their RETH say (fact 29)",
     "the peer's stack is at fault, or something on the way changes packets: record them (--pcap) and ask "
     "'urnic check'"},
    {Cause::kMessageTooLong, "a SEND must fit the receive that it takes (fact 33)",
     "post longer receives, or send less"},
    {Cause::kNotInsideMessage,
     "a message is one FIRST, any MIDDLE and one LAST packet of one operation, or one ONLY packet",
     "the peer's stack is at fault, or two peers use one queue pair: record them (--pcap) and ask 'urnic "
     "check'"},
    {Cause::kNoXrcReceiver, "every XRC request names a shared receive queue of the target's domain",
     "does the peer have the number of a queue (ibv_get_srq_num) that is still there, in this queue pair's "
     "XRC domain?"},
    {Cause::kOperationNotAllowed, "the queue pair's own rights are checked first (fact 30)",
     "set the right in qp_access_flags when our queue pair is changed to INIT, or later"},
    {Cause::kTooManyReads,
     "no more READs and atomics may be outstanding than the responder's max_dest_rd_atomic",
     "set max_dest_rd_atomic here (RTR) to at least the peer's max_rd_atomic (RTS)"},
    {Cause::kUnknownKey, kKeyRule,
     "did the program exchange the right key, and is the region still registered?"},
    {Cause::kStaleKey, kKeyRule,
     "the key is of a region or window that was deregistered, or bound again: exchange the new key"},
    {Cause::kOtherDomain, kKeyRule,
     "register the memory in the protection domain of the queue pair; a type 2 window is for the queue pair "
     "that bound it"},
    {Cause::kOutOfBounds, kKeyRule, "compare address and length with what was registered"},
    {Cause::kRightMissing, kKeyRule, "register the memory, or bind the window, with this right"},
    {Cause::kMemoryGone, "memory is touched when a packet needs it, with on-demand paging too",
     "the pages of the region are not there, or may not be written: keep them mapped"},
    {Cause::kMisaligned, "atomics work on addresses that are multiples of 8 (fact 32)",
     "align the remote address"},
    {Cause::kBadAnswer, "a response is what the request asks for, and as long as that (facts 28, 29)",
     "the peer's stack is at fault, or its path MTU is not ours: record packets (--pcap) and ask 'urnic "
     "check'"},
    {Cause::kBadLocalLength, "atomics are 8 bytes, and datagrams fit the path MTU (facts 32, 42)",
     "correct the length of the work request"},
    {Cause::kWindowNotBound,
     "a window is bound to a region of its domain that allows it (IBV_ACCESS_MW_BIND), for what the region "
     "allows",
     "compare the request with the region; a type 2 window has to be taken back before it is bound again"},
    {Cause::kStrayRequest, "a request is for a queue pair that is there",
     "the peer has a wrong QP number, or ours was destroyed while the peer went on: exchange the numbers "
     "again"},
    {Cause::kTranslatedAddress,
     "a queue pair hears its peer's address alone, and the ICRC covers both addresses and the UDP source "
     "port (facts 1, 12)",
     "does the peer send from the GID index whose address it has told? Or does something between translate "
     "addresses (NAT, as docker's bridge does)? RoCEv2 cannot pass that: give both ends addresses that reach "
     "each other unchanged (docker run --network host, a macvlan or routed network, a tunnel)"},
    {Cause::kEncapsulationDiffers, "both ends of a connection send RoCE v1, or both RoCE v2",
     "the type of the source GID index decides: have both ends look for RoCE v2 with ibv_query_gid_ex() or "
     "in gid_attrs/types, and tell no index to the programs (perftest without -x, or -x of an index of that "
     "type)"},
    {Cause::kNoReadDepth, "max_rd_atomic is how many READs, atomics and FLUSHes may be under way",
     "set it to 1 at least: in ibv_modify_qp to RTS, or as initiator_depth of rdma_connect or rdma_accept. "
     "rdma_rxe never sends such a request, and the program waits forever"},
    {Cause::kNoListener, kServiceRule,
     "does the peer's program run and listen ('urnic stat' there), at this port and address, in this port "
     "space, for this kind of queue pair?"},
    {Cause::kStaleConnection, "a queue pair has one connection at a time (reason 10)",
     "the program made a new queue pair with the number of an old one whose end the other side did not "
     "notice: that side ends the old connection now, so connect again"},
    {Cause::kForeignAddress, "a REQ names the addresses that it comes from and goes to (reason 12)",
     "something between the two changes addresses: give both NICs addresses of one network (--ip)"},
    {Cause::kPathMtuTooLarge, "the path MTU of a REQ fits both links (reason 26, fact 41)",
     "start both programs with the same link MTU: 'urnic run --mtu N' with the smaller one"},
    {Cause::kRejectedByProgram, "a program may reject a request, with private data that say why",
     "ask the peer's program: it expects other private data, has no room, or ended before it accepted"},
    {Cause::kPeerGaveUp,
     "each side says how long it takes to answer, and the other one waits so long (fact 45)",
     "does our program fetch its events and answer them (rdma_accept)? Where it does, messages get lost"},
    {Cause::kOtherReject, "a REJ or SIDR_REP says why a request is not taken",
     "look at the peer's own log; record packets (--pcap) and ask 'urnic check --ladder'"},
    {Cause::kNoAnswer, "a message is repeated, and the sender gives up after the last time (fact 45)",
     "is a NIC there ('urnic stat' at the peer), and does it know rdma_cm? Is its process stopped? A "
     "firewall loses UDP packets to port 4791 without a word"},
    {Cause::kNoAddressOfFamily, "both ends of a connection have addresses of one family",
     "give the NIC an address of that family (--ip, --ip6), or connect to another address of the peer"},
    {Cause::kNoRoute, "packets leave by the routes of the host",
     "ask the host's routes ('ip route get ADDRESS', with 'from SOURCE' where the program names one); a "
     "link-local address needs its interface (fe80::1%eth0)"},
    {Cause::kHostUnreachable, "packets get to a host that is up, and that the network leads to",
     "is the host up, and is this its address ('ping ADDRESS')? A firewall on the way may refuse for it"},
    {Cause::kNoRoceAtHost, "RoCEv2 is UDP port 4791, which a host has open while it has a NIC",
     "no RoCEv2 at that host: start a program there first ('urnic run'; 'urnic stat' shows those that run), "
     "or rdma_rxe. A firewall that rejects says the same ('urnic doctor --peer')"},
    {Cause::kUnresolvedAddress, kAddressRule,
     "is the peer's NIC up (urnic stat), at this address, on the same wire? The addresses of the machine's "
     "own network interfaces are not addresses of a NIC"},
    {Cause::kResolutionTimeout, kAddressRule,
     "is the peer's NIC up (urnic stat), at this address? A timeout of rdma_resolve_addr() below a second "
     "may be too short"},
    {Cause::kNoListenerHere, kServiceRule,
     "did our program call rdma_listen() ('urnic stat' shows at which port), for this kind of queue pair? "
     "Otherwise the peer has a wrong port"},
    {Cause::kBacklogFull,
     "a listener takes as many requests as its backlog says before the program fetches one",
     "fetch events sooner (rdma_get_cm_event), or listen with a longer backlog; the peer asks again"},
    {Cause::kOther, "see the status", "record packets (--pcap) and ask 'urnic check'"},
});

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (static_cast<std::size_t>(kWords[i].cause) != i) return false;
  }
  return kWords.size() == static_cast<std::size_t>(Cause::kOther) + 1;
}
static_assert(is_in_order());

Cause cause_of_memory(DmaStatus status, const KeyFacts& key) {
  switch (status) {
    case DmaStatus::kInvalidKey:
      return key.is_known ? Cause::kStaleKey : Cause::kUnknownKey;
    case DmaStatus::kWrongPd:
      return Cause::kOtherDomain;
    case DmaStatus::kOutOfBounds:
      return Cause::kOutOfBounds;
    case DmaStatus::kNoAccess:
      return Cause::kRightMissing;
    default:
      return Cause::kMemoryGone;
  }
}

bool breaks_path_mtu(transport::wire::Opcode opcode, std::uint32_t payload_bytes, std::uint32_t path_mtu) {
  const bool more_follow = !transport::wire::info(opcode).ends_message();
  return payload_bytes > path_mtu || (more_follow && payload_bytes != path_mtu);
}

Cause cause_of_refusal(const FailureReport& report) {
  const transport::RefusedRequest& refused = *report.refused;
  switch (refused.reason) {
    case RefusalReason::kNotInsideMessage:
      return Cause::kNotInsideMessage;
    case RefusalReason::kNoXrcReceiver:
      return Cause::kNoXrcReceiver;
    case RefusalReason::kPacketLength:
      return breaks_path_mtu(refused.opcode, refused.payload_bytes, report.qp.path_mtu) ? Cause::kMtuDiffers
                                                                                        : Cause::kBadLength;
    case RefusalReason::kQueuePairRights:
      return Cause::kOperationNotAllowed;
    case RefusalReason::kTooManyReads:
      return Cause::kTooManyReads;
    case RefusalReason::kMisaligned:
      return Cause::kMisaligned;
    case RefusalReason::kReceiveTooSmall:
      return Cause::kMessageTooLong;
    case RefusalReason::kReceiveMemory:
      return report.bad_element ? cause_of_memory(report.bad_element->status, report.key)
                                : Cause::kMemoryGone;
    case RefusalReason::kMemory:
    case RefusalReason::kInvalidate:
      break;
  }
  return cause_of_memory(refused.memory, report.key);
}

Cause cause_of_silence(const FailureReport& report) {
  if (report.history.received == 0) {
    if (report.medium == Medium::kIp) return Cause::kNothingComesOverIp;
    const bool is_found = report.neighbor == NeighborState::kReachable;
    if (is_found) return Cause::kNoRocePeer;
    return report.is_on_our_segment ? Cause::kNobodyHasAddress : Cause::kOtherSegment;
  }
  const QpHistory& history = report.history;
  const bool has_none_of_ours =
      history.received_answers > 0 && history.foreign_answers == history.received_answers;
  if (has_none_of_ours) return Cause::kPsnsDiffer;
  if (history.sequence_naks > 0) return Cause::kPacketsLost;
  return Cause::kPeerFellSilent;
}

Cause cause_of_answer(const FailureReport& report) {
  QpHistoryEvent last;
  report.history.for_each([&last](const QpHistoryEvent& event) {
    if (event.kind == QpHistoryEvent::Kind::kReceived) last = event;
  });
  return breaks_path_mtu(last.opcode, last.payload_bytes, report.qp.path_mtu) ? Cause::kMtuDiffers
                                                                              : Cause::kBadAnswer;
}

Cause cause_of_completion(const FailureReport& report) {
  if (report.is_receive && report.refused) return cause_of_refusal(report);
  switch (report.completion.status) {
    case CompletionStatus::kRetryExceeded:
      return cause_of_silence(report);
    case CompletionStatus::kRnrRetryExceeded:
      return Cause::kNoReceivePosted;
    case CompletionStatus::kRemoteAccessError:
      return Cause::kPeerRefusedAccess;
    case CompletionStatus::kRemoteInvalidRequest:
      return Cause::kPeerRefusedRequest;
    case CompletionStatus::kRemoteOperationError:
      return Cause::kPeerFailed;
    case CompletionStatus::kBadResponse:
      return cause_of_answer(report);
    case CompletionStatus::kLocalLengthError:
      return Cause::kBadLocalLength;
    case CompletionStatus::kMemoryWindowBindError:
      return Cause::kWindowNotBound;
    case CompletionStatus::kLocalProtectionError:
      return report.bad_element ? cause_of_memory(report.bad_element->status, report.key)
                                : Cause::kMemoryGone;
    default:
      return Cause::kOther;
  }
}

}  // namespace

FailureCause cause_of(const FailureReport& report) {
  switch (report.kind) {
    case FailureReport::Kind::kStray:
      return Cause::kStrayRequest;
    case FailureReport::Kind::kTranslated:
      return Cause::kTranslatedAddress;
    case FailureReport::Kind::kOtherEncapsulation:
      return Cause::kEncapsulationDiffers;
    case FailureReport::Kind::kNoDepth:
      return Cause::kNoReadDepth;
    case FailureReport::Kind::kRefusal:
      return cause_of_refusal(report);
    case FailureReport::Kind::kConnection:
      return cause_of(*report.connection);
    case FailureReport::Kind::kReceiveMissing:
    case FailureReport::Kind::kDropped:
      return Cause::kNoReceivePosted;
    case FailureReport::Kind::kCompletion:
      break;
  }
  return cause_of_completion(report);
}

const CauseWords& words_for(FailureCause cause) {
  return kWords[static_cast<std::size_t>(cause)];
}

}  // namespace urnic::nic
