// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the program posts while an endpoint looks for work was not looked at by the adversary, which may still
// hold it.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "nic/adversary/endpoint.h"
#include "nic/memory/memory_table.h"
#include "transport/send_queue.h"

namespace urnic::nic {
namespace {

using transport::QpConfig;
using transport::Time;

/// While it looks for work, the program posts a request.
class LookingEndpoint final : public transport::Endpoint {
 public:
  explicit LookingEndpoint(transport::SendQueue& queue) : queue_(queue) {}

  transport::WrittenPacket poll_transmit(std::span<std::byte> /*out*/, Time /*now*/) override {
    const std::uint32_t shown = queue_.tail();
    queue_.prepare({.wr_id = shown}, {}, 0);
    queue_.publish();
    has_seen_the_new_one_ = has_seen_the_new_one_ || queue_.tail() != shown;
    while (queue_.head() != shown) queue_.pop();
    return {};
  }
  bool has_seen_the_new_one() const { return has_seen_the_new_one_; }

  void reset() override {}
  void to_init(const QpConfig& /*config*/) override {}
  void to_ready_to_receive(const QpConfig& /*config*/) override {}
  void to_ready_to_send(const QpConfig& /*config*/) override {}
  void to_send_queue_drained(const QpConfig& /*config*/) override {}
  void to_error() override {}
  void update(const QpConfig& /*config*/) override {}
  transport::QpState state() const override { return transport::QpState::kReadyToSend; }
  const QpConfig& config() const override { return config_; }
  transport::Psn next_send_psn() const override { return {}; }
  transport::Psn next_receive_psn() const override { return {}; }
  bool is_draining() const override { return false; }
  void on_packet(const transport::wire::Packet& /*packet*/, Time /*now*/) override {}
  bool on_timeout(Time /*now*/) override { return false; }
  Time next_timeout() const override { return transport::kNever; }
  bool has_pending_response() const override { return false; }

 private:
  transport::SendQueue& queue_;
  QpConfig config_;
  bool has_seen_the_new_one_ = false;
};

TEST(AdversaryAndPosts, TheEndpointSeesOnlyWhatWasLookedAt) {
  constexpr std::uint32_t kPolls = 100;
  AdversarySettings settings;
  settings.behaviors.set(static_cast<std::size_t>(Behavior::kLatePayload));
  ActLog log;
  Adversary adversary(settings, log);
  MemoryTable memory(1);
  Placement placement(adversary, memory, 1);
  transport::SendQueue queue({.work_requests = 2 * kPolls, .sges = 1});
  auto inner = std::make_unique<LookingEndpoint>(queue);
  const LookingEndpoint& looking = *inner;
  AdversaryEndpoint endpoint(adversary, 1, queue, placement, std::move(inner));

  Time now{};
  for (std::uint32_t poll = 0; poll < kPolls; ++poll) {
    endpoint.poll_transmit({}, now);
    if (endpoint.next_timeout() == transport::kNever) continue;
    now = endpoint.next_timeout();
    endpoint.on_timeout(now);
  }
  EXPECT_FALSE(looking.has_seen_the_new_one());
  EXPECT_EQ(queue.posted_tail(), kPolls);
  EXPECT_GT(log.count(), 0u);
}

}  // namespace
}  // namespace urnic::nic
