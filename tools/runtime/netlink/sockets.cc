// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/netlink/sockets.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "tools/runtime/netlink/system_calls.h"

namespace urnic::netlink {
namespace {

/// So much may wait before what is answered next is lost. In the kernel nothing waits outside of a socket's
/// queue, except a dump, which may be of any length here, too, and comes once at a time.
constexpr std::size_t kMostWaitingBytes = 1 << 20;
/// Of our descriptor: above the numbers that programs count on.
constexpr int kLowestOwn = 200;

int fail_with(int code) {
  errno = code;
  return -1;
}

bool is_admin() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  return (data[0].effective & (1u << CAP_NET_ADMIN)) != 0;
}

bool flag_of(int fd, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return system_call::get_option(fd, SOL_NETLINK, name, &value, &size) == 0 && value != 0;
}

/// 0: it has none yet.
std::uint32_t port_of(int fd) {
  sockaddr_nl address{};
  socklen_t size = sizeof address;
  if (system_call::name_of(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return address.nl_pid;
}

/// Nothing: it is no address of netlink.
std::optional<sockaddr_nl> netlink_address(const void* address, std::size_t size) {
  sockaddr_nl copy{};
  if (address == nullptr || size < sizeof copy) return std::nullopt;
  std::memcpy(&copy, address, sizeof copy);
  if (copy.nl_family != AF_NETLINK) return std::nullopt;
  return copy;
}

/// As the kernel judges a message before it reads it; 0: it may be sent.
int check_destination(const msghdr& message, int flags) {
  if ((flags & MSG_OOB) != 0) return EOPNOTSUPP;
  if (message.msg_name == nullptr || message.msg_namelen == 0) return 0;
  const auto to = netlink_address(message.msg_name, message.msg_namelen);
  if (!to) return EINVAL;
  if (to->nl_groups != 0) return EPERM;
  return to->nl_pid == 0 ? 0 : ECONNREFUSED;
}

}  // namespace

Sockets::Sockets(std::string folder, dev_t rdma_cm)
    : state_(std::move(folder)), rdma_cm_(rdma_cm), process_(getpid()) {}

int Sockets::open(int type) {
  int code = 0;
  const bool has_kernel = KernelSocket::is_there(code);
  const int fd = system_call::socket(AF_NETLINK, type | SOCK_CLOEXEC, NETLINK_USERSOCK);
  if (fd < 0) {
    // The kernel's, without us.
    return system_call::socket(AF_NETLINK, type, NETLINK_RDMA);
  }
  if (!known_.add(fd)) {
    system_call::close(fd);
    return fail_with(ENFILE);
  }
  const std::lock_guard lock(mutex_);
  // Devices keep their indices in a process.
  if (!has_kernel_) has_kernel_ = has_kernel;
  waiting_.erase(known_.find(fd));
  return fd;
}

Asker Sockets::asker_of(int fd, std::uint64_t inode) {
  const std::lock_guard lock(mutex_);
  const auto waiting = waiting_.find(inode);
  return {.port = port_of(fd),
          .wants_text = flag_of(fd, NETLINK_EXT_ACK),
          .wants_short_acks = flag_of(fd, NETLINK_CAP_ACK),
          .is_admin = is_admin(),
          .has_dump_running = waiting != waiting_.end() && !waiting->second.answers.empty()};
}

ssize_t Sockets::send(int fd, const msghdr& message, int flags) {
  if (const int fault = check_destination(message, flags); fault != 0) return fail_with(fault);
  int room = 0;
  socklen_t size = sizeof room;
  if (system_call::get_option(fd, SOL_SOCKET, SO_SNDBUF, &room, &size) != 0) return -1;
  Bytes bytes;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    const iovec& part = message.msg_iov[i];
    if (part.iov_len > static_cast<std::size_t>(room) - bytes.size()) return fail_with(EMSGSIZE);
    const auto* const first = static_cast<const std::byte*>(part.iov_base);
    bytes.insert(bytes.end(), first, first + part.iov_len);
  }
  const std::uint64_t inode = known_.find(fd);
  {
    const std::lock_guard lock(mutex_);
    if (const int fault = connect_to_answers(fd); fault != 0) return fail_with(fault);
  }
  // Without the lock: other processes are asked meanwhile.
  Kernel* const kernel = has_kernel_.value_or(false) ? &kernel_ : nullptr;
  std::vector<Bytes> answers = Answerer(state_, kernel, rdma_cm_).answer(bytes, asker_of(fd, inode));
  const std::lock_guard lock(mutex_);
  Waiting& waiting = waiting_[inode];
  if (waiting.bytes > kMostWaitingBytes) {
    waiting.has_overrun = true;
    answers.clear();
  }
  for (Bytes& answer : answers) {
    waiting.bytes += answer.size();
    waiting.answers.push_back(std::move(answer));
  }
  deliver(fd, waiting);
  return static_cast<ssize_t>(bytes.size());
}

ssize_t Sockets::receive(int fd, msghdr& message, int flags) {
  const std::uint64_t inode = known_.find(fd);
  const auto deliver_more = [&] {
    const std::lock_guard lock(mutex_);
    const auto waiting = waiting_.find(inode);
    if (waiting == waiting_.end()) return false;
    deliver(fd, waiting->second);
    return std::exchange(waiting->second.has_overrun, false);
  };
  if (deliver_more()) return fail_with(ENOBUFS);
  const ssize_t received = system_call::receive(fd, &message, flags);
  if (received < 0) return received;
  const int before = errno;
  deliver_more();
  errno = before;
  // From the kernel, as far as the program knows.
  if (auto from = netlink_address(message.msg_name, message.msg_namelen)) {
    from->nl_pid = 0;
    std::memcpy(message.msg_name, &*from, sizeof *from);
  }
  return received;
}

int Sockets::bind(int fd, const sockaddr* address, socklen_t size) {
  const auto wanted = netlink_address(address, size);
  if (wanted && wanted->nl_groups != 0) return fail_with(EOPNOTSUPP);
  return system_call::bind(fd, address, size);
}

int Sockets::connect(int, const sockaddr* address, socklen_t size) {
  const auto to = netlink_address(address, size);
  if (!to) return fail_with(EINVAL);
  return to->nl_pid == 0 && to->nl_groups == 0 ? 0 : fail_with(EPERM);
}

int Sockets::set_option(int fd, int level, int name, const void* value, socklen_t size) {
  if (level == SOL_NETLINK && name == NETLINK_ADD_MEMBERSHIP) return fail_with(EOPNOTSUPP);
  return system_call::set_option(fd, level, name, value, size);
}

int Sockets::get_option(int fd, int level, int name, void* value, socklen_t* size) {
  const int result = system_call::get_option(fd, level, name, value, size);
  if (result == 0 && level == SOL_SOCKET && name == SO_PROTOCOL && *size == sizeof(int)) {
    const int protocol = NETLINK_RDMA;
    std::memcpy(value, &protocol, sizeof protocol);
  }
  return result;
}

void Sockets::before_close(int fd) {
  // Not in the child of a vfork(), which has the memory of its parent and descriptors of its own.
  if (!owns(fd) || getpid() != process_) return;
  const int before = errno;
  if (const std::uint64_t inode = known_.forget_before_close(fd); inode != 0) {
    const std::lock_guard lock(mutex_);
    waiting_.erase(inode);
    if (known_.is_empty() && has_answers_socket()) system_call::close(std::exchange(answers_fd_, -1));
  }
  errno = before;
}

void Sockets::become_child() {
  process_ = getpid();
  waiting_.clear();
}

// --- The other end ---

bool Sockets::has_answers_socket() const {
  struct stat status {};
  return answers_fd_ >= 0 && syscall(SYS_newfstatat, answers_fd_, "", &status, AT_EMPTY_PATH) == 0 &&
         S_ISSOCK(status.st_mode) && status.st_ino == answers_inode_;
}

/// Connects the program's socket to ours, which is made if there is none, or if the program has closed it. 0,
/// or an errno.
int Sockets::connect_to_answers(int fd) {
  if (!has_answers_socket()) {
    const int made =
        system_call::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_USERSOCK);
    if (made < 0) return errno;
    const int moved = static_cast<int>(syscall(SYS_fcntl, made, F_DUPFD_CLOEXEC, kLowestOwn));
    if (moved >= 0) system_call::close(made);
    answers_fd_ = moved >= 0 ? moved : made;
    struct stat status {};
    syscall(SYS_newfstatat, answers_fd_, "", &status, AT_EMPTY_PATH);
    answers_inode_ = status.st_ino;
    sockaddr_nl any{};
    any.nl_family = AF_NETLINK;
    if (system_call::bind(answers_fd_, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) {
      return errno;
    }
  }
  sockaddr_nl ours{};
  ours.nl_family = AF_NETLINK;
  ours.nl_pid = port_of(answers_fd_);
  return system_call::connect(fd, reinterpret_cast<const sockaddr*>(&ours), sizeof ours) == 0 ? 0 : errno;
}

/// As many answers as there is room for. The kernel takes one at least by an empty queue.
void Sockets::deliver(int fd, Waiting& waiting) {
  if (waiting.answers.empty()) return;
  if (!has_answers_socket() && connect_to_answers(fd) != 0) return;
  sockaddr_nl to{};
  to.nl_family = AF_NETLINK;
  to.nl_pid = port_of(fd);
  while (!waiting.answers.empty()) {
    const Bytes& next = waiting.answers.front();
    const ssize_t sent = system_call::send_to(answers_fd_, next.data(), next.size(), MSG_DONTWAIT,
                                              reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (sent < 0) return;
    waiting.bytes -= next.size();
    waiting.answers.pop_front();
  }
}

}  // namespace urnic::netlink
