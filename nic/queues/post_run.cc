// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/post_run.h"

#include <algorithm>

namespace urnic::nic {

PostRun& PostRun::of_this_thread() {
  thread_local constinit PostRun run;
  return run;
}

bool PostRun::on_post(std::uint64_t now) {
  if (is_open() && !is_directly_after(now)) end(false);
  ++length_;
  last_ = now;
  return polled_directly_ == kRunsThatCount && length_ > 1 && length_ < length_before_;
}

void PostRun::end(bool is_polled_directly) {
  polled_directly_ = is_polled_directly ? std::min(polled_directly_ + 1, kRunsThatCount) : 0;
  length_before_ = length_;
  length_ = 0;
}

}  // namespace urnic::nic
