// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/random_bits.h"

#include <sys/random.h>
#include <unistd.h>

#include <chrono>

namespace urnic::nic {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) == sizeof bits) return bits;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(getpid()) << 40;
}

}  // namespace urnic::nic
