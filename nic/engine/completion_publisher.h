// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CompletionPublisher: which completion queues have something to show, or to tell, at the end of a round.
#pragma once

#include <cstddef>
#include <vector>

#include "nic/queues/completion_queue.h"
#include "transport/time.h"

namespace urnic::nic {

/// All calls under the engine lock.
class CompletionPublisher {
 public:
  /// There will be no more than `count` queues: from now on add() does not allocate for so many.
  void expect(std::size_t count);

  /// `queue` has completions that the program does not see yet.
  void add(CompletionQueue& queue) { unpublished_.push_back(&queue); }
  /// `queue` has put off a notification; see CompletionQueue::notification_due().
  void add_put_off(CompletionQueue& queue) { put_off_.push_back(&queue); }

  /// Makes completions visible, and sends the notifications that are due. Returns whether anything was done.
  bool run(transport::Time now);

  bool is_idle() const { return unpublished_.empty(); }
  /// When the next notification is due; kNever when none was put off.
  transport::Time next_notification() const;

  /// `queue` is about to be destroyed.
  void forget(CompletionQueue& queue);

 private:
  std::vector<CompletionQueue*> unpublished_;  // in the order in which they got something
  std::vector<CompletionQueue*> put_off_;
};

}  // namespace urnic::nic
