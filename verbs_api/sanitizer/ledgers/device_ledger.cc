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

void DeviceLedger::polled(const transport::Completion& completion) const {
  const auto ledger = find(completion.qp_number);
  if (ledger == nullptr) return;
  const bool is_success = completion.status == transport::CompletionStatus::kSuccess;
  ledger->polled(completion.wr_id, is_receive(completion.opcode), is_success);
}

void DeviceLedger::event_read() const {
  const std::shared_lock lock(mutex_);
  for (const auto& [number, ledger] : queue_pairs_) ledger->noticed();
}

void DeviceLedger::look(SanitizerTime now) {
  sleeps_.look(now);
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
