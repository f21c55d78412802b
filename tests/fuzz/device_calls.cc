// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/fuzz/device_calls.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace urnic::test {
namespace {

using namespace std::chrono_literals;
using transport::Duration;
using transport::QpState;
using transport::SendOperation;

constexpr std::array<std::uint32_t, 16> kLengths = {0,    1,    8,    40,   41,   100,  1023,  1024,
                                                    1025, 2048, 3000, 4096, 4097, 8192, 16384, 16385};
constexpr std::array<Duration, 8> kPauses = {0ns, 1us, 100us, 1ms, 5ms, 50ms, 1s, 10s};
constexpr std::size_t kOperationCount = 12;
constexpr std::size_t kStates = 7;

/// First argument: operation, then inline, unsignaled, fence and solicited. Second: length, then the target.
DeviceRig::Posting posting_of(std::uint8_t first, std::uint8_t second) {
  return {.operation = static_cast<SendOperation>((first & 15u) % kOperationCount),
          .length = kLengths[second & 15u],
          .is_inline = (first & 0x10u) != 0,
          .is_signaled = (first & 0x20u) == 0,
          .fence = (first & 0x40u) != 0,
          .solicited = (first & 0x80u) != 0,
          .target = static_cast<std::uint8_t>(second >> 4)};
}

void make_call(Call::Kind kind, std::uint8_t which, std::uint8_t first, std::uint8_t second, DeviceRig& rig) {
  const std::size_t qp = which % DeviceRig::kQueuePairs;
  const std::size_t queue = which % DeviceRig::kSharedQueues;
  switch (kind) {
    case Call::Kind::kSelect:
      return rig.select(qp);
    case Call::Kind::kPostSend:
      return rig.post_send(qp, posting_of(first, second));
    case Call::Kind::kPostReceive:
      return rig.post_receive(qp, kLengths[first % kLengths.size()]);
    case Call::Kind::kPostShared:
      return rig.post_shared(queue, kLengths[first % kLengths.size()]);
    case Call::Kind::kArmLimit:
      return rig.arm_limit(queue, first);
    case Call::Kind::kModify:
      return rig.modify(qp, static_cast<QpState>(first % kStates), second);
    case Call::Kind::kReconnect:
      return rig.reconnect(qp);
    case Call::Kind::kRenewQueuePair:
      return rig.renew_queue_pair(qp);
    case Call::Kind::kRenewSharedQueue:
      return rig.renew_shared_queue(queue);
    case Call::Kind::kRenewWindow:
      return rig.renew_window(first % 2);
    case Call::Kind::kRenewSecondKey:
      return rig.renew_second_key();
    case Call::Kind::kRenewAddress:
      return rig.renew_address(first % 2);
    case Call::Kind::kJoinGroup:
      return rig.join_group(qp);
    case Call::Kind::kLeaveGroup:
      return rig.leave_group(qp);
    case Call::Kind::kPass:
      return rig.pass(kPauses[first % kPauses.size()]);
    case Call::Kind::kPortRoom:
      rig.wire().room = first < 8 ? first : ~std::size_t{0};
      return;
  }
}

}  // namespace

void make_calls(std::span<const std::byte> bytes, DeviceRig& rig) {
  const auto at = [&](std::size_t i) { return std::to_integer<std::uint8_t>(bytes[i]); };
  for (std::size_t calls = 0; bytes.size() >= Call::kBytes && calls < Call::kMost; ++calls) {
    make_call(static_cast<Call::Kind>(at(0) % Call::kKinds), at(1), at(2), at(3), rig);
    rig.run();
    bytes = bytes.subspan(Call::kBytes);
  }
}

}  // namespace urnic::test
