#include "verbs_api/rdma_cm/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <utility>

#include "nic/engine/engine.h"
#include "nic/rdma_cm/rdma_cm.h"

namespace urnic::verbs_api {
namespace {

// By number: librspreload replaces the C library's functions.

long raw_close(int descriptor) {
  return syscall(SYS_close, static_cast<long>(descriptor));
}

constexpr long kNoFlagsAtAll = 0;

}  // namespace

Result<std::shared_ptr<Channel>, int> Channel::create(nic::Device& nic, int flags) {
  std::array<int, 2> ends{};
  const int type = SOCK_SEQPACKET | SOCK_CLOEXEC | ((flags & O_NONBLOCK) != 0 ? SOCK_NONBLOCK : 0);
  if (syscall(SYS_socketpair, static_cast<long>(AF_UNIX), static_cast<long>(type), 0L, ends.data()) != 0) {
    return errno;
  }
  const auto identity = DescriptorIdentity::of(ends[0]);
  if (!identity) {  // another thread closes what it does not know
    raw_close(ends[1]);
    return EBADF;
  }
  return std::shared_ptr<Channel>(new Channel(nic, ends[0], ends[1], *identity));
}

Channel::Channel(nic::Device& nic, int program_end, int our_end, const DescriptorIdentity& identity)
    : nic_(nic), program_end_(program_end), our_end_(our_end), identity_(identity), events_(*this) {}

Channel::~Channel() {
  raw_close(our_end_);
}

void Channel::end() {
  nic::Engine& engine = nic_.engine();
  {
    const std::lock_guard lock(engine);
    if (!std::exchange(is_open_, false)) return;
  }
  for (bool has_more = true; has_more;) {
    const std::lock_guard lock(engine);
    has_more = engine.rdma_cm().end_some_of(events_, nic_.now());
  }
}

// The new byte comes before the old one goes: a program that looks in between sees that there are events.
void Channel::set(bool has_events) noexcept {
  if (has_events) send_byte();
  if (has_byte_) take_byte();
  has_byte_ = has_events;
}

void Channel::send_byte() const {
  const std::byte byte{1};
  syscall(SYS_sendto, static_cast<long>(our_end_), &byte, sizeof(byte),
          static_cast<long>(MSG_DONTWAIT | MSG_NOSIGNAL), nullptr, kNoFlagsAtAll);
}

void Channel::take_byte() const {
  // The program may have closed its end behind our back, and its number may be another file's.
  if (DescriptorIdentity::of(program_end_) != identity_) return;
  std::byte byte{};
  syscall(SYS_recvfrom, static_cast<long>(program_end_), &byte, sizeof(byte), static_cast<long>(MSG_DONTWAIT),
          nullptr, nullptr);
}

}  // namespace urnic::verbs_api
