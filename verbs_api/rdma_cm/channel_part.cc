// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/channel_part.h"

#include <mutex>
#include <utility>

#include "nic/engine/engine.h"
#include "nic/rdma_cm/rdma_cm.h"

namespace urnic::verbs_api {

void ChannelPart::end() {
  nic::Engine& engine = nic_.engine();
  {
    const std::lock_guard lock(engine);
    if (!std::exchange(is_open_, false)) return;
  }
  for (bool has_more = true; has_more;) {
    const std::lock_guard lock(engine);
    has_more = engine.rdma_cm().end_some_of(events_, nic_.now());
  }
}

// The new byte comes before the old one goes: a program that looks in between sees that there are events.
void ChannelPart::set(bool has_events) noexcept {
  if (has_events) bytes_.send_byte();
  if (has_byte_) bytes_.take_byte();
  has_byte_ = has_events;
}

}  // namespace urnic::verbs_api
