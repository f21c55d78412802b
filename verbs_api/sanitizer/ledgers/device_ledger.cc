// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/device_ledger.h"

#include <fmt/core.h>

#include <mutex>
#include <string>
#include <utility>

namespace urnic::verbs_api {

void DeviceLedger::add(transport::QpNumber number, std::shared_ptr<QpLedger> ledger) {
  const std::lock_guard lock(mutex_);
  queue_pairs_.insert_or_assign(to_integer(number), std::move(ledger));
}

void DeviceLedger::remove(transport::QpNumber number) {
  const std::lock_guard lock(mutex_);
  queue_pairs_.erase(to_integer(number));
}

std::shared_ptr<QpLedger> DeviceLedger::find(transport::QpNumber number) const {
  const std::shared_lock lock(mutex_);
  const auto found = queue_pairs_.find(to_integer(number));
  return found == queue_pairs_.end() ? nullptr : found->second;
}

void DeviceLedger::add_srq(std::uint32_t number, std::shared_ptr<SrqLedger> ledger, SrqWatch::Ask ask) {
  srq_watch_.add(number, ledger, std::move(ask));
  const std::lock_guard lock(mutex_);
  srqs_.insert_or_assign(number, std::move(ledger));
}

void DeviceLedger::remove_srq(std::uint32_t number) {
  srq_watch_.remove(number);
  const std::lock_guard lock(mutex_);
  srqs_.erase(number);
}

void DeviceLedger::polled(const transport::Completion& completion) const {
  if (const auto ledger = find(completion.qp_number)) ledger->polled(completion);
  if (!is_receive(completion.opcode) || completion.origin == 0) return;
  const std::shared_lock lock(mutex_);
  const auto srq = srqs_.find(completion.origin);
  if (srq != srqs_.end()) srq->second->polled();
}

void DeviceLedger::event_read() const {
  const std::shared_lock lock(mutex_);
  for (const auto& [number, ledger] : queue_pairs_) ledger->noticed();
}

void DeviceLedger::look(SanitizerTime now) {
  sleeps_.look(now);
  events_.look(now);
  srq_watch_.look();
  memory_.look();
  const std::shared_lock lock(mutex_);
  for (const auto& [number, ledger] : queue_pairs_) ledger->look(now);
}

void DeviceLedger::remove_memory(transport::Lkey key) {
  memory_.remove(key);
  const std::shared_lock lock(mutex_);
  for (const auto& [number, ledger] : queue_pairs_) {
    if (!ledger->uses_key(key)) continue;
    return complaints_.complain(Finding::kRegionDeregisteredInUse, ledger->name(), [&] {
      return fmt::format(
          "the region of lkey {:#x} is deregistered, and the program has not polled the completion "
          "of a send that uses it",
          to_integer(key));
    });
  }
}

void DeviceLedger::check_destroy(transport::AddressHandleId address) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [number, ledger] : queue_pairs_) {
    if (!ledger->uses_address(address)) continue;
    return complaints_.complain(Finding::kAddressHandleDestroyedInUse, ledger->name(), [&] {
      return std::string(
          "an address handle is destroyed, and the program has not polled the completion of a "
          "datagram that was sent with it");
    });
  }
}

}  // namespace urnic::verbs_api
