// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How the transport reads and writes the application's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/tail_crc.h"

namespace urnic::transport {

/// Rights of a memory region, a memory window or a queue pair; a set of bits.
enum class Access : std::uint8_t {
  kNone = 0,
  kLocalWrite = 1 << 0,
  kRemoteWrite = 1 << 1,
  kRemoteRead = 1 << 2,
  kRemoteAtomic = 1 << 3,
  kWindowBind = 1 << 4,       ///< of a region: windows may be bound to it
  kFlushGlobal = 1 << 5,      ///< FLUSH to global visibility
  kFlushPersistent = 1 << 6,  ///< FLUSH to persistence
};

constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(to_integer(a) | to_integer(b));
}
constexpr Access operator&(Access a, Access b) {
  return static_cast<Access>(to_integer(a) & to_integer(b));
}
constexpr bool allows(Access granted, Access wanted) {
  return (to_integer(granted) & to_integer(wanted)) == to_integer(wanted);
}

enum class DmaStatus : std::uint8_t {
  kOk,
  kInvalidKey,   ///< no region or window has this key, or it was taken back meanwhile
  kWrongPd,      ///< it belongs to another protection domain, or a window to another queue pair
  kOutOfBounds,  ///< the range is not inside
  kNoAccess,     ///< this right was not granted
  kNotPresent,   ///< the memory itself is not there (on-demand paging, or the program took it away)
};

/// In whose name memory is reached for: regions and type 1 windows look at the protection domain, type 2
/// windows at the queue pair too.
struct MemoryUser {
  PdId pd{};
  QpNumber qp{};
};

/// Keys that were taken back a moment ago, for a NIC that says nothing about them at first.
class WithdrawnKeys {
 public:
  virtual ~WithdrawnKeys() = default;
  /// A request that fails because there is no `rkey` is answered in no way before then. A time that has
  /// passed: the peer is told at once.
  virtual Time silent_until(Rkey rkey) const = 0;
};

/// What a BIND_MW work request asks for. A length of 0 unbinds.
struct WindowBinding {
  Rkey window{};    ///< a key that the window has, or had
  Rkey new_rkey{};  ///< the key that it shall have
  Lkey region{};    ///< the region that it opens
  std::uint64_t address = 0;
  std::uint64_t length = 0;  ///< bytes
  Access access = Access::kNone;
  bool is_zero_based = false;  ///< remote addresses count from the window's start
};

/// What FLUSH makes sure of (fact 32).
enum class FlushScope : std::uint8_t { kRange, kRegion };

/// Memory by key. Every call checks key, protection domain, bounds and rights again, at the moment of the
/// copy. So when a region is deregistered in the middle of a message, the message fails from the next packet
/// on. A call that fails touches nothing, except with kNotPresent, which may be found out half-way. The
/// transport never looks up ranges of zero bytes (fact 31). Callers hold the device's engine lock; one call
/// per packet and scatter/gather element.
///
/// A caller that reads the parts of one packet, one call after another, can get the CRC of the packet's end
/// in `tail`, if it is not null. Before the call `tail` covers the parts that were read last; after it, those
/// parts and the new one, or nothing where the copy did not work the CRC out on the way. Each byte is read
/// once: if the program changes it meanwhile, packet and CRC still agree.
class Dma {
 public:
  virtual ~Dma() = default;

  /// Copies `to.size()` bytes at `address` of the local region `lkey` into `to`. Needs no right.
  virtual DmaStatus read_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<std::byte> to,
                               wire::TailCrc* tail) = 0;

  /// Copies `from` to `address` of the local region `lkey`. Needs kLocalWrite.
  virtual DmaStatus write_local(PdId pd, Lkey lkey, std::uint64_t address,
                                std::span<const std::byte> from) = 0;

  /// Whether `length` bytes at `address` of `rkey` may be accessed so. Copies nothing.
  virtual DmaStatus check_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                 std::uint64_t length, Access access) = 0;

  /// Copies `to.size()` bytes at `address` of `rkey` into `to`. Needs kRemoteRead.
  virtual DmaStatus read_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                std::span<std::byte> to, wire::TailCrc* tail) = 0;

  /// Copies `from` to `address` of `rkey`. Needs kRemoteWrite.
  virtual DmaStatus write_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                 std::span<const std::byte> from) = 0;

  /// The 64-bit number, in host order, at `address` (a multiple of 8) of `rkey` becomes `swap` if it is
  /// `compare`, in one step for every thread of the process; `original` becomes what it was. Needs
  /// kRemoteAtomic.
  virtual DmaStatus compare_swap(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                 std::uint64_t compare, std::uint64_t swap, std::uint64_t& original) = 0;

  /// The same, adding `add` modulo 2^64.
  virtual DmaStatus fetch_add(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t add,
                              std::uint64_t& original) = 0;

  /// Writes 8 bytes at `address` (a multiple of 8) in one step. Needs kRemoteWrite.
  virtual DmaStatus write_remote_atomically(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                            std::span<const std::byte, 8> from) = 0;

  /// Makes what was written to the range, or with kRegion to all of the region, visible to every reader, and
  /// with kFlushPersistent in `access` safe from a loss of power. Needs `access`, which is flush rights only.
  virtual DmaStatus flush(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t length,
                          FlushScope scope, Access access) = 0;

  /// Takes back a type 2 window bound by this queue pair: by the peer (SEND with invalidate) or by ourselves
  /// (LOCAL_INV). Afterwards the key fits nothing. kNoAccess for keys that cannot be taken back.
  virtual DmaStatus invalidate(const MemoryUser& user, Rkey rkey) = 0;

  /// Binds a window, in place of whatever it was bound to. kNoAccess: the region does not allow windows, or
  /// not this access, or a type 2 window is still bound.
  virtual DmaStatus bind_window(const MemoryUser& user, const WindowBinding& binding) = 0;
};

}  // namespace urnic::transport
