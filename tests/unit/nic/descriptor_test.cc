// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A child of a fork has no descriptor of ours, and keeps those that are the program's.
#include "nic/process/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace urnic::nic {
namespace {

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

/// Forks as a program does whose library has told pthread_atfork(), and says whether `check` was true in the
/// child.
template <typename Check>
bool is_true_in_child(Check check) {
  OwnDescriptors::lock();
  const pid_t child = fork();
  if (child == 0) {
    OwnDescriptors::close_in_child();
    OwnDescriptors::unlock();
    _exit(check() ? 0 : 1);
  }
  OwnDescriptors::unlock();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int make_socket() {
  return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

TEST(Descriptor, IsClosedInTheChildAndStaysOpenInTheParent) {
  const Descriptor own(make_socket());
  const int programs = make_socket();
  EXPECT_TRUE(is_true_in_child([&] { return !own && is_open(programs); }));
  EXPECT_TRUE(is_true_in_child([fd = own.get()] { return !is_open(fd); }));
  EXPECT_TRUE(is_open(own.get()));
  close(programs);
}

TEST(Descriptor, IsClosedInTheChildWhereverItWasMovedTo) {
  Descriptor first(make_socket());
  Descriptor second(make_socket());
  const int lost = second.get();
  second = std::move(first);
  EXPECT_FALSE(is_open(lost));
  const int fd = second.get();
  EXPECT_TRUE(is_true_in_child([&] { return !is_open(fd) && !second; }));
}

TEST(Descriptor, StaysOpenInTheChildWhenItWasGivenAway) {
  Descriptor own(make_socket());
  const int fd = own.release();
  EXPECT_TRUE(is_true_in_child([&] { return is_open(fd); }));
  close(fd);
}

TEST(Descriptor, ANumberThatTheProgramHasGotStaysOpen) {
  Descriptor own(make_socket());
  const int fd = own.get();
  close(fd);  // as programs do that close what they do not know
  ASSERT_EQ(make_socket(), fd);
  EXPECT_TRUE(is_true_in_child([&] { return is_open(fd); }));
}

TEST(Descriptor, OfALibraryIsClosedInTheChildAndNotHere) {
  const int librarys = make_socket();
  keep_from_children(librarys);
  keep_from_children(librarys);
  EXPECT_TRUE(is_open(librarys));
  EXPECT_TRUE(is_true_in_child([&] { return !is_open(librarys); }));
  close(librarys);
  const int next = make_socket();
  ASSERT_EQ(next, librarys);
  EXPECT_TRUE(is_true_in_child([&] { return is_open(next); }));
  close(next);
}

}  // namespace
}  // namespace urnic::nic
