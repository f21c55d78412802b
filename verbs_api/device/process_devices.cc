// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/process_devices.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "nic/process/descriptor.h"
#include "nic/process/own_thread.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"

namespace urnic::verbs_api {
namespace {

/// With which the program ends, where the sanitizer may change that.
std::atomic<int> program_exit_code{0};

}  // namespace

ProcessDevices& ProcessDevices::instance() {
  // Never destroyed: verbs may be called by whatever runs last in the process.
  static ProcessDevices* const instance = new ProcessDevices;
  return *instance;
}

ProcessDevices::ProcessDevices() {
  pthread_atfork(
      [] {
        instance().mutex_.lock();
        instance().objects_.mutex().lock();
        instance().call_faults_.mutex().lock();
        instance().sanitizer_.graveyard().mutex().lock();
        instance().sanitizer_.mutex().lock();
        for (PartOfProcess* const part : instance().parts_) part->mutex().lock();
        nic::own_processors_mutex().lock();
        nic::OwnDescriptors::lock();
        instance().adversary_.mutex().lock();
      },
      [] {
        instance().adversary_.mutex().unlock();
        nic::OwnDescriptors::unlock();
        nic::own_processors_mutex().unlock();
        for (PartOfProcess* const part : instance().parts_) part->mutex().unlock();
        instance().sanitizer_.mutex().unlock();
        instance().sanitizer_.graveyard().mutex().unlock();
        instance().call_faults_.mutex().unlock();
        instance().objects_.mutex().unlock();
        instance().mutex_.unlock();
        instance().sanitizer_.check_fork();
      },
      [] {
        instance().adversary_.mutex().unlock();
        nic::OwnDescriptors::close_in_child();
        nic::OwnDescriptors::unlock();
        nic::own_processors_mutex().unlock();
        for (PartOfProcess* const part : instance().parts_) {
          part->abandon_in_child();
          part->mutex().unlock();
        }
        instance().sanitizer_.abandon_in_child();
        instance().sanitizer_.mutex().unlock();
        instance().sanitizer_.graveyard().mutex().unlock();
        instance().call_faults_.abandon_in_child();
        instance().call_faults_.mutex().unlock();
        instance().objects_.forget_contexts();
        instance().objects_.mutex().unlock();
        instance().abandon_in_child();
        instance().mutex_.unlock();
      });
}

ObjectRegistry& objects() {
  return ProcessDevices::instance().objects();
}

CallFaults& call_faults() {
  return ProcessDevices::instance().call_faults();
}

Sanitizer& sanitizer() {
  return ProcessDevices::instance().sanitizer();
}

Result<std::span<const std::unique_ptr<ProcessDevice>>, Error> ProcessDevices::get() {
  const std::lock_guard lock(mutex_);
  if (lost_by_fork_) {
    return Error{
        .code = EIO,
        .message =
            "this process was forked from one that had its port open, and DPDK cannot be started again in "
            "it; open the device after the fork, or use --port host, where a child has a NIC of its own"};
  }
  if (devices_.empty()) {
    auto made = make();
    if (!made) return made.error();
    devices_ = std::move(made).value();
    const NicEnvironment& first = devices_.front()->environment();
    call_faults_.use(first.all_faults());
    if (first.sanitizer || first.chaos) {
      ::on_exit([](int code, void*) { program_exit_code = code; }, nullptr);
    }
    if (first.chaos) {
      if (auto used = adversary_.use(*first.chaos); !used) {
        devices_.clear();
        return used.error();
      }
      for (const auto& device : devices_) device->nic().use(adversary_.make());
      call_faults_.use(adversary_);
    }
    if (first.sanitizer) {
      sanitizer_.use(*first.sanitizer);
      for (const auto& device : devices_) {
        DeviceLedger& ledger = sanitizer_.device(device->environment().number);
        ledger.begin();
        device->nic().use(ledger.writes());
      }
    }
    if (!first.sanitizer && first.explains) sanitizer_.use_accounts();
    tells_of_errors_ = std::ranges::any_of(devices_, [](const auto& device) {
      return device->environment().verbose || device->environment().explains;
    });
  }
  return std::span<const std::unique_ptr<ProcessDevice>>(devices_);
}

Result<std::vector<std::unique_ptr<ProcessDevice>>, Error> ProcessDevices::make() {
  auto environments = read_environments();
  if (!environments) return environments.error();
  std::vector<std::unique_ptr<ProcessDevice>> devices;
  for (NicEnvironment& environment : environments.value()) {
    auto made = ProcessDevice::make(std::move(environment), mutex_);
    if (!made) return made.error();
    devices.push_back(std::move(made).value());
  }
  return devices;
}

bool ProcessDevices::tells_of_errors() const {
  const std::lock_guard lock(mutex_);
  return tells_of_errors_;
}

std::optional<ProcessDevices::Importable> ProcessDevices::find(const DescriptorIdentity& identity) const {
  const std::lock_guard lock(mutex_);
  for (const auto& device : devices_) {
    for (Context* const open : device->contexts()) {
      if (open->file()->identity() == identity) {
        return Importable{.device = *open->context.device, .owner = *device, .file = open->file()};
      }
    }
  }
  return std::nullopt;
}

void ProcessDevices::add(Context& context) {
  const std::lock_guard lock(mutex_);
  objects_.add_context(context.context);
  if (const auto started = call_faults_.start_clock(); !started) report(started.error());
  context.owner().add(context);
}

void ProcessDevices::watch() {
  const std::lock_guard lock(mutex_);
  for (const auto& device : devices_) device->watch();
}

void ProcessDevices::tell_all(ibv_event_type event) {
  const std::lock_guard lock(mutex_);
  for (const auto& device : devices_) device->tell_contexts(event);
}

Result<void, Error> ProcessDevices::change_links(bool is_up) {
  const std::lock_guard lock(mutex_);
  Result<void, Error> result = success();
  for (const auto& device : devices_) {
    auto changed = device->change_link(is_up);
    if (!changed) result = std::move(changed);
  }
  return result;
}

void ProcessDevices::add(PartOfProcess& part) {
  const std::lock_guard lock(mutex_);
  parts_.push_back(&part);
}

// A forked child may close its parent's context, which is of no device here.
void ProcessDevices::remove(Context& context) {
  const std::lock_guard lock(mutex_);
  for (const auto& device : devices_) device->remove(context);
  objects_.remove_context(context.context);
}

void ProcessDevices::keep(Context& context) {
  const std::lock_guard lock(mutex_);
  kept_.insert(&context);
}

void ProcessDevices::abandon_in_child() {
  for (auto& device : devices_) {
    if (!ProcessDevice::abandon_in_child(std::move(device))) lost_by_fork_ = true;
  }
  devices_.clear();
}

int ProcessDevices::exit_code(int exit_code) {
  adversary_.end(exit_code);
  return sanitizer_.end(exit_code);
}

void ProcessDevices::on_exit() {
  // Without the lock, which an event that is being raised may wait for.
  for (const std::string& line : call_faults_.end()) report({.message = line});
  std::vector<std::unique_ptr<ProcessDevice>> unused;
  const std::lock_guard lock(mutex_);
  const bool has_no_parts =
      std::ranges::all_of(parts_, [](const PartOfProcess* part) { return part->is_empty(); });
  const bool has_no_contexts =
      std::ranges::all_of(devices_, [](const auto& device) { return device->contexts().empty(); });
  if (has_no_parts && has_no_contexts) {
    for (const auto& device : devices_) device->leave();
    unused = std::move(devices_);
    devices_.clear();
    return;
  }
  for (const auto& device : devices_) device->linger();
}

namespace {

// After the destructors of the program and of all libraries that use this one, unlike atexit().
[[gnu::destructor]] void leave() {
  ProcessDevices::instance().on_exit();
  const int own = program_exit_code;
  const int code = ProcessDevices::instance().exit_code(own);
  if (code == own) return;
  std::fflush(nullptr);  // which exit() has still to do
  _exit(code);
}

}  // namespace
}  // namespace urnic::verbs_api
