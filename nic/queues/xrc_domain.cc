// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/xrc_domain.h"

#include <algorithm>

#include "nic/queues/shared_receive_queue.h"

namespace urnic::nic {

void XrcDomain::add(SharedReceiveQueue& srq) {
  receivers_[srq.number()] = srq.receive_end(nullptr);
}

void XrcDomain::remove(const SharedReceiveQueue& srq) {
  receivers_.erase(srq.number());
}

const transport::ReceiveEnd* XrcDomain::find(std::uint32_t srq_number) {
  const auto found = receivers_.find(srq_number);
  return found == receivers_.end() ? nullptr : &found->second;
}

bool XrcDomain::completes_in(const transport::CompletionSink& completions) const {
  return std::any_of(receivers_.begin(), receivers_.end(),
                     [&](const auto& receiver) { return receiver.second.completions == &completions; });
}

}  // namespace urnic::nic
