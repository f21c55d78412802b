// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/link.h"

#include <fmt/core.h>
#include <linux/membarrier.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "drivers/peer_process.h"

namespace urnic::drivers {

namespace {

constexpr rte_eth_event_type kEvents[] = {RTE_ETH_EVENT_INTR_LSC, RTE_ETH_EVENT_QUEUE_STATE};

long membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

Result<std::unique_ptr<Link>, Error> Link::create(std::function<void(Link&)> on_up) {
  std::unique_ptr<Link> link(new Link);
  link->on_up_ = std::move(on_up);
  link->epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  link->event_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!link->epoll_ || !link->event_) {
    return Error{errno, fmt::format("cannot make a wake-up descriptor: {}", std::strerror(errno))};
  }
  link->add_wake_source(link->event_.get());
  const long commands = membarrier(MEMBARRIER_CMD_QUERY);
  link->asymmetric_fence_ = commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
  return link;
}

void Link::add_wake_source(int fd) {
  // Edge-triggered: each signal counts once and the counter of `fd` never has to be read. That matters
  // for the vhost back, whose kick descriptor belongs to the peer of the moment and is closed by another
  // thread.
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.fd = fd}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Link::drain() {
  epoll_event events[4];
  while (epoll_wait(epoll_.get(), events, 4, 0) == 4) {
  }
}

void Link::wake() const {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the descriptor is readable anyway.
  [[maybe_unused]] const auto written = write(event_.get(), &one, sizeof(one));
}

bool Link::peer_may_run() const {
  return is_up() && process_may_run(peer_process_.load(std::memory_order_relaxed));
}

void Link::subscribe(std::uint16_t port_id) {
  for (const auto event : kEvents) rte_eth_dev_callback_register(port_id, event, on_event, this);
  // The first peer may have come before. Read again, because an event may overtake what we report.
  while (read_state(port_id) != is_up()) on_event(port_id, RTE_ETH_EVENT_INTR_LSC, this, nullptr);
}

void Link::unsubscribe(std::uint16_t port_id) {
  for (const auto event : kEvents) {
    // -EAGAIN: the callback is running right now.
    while (rte_eth_dev_callback_unregister(port_id, event, on_event, this) == -EAGAIN) usleep(100);
  }
}

void Link::report(bool up) {
  up_.store(up, std::memory_order_relaxed);
  if (!up) {
    departures_.fetch_add(1, std::memory_order_relaxed);
    wait_until_unused();
  }
  // A new peer starts with notifications off, whatever we armed for the last one: let the sleeper arm again.
  wake();
}

// What the driver has noted last: with link interrupts configured it does not look again.
bool Link::read_state(std::uint16_t port_id) {
  rte_eth_link state{};
  return rte_eth_link_get_nowait(port_id, &state) == 0 && state.link_status == RTE_ETH_LINK_UP;
}

// On the vhost thread, which unmaps a lost peer's memory when this returns. DPDK's own waiting before that
// has a hole: its queue flags are set and read without a fence between them.
int Link::on_event(std::uint16_t port_id, rte_eth_event_type event, void* self, void*) {
  auto& link = *static_cast<Link*>(self);
  if (event == RTE_ETH_EVENT_INTR_LSC) {
    const bool up = link.read_state(port_id);
    if (up && link.on_up_) link.on_up_(link);
    link.report(up);
  } else {
    link.wake();
  }
  return 0;
}

void Link::wait_until_unused() const {
  if (asymmetric_fence_) {
    // Only now: registering a process that has threads takes the kernel ten milliseconds, a fifth of a
    // program's start.
    membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  while (in_use_.load(std::memory_order_acquire)) usleep(50);
}

}  // namespace urnic::drivers
