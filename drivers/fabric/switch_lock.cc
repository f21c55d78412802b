// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/switch_lock.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>

#include "drivers/fabric/control.h"
#include "nic/host/fabric_folder.h"
#include "nic/process/may_wait.h"

namespace urnic::drivers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLockPatience = std::chrono::seconds(2);
constexpr auto kLockPause = std::chrono::milliseconds(10);

Error served_already(const nic::SwitchFiles& files, const ServedBySwitch& served) {
  const auto other = nic::running_switch(files);
  return Error{.code = EBUSY,
               .message = fmt::format("{} is served already by process {}; {} ends it", served.what,
                                      other ? other->process : 0, served.ended_by)};
}

Result<void, Error> introduce(const nic::LockFile& lock, std::uint16_t link_mtu) {
  const std::string text = fmt::format("process {} mtu {}\n", getpid(), link_mtu);
  if (ftruncate(lock.fd(), 0) != 0 ||
      pwrite(lock.fd(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    const int code = errno;
    return Error{.code = code,
                 .message = fmt::format("cannot write the switch's lock file: {}",
                                        std::generic_category().message(code))};
  }
  return success();
}

}  // namespace

Result<nic::LockFile, Error> take_switch_lock(const nic::SwitchFiles& files, const ServedBySwitch& served,
                                              std::uint16_t link_mtu, SwitchStart start) {
  nic::assert_may_wait();
  auto lock = nic::LockFile::open(files.lock, nic::LockFile::Missing::kCreate);
  if (!lock) return lock.error();
  const auto give_up = Clock::now() + kLockPatience;
  while (!lock.value().try_lock()) {
    const bool has_enough = start == SwitchStart::kOnDemand && takes_requests(files);
    if (has_enough || Clock::now() > give_up) return served_already(files, served);
    std::this_thread::sleep_for(kLockPause);
  }
  if (const auto written = introduce(lock.value(), link_mtu); !written) return written.error();
  return lock;
}

Result<nic::LockFile, Error> take_switch_lock(const nic::SwitchFiles& files, std::string_view name,
                                              std::uint16_t link_mtu, SwitchStart start) {
  const std::string what = fmt::format("fabric {}", name);
  return take_switch_lock(files, {.what = what, .ended_by = "'urnic fabric stop'"}, link_mtu, start);
}

}  // namespace urnic::drivers
