// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/recording/counter_watch.h"

namespace urnic::nic {
namespace {

using transport::Counter;

/// Of these a frame, or a completion, tells by itself.
bool is_plain(Counter counter) {
  switch (counter) {
    case Counter::kSentPackets:
    case Counter::kReceivedPackets:
    case Counter::kSentBytes:
    case Counter::kReceivedBytes:
    case Counter::kSentIpv6Packets:
    case Counter::kReceivedIpv6Packets:
    case Counter::kSendsCompleted:
    case Counter::kReceivesCompleted:
    case Counter::kSendsFlushed:
    case Counter::kReceivesFlushed:
    case Counter::kRemoteAccessError:
    case Counter::kRemoteInvalidRequest:
    case Counter::kReceiveLengthError:
    case Counter::kTimeoutRepetition:
    case Counter::kReceivedSendRequests:
    case Counter::kReceivedWriteRequests:
    case Counter::kReceivedReadRequests:
    case Counter::kReceivedAtomicRequests:
    case Counter::kSentSendRequests:
    case Counter::kSentWriteRequests:
    case Counter::kSentReadRequests:
    case Counter::kSentAtomicRequests:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::string_view> CounterWatch::take_changed() {
  std::vector<std::string_view> changed;
  for (std::size_t i = 0; i < last_drops_.size(); ++i) {
    const auto counter = static_cast<DeviceCounter>(i);
    const std::uint64_t value = drops_.value(counter);
    if (value != last_drops_[i] && counter != DeviceCounter::kPortFull) changed.push_back(name_of(counter));
    last_drops_[i] = value;
  }
  for (std::size_t i = 0; i < last_.size(); ++i) {
    const auto counter = static_cast<Counter>(i);
    const std::uint64_t value = counters_.value(counter);
    if (value != last_[i] && !is_plain(counter)) changed.push_back(name_of(counter));
    last_[i] = value;
  }
  return changed;
}

}  // namespace urnic::nic
