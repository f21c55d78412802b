// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/full_ways.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace urnic::nic {

using transport::wire::Mac;

// No more ways have queue pairs than there are queue pairs; one more may be the first, while it is looked at.
void FullWays::expect(std::size_t count) {
  while (full_.size() + spare_.size() < count + 1) spare_.emplace_back();
}

void FullWays::drop_first() {
  assert(first().responding.empty() && first().sending.empty());
  spare_.splice(spare_.begin(), full_, full_.begin());
}

FullWays::Way& FullWays::at(const Mac& name) {
  const auto found = std::ranges::find(full_, name, &Way::name);
  if (found != full_.end()) return *found;
  if (spare_.empty()) spare_an_empty_one();
  spare_.front().name = name;
  full_.splice(full_.end(), spare_, spare_.begin());
  return full_.back();
}

/// There is one beside the first: the queue pair that needs it is in none, and all others together fill one
/// less than there are.
void FullWays::spare_an_empty_one() {
  const auto is_empty = [](const Way& way) { return way.responding.empty() && way.sending.empty(); };
  const auto found = std::find_if(std::next(full_.begin()), full_.end(), is_empty);
  assert(found != full_.end());
  spare_.splice(spare_.begin(), full_, found);
}

}  // namespace urnic::nic
