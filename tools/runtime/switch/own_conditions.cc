// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/switch/own_conditions.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <memory>

namespace urnic::tools {
namespace {

/// More than any kernel counts.
constexpr std::size_t kProcessors = 1 << 16;

/// On all processors of the control group: the kernel leaves out the others.
void run_on_all_processors() {
  constexpr std::size_t kBytes = CPU_ALLOC_SIZE(kProcessors);
  const auto all = std::make_unique<std::byte[]>(kBytes);
  std::memset(all.get(), 0xff, kBytes);
  sched_setaffinity(0, kBytes, reinterpret_cast<const cpu_set_t*>(all.get()));
}

void raise_to_hard_limit(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

}  // namespace

void take_own_conditions() {
  run_on_all_processors();
  const sched_param none{};
  sched_setscheduler(0, SCHED_OTHER, &none);
  setpriority(PRIO_PROCESS, 0, 0);
  for (const int resource : {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_AS, RLIMIT_NOFILE, RLIMIT_NPROC}) {
    raise_to_hard_limit(resource);
  }
}

}  // namespace urnic::tools
