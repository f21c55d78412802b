// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AdversaryEndpoint: a queue pair whose requests leave late, and whose packets reach memory as they like.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "nic/adversary/adversary.h"
#include "nic/adversary/placement.h"
#include "transport/endpoint.h"
#include "transport/send_queue.h"

namespace urnic::nic {

/// Stands between the engine and the endpoint of a queue pair.
class AdversaryEndpoint final : public transport::Endpoint {
 public:
  /// All that is referred to outlives it. `queue_pair` is its number in the order of making.
  AdversaryEndpoint(Adversary& adversary, std::uint32_t queue_pair, transport::SendQueue& send_queue,
                    Placement& placement, std::unique_ptr<transport::Endpoint> inner);

  void reset() override;
  void to_init(const transport::QpConfig& config) override { inner_->to_init(config); }
  void to_ready_to_receive(const transport::QpConfig& config) override {
    inner_->to_ready_to_receive(config);
  }
  void to_ready_to_send(const transport::QpConfig& config) override { inner_->to_ready_to_send(config); }
  void to_send_queue_drained(const transport::QpConfig& config) override {
    inner_->to_send_queue_drained(config);
  }
  void to_error() override;
  void update(const transport::QpConfig& config) override { inner_->update(config); }

  transport::QpState state() const override { return inner_->state(); }
  const transport::QpConfig& config() const override { return inner_->config(); }
  transport::Psn next_send_psn() const override { return inner_->next_send_psn(); }
  transport::Psn next_receive_psn() const override { return inner_->next_receive_psn(); }
  bool is_draining() const override { return inner_->is_draining(); }
  std::uint32_t msn() const override { return inner_->msn(); }
  transport::Psn acknowledgeable_psn() const override { return inner_->acknowledgeable_psn(); }
  transport::SendProgress send_progress() const override { return inner_->send_progress(); }
  std::optional<transport::congestion::ControllerState> congestion_state(transport::Time now) const override {
    return inner_->congestion_state(now);
  }
  void forget_receiver(const transport::ReceiveQueue& queue) override;

  void on_packet(const transport::wire::Packet& packet, transport::Time now) override;
  bool on_congestion_notification(transport::Time now) override {
    return inner_->on_congestion_notification(now);
  }
  void on_congestion_parameters(transport::Time now) override { inner_->on_congestion_parameters(now); }
  bool on_timeout(transport::Time now) override;
  transport::Time next_timeout() const override;
  transport::Time acknowledge_by() const override { return inner_->acknowledge_by(); }
  void restart_ack_timer(transport::Time now) override { inner_->restart_ack_timer(now); }
  transport::WrittenPacket poll_transmit(std::span<std::byte> out, transport::Time now) override;
  transport::Destination next_destination() const override { return inner_->next_destination(); }
  bool has_pending_response() const override { return inner_->has_pending_response(); }
  void keep_unsent() override { inner_->keep_unsent(); }
  void flush_delayed_ack() override { inner_->flush_delayed_ack(); }

 private:
  void hold_posts(transport::Time now);
  transport::WrittenPacket poll_what_was_seen(std::span<std::byte> out, transport::Time now);
  void let_go();
  bool waits_with_flush(transport::Time now);
  void maybe_stall(transport::Time now);
  void end_stall(transport::Time now);

  Adversary& adversary_;
  std::uint32_t queue_pair_;
  transport::SendQueue& send_queue_;
  Placement& placement_;
  std::unique_ptr<transport::Endpoint> inner_;

  std::uint32_t seen_ = 0;    // the first place of the send queue for which nothing was drawn
  std::uint32_t states_ = 0;  // how often it was taken to ERR
  std::uint64_t sent_ = 0;
  bool is_flush_due_drawn_ = true;
  // kNever: there is no such wait.
  transport::Time held_until_ = transport::kNever;     // the request at seen_
  transport::Time stalled_until_ = transport::kNever;  // all requests
  transport::Time flush_at_ = transport::kNever;
};

}  // namespace urnic::nic
