// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DeregisteredKeys: regions that were deregistered a moment ago, for a NIC that refuses them only after a
// while.
#pragma once

#include <algorithm>
#include <deque>

#include "transport/dma.h"
#include "transport/time.h"
#include "transport/types.h"

namespace urnic::nic {

/// All calls under the engine lock. A key does not come back as long as it is kept here: see MemoryTable.
class DeregisteredKeys final : public transport::WithdrawnKeys {
 public:
  /// For so long nothing is said about a key.
  explicit DeregisteredKeys(transport::Duration silence) : silence_(silence) {}

  /// The region with this key was deregistered at `now`, which never goes back. Allocates.
  void note(transport::Rkey rkey, transport::Time now) {
    while (!keys_.empty() && keys_.front().until <= now) keys_.pop_front();
    keys_.push_back({rkey, now + silence_});
  }

  transport::Time silent_until(transport::Rkey rkey) const override {
    const auto found = std::ranges::find(keys_, rkey, &Key::rkey);
    return found == keys_.end() ? transport::Time::min() : found->until;
  }

 private:
  struct Key {
    transport::Rkey rkey;
    transport::Time until;
  };

  transport::Duration silence_;
  std::deque<Key> keys_;  // in the order of `until`
};

}  // namespace urnic::nic
