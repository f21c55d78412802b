// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/checks/management_observer.h"

#include <fmt/core.h>

#include <chrono>

namespace urnic::sim {
namespace {

bool is_request(CmKind kind) {
  return kind == CmKind::kRequest || kind == CmKind::kServiceRequest;
}

}  // namespace

const ManagementObserver::Dialog& ManagementObserver::dialog(HostId host, std::uint32_t id) const {
  static const Dialog kNone;
  const auto found = dialogs_.find({host, id});
  return found == dialogs_.end() ? kNone : found->second;
}

std::optional<std::string> ManagementObserver::on_sent(HostId by, HostId to, const CmMessage& message,
                                                       Time now) {
  const std::size_t kind = index_of(message.kind);
  ++sent_[kind];
  if (auto complaint = judge_answer(by, to, message)) return complaint;
  // The answer to SIDR_REQ has the sender's number for it, and a REJ of a REQ has none of its own (fact 46).
  if (message.kind == CmKind::kServiceReply || message.local_id == 0) return std::nullopt;
  Dialog& dialog = dialogs_[{by, message.local_id}];
  if (dialog.sent[kind]++ > 0) ++repeated_[kind];
  return is_request(message.kind) ? judge_request(dialog, message, now) : std::nullopt;
}

std::optional<std::string> ManagementObserver::judge_request(Dialog& dialog, const CmMessage& message,
                                                             Time now) {
  const std::uint32_t count = dialog.sent[index_of(message.kind)];
  if (count == 1) {
    dialog.digest = message.digest;
  } else if (message.digest != dialog.digest) {
    return "repeated with another content";
  } else if (now - dialog.last_request < kCmResponseTime - lateness_) {
    return fmt::format("repeated {} ms after the one before, within the time that the peer has to answer",
                       (now - dialog.last_request).count() / 1'000'000);
  }
  // What was to leave when the MRA came may still leave.
  if (now - dialog.patience_asked > lateness_ && now < dialog.patience_ends - lateness_) {
    return "repeated within the time that the peer has asked for";
  }
  dialog.last_request = now;
  if (count <= kCmRetries + 1) return std::nullopt;
  return fmt::format("sent {} times", count);
}

std::optional<std::string> ManagementObserver::judge_answer(HostId by, HostId to,
                                                            const CmMessage& message) const {
  const auto has_asked = [&](std::uint32_t id, CmKind kind) {
    return dialog(to, id).reached[index_of(kind)] > 0;
  };
  switch (message.kind) {
    case CmKind::kReply:
      if (!has_asked(message.remote_id, CmKind::kRequest)) return "answers no request";
      break;
    case CmKind::kReadyToUse:
      if (dialog(by, message.local_id).taken[index_of(CmKind::kReply)] == 0) return "answers no reply";
      break;
    case CmKind::kDisconnectReply:
      if (!has_asked(message.remote_id, CmKind::kDisconnectRequest)) return "answers no disconnect request";
      break;
    case CmKind::kServiceReply:
      if (!has_asked(message.local_id, CmKind::kServiceRequest)) return "answers no request";
      break;
    case CmKind::kLoadAlternatePath:
    case CmKind::kAlternatePathResponse:
      return "must not be sent here";
    default:
      break;
  }
  return std::nullopt;
}

void ManagementObserver::on_taken(HostId by, HostId from, const CmMessage& message, Time now) {
  const std::size_t kind = index_of(message.kind);
  if (message.kind == CmKind::kServiceReply) {
    ++dialogs_[{by, message.local_id}].taken[kind];
    return;
  }
  if (message.local_id != 0) ++dialogs_[{from, message.local_id}].reached[kind];
  if (message.remote_id == 0) return;
  Dialog& dialog = dialogs_[{by, message.remote_id}];
  ++dialog.taken[kind];
  if (message.kind != CmKind::kMessageReceipt) return;
  dialog.patience_asked = now;
  dialog.patience_ends = now + cm_time(message.service_timeout);
}

}  // namespace urnic::sim
