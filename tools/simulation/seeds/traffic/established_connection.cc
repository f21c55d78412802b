// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Two sides of an established connection, until it is over.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "tools/simulation/seeds/traffic/connection_traffic.h"

namespace urnic::sim {

using nic::rdma_cm::RdmaCm;
using transport::QpState;
using transport::SendOperation;

namespace {

using Message = ConnectionData::Message;

/// An adversary holds no completion back for longer, unless its host stalls.
constexpr Duration kLatestReason = std::chrono::milliseconds(20);

std::size_t count_sends(const ConnectionData& data) {
  return static_cast<std::size_t>(
      std::ranges::count_if(data.messages, [](const Message& message) { return !message.is_write; }));
}

}  // namespace

const ConnectionData& ConnectionTraffic::data_of(const End& end, bool of_peer) {
  return end.attempt.plan.data[of_peer ? 1 - index(end.side) : index(end.side)];
}

// ---------------------------------------------------------------------------------------------------------
// Data

/// The wire observer watches the connection from now on.
void ConnectionTraffic::observe(End& active, const End& passive) {
  const auto limits = [&](const End& end) {
    const Duration timeout = cm_time(end.settings.ack_timeout);
    return FlowObserver::Limits{.mtu_bytes = transport::bytes(end.settings.path_mtu),
                                .window_packets = scene_.options.window_packets,
                                .max_reads_in_flight = 1,
                                .ack_timeout = std::max(scene_.options.min_ack_timeout, timeout),
                                .first_psn = end.settings.send_psn.value()};
  };
  scene_.observer.on_connected(first_pair_ + active.attempt.plan.number, WireService::kRc,
                               {limits(active), limits(passive)}, {active.host, passive.host},
                               {{{.requester = active.qp_number, .responder = active.qp_number},
                                 {.requester = passive.qp_number, .responder = passive.qp_number}}});
}

void ConnectionTraffic::post_receives(End& end) {
  Host& host = scene_.host(end.host);
  nic::QueuePair::ReceiveBatch batch(*end.qp);
  for (const Message& message : data_of(end, true).messages) {
    if (message.is_write) continue;
    host.memory().begin(message.target);
    end.attempt.open.emplace_back(end.host, message.target);
    const transport::Sge sge = host.sge(message.target, false);
    if (batch.post({.wr_id = message.id}, std::span(&sge, 1)) != nic::PostStatus::kPosted) {
      complain(end, "a receive is refused");
    }
  }
}

void ConnectionTraffic::begin_data(End& end) {
  Host& host = scene_.host(end.host);
  const HostId peer = end.attempt.plan.hosts[1 - index(end.side)];
  {
    nic::QueuePair::SendBatch batch(*end.qp);
    for (const Message& message : data_of(end, false).messages) {
      host.memory().write(message.source, Pattern{message.id});
      transport::SendRequest request{.wr_id = message.id, .signaled = true};
      if (message.is_write) {
        scene_.host(peer).memory().begin(message.target);
        end.attempt.open.emplace_back(peer, message.target);
        request.operation = SendOperation::kWrite;
        request.remote_address = scene_.host(peer).address(message.target);
        request.rkey = scene_.host(peer).rkey(message.target.region);
      }
      const transport::Sge sge = host.sge(message.source, false);
      if (batch.post(request, std::span(&sge, 1)) != nic::PostStatus::kPosted) {
        complain(end, "a work request is refused");
      }
      scene_.observer.flow(first_pair_ + end.attempt.plan.number, end.side).on_posted({});
    }
  }
  scene_.ring(end.host);
  finish_when_ready(end);
}

bool ConnectionTraffic::on_completion(HostId host, const transport::Completion& completion) {
  const auto found = by_qp_.find({host, to_integer(completion.qp_number)});
  if (found == by_qp_.end()) return false;
  End& end = *found->second;
  if (end.is_over()) return true;
  scene_.referee.note_progress();
  completion.opcode == transport::CompletionOpcode::kReceive ? on_receive_completion(end, completion)
                                                             : on_send_completion(end, completion);
  return true;
}

void ConnectionTraffic::on_send_completion(End& end, const transport::Completion& completion) {
  if (completion.status == transport::CompletionStatus::kSuccess) {
    const auto& messages = data_of(end, false).messages;
    if (end.sent >= messages.size() || messages[end.sent].id != completion.wr_id) {
      complain(end, fmt::format("completion of work request {} is not the next", completion.wr_id));
    }
    ++end.sent;
    return finish_when_ready(end);
  }
  if (end.stage != Stage::kEstablished) return;  // flushed, or the peer has gone
  // The network may lose the same packet as often as it is repeated, or what asks for the peer's MAC.
  const auto& flow = scene_.observer.flow(first_pair_ + end.attempt.plan.number, end.side);
  const bool was_repeated =
      completion.status == transport::CompletionStatus::kRetryExceeded &&
      flow.attempts_since_progress().rewinds + scene_.host(end.host).packets_without_neighbor() >=
          end.attempt.plan.retry_count;
  if (!has_peer_gone(end) && !was_repeated) {
    complain(end, fmt::format("work request {} fails with status {}", completion.wr_id,
                              static_cast<int>(completion.status)));
  }
  end.has_failed = true;
  disconnect(end);
}

/// SENDs come in order, and after the WRITEs that were posted before them.
void ConnectionTraffic::on_receive_completion(End& end, const transport::Completion& completion) {
  if (completion.status != transport::CompletionStatus::kSuccess) {
    return judge_receive_failure(end, completion);
  }
  MemoryModel& memory = scene_.host(end.host).memory();
  auto& open = end.attempt.open;
  std::size_t sends = 0;
  for (const Message& message : data_of(end, true).messages) {
    const bool is_new = sends == end.received;
    if (is_new) {
      // Each is the NIC's until its bytes were looked at once.
      scene_.referee.complain_if("memory", memory.settle(message.target, Pattern{message.id}), label(end));
      const auto is_it = [&](const auto& entry) {
        return entry.first == end.host && entry.second.region == message.target.region &&
               entry.second.offset == message.target.offset;
      };
      const auto found = std::ranges::find_if(open, is_it);
      if (found != open.end()) open.erase(found);
    }
    if (message.is_write) continue;
    if (is_new) {
      if (message.id != completion.wr_id || completion.byte_length != message.target.length) {
        complain(end, fmt::format("receive {} of {} bytes is not the next", completion.wr_id,
                                  completion.byte_length));
      }
      count(CoverageEvent::kConnectionData);
      break;
    }
    ++sends;
  }
  ++end.received;
  finish_when_ready(end);
}

/// With an adversary the failure of a send may be seen after the receives that were flushed.
void ConnectionTraffic::judge_receive_failure(End& end, const transport::Completion& completion) {
  const auto has_no_reason = [this, &end] {
    return end.stage == Stage::kEstablished && !end.has_failed && !has_peer_gone(end);
  };
  if (!has_no_reason()) return;
  const std::string complaint =
      fmt::format("receive {} fails with status {}", completion.wr_id, static_cast<int>(completion.status));
  const bool is_flush = completion.status == transport::CompletionStatus::kWorkRequestFlushed;
  if (!is_flush || !scene_.options.has_adversary(end.host)) return complain(end, complaint);
  after(kLatestReason, [this, &end, has_no_reason, complaint] {
    if (has_no_reason()) complain(end, complaint);
  });
}

bool ConnectionTraffic::has_all_data(const End& end) const {
  return end.sent == data_of(end, false).messages.size() && end.received == count_sends(data_of(end, true));
}

// ---------------------------------------------------------------------------------------------------------
// The end

void ConnectionTraffic::finish_when_ready(End& end) {
  using enum ConnectionPlan::Finish;
  const ConnectionPlan& plan = end.attempt.plan;
  if (end.stage != Stage::kEstablished || end.is_finish_scheduled) return;
  if (!plan.is_hasty && !has_all_data(end)) return;
  if (plan.finish == kBoth) {
    End* const active = end.attempt.active.get();
    End* const passive = end.attempt.live_passive();
    const auto is_ready = [&](const End* side) {
      return side != nullptr && side->stage == Stage::kEstablished && (plan.is_hasty || has_all_data(*side));
    };
    if (!is_ready(active) || !is_ready(passive)) return;
    active->is_finish_scheduled = passive->is_finish_scheduled = true;
    return after(plan.lifetime, [this, active, passive] {
      finish(*active);
      finish(*passive);
    });
  }
  const bool is_ours = end.is_active() ? plan.finish == kActive || plan.finish == kActiveDestroys
                                       : plan.finish == kPassive || plan.finish == kPassiveDestroys;
  if (!is_ours) return;
  end.is_finish_scheduled = true;
  after(plan.lifetime, [this, &end] { finish(end); });
}

void ConnectionTraffic::finish(End& end) {
  using enum ConnectionPlan::Finish;
  if (end.stage != Stage::kEstablished) return;
  const auto how = end.attempt.plan.finish;
  if (how == kActiveDestroys || how == kPassiveDestroys) return leave(end);
  const End* const peer = peer_of(end);
  if (how == kBoth && peer != nullptr && peer->stage == Stage::kDisconnecting &&
      peer->since == scene_.now()) {
    count(CoverageEvent::kDisconnectedAtOnce);
  }
  disconnect(end);
}

void ConnectionTraffic::disconnect(End& end) {
  enter(end, Stage::kDisconnecting);
  if (const auto moved = move_qp(end, QpState::kError); !moved) complain(end, moved.error().message);
  const auto disconnected = client(end.host).call(
      [&](RdmaCm& cm, auto& channel) { return cm.disconnect(channel, end.id, scene_.now()); });
  if (!disconnected) complain(end, "cannot be disconnected: " + disconnected.error().message);
  // Moving the queue pair to ERR may have taken in the peer's DREQ: the event is there, and timewait runs.
  if (client(end.host).has_events()) after(Duration(0), [this, host = end.host] { on_polled(host); });
}

void ConnectionTraffic::on_disconnected(End& end, const CmEvent& event) {
  if (end.is_active() ? end.stage < Stage::kReplied : end.stage < Stage::kAccepted) {
    return complain(end, fmt::format("disconnected while {}", name_of(end.stage)));
  }
  if (end.stage == Stage::kDisconnecting) {
    if (event.status != 0) {
      count(CoverageEvent::kDisconnectUnanswered);
      if (!is_cut(end.attempt)) complain(end, "the peer does not answer that it is disconnected");
    }
    enter(end, Stage::kTimewait);
    if (end.attempt.plan.starts_over && end.is_active()) start_over(end);
    return;
  }
  if (!has_peer_gone(end)) complain(end, "disconnected though the peer has not");
  enter(end, Stage::kDisconnected);
  if (end.qp && end.was_established) {
    if (const auto moved = move_qp(end, QpState::kError); !moved) complain(end, moved.error().message);
  }
  // A program that is slow to answer is asked again.
  const Duration delay =
      end.attempt.plan.answers_disconnect ? Duration(0) : kCmResponseTime + kCmPacketLifetime * 3;
  after(delay, [this, &end] {
    if (end.stage != Stage::kDisconnected) return;
    enter(end, Stage::kTimewait);
    static_cast<void>(client(end.host).call(
        [&](RdmaCm& cm, auto& channel) { return cm.disconnect(channel, end.id, scene_.now()); }));
  });
}

void ConnectionTraffic::on_timewait_exit(End& end) {
  const Duration waited = scene_.now() - end.since;
  if (end.stage != Stage::kTimewait && end.stage != Stage::kDisconnected) {
    return complain(end, fmt::format("timewait ends while {}", name_of(end.stage)));
  }
  count(CoverageEvent::kTimewaitExit);
  end.is_past_timewait = true;
  const auto& dialog = scene_.observer.management().dialog(end.host, end.local_id);
  const bool was_rejected = dialog.taken[ManagementObserver::index_of(CmKind::kReject)] > 0;
  // A program that looks at its events late sees the beginning late, too.
  const bool is_seen_late = scene_.options.connections.is_slow || was_rejected;
  if (!is_seen_late && waited < timewait_of(end.attempt)) {
    complain(end, fmt::format("timewait ends after {} us", waited.count() / 1000));
  }
  this->end(end);
}

}  // namespace urnic::sim
