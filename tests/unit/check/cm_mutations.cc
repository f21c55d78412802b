// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <cstdint>

#include "tests/unit/check/mutation.h"

namespace urnic::check::test {
namespace {

/// Moves a frame to another place; it takes the time of the frame that is there.
void move(Capture& capture, std::size_t from, std::size_t to) {
  capture.repeat(from, to - 1, 1000);
  capture.erase(from < to ? from : from + 1);
}

// Frames of rping_ipv6: REQ, REP, RTU; 4 is the active side's first SEND, 6 the passive side's first READ;
// 40 is the active side's DREQ and 41 the DREP. cm_reject has a REQ and a REJ, udaddy a SIDR_REQ and a
// SIDR_REP. tshark shows the offsets of the fields.
std::vector<Mutation> form_mutations() {
  return {
      {"CmClassVersion", Rule::kCmHeader, "rping_ipv6",
       [](Capture& c) { c.edit(1).byte(kMadAt + 2, 1).seal(); }},
      {"CmMethodGet", Rule::kCmHeader, "rping_ipv6",
       [](Capture& c) { c.edit(3).byte(kMadAt + 3, 1).seal(); }},
      {"CmBaseVersion", Rule::kCmHeader, "udaddy", [](Capture& c) { c.edit(2).byte(kMadAt, 2).seal(); }},
      {"CmAttributeUnknown", Rule::kCmAttribute, "rping_ipv6",
       [](Capture& c) { c.edit(3).byte(kMadAt + 17, 0x1b).seal(); }},
      {"CmReservedInReq", Rule::kCmReserved, "rping_ipv6",
       [](Capture& c) { c.edit(1).byte(kCmAt + 24, 1).seal(); }},
      {"CmReservedBesideAckTimeout", Rule::kCmReserved, "rping_ipv6",
       [](Capture& c) { c.edit(1).flip(kCmAt + 95, 1).seal(); }},
      {"CmReservedInRej", Rule::kCmReserved, "cm_reject",
       [](Capture& c) { c.edit(2).byte(kCmAt + 9, 1).seal(); }},
      {"CmStatusInRtu", Rule::kCmReserved, "rping_ipv6",
       [](Capture& c) { c.edit(3).byte(kMadAt + 5, 4).seal(); }},
      {"CmModifierInRtu", Rule::kCmReserved, "rping_ipv6",
       [](Capture& c) { c.edit(3).byte(kMadAt + 23, 4).seal(); }},
      {"CmFromAnotherQp", Rule::kCmSourceQp, "rping_ipv6", [](Capture& c) { c.edit(3).u24(17, 2).seal(); }},
      {"CmPkeyZero", Rule::kCmPkey, "rping_ipv6",
       [](Capture& c) { c.edit(1).byte(kCmAt + 48, 0x80).byte(kCmAt + 49, 0).seal(); }},
      {"CmPkeyZeroInSidr", Rule::kCmPkey, "udaddy",
       [](Capture& c) { c.edit(1).byte(kCmAt + 4, 0).byte(kCmAt + 5, 0).seal(); }},
      {"CmPathMtuZero", Rule::kCmPathMtu, "rping_ipv6",
       [](Capture& c) { c.edit(1).byte(kCmAt + 50, 0x07).seal(); }},
      {"CmPathMtuSix", Rule::kCmPathMtu, "rping_ipv6",
       [](Capture& c) { c.edit(1).byte(kCmAt + 50, 0x67).seal(); }},
      {"CmTransportRd", Rule::kCmTransport, "rping_ipv6",
       [](Capture& c) { c.edit(1).byte(kCmAt + 43, 0xa4).seal(); }},
      {"CmPrivateVersion", Rule::kCmPrivateHeader, "rping_ipv6",
       [](Capture& c) { c.edit(1).byte(kCmAt + 140, 1).seal(); }},
      {"CmPrivateIpVersion", Rule::kCmPrivateHeader, "cm_reject",
       [](Capture& c) { c.edit(1).byte(kCmAt + 141, 0x50).seal(); }},
      {"CmPrivateVersionInSidr", Rule::kCmPrivateHeader, "udaddy",
       [](Capture& c) { c.edit(1).byte(kCmAt + 16, 1).seal(); }},
      {"CmAnotherSourceAddress", Rule::kCmAddresses, "rping_ipv6",
       [](Capture& c) { c.edit(1).flip(kCmAt + 144 + 15, 1).seal(); }},
      {"CmAnotherDestinationAddress", Rule::kCmAddresses, "cm_reject",
       [](Capture& c) { c.edit(1).flip(kCmAt + 160 + 15, 1).seal(); }},
      {"CmAnotherGid", Rule::kCmAddresses, "cm_reject",
       [](Capture& c) { c.edit(1).flip(kCmAt + 56 + 11, 1).seal(); }},
      {"CmReasonUnknown", Rule::kCmReason, "cm_reject",
       [](Capture& c) { c.edit(2).byte(kCmAt + 11, 34).seal(); }},
      {"CmStatusUnknown", Rule::kCmReason, "udaddy", [](Capture& c) { c.edit(2).byte(kCmAt + 4, 9).seal(); }},
  };
}

std::vector<Mutation> dialog_mutations() {
  return {
      {"RepNamesAnotherId", Rule::kCmRemoteId, "rping_ipv6",
       [](Capture& c) { c.edit(2).flip(kCmAt + 7, 1).seal(); }},
      {"RtuNamesAnotherId", Rule::kCmRemoteId, "rping_ipv6",
       [](Capture& c) { c.edit(3).flip(kCmAt + 7, 1).seal(); }},
      {"DrepNamesAnotherId", Rule::kCmRemoteId, "rping_ipv6",
       [](Capture& c) { c.edit(41).flip(kCmAt + 3, 1).seal(); }},
      {"RepOfAnotherTransaction", Rule::kCmTransaction, "rping_ipv6",
       [](Capture& c) { c.edit(2).flip(kMadAt + 15, 1).seal(); }},
      {"RejOfAnotherTransaction", Rule::kCmTransaction, "cm_reject",
       [](Capture& c) { c.edit(2).flip(kMadAt + 8, 1).seal(); }},
      {"DrepOfAnotherTransaction", Rule::kCmTransaction, "rping_ipv6",
       [](Capture& c) { c.edit(41).flip(kMadAt + 15, 1).seal(); }},
      {"SidrRepOfAnotherTransaction", Rule::kCmTransaction, "udaddy",
       [](Capture& c) { c.edit(2).flip(kMadAt + 15, 1).seal(); }},
      {"ReqChanges", Rule::kCmDuplicateDiffers, "rping_ipv6",
       [](Capture& c) { c.edit(say_again(c, 1, 1, kPromised)).flip(kCmAt + 46, 1).seal(); }},
      {"RepChanges", Rule::kCmDuplicateDiffers, "rping_ipv6",
       [](Capture& c) { c.edit(say_again(c, 2, 3, kPromised)).flip(kCmAt + 24, 2).seal(); }},
      {"RepFromAnotherConnection", Rule::kCmDuplicateDiffers, "rping_ipv6",
       [](Capture& c) { c.edit(say_again(c, 2, 3, kPromised)).flip(kCmAt + 3, 2).seal(); }},
      {"DreqChanges", Rule::kCmDuplicateDiffers, "rping_ipv6",
       [](Capture& c) { c.edit(say_again(c, 40, 40, kPromised)).flip(kCmAt + 40, 1).seal(); }},
      {"RepBehindRej", Rule::kCmAnswersTwice, "rping_ipv6",
       [](Capture& c) {
         c.repeat(2, 2);
         c.edit(2).byte(kMadAt + 17, 0x12).u32(kCmAt, 0).byte(kCmAt + 11, 28).seal();
       }},
      {"RtuBeforeRep", Rule::kCmReadyWithoutReply, "rping_ipv6", [](Capture& c) { move(c, 3, 2); }},
      {"RtuWithoutRep", Rule::kCmReadyWithoutReply, "rping_ipv6", [](Capture& c) { c.erase(2); }},
      {"DrepWithoutDreq", Rule::kCmDisconnectReply, "rping_ipv6", [](Capture& c) { c.erase(40); }},
      {"DreqOfAnotherQp", Rule::kCmDisconnectQp, "rping_ipv6",
       [](Capture& c) { c.edit(40).u24(kCmAt + 8, 0x77).seal(); }},
      {"ReqTooEarly", Rule::kCmRepeatEarly, "rping_ipv6", [](Capture& c) { say_again(c, 1, 1, kSecond); }},
      {"RepTooEarly", Rule::kCmRepeatEarly, "rping_ipv6",
       [](Capture& c) { say_again(c, 2, 3, 4 * kSecond); }},
      {"DreqTooEarly", Rule::kCmRepeatEarly, "rping_ipv6", [](Capture& c) { say_again(c, 40, 40, kSecond); }},
      {"ReqTooOften", Rule::kCmRepeatOften, "rping_ipv6",
       [](Capture& c) {
         c.edit(1).byte(kCmAt + 51, 0x10).seal();
         say_again(c, 1, 1, kPromised);
         say_again(c, 1, 2, kPromised);
       }},
      {"DreqTooOften", Rule::kCmRepeatOften, "rping_ipv6",
       [](Capture& c) {
         for (std::size_t number = 40; number < 56; ++number) say_again(c, 40, number, kPromised);
       }},
  };
}

std::vector<Mutation> packet_mutations() {
  return {
      {"PassiveSideSendsFirst", Rule::kCmDataEarly, "rping_ipv6", [](Capture& c) { move(c, 6, 3); }},
      {"RequestBehindDreq", Rule::kCmDataAfterEnd, "rping_ipv6",
       [](Capture& c) {
         const auto late = c.repeat(34, 41, kSecond);
         c.edit(late).psn(c.edit(34).psn() + 1).seal();
       }},
      {"RequestBehindDrep", Rule::kCmDataAfterEnd, "rping_ipv6",
       [](Capture& c) {
         const auto late = c.repeat(38, 41, kSecond);
         c.edit(late).psn(c.edit(38).psn() + 1).seal();
       }},
      // The active side says that it has no resources for READs, and the passive side sends some.
      {"ReadWithoutResources", Rule::kReadsInFlight, "rping_ipv6",
       [](Capture& c) { c.edit(1).byte(kCmAt + 35, 0).seal(); }},
      {"TwoReadsForOneResource", Rule::kReadsInFlight, "rping_ipv6",
       [](Capture& c) {
         const auto second = c.repeat(6, 6);
         c.edit(second).psn(c.edit(6).psn() + 1).seal();
         c.keep_first(second);
       }},
      // REQ allows one repetition, and the second one comes.
      {"RetriesExceeded", Rule::kRetryCount, "rping_ipv6",
       [](Capture& c) {
         c.edit(1).byte(kCmAt + 47, 0xa1).seal();
         c.keep_first(4);
         c.repeat(4, 4, kSecond);
         c.repeat(4, 5, kSecond);
       }},
  };
}

}  // namespace

std::size_t say_again(Capture& capture, std::size_t number, std::size_t behind, std::int64_t after_ns) {
  if (behind < capture.size()) capture.delay(behind + 1, after_ns);
  const std::size_t again = capture.repeat(number, behind, after_ns);
  const auto psn = static_cast<std::uint32_t>(capture.edit(number).psn() + again);
  capture.edit(again).psn(psn).seal();
  return again;
}

std::vector<Mutation> cm_mutations() {
  std::vector<Mutation> all = form_mutations();
  for (const auto& some : {dialog_mutations(), packet_mutations()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace urnic::check::test
