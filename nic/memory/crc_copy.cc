// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/crc_copy.h"

#include <array>
#include <cassert>
#include <cstring>
#include <vector>

#include "nic/memory/fault_guard.h"
#include "nic/memory/guarded_section.h"
#include "transport/wire/crc32.h"

#if defined(__x86_64__) && defined(URNIC_HAS_GUARDED_SECTION)

#include "nic/memory/crc_copy_x86_64.inc"

extern "C" {
using UrnicCrcLoop = bool(std::byte* to, const std::byte* from, std::size_t size, std::byte* folded,
                          std::uint32_t crc);
UrnicCrcLoop urnic_crc_copy_512, urnic_crc_copy_256, urnic_crc_copy_128;
}

namespace urnic::nic {
namespace {

constexpr std::size_t kLoopBytes = 64;    // a loop's size is a multiple of this
constexpr std::size_t kFoldedBytes = 16;  // what it leaves for the library

/// The loop takes what it can; the library divides what the loop leaves, and the remaining bytes.
template <UrnicCrcLoop* loop>
bool copy(std::byte* to, const std::byte* from, std::size_t size, std::uint32_t& crc) {
  assert(size >= kLeastCrcCopy);
  const std::size_t rest = size % kLoopBytes;
  const std::size_t done = size - rest;
  std::array<std::byte, kFoldedBytes + kLoopBytes> left;
  if (!loop(to, from, done, left.data(), ~crc)) return false;
  if (rest > 0) {
    if (!try_copy(left.data() + kFoldedBytes, from + done, rest)) return false;
    if (!try_copy(to + done, left.data() + kFoldedBytes, rest)) return false;
  }
  // The CRC in front is in the loop's result: this one begins with none, which is all ones before crc32()
  // inverts it.
  crc = transport::wire::crc32(~std::uint32_t{0}, std::span(left).first(kFoldedBytes + rest));
  return true;
}

std::vector<NamedCrcCopy> find_copies() {
  std::vector<NamedCrcCopy> found;
  const bool has_wide = __builtin_cpu_supports("vpclmulqdq");
  if (has_wide && __builtin_cpu_supports("avx512f")) {
    found.push_back({"VPCLMULQDQ, 512 bits", copy<urnic_crc_copy_512>});
  }
  if (has_wide && __builtin_cpu_supports("avx2")) {
    found.push_back({"VPCLMULQDQ, 256 bits", copy<urnic_crc_copy_256>});
  }
  if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("avx")) {
    found.push_back({"PCLMULQDQ", copy<urnic_crc_copy_128>});
  }
  return found;
}

}  // namespace
}  // namespace urnic::nic

#else

namespace urnic::nic {
namespace {

#if defined(URNIC_SANITIZED)

// So that what goes on with the CRC is under the sanitizers, too.
bool copy(std::byte* to, const std::byte* from, std::size_t size, std::uint32_t& crc) {
  assert(size >= kLeastCrcCopy);
  std::memcpy(to, from, size);
  crc = transport::wire::crc32(crc, std::span(to, size));
  return true;
}

std::vector<NamedCrcCopy> find_copies() {
  return {{"one after the other", copy}};
}

#else

std::vector<NamedCrcCopy> find_copies() {
  return {};
}

#endif

}  // namespace
}  // namespace urnic::nic

#endif

namespace urnic::nic {

std::span<const NamedCrcCopy> crc_copies() {
  static const std::vector<NamedCrcCopy> kCopies = find_copies();
  return kCopies;
}

const CrcCopy best_crc_copy = crc_copies().empty() ? nullptr : crc_copies().front().copy;

}  // namespace urnic::nic
