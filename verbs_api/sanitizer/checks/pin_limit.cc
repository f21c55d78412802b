// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/checks/pin_limit.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <limits>

namespace urnic::verbs_api {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

bool may_lock_any() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return true;
  return (sets[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

}  // namespace

std::uint64_t pin_limit() {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited && !may_lock_any() ? limit.rlim_cur : kUnlimited;
}

}  // namespace urnic::verbs_api
