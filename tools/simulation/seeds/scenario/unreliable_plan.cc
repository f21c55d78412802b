// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/scenario/unreliable_plan.h"

#include <algorithm>
#include <utility>

namespace urnic::sim {
namespace {

using transport::SendOperation;

/// What fits into the link MTU of every host (fact 41).
constexpr std::uint32_t kMaxDatagram = 4096;

std::uint32_t draw_length(bool is_datagram, const Options& options, Random& random) {
  const std::uint32_t mtu = transport::bytes(options.path_mtu);
  switch (random.below(6)) {
    case 0:
      return 0;
    case 1:
      return mtu;
    case 2:
      return is_datagram ? mtu - 1 : mtu + 1;
    default:
      return static_cast<std::uint32_t>(random.between(1, is_datagram ? mtu : 5 * mtu));
  }
}

void draw_error(UnreliableMessage& message, bool is_datagram, Random& random) {
  message.error = is_datagram && random.chance(0.5) ? SendError::kTooLong : SendError::kUnknownLkey;
  message.length = message.error == SendError::kTooLong
                       ? kMaxDatagram + static_cast<std::uint32_t>(random.between(1, 100))
                       : std::max(message.length, 1u);
}

}  // namespace

UnreliablePlan draw_unreliable_plan(nic::QpType type, std::vector<HostId> hosts, const Options& options,
                                    Random& random, MemoryPlan& memory, std::uint64_t& next_id) {
  const std::size_t members = hosts.size();
  UnreliablePlan plan{.type = type, .hosts = std::move(hosts)};
  plan.has_ample_buffers = random.chance(0.5);
  plan.messages.resize(members);
  std::vector<std::size_t> expected(members);
  for (std::size_t from = 0; from < members; ++from) {
    for (std::uint64_t left = random.between(5, 25); left > 0; --left) {
      UnreliableMessage message{.id = next_id++};
      const bool writes = !plan.is_datagram() && random.chance(0.5);
      message.kind = writes ? SendOperation::kWrite : SendOperation::kSend;
      if (random.chance(0.5)) {
        message.kind = writes ? SendOperation::kWriteWithImmediate : SendOperation::kSendWithImmediate;
      }
      message.length = draw_length(plan.is_datagram(), options, random);
      if (random.chance(options.unreliable_errors)) {
        draw_error(message, plan.is_datagram(), random);
      } else {
        plan.longest_message = std::max(plan.longest_message, message.length);
      }
      message.immediate = message.has_immediate() ? static_cast<std::uint32_t>(random.next()) : 0;
      message.signaled = left == 1 || random.chance(options.signaled);
      message.solicited = message.consumes_receive() && random.chance(0.3);
      message.has_wrong_qkey = plan.is_datagram() && random.chance(0.1);
      message.to = (from + random.between(1, members - 1)) % members;
      if (plan.is_datagram() && random.chance(0.2)) message.to = UnreliableMessage::kGroup;
      message.source = memory.allocate(plan.hosts[from], Region::kPrivate, message.length);
      if (writes) message.target = memory.allocate(plan.hosts[message.to], Region::kShared, message.length);
      if (message.consumes_receive()) {
        for (std::size_t to = 0; to < members; ++to) expected[to] += to != from ? 1 : 0;
      }
      plan.messages[from].push_back(message);
    }
  }
  plan.buffers.resize(members);
  for (std::size_t member = 0; member < members; ++member) {
    const std::size_t count = plan.has_ample_buffers ? expected[member] + 1 : random.between(1, 8);
    for (std::size_t i = 0; i < count; ++i) {
      plan.buffers[member].push_back(
          memory.allocate(plan.hosts[member], Region::kPrivate, plan.longest_message + kGrhBytes));
    }
  }
  return plan;
}

}  // namespace urnic::sim
