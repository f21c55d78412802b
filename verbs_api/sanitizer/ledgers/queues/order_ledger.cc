// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/order_ledger.h"

#include <fmt/core.h>

namespace urnic::verbs_api {
namespace {

/// Whether `flag` lies within or soon after what `data` writes to.
bool follows(const OrderLedger::Write& flag, const OrderLedger::Write& data) {
  const std::uint64_t distance = flag.address - data.address;  // wraps around where it is before
  return flag.queue_pair != data.queue_pair && flag.peer == data.peer && flag.rkey == data.rkey &&
         distance < data.length + OrderLedger::kMostGapBytes;
}

}  // namespace

void OrderLedger::posted(const Write& write) {
  const std::lock_guard lock(mutex_);
  const bool may_be_flag = write.length != 0 && write.length <= kMostFlagBytes;
  for (const Write& earlier : writes_) {
    if (!may_be_flag || earlier.length <= kMostFlagBytes || !follows(write, earlier)) continue;
    complaints_.complain(Finding::kOrderBetweenQueuePairs, *write.queue_pair, [&] {
      return fmt::format(
          "wr_id {} writes {} bytes to {:#x}, and wr_id {} of {}, for {} bytes at {:#x}, is not done",
          write.wr_id, write.length, write.address, earlier.wr_id, *earlier.queue_pair, earlier.length,
          earlier.address);
    });
    break;
  }
  if (writes_.size() == kMostWrites) writes_.pop_front();
  writes_.push_back(write);
}

void OrderLedger::done(const std::string& queue_pair, std::uint32_t next) {
  const std::lock_guard lock(mutex_);
  std::erase_if(writes_, [&](const Write& write) {
    const bool is_before = static_cast<std::int32_t>(write.number - next) < 0;
    return write.queue_pair == &queue_pair && is_before;
  });
}

void OrderLedger::forget(const std::string& queue_pair) {
  const std::lock_guard lock(mutex_);
  std::erase_if(writes_, [&](const Write& write) { return write.queue_pair == &queue_pair; });
}

}  // namespace urnic::verbs_api
