// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UdpPort: RoCEv2 through UDP sockets, for a user without any privilege.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/udp/listeners.h"
#include "drivers/udp/next_hop_probe.h"
#include "drivers/udp/sender.h"
#include "drivers/udp/socket_exchange.h"
#include "nic/port/packet_port.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Carries IP packets with the host's own addresses, wherever the host's routes lead. The kernel makes the IP
/// and UDP headers that are sent, from what the packets' headers ask for: addresses, source port, TOS or
/// traffic class, TTL or hop limit.
class UdpPort final : public nic::PacketPort {
 public:
  struct Config {
    std::vector<nic::HostAddress> addresses;  ///< of this host, one at least
    std::uint16_t link_mtu = 1500;            ///< largest IP packet, in bytes
    bool may_segment = true;                  ///< use UDP_SEGMENT where the kernel can
  };
  /// Opens sockets at all addresses. The error says at which address this failed, and why.
  static Result<std::unique_ptr<UdpPort>, Error> open(const Config& config);
  /// Shares the addresses with other processes of the host, and has the sockets that come through the
  /// exchange.
  static Result<std::unique_ptr<UdpPort>, Error> share(const Config& config,
                                                       std::shared_ptr<SocketExchange> exchange);

  nic::Medium medium() const override { return nic::Medium::kIp; }
  std::size_t receive(std::span<nic::ReceivedFrame> packets) override;
  Result<void, Error> join(const transport::wire::Gid& group) override;
  void leave(const transport::wire::Gid& group) override;
  void find_next_hop(const transport::wire::Gid& source, const transport::wire::Gid& destination) override {
    probe_next_hop(source, destination, addresses_.interface_of(source));
  }
  bool may_hold_frames() const override { return listeners_.may_hold_packets(); }
  nic::Room reserve_to(const transport::wire::Mac& /*the host has them*/) override {
    return sender_.reserve();
  }
  void commit(std::size_t length) override { sender_.commit(length); }
  void flush() override { sender_.flush(); }
  bool is_drained() override { return sender_.is_empty(); }
  std::size_t max_frame_bytes() const override { return link_mtu_; }
  int wake_fd() const override { return listeners_.wake_fd(); }
  /// The descriptor is readable for what came before, too; nothing is to be armed.
  bool arm() override { return listeners_.has_ready() || has_other_sockets(); }
  Statistics statistics() const override;
  std::string description() const override;

 private:
  UdpPort(const Config& config, Listeners listeners, std::shared_ptr<SocketExchange> exchange);
  bool has_other_sockets() const { return exchange_ != nullptr && exchange_->has_news(); }
  Result<void, Error> take_sockets();
  Result<void, Error> hear(const transport::wire::Gid& group);
  void leave_by_own_sockets();

  const LocalAddresses addresses_;
  const std::uint16_t link_mtu_;
  const std::shared_ptr<SocketExchange> exchange_;  // null: the addresses are this process's
  std::vector<transport::wire::Gid> groups_;        // joined
  Listeners listeners_;
  UdpSender sender_;
};

}  // namespace urnic::drivers
