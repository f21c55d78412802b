// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/inherited_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "nic/engine/engine.h"
#include "nic/process/uncancelled_pause.h"
#include "nic/rdma_cm/kept_id.h"
#include "nic/rdma_cm/rdma_cm.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/process_devices.h"
#include "verbs_api/rdma_cm/command.h"
#include "verbs_api/rdma_cm/open_channels.h"
#include "verbs_api/rdma_cm/socket_address.h"

namespace urnic::verbs_api {
namespace {

using nic::rdma_cm::KeptId;
using Clock = std::chrono::steady_clock;

/// After the fork, for the parent's end, which daemon() brings about at once; and for the host's switch to
/// notice it.
constexpr std::chrono::milliseconds kPatience(2000);
constexpr std::chrono::milliseconds kPause(5);

bool has_hung_up(int descriptor, std::chrono::milliseconds patience) {
  pollfd end{.fd = descriptor, .events = 0, .revents = 0};
  const timespec timeout{.tv_sec = patience.count() / 1000, .tv_nsec = patience.count() % 1000 * 1'000'000L};
  return syscall(SYS_ppoll, &end, 1L, &timeout, nullptr, 0L) > 0 && (end.revents & POLLHUP) != 0;
}

Error still_the_parents() {
  return {.code = EIO,
          .message =
              "a forked child uses a channel of rdma_cm that its parent has open; open one of its own, or "
              "end the parent"};
}

template <typename Struct>
ucm::Command command_of(Channel& channel, const Struct& command) {
  return {.channel = channel, .bytes = std::as_bytes(std::span(&command, 1)), .room = 0};
}

/// An errno value.
int bind_and_listen(Channel& channel, const KeptId& id) {
  if (id.bound) {
    rdma_ucm_bind bind{};
    bind.id = static_cast<std::uint32_t>(id.number);
    bind.addr_size = static_cast<std::uint16_t>(
        write_socket_address(*id.bound, std::as_writable_bytes(std::span(&bind.addr, 1))));
    const auto give_up = Clock::now() + kPatience;
    int failed = ucm::bind(command_of(channel, bind));
    while (ucm::is_port_taken(failed) && Clock::now() < give_up) {
      nic::pause_uncancelled(kPause);
      failed = ucm::bind(command_of(channel, bind));
    }
    if (failed != 0) return failed;
  }
  if (!id.backlog) return 0;
  rdma_ucm_listen listen{};
  listen.id = static_cast<std::uint32_t>(id.number);
  listen.backlog = *id.backlog;
  return ucm::listen(command_of(channel, listen));
}

/// An errno value.
int make_again(Channel& channel, const KeptId& id) {
  for (const auto& part : channel.parts()) {
    nic::Engine& engine = part->nic().engine();
    const std::lock_guard lock(engine);
    if (auto made = engine.rdma_cm().make_again(part->events(), id); !made) return made.error().code;
  }
  return bind_and_listen(channel, id);
}

int take_over_hung_up(const std::shared_ptr<Channel>& inherited) {
  const auto devices = ProcessDevices::instance().get();
  if (!devices) return report(devices.error());
  OpenChannels& channels = open_channels();
  auto renewed = Channel::renew(devices.value(), inherited->descriptor());
  if (!renewed) return renewed.error();
  const std::vector<KeptId> ids = channels.kept(*inherited);
  int failed = 0;
  for (std::size_t i = 0; i < ids.size() && failed == 0; ++i) {
    failed = make_again(*renewed.value(), ids[i]);
    channels.keep(*renewed.value(), ids[i]);
  }
  if (failed != 0 || !channels.replace(inherited, renewed.value())) {
    renewed.value()->end();
    return failed;
  }
  ProcessDevices::instance().watch();
  return 0;
}

/// For so long a command waits for the parent's end.
std::chrono::milliseconds patience_for(const Channel& inherited) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(kPatience - inherited.time_since_fork());
  return std::max(left, std::chrono::milliseconds(0));
}

}  // namespace

int take_over(const std::shared_ptr<Channel>& inherited, bool asks_for_event) {
  if (asks_for_event && open_channels().kept(*inherited).empty()) return EIO;
  const bool is_over = has_hung_up(inherited->descriptor(),
                                   asks_for_event ? std::chrono::milliseconds(0) : patience_for(*inherited));
  if (!is_over) return asks_for_event ? kParentHasChannel : report(still_the_parents());
  // Of several threads one does it. The others come again, and find the channel that has taken this one's
  // place.
  if (!inherited->begin_taking_over()) {
    nic::pause_uncancelled(kPause);
    return 0;
  }
  const int failed = take_over_hung_up(inherited);
  if (failed != 0) inherited->give_up_taking_over();
  return failed;
}

int wait_for_parent(int descriptor) {
  const long flags = syscall(SYS_fcntl, static_cast<long>(descriptor), static_cast<long>(F_GETFL), 0L);
  if (flags < 0) return errno;
  if ((flags & O_NONBLOCK) != 0) return EAGAIN;
  pollfd end{.fd = descriptor, .events = 0, .revents = 0};
  return poll(&end, 1, -1) < 0 ? errno : 0;
}

}  // namespace urnic::verbs_api
