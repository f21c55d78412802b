// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/outcome.h"

namespace urnic::replay {

AllowedDeviationInfo info_of(AllowedDeviation deviation) {
  using enum AllowedDeviation;
  switch (deviation) {
    case kMigReq:
      return {"migreq", "MigReq differs: we send 1, rdma_rxe 0 (fact 15)"};
    case kReservedBits:
      return {"reserved-bits", "FECN, BECN or reserved bits differ: the network and some stacks set them"};
    case kAckRequest:
      return {"ack-request", "AckReq differs: a requester asks for ACKs when it likes (fact 18)"};
    case kCredits:
      return {"credits", "the credit count of an ACK differs (fact 19)"};
    case kCoalescedAck:
      return {"ack-coalesced", "the captured responder let a later answer stand for this ACK (fact 21)"};
    case kUnaskedAck:
      return {"ack-unasked", "the captured responder acknowledged although nothing asked for it"};
    case kReadResumed:
      return {"read-resumed", "the answer to a resumed READ begins with Middle or Last (fact 26)"};
    case kLongSendNak:
      return {"long-send-nak", "a SEND longer than its receive: NAK 0x63 of rdma_rxe for our 0x61 (fact 33)"};
    case kLostRequest:
      return {"request-lost", "we send it; in the capture it was lost before the place of capture"};
    case kLostAnswer:
      return {"answer-lost", "we answer; in the capture the answer was lost, and the requester asked again"};
    case kRequestLostBehind:
      return {"request-lost-behind", "captured, but lost before it reached the responder, whose NAK says so"};
    case kTimeout:
      return {"timeout", "the captured requester sent again by its timer: ours was told to"};
    case kLateReaction:
      return {"late-reaction", "an answer was held back until the captured requester shows that it has it"};
    case kNetworkCopy:
      return {"network-copy", "the network delivered it twice"};
    case kEndOfCapture:
      return {"end-of-capture", "we go on, and the capture ends"};
    case kCount:
      break;
  }
  return {};
}

const char* to_string(Side side) {
  return side == Side::kRequester ? "requester" : "responder";
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEqual:
      return "equal";
    case Verdict::kMismatch:
      return "mismatch";
    case Verdict::kNotPlayed:
      break;
  }
  return "not played";
}

void Ladder::add(Row row) {
  if (is_over_) return;
  const bool is_first_difference = row.is_difference && !has_difference_;
  has_difference_ = has_difference_ || row.is_difference;
  if (has_difference_ && !is_first_difference) ++behind_;
  rows_.push_back(std::move(row));
  if (keeps_all_) {
    is_over_ = rows_.size() >= kMostRows;
  } else if (has_difference_) {
    is_over_ = behind_ >= kRowsBehind;
  } else if (rows_.size() > kRowsBefore) {
    rows_.pop_front();
    ++left_out_;
  }
}

}  // namespace urnic::replay
