// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/address_watch.h"

#include <fmt/core.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <string_view>
#include <system_error>

#include "nic/process/may_wait.h"
#include "nic/process/own_thread.h"
#include "nic/process/wait_unless_stopped.h"

namespace urnic::nic {
namespace {

Error watch_error(std::string_view what, int code) {
  return {.code = code,
          .message = fmt::format("changes of the host's addresses stay unseen: {}: {}", what,
                                 std::generic_category().message(code))};
}

}  // namespace

Result<std::unique_ptr<AddressWatch>, Error> AddressWatch::start(Owner owner) {
  std::unique_ptr<AddressWatch> watch(new AddressWatch(std::move(owner)));
  if (auto opened = watch->open(); !opened) return failure(opened.error());
  if (auto started = watch->start_thread(); !started) return failure(started.error());
  return watch;
}

// By system calls: librspreload replaces the C library's functions of these names.
Result<void, Error> AddressWatch::open() {
  news_ = Descriptor(static_cast<int>(
      syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)));
  if (!news_) return failure(watch_error("netlink", errno));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (syscall(SYS_bind, news_.get(), &address, sizeof address) != 0) {
    return failure(watch_error("netlink", errno));
  }
  stop_ = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!stop_) return failure(watch_error("eventfd", errno));
  return success();
}

Result<void, Error> AddressWatch::start_thread() {
  try {
    thread_ = start_own_thread("urnic-addresses", [this] { run(); });
  } catch (const std::system_error& error) {
    return failure(watch_error("thread", error.code().value()));
  }
  return success();
}

AddressWatch::~AddressWatch() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const long written = syscall(SYS_write, stop_.get(), &one, sizeof one);
    assert_may_wait();
    thread_.join();
  }
}

void AddressWatch::run() {
  do {
    do {
      drain();
    } while (!look() && wait_unless_stopped(stop_.get(), -1, kPauseMs));
  } while (wait_unless_stopped(stop_.get(), news_.get(), -1) &&
           wait_unless_stopped(stop_.get(), -1, kPauseMs));
}

/// What the messages say does not count, nor that some were lost (ENOBUFS): all is read again.
void AddressWatch::drain() const {
  std::array<char, 8192> message;
  while (syscall(SYS_recvfrom, news_.get(), message.data(), message.size(), MSG_DONTWAIT, nullptr, nullptr) >
             0 ||
         errno == ENOBUFS) {
  }
}

bool AddressWatch::look() {
  try {
    const auto host = read_host_interfaces();
    return !host || owner_(host.value());
  } catch (const std::exception&) {
    return true;  // there is no memory for it; the program's own affairs are more important
  }
}

}  // namespace urnic::nic
