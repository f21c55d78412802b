// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Bits that no other process knows.
#pragma once

#include <cstdint>

namespace urnic::nic {

/// From the kernel's generator; where a sandbox forbids it, from time and process number, so that two
/// processes still differ. (Not std::random_device: with the C++ library linked in, it needs what glibc has
/// since 2.36 only.)
std::uint64_t random_bits();

}  // namespace urnic::nic
