// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/buffer_print.h"

#include <algorithm>
#include <array>
#include <span>

#include "nic/memory/fault_guard.h"
#include "transport/wire/crc32.h"

namespace urnic::verbs_api {

BufferPrint::BufferPrint(const std::byte* memory, std::size_t bytes, const nic::WriteLog& log)
    : memory_(memory),
      bytes_(std::min(bytes, kMostBytes)),
      writes_(log.writes_to(memory_, bytes_)),
      blocks_(checksums(memory_, bytes_)) {}

std::vector<std::uint32_t> BufferPrint::checksums(const std::byte* memory, std::size_t bytes) {
  std::vector<std::uint32_t> result;
  result.reserve((bytes + kBlockBytes - 1) / kBlockBytes);
  std::array<std::byte, kBlockBytes> copy;
  for (std::size_t done = 0; done < bytes; done += kBlockBytes) {
    const std::size_t size = std::min(kBlockBytes, bytes - done);
    if (!nic::try_copy(copy.data(), memory + done, size)) return {};
    result.push_back(transport::wire::crc32(0, std::span(copy).first(size)));
  }
  return result;
}

std::optional<BufferPrint::Change> BufferPrint::change(const nic::WriteLog& log) const {
  const std::vector<std::uint32_t> now = checksums(memory_, bytes_);
  if (now.size() != blocks_.size() || log.writes_to(memory_, bytes_) != writes_) return std::nullopt;
  const auto first = std::ranges::mismatch(now, blocks_).in1;
  if (first == now.end()) return std::nullopt;
  std::size_t last = now.size() - 1;
  while (now[last] == blocks_[last]) --last;
  return Change{.from = static_cast<std::size_t>(first - now.begin()) * kBlockBytes,
                .to = std::min((last + 1) * kBlockBytes, bytes_)};
}

}  // namespace urnic::verbs_api
