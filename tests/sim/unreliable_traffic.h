// UnreliableTraffic: applications that send datagrams, or use an unreliable connection, and what they may see.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nic/queue_pair.h"
#include "tests/sim/completion_model.h"
#include "tests/sim/host.h"
#include "tests/sim/scene.h"
#include "tests/sim/traffic.h"
#include "tests/sim/unreliable_plan.h"

namespace urnic::sim {

/// Nothing promises that a message arrives; but what arrives was sent, to this queue pair, with this length and data, not
/// more often than the network makes it, and on a network that keeps the order in order. Work requests succeed as soon
/// as they are sent, in order. What is written without telling the receiver is, in the end, what stood there before or
/// what was to be written, byte by byte.
class UnreliableTraffic final : public Traffic {
 public:
  /// `index` is that of this traffic among all of the world.
  UnreliableTraffic(Scene& scene, std::uint32_t index, const UnreliablePlan& plan);
  ~UnreliableTraffic() override;

  void begin() override;
  void on_event(const Event& event) override;
  bool on_completion(HostId host, const transport::Completion& completion) override;
  void on_polled(HostId) override {}
  bool is_done() const override { return is_settled_; }
  std::string describe() const override;

 private:
  struct Member {
    HostId id{};
    std::unique_ptr<nic::QueuePair> qp{};
    std::map<std::size_t, transport::AddressHandleId> handles{};  // datagrams: by member, or kGroup
    SendCompletions sends{};
    std::size_t next_message = 0;
    std::deque<std::size_t> free_buffers{};
    std::deque<std::size_t> posted_buffers{};  // oldest first
  };

  void connect();
  void connect_datagrams(std::size_t member);
  void connect_pair(std::size_t member, std::uint32_t receive_psn);
  void require(const Result<void, Error>& result);
  void schedule(Event::Kind kind, std::size_t member, Duration after);
  void post_sends(std::size_t member);
  bool post(std::size_t member, nic::QueuePair::SendBatch& batch, const UnreliableMessage& message);
  void post_receives(std::size_t member);
  void on_send_completion(Member& member, const transport::Completion& completion);
  void on_receive_completion(std::size_t member, const transport::Completion& completion);
  const UnreliableMessage* find_sent(std::size_t receiver, const transport::Completion& completion, const Range& buffer);
  bool fits(std::size_t receiver, std::size_t sender, const UnreliableMessage& message,
            const transport::Completion& completion, const Range& buffer) const;
  void judge_arrival(std::size_t receiver, const UnreliableMessage& message);
  void check_grh(std::size_t receiver, std::size_t sender, const Range& buffer);
  void settle();
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
  std::map<std::size_t, std::uint64_t> newest_;      // by receiver of a connection: the last message that arrived
  bool is_settling_ = false;
  Time settle_at_{};
  bool is_settled_ = false;
};

}  // namespace urnic::sim
