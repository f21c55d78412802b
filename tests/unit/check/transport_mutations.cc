// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <cstddef>
#include <vector>

#include "tests/unit/check/mutation.h"

namespace urnic::check::test {
namespace {

/// The PSNs of frames [from, to] grow by one, as if their sender had left one out.
void shift_psns(Capture& capture, std::size_t from, std::size_t to) {
  for (std::size_t number = from; number <= to; ++number) {
    capture.edit(number).psn(capture.edit(number).psn() + 1).seal();
  }
}

}  // namespace

// Frames of vs_sizes: 1 to 26 are SENDs of 0, 1, 2, 3, 5, 1023, 1024, 1025, 2048 and 4097 bytes and their
// ACKs, 27 to 41 WRITEs of 0, 1, 1024, 1025 and 4097, 42 to 58 READs of 0, 1, 1023, 1024, 1025 and 4097. The
// path MTU is 1024.
std::vector<Mutation> transport_mutations() {
  return {
      // Frames.
      {"IcrcWrong", Rule::kIcrc, "vs_sizes", [](Capture& c) { c[13].bytes.back() ^= std::byte{1}; }},
      {"PayloadBitFlipped", Rule::kIcrc, "vs_sizes", [](Capture& c) { c.edit(31).flip(100, 4); }},
      {"PsnBitFlipped", Rule::kIcrc, "vs_sizes", [](Capture& c) { c.edit(13).flip(9, 0x10); }},
      {"AckDamaged", Rule::kIcrc, "vs_sizes", [](Capture& c) { c.edit(14).flip(12, 0x60); }},
      {"IpChecksumWrong", Rule::kIpChecksum, "vs_sizes", [](Capture& c) { c.edit(5).ip_byte(10, 0x5a); }},
      {"IpLengthTooLong", Rule::kIpLength, "vs_sizes",
       [](Capture& c) { c.edit(44).ip_byte(2, 0x40).seal_lengths_as_they_are(); }},
      {"IpLongerThanUdp", Rule::kIpLength, "vs_sizes",
       [](Capture& c) {
         c[2].bytes.resize(c[2].bytes.size() + 4);
         c[2].bytes_on_wire = c[2].bytes.size();
         auto edit = c.edit(2);
         edit.ip_byte(3, static_cast<std::uint8_t>(std::to_integer<unsigned>(c[2].bytes[17]) + 4));
         c[2].bytes.resize(c[2].bytes.size() - 4);
         edit.seal_lengths_as_they_are();
         c[2].bytes.resize(c[2].bytes.size() + 4);
       }},
      {"Fragment", Rule::kIpFragment, "vs_tos",
       [](Capture& c) {
         c.append(Capture(c));
         c.keep_first(5);
         c.edit(5).ip_byte(6, 0x20).seal_lengths_as_they_are();
       }},
      {"UdpLengthTooShort", Rule::kUdpLength, "vs_tos",
       [](Capture& c) {
         c.append(Capture(c));
         c.keep_first(5);
         c[5].bytes.at(14 + 20 + 4) = std::byte{0};
         c[5].bytes.at(14 + 20 + 5) = std::byte{20};
       }},
      {"UdpChecksumWrong", Rule::kUdpChecksum, "vs_sizes",
       [](Capture& c) { c[13].bytes.at(14 + 20 + 6) = std::byte{0x12}; }},
      {"WrongUdpPort", Rule::kUdpPort, "vs_sizes",
       [](Capture& c) {
         c[13].bytes.at(14 + 20 + 3) = std::byte{0xb8};
         c.edit(13).seal();
       }},
      // Single packets.
      {"UnknownOpcode", Rule::kOpcodeUnknown, "vs_peer_dead",
       [](Capture& c) { c.edit(4).opcode(0x1f).seal(); }},
      {"RdOpcode", Rule::kOpcodeUnknown, "vs_peer_dead", [](Capture& c) { c.edit(4).opcode(0x44).seal(); }},
      {"HeadersDoNotFit", Rule::kOpcodeLength, "vs_peer_dead",
       [](Capture& c) { c.edit(4).opcode(0x13).resize(-92).seal(); }},
      {"LengthNotAligned", Rule::kLengthAlignment, "vs_peer_dead",
       [](Capture& c) { c.edit(4).resize(1).seal(); }},
      {"PadInEmptySend", Rule::kPadCount, "vs_sizes", [](Capture& c) { c.edit(1).pad(1).seal(); }},
      {"PadInFirst", Rule::kPadCount, "vs_sizes", [](Capture& c) { c.edit(18).pad(2).seal(); }},
      {"PadInAck", Rule::kPadCount, "vs_sizes", [](Capture& c) { c.edit(4).resize(4).pad(1).seal(); }},
      {"PadNotZero", Rule::kPadNotZero, "vs_sizes", [](Capture& c) { c.edit(3).byte(14, 0x77).seal(); }},
      {"WrongPadInWrite", Rule::kRethLength, "vs_sizes", [](Capture& c) { c.edit(29).pad(2).seal(); }},
      {"WrongPadInReadResponse", Rule::kReadResponseLength, "vs_sizes",
       [](Capture& c) { c.edit(47).pad(0).seal(); }},
      {"TransportVersion", Rule::kTransportVersion, "vs_sizes",
       [](Capture& c) { c.edit(7).flip(1, 1).seal(); }},
      {"PkeyZero", Rule::kPkeyInvalid, "mckey",
       [](Capture& c) {
         for (std::size_t number = 1; number <= c.size(); ++number) {
           c.edit(number).byte(2, 0x80).byte(3, 0).seal();
         }
       }},
      {"SolicitedRead", Rule::kSolicitedEvent, "vs_sizes",
       [](Capture& c) { c.edit(42).flip(1, 0x80).seal(); }},
      {"SolicitedFirst", Rule::kSolicitedEvent, "vs_sizes",
       [](Capture& c) { c.edit(15).flip(1, 0x80).seal(); }},
      {"AckReqInAck", Rule::kAckReqOnResponse, "vs_sizes",
       [](Capture& c) { c.edit(6).ack_request(true).seal(); }},
      {"AckReqOnUc", Rule::kAckReqUnreliable, "vs_uc_mtu4096",
       [](Capture& c) { c.edit(2).ack_request(true).seal(); }},
      {"AckReqOnUd", Rule::kAckReqUnreliable, "vs_ud",
       [](Capture& c) { c.edit(2).ack_request(true).seal(); }},
      {"PayloadInAck", Rule::kPayloadUnexpected, "vs_sizes", [](Capture& c) { c.edit(6).resize(8).seal(); }},
      {"ReservedSyndrome", Rule::kSyndrome, "vs_sizes",
       [](Capture& c) { c.edit(24 + 2).syndrome(0x7e).seal(); }},
      {"NakInReadResponse", Rule::kSyndrome, "vs_sizes",
       [](Capture& c) { c.edit(49).syndrome(0x62).seal(); }},
      {"WrongQkeyToQp1", Rule::kQkeyQp1, "rping_ipv6",
       [](Capture& c) {
         for (std::size_t number = 1; number <= c.size(); ++number) {
           if (c.edit(number).u24_at(5) == 1) c.edit(number).u32(12, 0x11111111).seal();
         }
       }},
      {"MadTooLong", Rule::kMadLength, "rping_ipv6", [](Capture& c) { c.edit(1).resize(4).seal(); }},
      {"PayloadAboveEveryMtu", Rule::kMtu, "vs_ud", [](Capture& c) { c.edit(4).resize(4000).seal(); }},
      {"RethTooLong", Rule::kRethLimit, "vs_atomic_noperm",
       [](Capture& c) {
         c.keep_first(1);
         c.edit(1).opcode(0x0c).resize(-12).u32(24, 0x80000001).seal();
       }},
      // Connections.
      {"UcOpcodeOnRc", Rule::kOpcodeService, "vs_peer_dead",
       [](Capture& c) { c.edit(4).opcode(0x24).ack_request(false).seal(); }},
      {"PkeyChanges", Rule::kPkeyChanged, "vs_sizes", [](Capture& c) { c.edit(21).byte(3, 0xfe).seal(); }},
      {"MigReqChanges", Rule::kMigrationChanged, "vs_sizes",
       [](Capture& c) { c.edit(21).flip(1, 0x40).seal(); }},
      // Requesters.
      {"MiddleWithoutFirst", Rule::kOpcodeSequence, "vs_sizes",
       [](Capture& c) { c.edit(18).opcode(0x01).seal(); }},
      {"FirstInsideMessage", Rule::kOpcodeSequence, "vs_sizes",
       [](Capture& c) { c.edit(23).opcode(0x00).seal(); }},
      {"OperationChangesInside", Rule::kOpcodeSequence, "vs_sizes",
       [](Capture& c) { c.edit(23).opcode(0x07).seal(); }},
      {"MiddleTooShort", Rule::kSegmentLength, "vs_sizes", [](Capture& c) { c.edit(23).resize(-4).seal(); }},
      {"LastEmpty", Rule::kSegmentLength, "vs_sizes",
       [](Capture& c) { c.edit(25).pad(0).resize(-4).seal(); }},
      {"FirstIsNoMtu", Rule::kMtu, "vs_uc_mtu4096",
       [](Capture& c) {
         c.edit(3).opcode(0x20).seal();
         c.keep_first(3);
       }},
      {"OnlyAboveMtu", Rule::kMtu, "vs_loss_requests",
       [](Capture& c) {
         c.keep_first(69);
         c.edit(67).opcode(0x04).resize(4).seal();
         c.keep_first(67);
       }},
      {"WriteLongerThanReth", Rule::kRethLength, "vs_sizes",
       [](Capture& c) { c.edit(31).u32(24, 1000).seal(); }},
      {"WriteShorterThanReth", Rule::kRethLength, "vs_sizes",
       [](Capture& c) { c.edit(36).u32(24, 9999).seal(); }},
      {"PsnSkippedBetweenMessages", Rule::kPsnSkipped, "vs_sizes",
       [](Capture& c) { shift_psns(c, 11, c.size()); }},
      {"PsnSkippedInsideWrite", Rule::kPsnSkipped, "vs_sizes",
       [](Capture& c) { shift_psns(c, 38, c.size()); }},
      {"PsnFarAway", Rule::kPsnFar, "vs_peer_dead",
       [](Capture& c) { c.edit(2).psn(c.edit(2).psn() ^ 0x800000).seal(); }},
      // Frame 1 is the REQ: 88 bytes after the begin of the BTH it names the first PSN of the
      // other side's requests, 45a74d.
      {"FirstPsnBeforeTheOneInReq", Rule::kFirstPsn, "rping_ipv6",
       [](Capture& c) { c.edit(1).u24(88, 0x45a74e).seal(); }},
      {"UcRepeats", Rule::kPsnRepeated, "vs_uc_mtu4096", [](Capture& c) { c.repeat(2, 3); }},
      {"OtherPayloadInRepetition", Rule::kDuplicateDiffers, "vs_peer_dead",
       [](Capture& c) { c.edit(3).flip(40, 1).seal(); }},
      {"OtherOpcodeInRepetition", Rule::kDuplicateDiffers, "vs_peer_dead",
       [](Capture& c) { c.edit(3).opcode(0x05).seal(); }},
      {"OtherLengthInRepetition", Rule::kDuplicateDiffers, "vs_peer_dead",
       [](Capture& c) { c.edit(3).resize(4).seal(); }},
      {"OtherKeyInRepetition", Rule::kDuplicateDiffers, "vs_loss_requests",
       [](Capture& c) { c.edit(c.repeat(48, 55)).flip(23, 1).seal(); }},
      {"OtherAtomicInRepetition", Rule::kDuplicateDiffers, "vs_atomics",
       [](Capture& c) { c.edit(c.repeat(9, 9)).flip(31, 1).seal(); }},
      {"ReadResumedBehindItsEnd", Rule::kReadResume, "vs_sizes",
       [](Capture& c) {
         const auto again = c.repeat(53, 55);
         c.edit(again).psn(c.edit(53).psn() + 2).seal();
         c.keep_first(again);
       }},
      {"RnrTimerIgnored", Rule::kRnrEarly, "vs_rnr", [](Capture& c) { c.delay(5, -8'000'000); }},
      {"RequestAfterFatalNak", Rule::kRequestAfterNak, "vs_write_badkey",
       [](Capture& c) {
         const auto next = c.repeat(1, 4, kSecond);
         c.edit(next).psn(c.edit(3).psn() + 1).seal();
       }},
      {"WaitsWithoutAckReq", Rule::kAckReqMissing, "vs_rnr",
       [](Capture& c) {
         // The last WRITE forgets to ask; a second later another queue pair says something.
         c.erase(40);
         c.edit(39).ack_request(false).seal();
         Capture other = Capture::fixture("vs_ud");
         other.keep_first(1);
         other[1].time_ns = c[39].time_ns + kSecond;
         c.append(other);
       }},
      // Responders.
      {"AckOfWhatWasNotSent", Rule::kAckUnsent, "vs_sizes",
       [](Capture& c) {
         c.keep_first(14);
         c.edit(14).psn(c.edit(14).psn() + 1).seal();
       }},
      {"AckGoesBack", Rule::kAckRegress, "vs_sizes",
       [](Capture& c) { c.edit(c.repeat(10, 14)).msn(7).seal(); }},
      {"AckOverGap", Rule::kAckOverGap, "vs_sizes", [](Capture& c) { c.erase(23); }},
      {"AckAfterFatalNak", Rule::kAckAfterNak, "vs_write_badkey",
       [](Capture& c) {
         const auto ack = c.repeat(4, 4);
         c.edit(ack).syndrome(0x1f).psn(c.edit(3).psn()).msn(1).seal();
       }},
      {"MsnOneTooHigh", Rule::kMsn, "vs_sizes", [](Capture& c) { c.edit(14).msn(8).seal(); }},
      {"MsnOneTooLow", Rule::kMsn, "vs_sizes", [](Capture& c) { c.edit(14).msn(6).seal(); }},
      {"MsnOneTooLowOnWrite", Rule::kMsn, "vs_sizes", [](Capture& c) { c.edit(32).msn(12).seal(); }},
      {"MsnStands", Rule::kMsn, "vs_atomics",
       [](Capture& c) {
         c.keep_first(4);
         c.edit(4).msn(1).seal();
       }},
      {"MsnOfReadResponse", Rule::kMsn, "vs_sizes", [](Capture& c) { c.edit(58).msn(22).seal(); }},
      {"NakTwice", Rule::kNakRepeated, "vs_loss_requests", [](Capture& c) { c.repeat(8, 8); }},
      {"NakTwiceWhileResending", Rule::kNakRepeated, "vs_loss_requests",
       [](Capture& c) { c.repeat(56, 58); }},
      {"NakWithoutGap", Rule::kNakWithoutGap, "vs_sizes",
       [](Capture& c) {
         c.keep_first(14);
         c.edit(14).syndrome(0x60).msn(6).seal();
       }},
      {"NakOfWhatIsAcknowledged", Rule::kNakPsn, "vs_loss_requests",
       [](Capture& c) { c.edit(22).psn(c.edit(22).psn() - 1).seal(); }},
      {"NakBehindTheGap", Rule::kNakPsn, "vs_loss_requests",
       [](Capture& c) {
         c.edit(8).psn(c.edit(8).psn() + 1).seal();
         c.keep_first(8);
       }},
      {"RnrNakOfWhatIsAcknowledged", Rule::kNakPsn, "vs_rnr",
       [](Capture& c) {
         c.edit(36).psn(c.edit(31).psn()).syndrome(0x34).msn(1).seal();
         c.keep_first(36);
       }},
      {"PlainAckForAtomic", Rule::kAnswerOpcode, "vs_atomics",
       [](Capture& c) { c.edit(4).opcode(0x11).resize(-8).seal(); }},
      {"AtomicAckForSend", Rule::kAnswerOpcode, "vs_sizes",
       [](Capture& c) {
         c.keep_first(14);
         c.edit(14).opcode(0x12).resize(8).seal();
       }},
      {"ReadResponseForSend", Rule::kAnswerOpcode, "vs_sizes",
       [](Capture& c) {
         c.keep_first(14);
         c.edit(14).opcode(0x10).seal();
       }},
      {"ReadResponseMiddleAsLast", Rule::kReadResponseOpcode, "vs_sizes",
       [](Capture& c) { c.edit(56).opcode(0x0f).resize(4).byte(12, 0x1f).msn(21).seal(); }},
      {"ReadResponseLastAsMiddle", Rule::kReadResponseOpcode, "vs_sizes",
       [](Capture& c) { c.edit(58).opcode(0x0e).pad(0).resize(1020 - 4).seal(); }},
      {"ReadResponseTooLong", Rule::kReadResponseLength, "vs_sizes",
       [](Capture& c) { c.edit(52).resize(4).seal(); }},
      {"ReadResponseTooShort", Rule::kReadResponseLength, "vs_sizes",
       [](Capture& c) { c.edit(56).resize(-4).seal(); }},
      {"OneReadResponseTooMany", Rule::kReadResponseExtra, "vs_sizes",
       [](Capture& c) { c.edit(c.repeat(58, 58)).psn(c.edit(58).psn() + 1).seal(); }},
      {"ReadResponseMissing", Rule::kReadResponseMissing, "vs_loss_requests",
       [](Capture& c) { c.erase(40); }},
      {"ReadUnanswered", Rule::kReadResponseMissing, "vs_sizes", [](Capture& c) { c.erase(47); }},
      {"AtomicUnanswered", Rule::kAtomicUnanswered, "vs_atomics", [](Capture& c) { c.erase(4); }},
      {"AtomicReplayedWithAnotherResult", Rule::kAtomicReplay, "vs_atomics",
       [](Capture& c) {
         c.repeat(9, 10);
         c.edit(c.repeat(10, 11)).flip(23, 1).seal();
       }},
      {"UnalignedAtomicCarriedOut", Rule::kAtomicAlignment, "vs_atomics",
       [](Capture& c) { c.edit(9).flip(19, 4).seal(); }},
  };
}

}  // namespace urnic::check::test
