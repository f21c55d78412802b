// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The program's memory, of which a command tells addresses that may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace urnic::verbs_api {

// False where not all of it can be read, or written; a part may have been copied then. On systems that do not
// let us find out (nic/memory/guarded_copy.h) only null is noticed.

bool copy_from_program(std::span<std::byte> to, std::uint64_t address);
bool copy_to_program(std::uint64_t address, std::span<const std::byte> from);

}  // namespace urnic::verbs_api
