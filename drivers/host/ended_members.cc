// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/ended_members.h"

#include <poll.h>

#include <utility>
#include <variant>

#include "drivers/host/management_packet.h"
#include "nic/cm/message.h"
#include "nic/host/last_words_table.h"

namespace urnic::drivers {
namespace {

using std::chrono::milliseconds;

/// How long the switch waits for the end of a process that has closed its connection, and how often it looks.
constexpr milliseconds kEndPatience(2000);
constexpr milliseconds kEndLook(10);
constexpr std::size_t kMostLeaving = 256;

bool has_ended(const Descriptor& process) {
  pollfd end{.fd = process.get(), .events = POLLIN, .revents = 0};
  return !process || poll(&end, 1, 0) == 1;
}

}  // namespace

void EndedMembers::on_leave(unsigned slot, Descriptor process, Descriptor last_words, Time now) {
  if (leaving_.size() >= kMostLeaving) leaving_.erase(leaving_.begin());
  leaving_.push_back({.slot = slot,
                      .process = std::move(process),
                      .last_words = std::move(last_words),
                      .give_up = now + kEndPatience});
}

void EndedMembers::on_timeout(Time now, const std::function<bool(unsigned slot)>& is_taken,
                              const Send& send) {
  std::erase_if(leaving_, [&](const Leaving& leaving) {
    if (!has_ended(leaving.process)) return now > leaving.give_up;
    if (!is_taken(leaving.slot)) ended_.set(leaving.slot);
    if (leaving.last_words) farewells_.add(nic::read_last_words(leaving.last_words.get()), now);
    return true;
  });
  farewells_.on_timeout(now, send);
}

std::optional<EndedMembers::Time> EndedMembers::next_timeout(Time now) const {
  const auto farewell = farewells_.next_timeout();
  if (leaving_.empty()) return farewell;
  const Time look = now + kEndLook;
  return farewell && *farewell < look ? farewell : look;
}

void EndedMembers::on_packet(unsigned slot, std::span<const std::byte> packet, const Send& send) {
  if (!ended_.test(slot)) return;
  const auto message = read_management_packet(packet);
  if (!message) return;
  if (const auto* const drep = std::get_if<nic::cm::Drep>(&message->mad.message)) {
    return farewells_.on_answer(drep->remote_id);
  }
  if (const auto answer = answer_for_absent(*message)) send(*answer);
}

}  // namespace urnic::drivers
