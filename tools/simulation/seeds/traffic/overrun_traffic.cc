// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/traffic/overrun_traffic.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "tools/simulation/seeds/traffic/host.h"

namespace urnic::sim {
namespace {

constexpr std::uint32_t kCapacity = 4;  // what is granted may be more

}  // namespace

OverrunTraffic::OverrunTraffic(Scene& scene, std::uint32_t pair) : scene_(scene), pair_(pair) {
  for (const Side side : kSides) {
    End& end = ends_[index(side)];
    end.id = host_id(index(side));
    end.queue = scene.host(end.id).create_queue(kCapacity, side == Side::kLeft ? &events_ : nullptr);
    end.qp = scene.host(end.id).create_qp_on(*end.queue, 3 * end.queue->capacity());
  }
}

OverrunTraffic::~OverrunTraffic() {
  for (End& end : ends_) {
    nic::Device& device = scene_.host(end.id).device();
    device.destroy_qp(std::move(end.qp));
    static_cast<void>(device.destroy_cq(end.queue));
  }
}

void OverrunTraffic::begin() {
  const std::array<std::uint32_t, 2> first = {static_cast<std::uint32_t>(scene_.random.below(1u << 24)),
                                              static_cast<std::uint32_t>(scene_.random.below(1u << 24))};
  std::array<FlowObserver::Limits, 2> limits;
  for (const Side side : kSides) {
    const End& end = ends_[index(side)];
    const End& peer = ends_[index(other(side))];
    limits[index(side)] = {.mtu_bytes = transport::bytes(scene_.options.path_mtu),
                           .window_packets = scene_.options.window_packets,
                           .max_reads_in_flight = scene_.options.max_reads_in_flight,
                           .ack_timeout = scene_.options.effective_ack_timeout(),
                           .first_psn = first[index(side)]};
    kernel::ConnectionSettings settings = scene_.host(end.id).connection_to(scene_.host(peer.id));
    settings.peer_qp = peer.qp->number();
    settings.access = transport::Access::kRemoteWrite;
    settings.send_psn = transport::Psn(first[index(side)]);
    settings.receive_psn = transport::Psn(first[index(other(side))]);
    const auto connected = kernel::connect(*end.qp, settings);
    if (!connected) complain(connected.error().message);
  }
  const std::uint32_t left = to_integer(ends_[0].qp->number());
  const std::uint32_t right = to_integer(ends_[1].qp->number());
  scene_.observer.on_connected(
      pair_, WireService::kRc, limits, {ends_[0].id, ends_[1].id},
      {{{.requester = left, .responder = left}, {.requester = right, .responder = right}}});
  {
    nic::QueuePair::SendBatch batch(*ends_[0].qp);
    for (std::uint64_t id = 1; id <= 3 * ends_[0].queue->capacity(); ++id) {
      // A WRITE of nothing needs no memory (fact 31).
      const auto status =
          batch.post({.wr_id = id, .operation = transport::SendOperation::kWrite, .signaled = true}, {});
      if (status != nic::PostStatus::kPosted) {
        complain(fmt::format("a WRITE was refused with {}", static_cast<int>(status)));
      }
      scene_.observer.flow(pair_, Side::kLeft).on_posted({});
    }
  }
  scene_.ring(ends_[0].id);
}

void OverrunTraffic::on_polled(HostId host) {
  if (host == ends_[0].id && events_ > 0 && !is_done_) judge();
}

void OverrunTraffic::judge() {
  nic::CompletionQueue& queue = *ends_[0].queue;
  is_done_ = true;
  scene_.coverage.add(CoverageEvent::kQueueOverrun);
  scene_.referee.note_progress();
  if (!queue.has_overrun()) complain("an error event of a completion queue that has not overrun");
  if (ends_[0].qp->query().state != transport::QpState::kError) complain("the queue pair is not in ERR");
  std::vector<transport::Completion> completions(4 * std::size_t{queue.capacity()});
  const std::size_t count = queue.poll(completions);
  if (count > queue.capacity()) {
    complain(fmt::format("{} completions in a queue of {}", count, queue.capacity()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (completions[i].wr_id != i + 1) {
      complain(fmt::format("completion {} is of work request {}", i, completions[i].wr_id));
    }
  }
  if (events_ > 1) complain(fmt::format("{} error events", events_));
}

std::string OverrunTraffic::describe() const {
  return is_done_ ? "overrun: done" : "overrun: the completion queue has not overrun";
}

}  // namespace urnic::sim
