// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FakeDma: memory regions in plain vectors, with a log of accesses and a switch for faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "tests/support/bytes.h"
#include "transport/dma.h"
#include "transport/types.h"
#include "transport/wire/tail_crc.h"

namespace urnic::transport::test {

/// One call of the transport. Calls that fail are logged too.
struct DmaCall {
  enum class Kind : std::uint8_t {
    kReadLocal,
    kWriteLocal,
    kCheckRemote,
    kReadRemote,
    kWriteRemote,
    kAtomic,
    kFlush,
    kInvalidate,
    kBindWindow,
  };

  Kind kind{};
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;

  friend bool operator==(const DmaCall&, const DmaCall&) = default;
};

class FakeDma final : public Dma {
 public:
  struct Region {
    std::uint32_t key = 0;  ///< both Lkey and Rkey
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    PdId pd{};
    Access access = Access::kNone;
  };

  /// Memory filled with pattern_at() of its addresses.
  void add_region(const Region& region);

  /// A region without memory, for messages too long to hold: a read puts the address read, in host order,
  /// into the first 8 bytes and leaves the rest; a write is forgotten. Calls are not logged, but see
  /// last_call().
  void add_sparse_region(const Region& region);

  /// A type 2 window, say: a key that invalidate() takes back. Memory stays what the regions hold.
  void allow_invalidate(std::uint32_t key) { invalidatable_.insert(key); }
  /// Every bind_window() so far, and what the next ones answer.
  const std::vector<WindowBinding>& bindings() const { return bindings_; }
  void refuse_bindings(DmaStatus status) { bind_status_ = status; }

  void remove_region(std::uint32_t key) { regions_.erase(key); }
  /// Takes rights away from a region, or gives it some.
  void set_access(std::uint32_t key, Access access) { regions_.at(key).region.access = access; }

  /// The `n`-th call from now on (1 is the next one), and only that one, fails with kInvalidKey.
  void fail_call(std::uint32_t n) { calls_to_failure_ = n; }

  /// What the program itself sees and does.
  Bytes read(std::uint32_t key, std::uint64_t address, std::size_t size) const;
  void write(std::uint32_t key, std::uint64_t address, const Bytes& bytes);

  /// Whether the region holds what it held at first.
  bool is_untouched(std::uint32_t key) const;

  const std::vector<DmaCall>& calls() const { return calls_; }
  const DmaCall& last_call() const { return last_call_; }
  void forget_calls() { calls_.clear(); }

  DmaStatus read_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<std::byte> to,
                       wire::TailCrc* tail) override;
  DmaStatus write_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<const std::byte> from) override;
  DmaStatus check_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t length,
                         Access access) override;
  DmaStatus read_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::span<std::byte> to,
                        wire::TailCrc* tail) override;
  DmaStatus write_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                         std::span<const std::byte> from) override;
  DmaStatus compare_swap(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t compare,
                         std::uint64_t swap, std::uint64_t& original) override;
  DmaStatus fetch_add(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t add,
                      std::uint64_t& original) override;
  DmaStatus write_remote_atomically(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                    std::span<const std::byte, 8> from) override;
  DmaStatus flush(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t length,
                  FlushScope scope, Access access) override;
  DmaStatus invalidate(const MemoryUser& user, Rkey rkey) override;
  DmaStatus bind_window(const MemoryUser& user, const WindowBinding& binding) override;

 private:
  struct Entry {
    Region region;
    std::optional<Bytes> memory;  // none: sparse
  };

  DmaStatus check(PdId pd, Access needed, const DmaCall& call);
  DmaStatus copy_out(PdId pd, Access needed, const DmaCall& call, std::span<std::byte> to,
                     wire::TailCrc* tail);
  DmaStatus copy_in(PdId pd, Access needed, const DmaCall& call, std::span<const std::byte> from);

  template <typename Change>
  DmaStatus change_number(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t& original,
                          Change change);

  std::map<std::uint32_t, Entry> regions_;
  std::set<std::uint32_t> invalidatable_;
  std::vector<WindowBinding> bindings_;
  DmaStatus bind_status_ = DmaStatus::kOk;
  std::vector<DmaCall> calls_;
  DmaCall last_call_;
  std::uint32_t calls_to_failure_ = 0;
};

}  // namespace urnic::transport::test
