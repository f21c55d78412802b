// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/cm/dialogs.h"

#include <fmt/core.h>

namespace urnic::check {

CmStep CmDialogs::on_message(const CmMessage& message, const Seen& seen, std::uint32_t flow) {
  switch (message.kind) {
    case CmKind::kRequest:
      return on_request(connections_, message, seen, flow);
    case CmKind::kServiceRequest:
      return on_request(services_, message, seen, flow);
    case CmKind::kLoadAlternatePath:
    case CmKind::kAlternatePathResponse:
      return {};
    default:
      break;
  }
  Place place = place_of(message, seen.frame);
  if (place.dialog == nullptr && message.kind != CmKind::kServiceReply) {
    place = place_by_transaction(message, seen.frame);
  }
  if (place.dialog != nullptr) return place.dialog->on_message(message, place.side, seen, findings_);
  if (message.kind != CmKind::kDisconnectRequest) {
    findings_.add(Rule::kCmUnseen, flow, {seen.number}, "what it answers",
                  fmt::format("{} to nothing in the capture", to_string(message.kind)));
  }
  return {};
}

CmStep CmDialogs::on_request(Book& book, const CmMessage& message, const Seen& seen, std::uint32_t flow) {
  const FlowKey key{seen.frame.source, seen.frame.destination, message.local_id};
  const auto known = book.dialogs.find(key);
  if (known != book.dialogs.end()) {
    const bool is_same = known->second.request().digest == message.digest;
    if (is_same || !known->second.is_over(seen.time_ns)) {
      return known->second.on_message(message, CmSide::kActive, seen, findings_);
    }
    by_transaction_.erase(known->second.request().transaction);
    known->second = CmDialog(message, seen, flow);
  } else {
    if (book.oldest_first.size() >= kMaxDialogs) {
      const auto oldest = book.dialogs.find(book.oldest_first.front());
      by_transaction_.erase(oldest->second.request().transaction);
      book.dialogs.erase(oldest);
      book.oldest_first.pop_front();
    }
    book.dialogs.emplace(key, CmDialog(message, seen, flow));
    book.oldest_first.push_back(key);
  }
  if (&book == &connections_) by_transaction_[message.transaction] = key;
  return {};
}

CmDialog* CmDialogs::at(Book& book, const Address& active, const Address& passive, std::uint32_t id) {
  const auto found = book.dialogs.find(FlowKey{active, passive, id});
  return found == book.dialogs.end() ? nullptr : &found->second;
}

CmDialogs::Place CmDialogs::place_of(const CmMessage& message, const Frame& frame) {
  if (message.kind == CmKind::kServiceReply) {
    return {at(services_, frame.destination, frame.source, message.local_id), CmSide::kPassive};
  }
  const bool may_be_active = message.kind != CmKind::kReply;
  CmDialog* const own =
      may_be_active ? at(connections_, frame.source, frame.destination, message.local_id) : nullptr;
  if (own != nullptr) return {own, CmSide::kActive};
  return {at(connections_, frame.destination, frame.source, message.remote_id), CmSide::kPassive};
}

// A message that names a wrong ID still belongs to the request with its transaction ID.
CmDialogs::Place CmDialogs::place_by_transaction(const CmMessage& message, const Frame& frame) {
  const auto found = by_transaction_.find(message.transaction);
  if (found == by_transaction_.end()) return {};
  const FlowKey& key = found->second;
  CmDialog* const dialog = at(connections_, key.source, key.destination, key.destination_qp);
  if (key.source == frame.source && key.destination == frame.destination) return {dialog, CmSide::kActive};
  if (key.source == frame.destination && key.destination == frame.source) return {dialog, CmSide::kPassive};
  return {};
}

void CmDialogs::finish(std::int64_t end_ns) {
  for (const Book* const book : {&connections_, &services_}) {
    for (const FlowKey& key : book->oldest_first) book->dialogs.at(key).finish(end_ns, findings_);
  }
}

}  // namespace urnic::check
