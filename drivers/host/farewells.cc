// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/farewells.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "nic/cm/message.h"
#include "nic/engine/management_frame.h"
#include "nic/port/medium.h"
#include "transport/types.h"

namespace urnic::drivers {

namespace cm = nic::cm;

namespace {

/// So that a process with many connections keeps the switch from no other work.
constexpr std::size_t kMostAtOnce = 256;

}  // namespace

void Farewells::add(std::vector<nic::KeptFrame> packets, Time now) {
  for (nic::KeptFrame& kept : packets) {
    const auto message = read_management_packet(kept.frame);
    if (!message) continue;
    const auto* const dreq = std::get_if<cm::Dreq>(&message->mad.message);
    const bool ends_connection = dreq != nullptr || std::holds_alternative<cm::Drep>(message->mad.message) ||
                                 std::holds_alternative<cm::Rej>(message->mad.message);
    if (!ends_connection) continue;
    // Only a DREQ has an answer.
    const nic::LastWords::Delivery delivery = dreq != nullptr ? kept.delivery : nic::LastWords::Delivery{};
    farewells_.push_back({.packet = std::move(kept.frame),
                          .own = dreq != nullptr ? dreq->local_id : cm::CommunicationId{},
                          .repetition = nic::Repetition(delivery, kTimes, now)});
  }
}

void Farewells::on_answer(cm::CommunicationId own) {
  std::erase_if(farewells_, [own](const Farewell& each) { return each.own == own; });
}

void Farewells::on_timeout(Time now, const std::function<void(std::span<const std::byte>)>& send) {
  std::size_t sent = 0;
  for (Farewell& each : farewells_) {
    if (each.repetition.due() > now) continue;
    if (sent++ == kMostAtOnce) break;
    send(each.packet);
    each.repetition.on_sent(now);
  }
  std::erase_if(farewells_, [](const Farewell& each) { return each.repetition.is_over(); });
}

std::optional<Farewells::Time> Farewells::next_timeout() const {
  if (farewells_.empty()) return std::nullopt;
  const auto due = [](const Farewell& each) { return each.repetition.due(); };
  return due(*std::ranges::min_element(farewells_, {}, due));
}

std::optional<Farewells::Packet> answer_for_absent(const ManagementPacket& message) {
  cm::Mad answer{.transaction_id = message.mad.transaction_id, .message = {}};
  if (const auto* const dreq = std::get_if<cm::Dreq>(&message.mad.message)) {
    answer.message = cm::Drep{.local_id = dreq->remote_id, .remote_id = dreq->local_id};
  } else if (const auto* const rep = std::get_if<cm::Rep>(&message.mad.message)) {
    answer.message = cm::Rej{.local_id = rep->remote_id,
                             .remote_id = rep->local_id,
                             .answered = cm::Answered::kRep,
                             .reason = cm::RejectReason::kInvalidCommunicationId};
  } else {
    return std::nullopt;
  }
  Farewells::Packet bytes(nic::kMaxManagementFrame);
  bytes.resize(nic::write_management_frame(
      {.path = {.source = message.destination, .destination = message.source}, .bytes = cm::write(answer)},
      {.medium = nic::Medium::kIp}, {}, {}, bytes));
  return bytes;
}

}  // namespace urnic::drivers
