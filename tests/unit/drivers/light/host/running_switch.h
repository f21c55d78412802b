// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A switch of the host on a thread of the test, at a UDP port of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "drivers/descriptor.h"
#include "drivers/host/host_switch.h"
#include "tests/support/value_of.h"
#include "tests/unit/drivers/light/host/packets.h"

namespace urnic::drivers::test {

class RunningSwitch {
 public:
  explicit RunningSwitch(const nic::SwitchFiles& files,
                         std::optional<std::chrono::milliseconds> linger = std::nullopt) {
    auto opened = HostSwitch::open({.files = files, .port = port_});
    thread_ = std::thread([this, linger, it = urnic::test::value_of(std::move(opened))]() mutable {
      it->serve(end_.get(), linger);
      it.reset();
    });
  }
  ~RunningSwitch() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(end_.get(), &one, sizeof one);
    wait_for_end();
  }
  RunningSwitch(const RunningSwitch&) = delete;
  RunningSwitch& operator=(const RunningSwitch&) = delete;

  void wait_for_end() {
    if (thread_.joinable()) thread_.join();
  }
  /// Its UDP port.
  std::uint16_t port() const { return port_; }

 private:
  const std::uint16_t port_ = free_udp_port();
  Descriptor end_{eventfd(0, EFD_CLOEXEC)};
  std::thread thread_;
};

}  // namespace urnic::drivers::test
