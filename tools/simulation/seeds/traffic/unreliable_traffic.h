// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UnreliableTraffic: applications that send datagrams, or use an unreliable connection, and what they may
// see.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nic/queues/queue_pair.h"
#include "tools/simulation/seeds/models/completion_model.h"
#include "tools/simulation/seeds/scenario/unreliable_plan.h"
#include "tools/simulation/seeds/traffic/host.h"
#include "tools/simulation/seeds/traffic/scene.h"
#include "tools/simulation/seeds/traffic/traffic.h"

namespace urnic::sim {

/// Nothing promises that a message arrives; but what arrives was sent, to this queue pair, with this length
/// and data, not more often than the network makes it, and on a network that keeps the order in order. Work
/// requests succeed as soon as they are sent, in order. What is written without telling the receiver is, in
/// the end, what stood there before or what was to be written, byte by byte.
///
/// A work request that cannot be sent fails and puts the send queue into SQE: everything after it is
/// flushed, and nothing is begun, until the program moves it back to RTS; receives go on meanwhile. In SQD
/// nothing is begun either, but waits. At the end all queue pairs are moved to ERR, which gives every receive
/// back.
class UnreliableTraffic final : public Traffic {
 public:
  /// `index`: which traffic of the world this is.
  UnreliableTraffic(Scene& scene, std::uint32_t index, const UnreliablePlan& plan);
  ~UnreliableTraffic() override;

  void begin() override;
  void on_event(const Event& event) override;
  bool on_completion(HostId host, const transport::Completion& completion) override;
  void on_polled(HostId host) override;
  bool is_done() const override { return stage_ == Stage::kDone; }
  std::string describe() const override;

 private:
  enum class Stage : std::uint8_t {
    kSending,
    kSettling,  ///< all work requests have ended; frames may be under way
    kFlushing,  ///< the queue pairs are in ERR
    kDone,
  };
  /// Of a member's send queue.
  enum class SendQueue : std::uint8_t { kWorking, kDraining, kFailed };

  struct Member {
    HostId id{};
    std::unique_ptr<Host::QpEvents> events{};
    bool shares_receives = false;
    std::unique_ptr<nic::QueuePair> qp{};
    std::map<std::size_t, transport::AddressHandleId> handles{};  // datagrams: by member, or kGroup
    SendCompletions sends{};
    SendQueue send_queue = SendQueue::kWorking;
    std::uint32_t drained_expected = 0;  // events
    std::uint32_t drained_seen = 0;
    std::size_t next_message = 0;
    std::deque<std::size_t> free_buffers{};
    std::deque<std::size_t> posted_buffers{};  // oldest first
  };

  void connect();
  void make_addresses(std::size_t member);
  void require(const Result<void, Error>& result);
  void schedule(Event::Kind kind, std::size_t member, Duration after);
  void post_sends(std::size_t member);
  bool post(std::size_t member, nic::QueuePair::SendBatch& batch, const UnreliableMessage& message);
  void post_receives(std::size_t member);
  void settle_when_all_is_sent();
  void on_send_completion(std::size_t member, const transport::Completion& completion);
  void on_send_error(std::size_t member, const transport::Completion& completion);
  void on_receive_completion(std::size_t member, const transport::Completion& completion);
  std::optional<Range> take_buffer(std::size_t member, std::uint64_t wr_id);
  void give_back_buffer(std::size_t member, std::uint64_t wr_id, const Range& buffer);
  void on_queue_step(std::size_t member);
  void drain(std::size_t member);
  void resume(std::size_t member);
  UnreliableFlow& flow_of(std::size_t member);
  const UnreliableMessage& message_of(std::size_t member, std::uint64_t wr_id) const;
  const UnreliableMessage* find_sent(std::size_t receiver, const transport::Completion& completion,
                                     const Range& buffer);
  bool fits(std::size_t receiver, std::size_t sender, const UnreliableMessage& message,
            const transport::Completion& completion, const Range& buffer) const;
  void judge_arrival(std::size_t receiver, const UnreliableMessage& message);
  void check_grh(std::size_t receiver, std::size_t sender, const Range& buffer);
  void settle();
  void flush();
  void finish();
  bool may_arrive_twice() const;
  bool keeps_order() const;
  std::size_t member_on(HostId host) const;
  std::size_t sender_of(std::size_t receiver, transport::QpNumber qp) const;
  std::string label(std::size_t member) const;
  void complain(std::size_t member, std::string_view oracle, const std::string& what);

  Scene& scene_;
  std::uint32_t index_;
  const UnreliablePlan& plan_;
  std::vector<Member> members_;
  std::map<std::uint64_t, std::uint32_t> arrivals_;  // of each message
  std::map<std::size_t, std::uint64_t> newest_;  // by receiver of a connection: the last message that arrived
  std::set<std::uint64_t> unsent_;               // messages that failed or were flushed
  Stage stage_ = Stage::kSending;
  Time step_due_{};  // of the next stage
};

}  // namespace urnic::sim
