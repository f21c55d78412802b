// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// IpOverEthernet: a port that carries IP packets, made of one that carries Ethernet frames.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "nic/clock.h"
#include "nic/path/gid_table.h"
#include "nic/path/neighbor_cache.h"
#include "nic/port/packet_port.h"
#include "transport/time.h"
#include "transport/wire/address.h"

namespace urnic::conform {

/// Asks for the MAC of one peer, and answers those who ask for ours, by ARP and neighbor discovery. What is
/// sent goes to that peer; until its MAC is known, it is lost.
class IpOverEthernet final : public nic::PacketPort {
 public:
  struct Ends {
    transport::wire::Mac mac;  ///< our own
    transport::wire::Gid own;
    transport::wire::Gid peer;
  };
  /// The clock outlives it.
  IpOverEthernet(std::unique_ptr<nic::PacketPort> port, const Ends& ends, const nic::Clock& clock);

  /// Asks for the peer's MAC if it is not known; receive() and flush() bring the answer.
  bool has_found_peer();

  nic::Medium medium() const override { return nic::Medium::kIp; }
  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  bool may_hold_frames() const override { return port_->may_hold_frames(); }
  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void flush() override;
  bool is_drained() override { return port_->is_drained(); }
  std::size_t max_frame_bytes() const override;
  int wake_fd() const override { return port_->wake_fd(); }
  bool arm() override { return port_->arm(); }
  void disarm() override { port_->disarm(); }
  transport::Time next_due() const override { return std::min(neighbors_.next_timeout(), port_->next_due()); }
  Statistics statistics() const override { return port_->statistics(); }
  std::string description() const override { return port_->description(); }

 private:
  bool is_for_us(std::span<const std::byte> frame) const;
  void send_neighbor_frames();

  std::unique_ptr<nic::PacketPort> port_;
  const Ends ends_;
  const nic::Clock& clock_;
  nic::GidTable gids_;
  nic::NeighborCache neighbors_;
  transport::wire::Mac peer_mac_{};
  std::span<std::byte> room_;  // of a whole frame, until commit()
};

}  // namespace urnic::conform
