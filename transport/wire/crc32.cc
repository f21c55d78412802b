// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/crc32.h"

#include <isa-l/crc.h>

namespace urnic::transport::wire {

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace urnic::transport::wire
