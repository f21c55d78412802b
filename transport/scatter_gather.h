// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Copies between packets and the elements of a work request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/dma.h"
#include "transport/work_request.h"

namespace urnic::transport {

/// Fills `to` with the message that `elements` name, from byte `offset` on. They must hold that much. Returns
/// the status of the first element that cannot be read. `tail` works as in Dma.
DmaStatus gather(Dma& dma, PdId pd, std::span<const Sge> elements, std::uint32_t offset,
                 std::span<std::byte> to, wire::TailCrc* tail);

/// Writes `from` to the memory that `elements` name, from byte `offset` on. What does not fit is left.
/// Returns the status of the first element that cannot be written.
DmaStatus scatter(Dma& dma, PdId pd, std::span<const Sge> elements, std::uint32_t offset,
                  std::span<const std::byte> from);

}  // namespace urnic::transport
