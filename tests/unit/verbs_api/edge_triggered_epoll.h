// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EdgeTriggeredEpoll: a descriptor in an epoll with EPOLLET.
#pragma once

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <chrono>

namespace urnic::test {

class EdgeTriggeredEpoll {
 public:
  explicit EdgeTriggeredEpoll(int watched) {
    epoll_event interest{.events = EPOLLIN | EPOLLET, .data = {}};
    EXPECT_EQ(epoll_ctl(fd_, EPOLL_CTL_ADD, watched, &interest), 0);
  }
  ~EdgeTriggeredEpoll() { close(fd_); }
  EdgeTriggeredEpoll(const EdgeTriggeredEpoll&) = delete;
  EdgeTriggeredEpoll& operator=(const EdgeTriggeredEpoll&) = delete;

  /// Whether something has come since the last time that this was asked, or comes within `patience`.
  bool is_woken(std::chrono::milliseconds patience) const {
    epoll_event event{};
    return epoll_wait(fd_, &event, 1, static_cast<int>(patience.count())) == 1;
  }

 private:
  const int fd_ = epoll_create1(EPOLL_CLOEXEC);
};

}  // namespace urnic::test
