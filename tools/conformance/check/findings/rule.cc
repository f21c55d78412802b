// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/findings/rule.h"

namespace urnic::check {
namespace {

using enum Rule;
using enum Severity;

// The source of a rule is named at its check; "fact NN" is the list in transport/FACTS.md.
constexpr RuleInfo kTable[] = {
    {kIcrc, "icrc", kViolation, "the invariant CRC is right"},
    {kIpChecksum, "ip-checksum", kViolation, "the IPv4 header checksum is right"},
    {kIpLength, "ip-length", kViolation, "the IP length fits frame, headers and UDP length"},
    {kIpFragment, "ip-fragment", kViolation, "RoCEv2 datagrams are not fragmented"},
    {kUdpLength, "udp-length", kViolation, "the UDP length fits the IP length and holds BTH and ICRC"},
    {kUdpChecksum, "udp-checksum", kViolation, "the UDP checksum is 0 or right"},
    {kUdpPort, "udp-port", kViolation, "RoCEv2 goes to UDP port 4791"},
    {kOpcodeUnknown, "opcode-unknown", kViolation, "the opcode exists"},
    {kOpcodeLength, "opcode-length", kViolation, "the headers of the opcode fit the UDP length"},
    {kLengthAlignment, "length-alignment", kViolation, "payload and padding are a multiple of 4 bytes"},
    {kPadCount, "pad-count", kViolation, "padding is announced where there is something to pad"},
    {kPadNotZero, "pad-not-zero", kViolation, "padding is zero"},
    {kTransportVersion, "tver", kViolation, "the transport version is 0"},
    {kPkeyInvalid, "pkey-invalid", kViolation, "the P_Key's low 15 bits are not 0"},
    {kSolicitedEvent, "solicited-event", kViolation,
     "only the end of a SEND or of a WRITE with immediate asks for an event"},
    {kAckReqOnResponse, "ackreq-on-response", kViolation, "responses do not ask for an acknowledgement"},
    {kAckReqUnreliable, "ackreq-unreliable", kViolation,
     "packets of unreliable services do not ask for an acknowledgement"},
    {kPayloadUnexpected, "payload-unexpected", kViolation, "opcodes without payload carry none"},
    {kSyndrome, "aeth-syndrome", kViolation, "the AETH syndrome is not a reserved one"},
    {kQkeyQp1, "qkey-qp1", kViolation, "packets to QP 1 carry the Q_Key 0x80010000"},
    {kMadLength, "mad-length", kViolation, "management datagrams have 256 bytes"},
    {kCnpBecn, "cnp-becn", kViolation, "a CNP carries BECN"},
    {kCnpForm, "cnp-form", kViolation, "a CNP has PSN 0, no flags and 16 bytes of zeros"},
    {kMtu, "mtu", kViolation, "payloads keep to the path MTU, which is 256, 512, 1024, 2048 or 4096"},
    {kRethLimit, "reth-limit", kViolation, "READs and WRITEs are at most 2^31 bytes long"},
    {kCmHeader, "cm-header", kViolation,
     "messages of the connection manager (CM) are Send of base version 1, class version 2"},
    {kCmAttribute, "cm-attribute", kViolation, "their attribute is one that CM has"},
    {kCmReserved, "cm-reserved", kViolation, "their reserved bits are 0"},
    {kCmSourceQp, "cm-source-qp", kViolation, "they come from queue pair 1"},
    {kCmPkey, "cm-pkey", kViolation, "REQ and SIDR_REQ name a P_Key, whose low 15 bits are not 0"},
    {kCmPathMtu, "cm-path-mtu", kViolation, "REQ names a path MTU"},
    {kCmTransport, "cm-transport", kViolation, "REQ asks for RC, UC or XRC"},
    {kCmPrivateHeader, "cm-private-header", kViolation,
     "private data for rdma_cm begin with version 0 and IP version 4 or 6"},
    {kCmAddresses, "cm-addresses", kViolation,
     "the addresses in a REQ's private data are the same as in its GIDs"},
    {kCmReason, "cm-reason", kViolation, "the reason of REJ and the status of SIDR_REP exist"},
    {kCmRemoteId, "cm-remote-id", kViolation, "CM messages name the communication IDs of their connection"},
    {kCmTransaction, "cm-transaction", kViolation, "an answer has the transaction ID of what it answers"},
    {kCmDuplicateDiffers, "cm-duplicate-differs", kViolation, "REQ, REP and DREQ are repeated as they were"},
    {kCmAnswersTwice, "cm-answers-twice", kViolation, "a REQ that was rejected is not accepted"},
    {kCmReadyWithoutReply, "cm-rtu-without-rep", kViolation, "RTU follows a REP"},
    {kCmDisconnectReply, "cm-drep-without-dreq", kViolation, "DREP follows a DREQ"},
    {kCmDisconnectQp, "cm-disconnect-qp", kViolation, "DREQ names its receiver's queue pair"},
    {kCmRepeatEarly, "cm-repeat-early", kViolation,
     "CM messages are not repeated before the time that REQ gives for the answer"},
    {kCmRepeatOften, "cm-repeat-often", kViolation, "CM messages are not repeated more often than REQ says"},
    {kCmDataEarly, "cm-data-early", kViolation,
     "the passive side sends nothing before an RTU or data of the active side"},
    {kCmDataAfterEnd, "cm-data-after-end", kViolation, "a side sends no new requests after its DREQ or DREP"},
    {kOpcodeService, "opcode-service", kViolation, "a queue pair keeps to the opcodes of its service"},
    {kPkeyChanged, "pkey-changed", kViolation, "a connection keeps its P_Key"},
    {kMigrationChanged, "migreq-changed", kViolation,
     "a sender's MigReq stays the same while no side migrates"},
    {kOpcodeSequence, "opcode-sequence", kViolation,
     "First, Middle and Last follow one another within one operation"},
    {kSegmentLength, "segment-length", kViolation,
     "First and Middle fill the path MTU and Last is not empty"},
    {kRethLength, "reth-length", kViolation, "a WRITE carries as many bytes as its RETH says"},
    {kPsnSkipped, "psn-skipped", kViolation, "no PSN is left out"},
    {kFirstPsn, "first-psn", kViolation, "no request has a PSN before the first one that REQ or REP names"},
    {kPsnFar, "psn-far", kViolation, "a PSN is near the others of its connection"},
    {kPsnRepeated, "psn-repeated", kViolation, "unreliable connections never send a PSN again"},
    {kDuplicateDiffers, "duplicate-differs", kViolation, "a repeated packet is what it was the first time"},
    {kReadResume, "read-resume", kViolation, "a repeated READ asks for a part of what it asked for first"},
    {kRnrEarly, "rnr-early", kViolation, "a refused request is not repeated before the RNR timer"},
    {kRequestAfterNak, "request-after-nak", kViolation, "nothing new is sent after a fatal NAK"},
    {kAckReqMissing, "ackreq-missing", kViolation, "a requester that waits has asked for an acknowledgement"},
    {kReadsInFlight, "reads-in-flight", kViolation,
     "no more READs and atomics are in flight than REP or REQ has resources for"},
    {kRetryCount, "retry-count", kViolation, "no request is sent more often than REQ and REP allow"},
    {kAckUnsent, "ack-unsent", kViolation, "only what was sent is acknowledged"},
    {kAckRegress, "ack-regress", kViolation, "acknowledged PSNs do not go back"},
    {kAckOverGap, "ack-over-gap", kViolation, "what is missing is not acknowledged"},
    {kAckAfterNak, "ack-after-nak", kViolation, "nothing is acknowledged after a fatal NAK"},
    {kMsn, "msn", kViolation, "the MSN counts the requests completed"},
    {kNakRepeated, "nak-repeated", kViolation, "a gap is reported once"},
    {kNakWithoutGap, "nak-without-gap", kViolation, "a sequence NAK follows a packet beyond the gap"},
    {kNakPsn, "nak-psn", kViolation, "a NAK names the expected PSN, or the refused request's"},
    {kAnswerOpcode, "answer-opcode", kViolation, "an answer is of the kind that its request asks for"},
    {kReadResponseOpcode, "read-response-opcode", kViolation,
     "READ responses run from First over Middle to Last"},
    {kReadResponseLength, "read-response-length", kViolation,
     "READ responses carry as many bytes as the READ asks for"},
    {kReadResponseExtra, "read-response-extra", kViolation, "a READ has no more responses than it needs"},
    {kReadResponseMissing, "read-response-missing", kViolation,
     "every READ response arrives, or is requested again"},
    {kAtomicUnanswered, "atomic-unanswered", kViolation, "every atomic is answered, or sent again"},
    {kAtomicReplay, "atomic-replay", kViolation, "a repeated atomic is answered as the first time"},
    {kAtomicAlignment, "atomic-alignment", kViolation, "atomics on unaligned addresses are refused"},
    {kCnpSpacing, "cnp-spacing", kViolation, "CNPs are as far apart as --cnp-spacing says"},
    {kPauseIgnored, "pause-ignored", kViolation,
     "a paused sender stops; judged with --link-rate, which makes a time of the quanta"},
    {kMigrationZero, "migreq-zero", kHabit, "MigReq is 0; rdma_rxe and E810 do so (fact 15)",
     Makers::kRxe | Makers::kE810},
    {kUdpChecksumZeroIpv6, "udp-checksum-zero", kHabit,
     "the UDP checksum is 0 over IPv6; rdma_rxe does so (fact 10)", Makers::kRxe},
    {kAckReqOnMad, "ackreq-on-mad", kHabit, "AckReq on a management datagram; rdma_rxe does so (fact 18)",
     Makers::kRxe},
    {kAckPerDuplicate, "ack-per-duplicate", kHabit,
     "an ACK for a repeated packet that did not ask for one; rdma_rxe does so (fact 25)", Makers::kRxe},
    {kOperationalNakOnSend, "nak-0x63-on-send", kHabit,
     "a SEND refused as remote operational error; rdma_rxe does so when the receive is too short (fact 33)",
     Makers::kRxe},
    {kEthernetPadding, "ethernet-padding", kHabit,
     "bytes after the datagram, as Ethernet pads short frames (fact 4)", Makers::kEvery},
    {kReadResumeMiddle, "read-resume-middle", kHabit,
     "responses to the rest of a READ go on with Middle or Last; rdma_rxe does so", Makers::kRxe},
    {kAckBehindResponse, "ack-behind-response", kHabit,
     "a repeated packet is acknowledged with a PSN before a READ response's; rdma_rxe does so", Makers::kRxe},
    {kAnswerSkipped, "answer-skipped", kHabit,
     "a later answer is taken for the answer to an ATOMIC WRITE or FLUSH, which have no data; rdma_rxe does "
     "so",
     Makers::kRxe},
    {kReservedBits, "reserved-bits", kHabit, "reserved bits of the BTH are set; HNS does so", Makers::kHns},
    {kFecn, "fecn", kHabit,
     "FECN of the BTH is 1; an FPGA endpoint does so in every packet, congested or not", Makers::kFpga},
    {kMsnWithoutWrites, "msn-without-writes", kHabit,
     "the MSN does not count WRITEs without immediate; old rdma_rxe does so", Makers::kRxe},
    {kCnpWithNak, "cnp-with-nak", kHabit,
     "a CNP that no marked packet caused comes with a sequence NAK; ConnectX-5 and 6 do so (fact 51)",
     Makers::kConnectX},
    {kCnpUnmarked, "cnp-unmarked", kHabit,
     "a CNP comes without a marked packet before it, where others are seen to be marked; users of ConnectX "
     "report it",
     Makers::kConnectX},
    {kCmRejectId, "cm-reject-id", kHabit,
     "REJ of a REQ has a communication ID that no MRA or REP told; Linux does so, whatever the NIC, when it "
     "was about to send an MRA",
     Makers::kRxe | Makers::kConnectX | Makers::kE810 | Makers::kHns},
    {kAnswerWithoutRequest, "answer-without-request", kUnknown,
     "the request of this answer is not in the capture"},
    {kAnswerOfSeveral, "answer-of-several", kUnknown,
     "requests of several queue pairs have the PSN of this answer: whose it is cannot be told yet"},
    {kRequestUnseen, "request-unseen", kUnknown,
     "a request was answered that is not in the capture, which therefore lacks frames"},
    {kJoinedMidway, "joined-midway", kUnknown, "the capture begins inside a message"},
    {kCutFrame, "frame-cut", kUnknown, "the capture has only a part of the frame"},
    {kUntracked, "untracked", kUnknown, "more queue pairs than are followed"},
    {kNoAnswer, "no-answer", kUnknown, "no answer, as far as the capture goes"},
    {kCmUnseen, "cm-unseen", kUnknown, "a CM message answers one that is not in the capture"},
    {kCmNoAnswer, "cm-no-answer", kUnknown, "a CM message has no answer, as far as the capture goes"},
    {kMarksUnanswered, "marks-unanswered", kUnknown,
     "marked packets of this flow caused no CNP, while other flows' did; the spacing of a port may be the "
     "reason"},
    {kCnpMarksUnseen, "cnp-marks-unseen", kUnknown,
     "CNPs come, but the capture has no marked packets: they may be marked after the place of capture"},
    {kPauseUnclear, "pause-unclear", kUnknown,
     "frames go on during a pause, but it cannot be told who sent them"},
    {kRequestGap, "request-gap", kEvent, "requests were lost before the place of capture"},
    {kRepetition, "repetition", kEvent, "requests are sent again"},
    {kNetworkCopy, "network-copy", kEvent, "the network delivered a frame twice"},
    {kOvertaken, "overtaken", kEvent, "the network delivered frames in another order"},
    {kSequenceNak, "sequence-nak", kEvent, "the responder misses a request"},
    {kSelectiveNak, "selective-nak", kEvent,
     "the responder misses a request and holds later ones (selective repeat, which only urnic has)"},
    {kRnrNak, "rnr-nak", kEvent, "the responder is not ready"},
    {kFatalNak, "fatal-nak", kEvent, "the responder refuses a request for good"},
    {kImpliedNak, "implied-nak", kEvent, "a later answer shows that an earlier one was lost"},
    {kRestart, "restart", kEvent, "the queue pair begins again with other PSNs"},
    {kUnreliableLoss, "unreliable-loss", kEvent, "packets of an unreliable connection are missing"},
    {kQkeyChanged, "qkey-changed", kEvent,
     "a datagram has another Q_Key than those before; its receiver drops one of them"},
    {kGaveUp, "gave-up", kEvent, "a request was sent as often as REQ and REP allow, and never answered"},
    {kCmRepetition, "cm-repetition", kEvent, "a CM message is sent again"},
    {kMarksWithoutCnp, "marks-without-cnp", kEvent,
     "packets are marked, and their receiver sends no CNP; it need not, and rdma_rxe never does"},
};

constexpr bool in_order() {
  std::size_t index = 0;
  for (const RuleInfo& info : kTable) {
    if (static_cast<std::size_t>(info.rule) != index++) return false;
  }
  return index == kRules;
}
static_assert(in_order());

constexpr bool only_habits_have_makers() {
  for (const RuleInfo& info : kTable) {
    if ((info.severity == kHabit) != (info.makers != Makers::kNone)) return false;
  }
  return true;
}
static_assert(only_habits_have_makers());

}  // namespace

const RuleInfo& info_of(Rule rule) {
  return kTable[static_cast<std::size_t>(rule)];
}

std::span<const RuleInfo> all_rules() {
  return kTable;
}

const char* to_string(Severity severity) {
  switch (severity) {
    case kViolation:
      return "violation";
    case kHabit:
      return "habit";
    case kUnknown:
      return "unknown";
    case kEvent:
      return "event";
  }
  return "?";
}

}  // namespace urnic::check
