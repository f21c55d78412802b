// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/context.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "verbs_api/abi/descriptor_identity.h"
#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/device/device_list.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/fault_injection.h"
#include "verbs_api/device/process_devices.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/sanitizer/sanitizer.h"

namespace urnic::verbs_api {

Context::Context(ibv_device& device, ProcessDevice& owner, std::shared_ptr<CommandFile> file, int fd)
    : verbs_context{}, owner_(owner), nic_(owner.nic()), file_(std::move(file)) {
  fill_operations(*this);
  inject_faults(static_cast<verbs_context&>(*this));
  context.device = &device;
  context.cmd_fd = fd;
  context.async_fd = async_events_.fd();
  context.num_comp_vectors = std::max(1, get_nprocs());
  pthread_mutex_init(&context.mutex, nullptr);
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

namespace {

/// Whether nothing but the event tells that its object has failed for good.
bool is_fatal(ibv_event_type type) {
  return type == IBV_EVENT_CQ_ERR || type == IBV_EVENT_SRQ_ERR || type == IBV_EVENT_WQ_FATAL ||
         type == IBV_EVENT_DEVICE_FATAL;
}

/// For the sanitizer.
std::vector<UnreadEvent> unread_events(AsyncEvents& events) {
  std::vector<UnreadEvent> result;
  for (const AsyncEvents::Unread& event : events.unread()) {
    result.push_back(
        {.name = ibv_event_type_str(event.type), .is_fatal = is_fatal(event.type), .since = event.since});
  }
  return result;
}

}  // namespace

Context::~Context() {
  pthread_mutex_destroy(&context.mutex);
  if (context.cmd_fd >= 0) ::close(context.cmd_fd);
}

namespace {

/// A sandbox forbids calls with one of these.
bool is_forbidden(int code) {
  return code == EPERM || code == EACCES || code == ENOSYS;
}

Error no_context(std::string_view call, int code) {
  return {.code = code,
          .message = fmt::format(
              "the device cannot be opened: {}: {}{}", call, std::generic_category().message(code),
              is_forbidden(code) ? "; a seccomp filter or security module of this sandbox forbids that call, "
                                   "which urnic needs ('urnic doctor' lists all of them)"
                                 : "")};
}

}  // namespace

Context* Context::open(ibv_device& device, ProcessDevice& owner) {
  const int fd = CommandFile::create();
  if (fd < 0) return fail(report(no_context("memfd_create", errno)));
  const auto identity = DescriptorIdentity::of(fd);
  if (!identity) return fail(EBADF);  // another thread closes what it does not know
  Context* const opened = import(device, owner, std::make_shared<CommandFile>(*identity), fd);
  if (opened == nullptr) {
    const int code = errno;
    ::close(fd);
    return fail(code);
  }
  return opened;
}

Context* Context::import(ibv_device& device, ProcessDevice& owner, std::shared_ptr<CommandFile> file,
                         int fd) {
  auto* const opened = new Context(device, owner, std::move(file), fd);
  if (opened->context.async_fd < 0) {
    const int code = errno;
    opened->context.cmd_fd = -1;
    delete opened;
    return fail(report(no_context("eventfd2", code)));
  }
  ProcessDevices::instance().add(*opened);
  if (auto* const watched = opened->ledgers()) {
    watched->events().add(opened, [opened] { return unread_events(opened->async_events_); });
  }
  return opened;
}

DeviceLedger* Context::ledgers() const {
  return sanitizer().is_on() ? &sanitizer().device(owner_.environment().number) : nullptr;
}

void Context::leave() {
  if (auto* const watched = ledgers()) watched->events().remove(this);
  if (objects().has_any_of(context)) {
    ProcessDevices::instance().keep(*this);
  } else {
    delete this;
  }
}

int Context::dead_error() const {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    report({.code = EIO,
            .message = death_.load() == Death::kFork
                           ? "a forked child uses a device that its parent opened; open it after the fork"
                           : "the program uses objects of a device that it has closed"});
  }
  return EIO;
}

int find_context_fault(ibv_context& context, ObjectKind kind) {
  const Context& owner = Context::of(&context);
  // Device memory needs no NIC: a forked child may have it.
  const bool is_lost = kind == ObjectKind::kDm ? owner.is_closed() : owner.is_dead();
  return is_lost ? owner.dead_error() : 0;
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::number_of;
using urnic::verbs_api::or_out_of_memory;
using urnic::verbs_api::ProcessDevices;
using urnic::verbs_api::report;
using urnic::verbs_api::Verb;

extern "C" {

ibv_context* ibv_open_device(ibv_device* device) {
  if (const int error = injected_error(Verb::kOpenDevice); error != 0) return fail(error);
  if (device == nullptr) return fail(EINVAL);
  return or_out_of_memory([&]() -> ibv_context* {
    const auto devices = ProcessDevices::instance().get();
    if (!devices) return fail(report(devices.error()));
    const auto number = number_of(*device);
    if (!number || *number >= devices.value().size()) return fail(ENODEV);
    Context* const opened = Context::open(*device, *devices.value()[*number]);
    return opened != nullptr ? &opened->context : nullptr;
  });
}

}  // extern "C"
