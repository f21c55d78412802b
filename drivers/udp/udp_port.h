// UdpPort: RoCEv2 through UDP sockets, for a user without any privilege.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/udp/listeners.h"
#include "drivers/udp/sender.h"
#include "nic/packet_port.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Carries IP packets with the host's own addresses, wherever the host's routes lead. The kernel makes the IP and UDP
/// headers that are sent, from what the packets' headers ask for: addresses, source port, TOS or traffic class, TTL
/// or hop limit.
class UdpPort final : public nic::PacketPort {
 public:
  struct Config {
    std::vector<transport::wire::Gid> addresses;  ///< of this host, one at least
    unsigned interface = 0;                       ///< index of the one that they are on
    std::uint16_t link_mtu = 1500;                ///< largest IP packet, in bytes
    bool may_segment = true;                      ///< use UDP_SEGMENT where the kernel can
  };

  /// The error says which address cannot be had, and why.
  static Result<std::unique_ptr<UdpPort>, Error> open(const Config& config);

  nic::Medium medium() const override { return nic::Medium::kIp; }
  std::size_t receive(std::span<std::span<const std::byte>> packets) override {
    return listeners_.receive(packets);
  }
  void set_membership(const transport::wire::Gid& group, bool is_member) override;
  std::span<std::byte> reserve_to(const transport::wire::Mac& /*the host has them*/) override {
    return sender_.reserve();
  }
  void commit(std::size_t length) override { sender_.commit(length); }
  void flush() override { sender_.flush(); }
  bool is_drained() override { return sender_.is_empty(); }
  std::size_t max_frame_bytes() const override { return config_.link_mtu; }
  int wake_fd() const override { return listeners_.wake_fd(); }
  /// The descriptor is readable for what came before, too; nothing is to be armed.
  bool arm() override { return listeners_.has_ready(); }
  Statistics statistics() const override;
  std::string description() const override;

 private:
  UdpPort(const Config& config, Listeners listeners);

  Config config_;
  Listeners listeners_;
  UdpSender sender_;
  std::uint64_t failed_joins_ = 0;
};

}  // namespace urnic::drivers
