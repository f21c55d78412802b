// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Cq: a completion queue as programs hold it, plain and extended in one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "nic/personality/personality.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/polled_rooms.h"
#include "transport/completion.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/sanitizer/accounts/cq_account.h"
#include "verbs_api/sanitizer/ledgers/device_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/cq_ledger.h"

namespace urnic::verbs_api {

struct Cq : ibv_cq_ex {
  /// `inner` comes later, because it is told the address of this.
  Cq(ibv_context& opened, ibv_comp_channel* notified, void* program_context);
  ~Cq();
  Cq(const Cq&) = delete;
  Cq& operator=(const Cq&) = delete;

  static Cq& of(ibv_cq* cq) { return *static_cast<Cq*>(reinterpret_cast<ibv_cq_ex*>(cq)); }
  static Cq& of(ibv_cq_ex* cq) { return *static_cast<Cq*>(cq); }
  ibv_cq* abi() { return ibv_cq_ex_to_cq(this); }

  /// For the sanitizer: the device's queue is about to go.
  void stop_watching();
  /// Takes the device's queue away; the context is closing and has ended the queue pairs.
  void end();

  std::unique_ptr<nic::CompletionQueue> inner;
  std::uint32_t async_events_fetched = 0;  ///< under the lock of AsyncEvents
  std::mutex resizing;                     ///< held while the number of entries changes

  // Which NIC its completions are like, and what it tells of them; both null unless there is one.
  const nic::Personality* like = nullptr;
  const nic::PolledRooms* rooms = nullptr;

  // Of the sanitizer; both null unless it looks.
  DeviceLedger* ledgers = nullptr;
  std::shared_ptr<CqLedger> ledger;
  std::shared_ptr<CqAccount> account;  ///< null unless failures are explained, and it does not look
  bool is_watched = false;             ///< whether there is any of these

  nic::Adversary* adversary = nullptr;   ///< null for most devices
  std::atomic<std::uint64_t> polled{0};  ///< completions, counted where there is an adversary
  bool is_unusual = false;               ///< one of the two changes what completions say

  // Of the extended interface: what start_poll or next_poll found, and the lock that is held until end_poll.
  transport::Completion current;
  nic::CompletionTimes current_times;  ///< if the program asked for them
  std::mutex polling;
  bool single_threaded = false;
};

/// Points an extended queue's start_poll() and the rest at their definitions (cq_ex.cc).
/// Of the details that a program must ask for, those in `wc_flags`.
void fill_extended_operations(ibv_cq_ex& cq, std::uint64_t wc_flags);
inline constexpr std::uint64_t kTimeWcFlags =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
/// The completion details that read_*() functions can give.
inline constexpr std::uint64_t kOfferedWcFlags = IBV_WC_STANDARD_FLAGS | kTimeWcFlags;

}  // namespace urnic::verbs_api
