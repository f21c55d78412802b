// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/completion_publisher.h"

#include <algorithm>

namespace urnic::nic {

using transport::Time;

void CompletionPublisher::expect(std::size_t count) {
  unpublished_.reserve(count);
  put_off_.reserve(count);
}

bool CompletionPublisher::run(Time now) {
  bool worked = false;
  for (CompletionQueue* const queue : unpublished_) worked |= queue->publish(now);
  unpublished_.clear();
  std::erase_if(put_off_, [&](CompletionQueue* queue) {
    worked |= queue->notify_if_due(now);
    return !queue->is_put_off();
  });
  return worked;
}

Time CompletionPublisher::next_notification() const {
  Time next = transport::kNever;
  for (const CompletionQueue* const queue : put_off_) next = std::min(next, queue->notification_due());
  return next;
}

void CompletionPublisher::forget(CompletionQueue& queue) {
  std::erase(unpublished_, &queue);
  std::erase(put_off_, &queue);
}

}  // namespace urnic::nic
