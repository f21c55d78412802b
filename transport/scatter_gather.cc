// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/scatter_gather.h"

#include <algorithm>

namespace urnic::transport {
namespace {

/// Calls copy(element, offset into it, bytes) for each element that has a part of the `size` bytes from
/// `offset` on.
template <typename Copy>
DmaStatus for_each_part(std::span<const Sge> elements, std::uint32_t offset, std::size_t size, Copy copy) {
  for (const Sge& element : elements) {
    if (size == 0) break;
    if (offset >= element.length) {
      offset -= element.length;
      continue;
    }
    const std::size_t part = std::min<std::size_t>(element.length - offset, size);
    const DmaStatus status = copy(element, offset, part);
    if (status != DmaStatus::kOk) return status;
    size -= part;
    offset = 0;
  }
  return DmaStatus::kOk;
}

}  // namespace

DmaStatus gather(Dma& dma, PdId pd, std::span<const Sge> elements, std::uint32_t offset,
                 std::span<std::byte> to, wire::TailCrc* tail) {
  return for_each_part(
      elements, offset, to.size(), [&](const Sge& element, std::uint32_t at, std::size_t size) {
        const DmaStatus status = dma.read_local(pd, element.lkey, element.address + at, to.first(size), tail);
        to = to.subspan(size);
        return status;
      });
}

DmaStatus scatter(Dma& dma, PdId pd, std::span<const Sge> elements, std::uint32_t offset,
                  std::span<const std::byte> from) {
  return for_each_part(
      elements, offset, from.size(), [&](const Sge& element, std::uint32_t at, std::size_t size) {
        const DmaStatus status = dma.write_local(pd, element.lkey, element.address + at, from.first(size));
        from = from.subspan(size);
        return status;
      });
}

}  // namespace urnic::transport
