// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DeviceLedger: what the sanitizer knows of one device's objects.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "transport/completion.h"
#include "transport/types.h"
#include "transport/work_request.h"
#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/event_ledger.h"
#include "verbs_api/sanitizer/ledgers/memory_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/order_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/qp_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/sleep_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/srq_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/srq_watch.h"

namespace urnic::verbs_api {

/// Any thread.
class DeviceLedger {
 public:
  /// `complaints` outlives it.
  explicit DeviceLedger(Complaints& complaints)
      : complaints_(complaints),
        memory_(complaints),
        sleeps_(complaints),
        events_(complaints),
        order_(complaints),
        srq_watch_(complaints) {}

  const MemoryLedger& memory() const { return memory_; }
  void set_pin_limit(std::uint64_t bytes) { memory_.set_pin_limit(bytes); }

  /// It is known what the user wants. Before the device writes anything.
  void begin() { memory_.begin(); }

  /// Counts what the device writes to the program's memory.
  nic::WriteLog& writes() { return memory_.writes(); }

  void add(transport::QpNumber number, std::shared_ptr<QpLedger> ledger);
  void remove(transport::QpNumber number);
  /// Null where the sanitizer does not know it.
  std::shared_ptr<QpLedger> find(transport::QpNumber number) const;

  /// The program has polled it.
  void polled(const transport::Completion& completion) const;

  /// By its number.
  void add_srq(std::uint32_t number, std::shared_ptr<SrqLedger> ledger, SrqWatch::Ask ask);
  /// The device's queue may go when this has returned.
  void remove_srq(std::uint32_t number);

  SleepLedger& sleeps() { return sleeps_; }
  EventLedger& events() { return events_; }
  SrqWatch& srqs() { return srq_watch_; }
  /// Null unless the user wants to know.
  OrderLedger* order() { return order_.is_wanted() ? &order_ : nullptr; }

  /// The program has read an asynchronous event.
  void event_read() const;
  /// Time has passed.
  void look(SanitizerTime now);

  void add_memory(transport::Lkey key, const RegisteredMemory& memory) { memory_.add(key, memory); }
  /// ibv_dereg_mr() has ended it.
  void remove_memory(transport::Lkey key);
  /// ibv_destroy_ah() is about to end it.
  void check_destroy(transport::AddressHandleId address) const;

 private:
  Complaints& complaints_;
  MemoryLedger memory_;
  SleepLedger sleeps_;
  EventLedger events_;
  OrderLedger order_;
  SrqWatch srq_watch_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, std::shared_ptr<QpLedger>> queue_pairs_;
  std::unordered_map<std::uint32_t, std::shared_ptr<SrqLedger>> srqs_;
};

}  // namespace urnic::verbs_api
