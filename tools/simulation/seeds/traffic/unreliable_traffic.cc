// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/traffic/unreliable_traffic.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace urnic::sim {
namespace {

using std::chrono::microseconds;
using transport::Psn;
using transport::QpState;

constexpr std::uint32_t kQkey = 0x1ee7'cafe;
constexpr transport::QpNumber kMulticastQp{0xffffff};

}  // namespace

UnreliableTraffic::UnreliableTraffic(Scene& scene, std::uint32_t index, const UnreliablePlan& plan)
    : scene_(scene), index_(index), plan_(plan) {
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    Member member{.id = plan.hosts[i],
                  .events = std::make_unique<Host::QpEvents>(),
                  .shares_receives = scene.options.shared_unreliable};
    member.qp = scene.host(member.id).create_unreliable_qp(plan.type, member.shares_receives, *member.events);
    for (std::size_t buffer = 0; buffer < plan.buffers[i].size(); ++buffer) {
      member.free_buffers.push_back(buffer);
    }
    members_.push_back(std::move(member));
  }
}

UnreliableTraffic::~UnreliableTraffic() {
  for (Member& member : members_) {
    Host& host = scene_.host(member.id);
    if (plan_.is_datagram()) host.leave_group(*member.qp);
    for (const auto& [to, handle] : member.handles) host.destroy_address_handle(handle);
    host.device().destroy_qp(std::move(member.qp));
  }
}

// ---------------------------------------------------------------------------------------------------------
// Connecting

void UnreliableTraffic::begin() {
  connect();
  for (std::size_t member = 0; member < members_.size(); ++member) {
    post_receives(member);
    schedule(Event::Kind::kPostSends, member, scene_.options.post_gap);
    // Three quarters of the drained worlds drain such a queue at all.
    for (std::uint32_t i = 1; i < scene_.options.drains; i += 2) {
      schedule(Event::Kind::kQueueStep, member,
               scene_.random.between(microseconds(5), 30 * scene_.options.post_gap));
    }
    scene_.ring(members_[member].id);
  }
}

void UnreliableTraffic::connect() {
  std::vector<std::uint32_t> first(members_.size());
  for (std::uint32_t& psn : first) {
    psn = scene_.options.psn_near_wrap ? 0xfffff0u : scene_.random.next() & 0xffffffu;
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    const Member& peer = members_[plan_.is_datagram() ? i : 1 - i];
    kernel::ConnectionSettings settings = scene_.host(member.id).connection_to(scene_.host(peer.id));
    settings.peer_qp = peer.qp->number();
    settings.access = transport::Access::kRemoteWrite;
    settings.send_psn = Psn(first[i]);
    settings.receive_psn = Psn(first[plan_.is_datagram() ? i : 1 - i]);
    settings.qkey = kQkey;
    require(kernel::connect(*member.qp, settings));
    if (plan_.is_datagram()) make_addresses(i);
    const UnreliableFlow::Expectations expected{
        .is_datagram = plan_.is_datagram(),
        .mtu_bytes = transport::bytes(plan_.is_datagram() ? scene_.host(member.id).device().max_path_mtu()
                                                          : scene_.options.path_mtu),
        .first_psn = first[i],
        .qp_number = to_integer(member.qp->number()),
        .without_neighbor = [&host = scene_.host(member.id)] { return host.packets_without_neighbor(); }};
    scene_.observer.on_unreliable(peer.id, to_integer(peer.qp->number()), expected);
  }
}

void UnreliableTraffic::make_addresses(std::size_t i) {
  Member& member = members_[i];
  Host& host = scene_.host(member.id);
  for (std::size_t to = 0; to < members_.size(); ++to) {
    if (to != i) member.handles[to] = host.create_address_handle(scene_.host(members_[to].id).gid());
  }
  member.handles[UnreliableMessage::kGroup] = host.create_address_handle(host.group());
  host.join_group(*member.qp);
}

void UnreliableTraffic::require(const Result<void, Error>& result) {
  if (!result) scene_.referee.complain("modify", "unreliable: " + result.error().message);
}

// ---------------------------------------------------------------------------------------------------------
// Posting

void UnreliableTraffic::schedule(Event::Kind kind, std::size_t member, Duration after) {
  scene_.events.add(
      {.time = scene_.now() + after, .kind = kind, .host = members_[member].id, .traffic = index_});
}

void UnreliableTraffic::on_event(const Event& event) {
  const std::size_t member = member_on(event.host);
  if (event.kind == Event::Kind::kPostSends) return post_sends(member);
  if (event.kind == Event::Kind::kPostReceives) return post_receives(member);
  if (event.kind == Event::Kind::kQueueStep) return on_queue_step(member);
  if (scene_.now() < step_due_) return;
  stage_ == Stage::kSettling ? flush() : finish();
}

void UnreliableTraffic::post_sends(std::size_t i) {
  Member& member = members_[i];
  const auto& messages = plan_.messages[i];
  const std::size_t first = member.next_message;
  {
    nic::QueuePair::SendBatch batch(*member.qp);
    for (std::uint64_t left = scene_.random.between(1, 4); left > 0 && member.next_message < messages.size();
         --left) {
      if (!post(i, batch, messages[member.next_message])) break;
      ++member.next_message;
      scene_.referee.note_progress();
    }
  }
  // Without an adversary a datagram's memory is the program's again when the post returns, and not only when
  // it has completed.
  if (plan_.is_datagram() && !scene_.options.has_adversary(member.id)) {
    MemoryModel& memory = scene_.host(member.id).memory();
    for (std::size_t n = first; n < member.next_message; ++n) {
      memory.write(messages[n].source, Pattern{~messages[n].id});
    }
  }
  scene_.ring(member.id);
  if (member.next_message < messages.size()) {
    schedule(Event::Kind::kPostSends, i, scene_.random.between(microseconds(1), 4 * scene_.options.post_gap));
  }
}

bool UnreliableTraffic::post(std::size_t i, nic::QueuePair::SendBatch& batch,
                             const UnreliableMessage& message) {
  Member& member = members_[i];
  Host& host = scene_.host(member.id);
  host.memory().write(message.source, Pattern{message.id});
  transport::SendRequest request{.wr_id = message.id,
                                 .operation = message.kind,
                                 .signaled = message.signaled,
                                 .solicited = message.solicited,
                                 .immediate = message.immediate};
  const bool is_for_group = message.to == UnreliableMessage::kGroup;
  if (plan_.is_datagram()) {
    request.destination = {.address = member.handles.at(message.to),
                           .qp = is_for_group ? kMulticastQp : members_[message.to].qp->number(),
                           .qkey = message.has_wrong_qkey ? kQkey + 1 : kQkey};
  } else if (message.is_write()) {
    const Host& peer = scene_.host(members_[message.to].id);
    request.remote_address = peer.address(message.target);
    request.rkey = peer.rkey(message.target.region);
  }
  const std::array sges{host.sge(message.source, message.error == SendError::kUnknownLkey)};
  const auto status = batch.post(request, sges);
  if (status == nic::PostStatus::kQueueFull && member.sends.outstanding() > 0) return false;
  if (status != nic::PostStatus::kPosted) {
    complain(i, "posting", fmt::format("a send was refused with {}", static_cast<int>(status)));
    return false;
  }
  member.sends.on_posted({.wr_id = message.id,
                          .opcode = message.is_write() ? transport::CompletionOpcode::kRdmaWrite
                                                       : transport::CompletionOpcode::kSend,
                          .signaled = message.signaled});
  if (message.is_write()) scene_.host(members_[message.to].id).memory().begin(message.target);
  return true;
}

void UnreliableTraffic::post_receives(std::size_t i) {
  Member& member = members_[i];
  if (member.shares_receives || stage_ >= Stage::kFlushing) return;
  Host& host = scene_.host(member.id);
  {
    nic::QueuePair::ReceiveBatch batch(*member.qp);
    for (; !member.free_buffers.empty(); member.free_buffers.pop_front()) {
      const std::size_t buffer = member.free_buffers.front();
      const std::array sges{host.sge(plan_.buffers[i][buffer], false)};
      if (batch.post({.wr_id = kReceiveBit | buffer}, sges) != nic::PostStatus::kPosted) break;
      host.memory().begin(plan_.buffers[i][buffer]);
      member.posted_buffers.push_back(buffer);
    }
  }
  scene_.ring(member.id);
}

// ---------------------------------------------------------------------------------------------------------
// SQD and SQE

void UnreliableTraffic::on_queue_step(std::size_t i) {
  Member& member = members_[i];
  if (stage_ >= Stage::kFlushing) return;
  if (member.send_queue == SendQueue::kWorking) return drain(i);
  // Programs wait until everything after the failure was flushed, or for the event that they asked for.
  const bool waits = member.send_queue == SendQueue::kFailed ? member.sends.outstanding() > 0
                                                             : member.drained_seen < member.drained_expected;
  waits ? schedule(Event::Kind::kQueueStep, i, microseconds(20)) : resume(i);
}

void UnreliableTraffic::drain(std::size_t i) {
  Member& member = members_[i];
  // It has failed, and the application has not polled that yet.
  if (member.qp->query().state != QpState::kReadyToSend) return;
  nic::QpAttributes to_drained;
  to_drained.state = QpState::kSqDrained;
  to_drained.notify_when_drained = scene_.random.chance(0.7);
  require(member.qp->modify(to_drained));
  member.send_queue = SendQueue::kDraining;
  member.drained_expected += *to_drained.notify_when_drained ? 1 : 0;
  flow_of(i).on_draining(true);
  scene_.coverage.add(CoverageEvent::kUnreliableDrained);
  scene_.ring(member.id);
  schedule(Event::Kind::kQueueStep, i, scene_.random.between(microseconds(5), 10 * scene_.options.post_gap));
}

void UnreliableTraffic::resume(std::size_t i) {
  Member& member = members_[i];
  const bool has_failed = std::exchange(member.send_queue, SendQueue::kWorking) == SendQueue::kFailed;
  nic::QpAttributes attributes;
  attributes.state = QpState::kReadyToSend;
  attributes.current_state = has_failed ? QpState::kSqError : QpState::kSqDrained;
  require(member.qp->modify(attributes));
  if (has_failed) member.sends = SendCompletions();
  flow_of(i).on_draining(false);
  scene_.coverage.add(has_failed ? CoverageEvent::kResumedFromSendQueueError
                                 : CoverageEvent::kResumedFromDrained);
  scene_.ring(member.id);
}

/// As the wire observer was told in connect().
UnreliableFlow& UnreliableTraffic::flow_of(std::size_t i) {
  const Member& named = members_[plan_.is_datagram() ? i : 1 - i];
  return scene_.observer.unreliable(named.id, to_integer(named.qp->number()));
}

void UnreliableTraffic::on_polled(HostId host) {
  const std::size_t i = member_on(host);
  if (i == members_.size()) return;
  Member& member = members_[i];
  const std::uint32_t events = member.events->send_queue_drained;
  if (events == member.drained_seen) return;
  scene_.coverage.add(CoverageEvent::kSendQueueDrained, events - member.drained_seen);
  member.drained_seen = events;
  if (events > member.drained_expected || member.send_queue != SendQueue::kDraining) {
    complain(i, "events",
             fmt::format("SQ_DRAINED came {} times and should have {}", events, member.drained_expected));
  } else if (flow_of(i).is_inside_message()) {
    complain(i, "events", "SQ_DRAINED came inside a message");
  }
}

// ---------------------------------------------------------------------------------------------------------
// The end

void UnreliableTraffic::settle() {
  stage_ = Stage::kSettling;
  step_due_ = scene_.now() + scene_.options.settling_time();
  schedule(Event::Kind::kPairStep, 0, scene_.options.settling_time());
}

/// No frame is under way any more.
void UnreliableTraffic::flush() {
  stage_ = Stage::kFlushing;
  scene_.referee.note_progress();
  nic::QpAttributes to_error;
  to_error.state = QpState::kError;
  for (Member& member : members_) {
    require(member.qp->modify(to_error));
    scene_.ring(member.id);
  }
  step_due_ = scene_.now() + scene_.options.settling_time();
  schedule(Event::Kind::kPairStep, 0, scene_.options.settling_time());
}

void UnreliableTraffic::finish() {
  stage_ = Stage::kDone;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    if (!member.posted_buffers.empty()) {
      complain(i, "completions", fmt::format("{} receives were not flushed", member.posted_buffers.size()));
    }
    const std::uint32_t last = member.events->last_wqe_reached;
    scene_.coverage.add(CoverageEvent::kLastWqeReached, last);
    if (last != (member.shares_receives ? 1u : 0u)) {
      complain(i, "events", fmt::format("LAST_WQE_REACHED came {} times", last));
    }
    for (const UnreliableMessage& message : plan_.messages[i]) {
      if (!message.is_write()) continue;
      MemoryModel& target = scene_.host(members_[message.to].id).memory();
      const auto complaint = target.settle_either(message.target, Pattern{message.id});
      if (complaint) complain(message.to, "memory", *complaint);
    }
    for (const UnreliableMessage& message : plan_.messages[i]) {
      const bool must_arrive = scene_.options.is_peaceful() && plan_.has_ample_buffers &&
                               !member.shares_receives && !message.has_wrong_qkey &&
                               message.consumes_receive() && message.to != UnreliableMessage::kGroup &&
                               !unsent_.contains(message.id);
      if (!must_arrive || arrivals_[message.id * kMaxHosts + message.to] > 0) continue;
      complain(i, "liveness",
               fmt::format("message {} did not arrive though the network lost nothing", message.id));
    }
  }
}

bool UnreliableTraffic::may_arrive_twice() const {
  return std::ranges::any_of(scene_.options.links,
                             [](const LinkOptions& link) { return link.faults.duplication > 0; });
}

// A link that goes down or comes up changes the ways of frames, and those that travel directly once the
// faults have stopped overtake what is still in the topology.
bool UnreliableTraffic::keeps_order() const {
  const Options& options = scene_.options;
  const bool has_one_way =
      !options.topology || (scene_.faults_stopped == transport::kNever &&
                            std::ranges::all_of(options.topology->links, &std::vector<network::Outage>::empty,
                                                &network::Link::outages));
  return has_one_way && std::ranges::none_of(options.links, [](const LinkOptions& link) {
           return link.faults.duplication > 0 || link.faults.reordering > 0;
         });
}

std::size_t UnreliableTraffic::member_on(HostId host) const {
  const auto found =
      std::ranges::find_if(members_, [host](const Member& member) { return member.id == host; });
  return static_cast<std::size_t>(found - members_.begin());
}

std::size_t UnreliableTraffic::sender_of(std::size_t receiver, transport::QpNumber qp) const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i != receiver && members_[i].qp->number() == qp) return i;
  }
  return members_.size();
}

std::string UnreliableTraffic::label(std::size_t member) const {
  return fmt::format("{}{} ({})", name(members_[member].id), index_, plan_.is_datagram() ? "UD" : "UC");
}

std::string UnreliableTraffic::describe() const {
  std::string text;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    text += fmt::format("{}{}: posted {} of {}, {} outstanding", i > 0 ? "; " : "", label(i),
                        members_[i].next_message, plan_.messages[i].size(), members_[i].sends.outstanding());
  }
  return text;
}

void UnreliableTraffic::complain(std::size_t member, std::string_view oracle, const std::string& what) {
  scene_.referee.complain(oracle, fmt::format("{}: {}", label(member), what));
}

}  // namespace urnic::sim
