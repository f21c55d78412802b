// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// MemoryLedger: the memory regions of a program, by their lkeys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "nic/memory/atomic_log.h"
#include "nic/memory/write_log.h"
#include "transport/types.h"
#include "transport/work_request.h"
#include "verbs_api/sanitizer/call_stack.h"
#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/buffer_print.h"
#include "verbs_api/sanitizer/ledgers/gap_watch.h"
#include "verbs_api/sanitizer/ledgers/queues/cq_ledger.h"
#include "verbs_api/sanitizer/ledgers/registration_count.h"

namespace urnic::verbs_api {

/// What a program has registered, at the addresses that its elements use.
struct RegisteredMemory {
  std::uint64_t address = 0;
  std::uint64_t length = 0;           ///< bytes
  const void* domain = nullptr;       ///< names the protection domain
  bool is_writable = false;           ///< IBV_ACCESS_LOCAL_WRITE
  const std::byte* memory = nullptr;  ///< its first byte in the process; null: it must not be read
  bool has_bounds = true;             ///< not so of a null region, and of one that is the whole address space
};

/// How a request uses the memory that its elements name.
struct MemoryUse {
  const std::string& name;  ///< of the queue pair, for people
  const void* domain;       ///< the queue pair's
  std::uint64_t wr_id;
  bool is_written;                            ///< by the NIC
  std::optional<std::uint32_t> remote_key{};  ///< that the request names of the peer's memory
};

/// Any thread.
class MemoryLedger {
 public:
  explicit MemoryLedger(Complaints& complaints) : complaints_(complaints) {}

  /// It is known what the user wants. Before the device writes anything.
  void begin();

  /// A key that the program has taken back.
  struct EndedKey {
    std::uint32_t key = 0;
    SanitizerTime when{};
    CallPath calls{};
  };
  static constexpr std::size_t kMostEnded = 4096;

  void add(transport::Lkey key, const RegisteredMemory& memory);
  void remove(transport::Lkey key);
  /// Only the latest kMostEnded are known.
  std::optional<EndedKey> ended(std::uint32_t key) const;
  bool is_registered(std::uint32_t key) const;
  /// Whether all regions are memory of the process whose pages were there at registration.
  bool has_only_mapped() const;
  /// What the process may pin, in bytes.
  void set_pin_limit(std::uint64_t bytes) { registrations_.set_pin_limit(bytes); }

  /// What a NIC would have pinned, in bytes.
  std::uint64_t pinned() const;
  /// Time has passed.
  void look();

  /// At the post, where hardware would find out when it sends.
  void check(const MemoryUse& use, std::span<const transport::Sge> elements) const;

  /// Counts what the NIC writes.
  nic::WriteLog& writes() { return writes_; }
  const nic::WriteLog& writes() const { return writes_; }
  /// What the buffers have in them now; elements whose memory must not be read have no print.
  std::vector<BufferPrint> prints(std::span<const transport::Sge> elements) const;

 private:
  void look_at_atomics();
  void look_at_mappings();
  void check_file(transport::Lkey key, const RegisteredMemory& memory) const;
  void check(const MemoryUse& use, std::size_t place, const transport::Sge& element) const;

  Complaints& complaints_;
  nic::AtomicLog atomics_;
  nic::WriteLog writes_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, RegisteredMemory> regions_;
  std::deque<EndedKey> ended_;
  RegistrationCount registrations_{complaints_};
  std::mutex gap_mutex_;  // guards what follows; no other lock is taken under it
  GapWatch gaps_{complaints_};
};

}  // namespace urnic::verbs_api
