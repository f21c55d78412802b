// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace urnic::verbs_api {
namespace {

// By number: librspreload replaces the C library's functions.

struct Ends {
  nic::Descriptor program;
  nic::Descriptor ours;
};

/// `flags` as in open(2). The error is an errno value.
Result<Ends, int> make_ends(int flags) {
  std::array<int, 2> ends{};
  const int type = SOCK_SEQPACKET | SOCK_CLOEXEC | ((flags & O_NONBLOCK) != 0 ? SOCK_NONBLOCK : 0);
  if (syscall(SYS_socketpair, static_cast<long>(AF_UNIX), static_cast<long>(type), 0L, ends.data()) != 0) {
    return errno;
  }
  return Ends{.program = nic::Descriptor(ends[0]), .ours = nic::Descriptor(ends[1])};
}

constexpr long kNoFlagsAtAll = 0;

}  // namespace

Result<std::shared_ptr<Channel>, int> Channel::create(Devices devices, int flags) {
  auto ends = make_ends(flags);
  if (!ends) return ends.error();
  const auto identity = DescriptorIdentity::of(ends.value().program.get());
  if (!identity) return EBADF;  // another thread closes what it does not know
  const int program_end = ends.value().program.release();
  return std::shared_ptr<Channel>(new Channel(devices, program_end, std::move(ends.value().ours), *identity));
}

Result<std::shared_ptr<Channel>, int> Channel::renew(Devices devices, int descriptor) {
  const long flags = syscall(SYS_fcntl, static_cast<long>(descriptor), static_cast<long>(F_GETFL), 0L);
  if (flags < 0) return errno;
  auto ends = make_ends(static_cast<int>(flags));
  if (!ends) return ends.error();
  const auto identity = DescriptorIdentity::of(ends.value().program.get());
  if (!identity) return EBADF;
  std::shared_ptr<Channel> made(new Channel(devices, descriptor, std::move(ends.value().ours), *identity));
  made->copy_ = std::move(ends.value().program);
  return made;
}

void Channel::move_in() {
  const long flags = syscall(SYS_fcntl, static_cast<long>(program_end_), static_cast<long>(F_GETFD), 0L);
  const long close_on_exec = (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0;
  syscall(SYS_dup3, static_cast<long>(copy_.get()), static_cast<long>(program_end_), close_on_exec);
}

Channel::Channel(Devices devices, int program_end, nic::Descriptor our_end,
                 const DescriptorIdentity& identity)
    : program_end_(program_end), our_end_(std::move(our_end)), identity_(identity) {
  const ChannelBytes& bytes = *this;
  for (const auto& device : devices) parts_.push_back(std::make_unique<ChannelPart>(device->nic(), bytes));
}

void Channel::abandon() {
  // A child of a child has it from the same process as its parent, or has one whose parent was in the middle
  // of taking it over.
  forked_at_ = std::chrono::steady_clock::now();
  is_taken_over_ = false;
  is_abandoned_.store(true, std::memory_order_relaxed);
}

std::chrono::steady_clock::duration Channel::time_since_fork() const {
  return std::chrono::steady_clock::now() - forked_at_;
}

void Channel::end() {
  for (const auto& part : parts_) part->end();
}

void Channel::send_byte() const {
  const std::byte byte{1};
  syscall(SYS_sendto, static_cast<long>(our_end_.get()), &byte, sizeof(byte),
          static_cast<long>(MSG_DONTWAIT | MSG_NOSIGNAL), nullptr, kNoFlagsAtAll);
}

void Channel::take_byte() const {
  // The program may have closed its end without our knowledge, and its number may be another file's.
  if (!copy_ && DescriptorIdentity::of(program_end_) != identity_) return;
  const int end = copy_ ? copy_.get() : program_end_;
  std::byte byte{};
  syscall(SYS_recvfrom, static_cast<long>(end), &byte, sizeof(byte), static_cast<long>(MSG_DONTWAIT), nullptr,
          nullptr);
}

}  // namespace urnic::verbs_api
