// How the transport reads and writes the application's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/types.h"

namespace urnic::transport {

/// Rights of a memory region or a queue pair; a set of bits.
enum class Access : std::uint8_t {
  kNone = 0,
  kLocalWrite = 1 << 0,
  kRemoteWrite = 1 << 1,
  kRemoteRead = 1 << 2,
  kRemoteAtomic = 1 << 3,
};

constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(to_integer(a) | to_integer(b));
}
constexpr bool allows(Access granted, Access wanted) {
  return (to_integer(granted) & to_integer(wanted)) == to_integer(wanted);
}

enum class DmaStatus : std::uint8_t {
  kOk,
  kInvalidKey,   ///< no region has this key, or it was deregistered meanwhile
  kWrongPd,      ///< the region belongs to another protection domain
  kOutOfBounds,  ///< the range is not inside the region
  kNoAccess,     ///< the region does not grant this right
};

/// Memory by key. Every call checks key, protection domain, bounds and rights anew, at the moment of the
/// copy, so that a region deregistered in the middle of a message fails from that packet on (and nothing is
/// touched when a call fails). Ranges of zero bytes are never looked up by the transport (fact 31). Called
/// with the device's engine lock held; one call per packet and scatter/gather element.
class Dma {
 public:
  virtual ~Dma() = default;

  /// Copies `to.size()` bytes at `address` of the local region `lkey` into `to`. Needs no right.
  virtual DmaStatus read_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<std::byte> to) = 0;

  /// Copies `from` to `address` of the local region `lkey`. Needs kLocalWrite.
  virtual DmaStatus write_local(PdId pd, Lkey lkey, std::uint64_t address,
                                std::span<const std::byte> from) = 0;

  /// Whether `length` bytes at `address` of the region `rkey` may be accessed so. Copies nothing.
  virtual DmaStatus check_remote(PdId pd, Rkey rkey, std::uint64_t address, std::uint64_t length,
                                 Access access) = 0;

  /// Copies `to.size()` bytes at `address` of the region `rkey` into `to`. Needs kRemoteRead.
  virtual DmaStatus read_remote(PdId pd, Rkey rkey, std::uint64_t address, std::span<std::byte> to) = 0;

  /// Copies `from` to `address` of the region `rkey`. Needs kRemoteWrite.
  virtual DmaStatus write_remote(PdId pd, Rkey rkey, std::uint64_t address,
                                 std::span<const std::byte> from) = 0;
};

}  // namespace urnic::transport
