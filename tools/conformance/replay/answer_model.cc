// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/answer_model.h"

#include <algorithm>

namespace urnic::replay {

void AnswerModel::on_sent(ExtendedPsn end) {
  sent_end_ = std::max(sent_end_, end);
  is_refused_ = false;
}

void AnswerModel::advance(ExtendedPsn to) {
  if (to == acknowledged_) return;
  acknowledged_ = to;
  is_recovering_ = false;
  is_refused_ = false;
  while (head_ < messages_->size() && (*messages_)[head_].end() <= acknowledged_) ++head_;
}

/// False when something that must be answered with data stands before `end`.
bool AnswerModel::acknowledge_up_to(ExtendedPsn end) {
  while (acknowledged_ < end && head_ < messages_->size()) {
    const Message& message = (*messages_)[head_];
    if (message.wants_data_back()) return false;
    advance(std::min(end, message.end()));
  }
  return true;
}

AnswerModel::Effect AnswerModel::go_back(Effect how) {
  if (how == Effect::kGoBack) {
    if (is_recovering_) return Effect::kNothing;
    is_recovering_ = true;
  } else {
    if (is_refused_) return Effect::kNothing;
    is_refused_ = true;
  }
  return how;
}

AnswerModel::Effect AnswerModel::on_response(ExtendedPsn at) {
  if (head_ >= messages_->size() || !(*messages_)[head_].wants_data_back()) return Effect::kNothing;
  advance(at + 1);
  return Effect::kData;
}

AnswerModel::Effect AnswerModel::apply(const Event& answer) {
  const check::Packet& packet = answer.packet->packet;
  const ExtendedPsn at = answer.psn;
  if (has_ended_ || at < acknowledged_ || at >= sent_end_) return Effect::kNothing;
  const ExtendedPsn before = acknowledged_;
  if (!acknowledge_up_to(at)) return go_back(Effect::kGoBack);
  if (packet.info->operation != check::Operation::kAcknowledge) return on_response(at);
  switch (check::kind_of(packet.syndrome)) {
    case check::AnswerKind::kAck:
      return acknowledge_up_to(at + 1) ? Effect::kProgress : go_back(Effect::kGoBack);
    case check::AnswerKind::kSequenceNak:
      return go_back(Effect::kGoBack);
    case check::AnswerKind::kRnrNak:
      return go_back(Effect::kWait);
    case check::AnswerKind::kFatalNak:
      has_ended_ = true;
      return Effect::kEnd;
    case check::AnswerKind::kReserved:
      break;
  }
  return acknowledged_ != before ? Effect::kProgress : Effect::kNothing;
}

}  // namespace urnic::replay
