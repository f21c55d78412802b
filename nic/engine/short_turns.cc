// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/short_turns.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace urnic::nic {

void ask_for_short_turns() {
  struct SchedulingAttributes {  // struct sched_attr, which the C library does not have
    std::uint32_t size = sizeof(SchedulingAttributes);
    std::uint32_t policy = 0;  // SCHED_OTHER
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 100'000;
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
  } attributes;
  attributes.nice = static_cast<std::int32_t>(20 - syscall(SYS_getpriority, 0, 0));
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace urnic::nic
