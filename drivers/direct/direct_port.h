// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DirectPort: a port of a fabric that has a link of its own to each NIC it talks with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/direct/link_keeper.h"
#include "drivers/direct/mark.h"
#include "drivers/direct/wire_guard.h"
#include "nic/port/packet_port.h"
#include "nic/port/port_around.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// Around the wire to the fabric's switch, or around the host's sockets. Everything goes by the wire at
/// first. When a few frames went to one station, the port asks for a direct link to it. NICs of this fabric,
/// or of this host, can have a link; virtual machines and stations beyond an uplink cannot. Sockets lose what
/// a busy receiver does not take at once, and a link does not. So over sockets the port asks before the first
/// frame, and takes no frame to that station until there is a link, or a refusal. Frames to that station then
/// go into memory that both NICs share, and no third process touches them. Frames to groups, and frames whose
/// destination is not known when their room is reserved, always go through the switch.
///
/// A station that takes nothing costs the others nothing: only frames to this station find no room. They are
/// lost in the end (Patience). While the wire is full, stations with a link have room. Where a link ends, the
/// switch takes over again.
class DirectPort final : public nic::PortAround {
 public:
  struct Config {
    transport::wire::Mac own;
    /// See LinkKeeper.
    std::function<std::string(const transport::wire::Mac&)> socket_of;
    /// On a wire that carries IP packets: the address that all its stations have.
    transport::wire::Gid shared_address{};
    /// See LinkKeeper.
    bool must_have_icrc = false;
    std::chrono::milliseconds unused_after = std::chrono::seconds(10);
    std::function<void(const std::string& line)> tell = {};
  };

  /// Takes over `wire`, and takes it away only when it succeeds. The error is LinkKeeper's.
  static Result<std::unique_ptr<DirectPort>, Error> create(std::unique_ptr<nic::PacketPort>& wire,
                                                           Config config);

  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  /// Over the host's sockets. Once the link from that station is open.
  void take_only_from(transport::QpNumber qp, const std::optional<transport::wire::Mac>& station) override;
  bool may_hold_frames() const override;
  bool is_awaiting_turn_of(const transport::wire::Mac& station) override;
  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void commit_without_icrc(std::size_t length) override;
  void commit_run(std::size_t length, nic::RunShape shape) override;
  void flush() override;
  bool is_drained() override;
  void note_poller(std::uint32_t processor) override;
  bool has_poller_on(std::uint32_t processor) const override;
  int wake_fd() const override { return wake_fd_; }
  bool arm() override;
  void disarm() override;
  /// The wire's and all links'.
  Statistics statistics() const override;

  std::size_t sending_links() const { return sending_.size(); }
  std::size_t receiving_links() const { return receiving_.size(); }

 private:
  using Mac = transport::wire::Mac;
  using Key = std::uint64_t;  // a MAC as a number

  /// How many frames went to a station without a link.
  struct Stranger {
    Key key = 0;
    std::uint32_t frames = 0;
    std::chrono::steady_clock::time_point asked_at{};  // for a link, the last time
    bool is_refused = false;                           // no link is possible now
  };

  DirectPort(std::unique_ptr<nic::PacketPort> wire, std::unique_ptr<LinkKeeper> keeper, const Mac& own,
             const MarkForm& marks);
  void make_wake_fd();
  void take_news();
  SendingLink* link_to(const Mac& destination);
  bool begin(SendingLink& link);
  nic::Room room_on(SendingLink& link);
  void note_sent(SendingLink& link, std::size_t length, std::uint32_t packets);
  bool may_be_linked(const Mac& destination) const;
  Stranger& stranger_at(const Mac& destination);
  void count_stranger(const Mac& destination);
  bool is_waiting_for_first_link(const Mac& destination);
  void ask_for_link_to(const Mac& destination, Stranger& stranger);
  static bool is_making_link_to(const Stranger& stranger);
  bool is_awaiting_first_link_from(const SendingLink& link) const;
  void remove(SendingLink& link);
  static bool can_be_given_back(SendingLink& link);
  bool is_open(ReceivingLink& link);
  void open(std::uint64_t nonce);
  std::size_t receive_from_links(std::span<nic::ReceivedFrame> frames);
  bool may_pass_over_wire(std::size_t link_frames);
  std::size_t receive_from_wire(std::span<nic::ReceivedFrame> frames);
  bool is_foreign(std::span<const std::byte> frame) const;

  const std::unique_ptr<LinkKeeper> keeper_;
  const Mac own_;
  const MarkForm marks_;

  // Frames for these wait for flush(), or are read by receive().
  std::vector<SendingLink*> sending_;
  std::vector<ReceivingLink*> receiving_;
  std::vector<SendingLink*> unflushed_;
  std::size_t first_ = 0;           // of receiving_, in the next receive()
  bool has_wire_given_all_ = true;  // the last time
  std::uint32_t rounds_without_wire_ = 0;
  std::uint32_t busy_rounds_left_ = 0;
  LinkKeeper::News news_;  // empty but inside of take_news()
  WireGuard guard_;

  // The station that a frame was last reserved for.
  Mac destination_;
  Key last_key_ = kNoKey;
  SendingLink* last_link_ = nullptr;  // null: through the switch

  // The room that was reserved last: on a link, or else on the wire.
  SendingLink* target_ = nullptr;
  bool is_room_for_nothing_ = false;  // what is written there is dropped
  std::unique_ptr<std::byte[]> nothing_;

  static constexpr Key kNoKey = ~Key{0};
  // The stations of a network that a fabric draws differ in the last octet, and have a place each.
  static constexpr std::size_t kStrangers = 256;
  std::array<Stranger, kStrangers> strangers_{};

  Statistics own_statistics_;
  Descriptor epoll_;
  std::optional<std::uint32_t> poller_;  // as peers were told
  int wake_fd_ = -1;
};

}  // namespace urnic::drivers
