// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Stage: a NIC's rdma_cm with its communication manager, the program above it, and the hosts that it knows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "nic/config.h"
#include "nic/path/gid_table.h"
#include "nic/path/multicast_reports.h"
#include "nic/path/neighbor_cache.h"
#include "nic/rdma_cm/rdma_cm.h"
#include "tests/scripts/connections/mad.h"
#include "transport/time.h"

namespace urnic::scripts::connections {

struct Settings {
  bool is_ipv6 = false;
  std::uint16_t link_mtu = 4200;
};

enum class Host : std::uint8_t { kOurs, kPeer, kStranger };

/// A message of ours, with what the stage knew when it left.
struct Sent {
  Mad mad;
  transport::Time at{};
  nic::cm::MadPath path;
  /// What its numbers must be, because the messages before it said so.
  std::map<std::string_view, std::set<std::uint64_t>> known;
};

class Stage final : private nic::rdma_cm::ChannelSignal {
 public:
  /// Messages that come and go, and timers that expire, in one script.
  static constexpr int kMostSteps = 5'000;
  /// How the peer names a connection when the script does not say it.
  static constexpr std::uint64_t kPeerId = 0x900;

  explicit Stage(const Settings& settings);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage() override;

  nic::rdma_cm::RdmaCm& cm() { return cm_; }
  nic::rdma_cm::EventChannel& channel() { return channel_; }
  transport::Time now() const { return now_; }
  bool is_ipv6() const { return settings_.is_ipv6; }

  /// The GID of a host, and as rdma_cm's header has its address.
  transport::wire::Gid gid_of(Host host) const;
  std::array<std::byte, Mad::kAddressBytes> header_address_of(Host host) const;
  nic::rdma_cm::SocketAddress address_of(Host host, std::uint16_t port) const;
  std::uint64_t own_guid() const { return gids_.node_guid(); }

  // --- What the peer knows of the conversation ---

  /// Fills in what follows from the messages before it: IDs, the transaction, our queue pair.
  void fill_in(Mad& mad, std::optional<std::uint64_t> wanted_id);
  /// The message of this name that came last; null if none did.
  const Mad* last_arrived(std::string_view name) const;

  // Each of these returns what went wrong with the run itself.

  std::optional<std::string> arrive(const Mad& mad, std::size_t bytes, Host from);
  std::optional<std::string> pass(transport::Duration duration);
  /// Takes what is to be sent.
  std::optional<std::string> drain();

  // --- What came out ---

  std::deque<Sent>& sent() { return sent_; }
  /// The message that the script took last.
  std::optional<Sent> taken;
  /// Names that the script has given to ids, and to numbers.
  std::map<std::string, nic::rdma_cm::IdNumber> ids;
  std::map<std::string, std::uint64_t> numbers;

  /// What happened, line by line, with times.
  const std::deque<std::string>& ladder() const { return ladder_; }
  void note(std::string_view text);

 private:
  struct Exchange {
    std::uint64_t own_id = 0;
    std::uint64_t own_qpn = 0;
    std::uint64_t tid = 0;  ///< of the REQ or SIDR_REQ
  };

  void set(bool) noexcept override {}
  bool may_go_on() { return budget_ > 0 && --budget_ > 0; }
  void learn_arrived(const Mad& mad);
  void learn_sent(Sent& sent);
  /// The exchange with the peer's connection of this ID; the one that we began last if the peer has named
  /// none of that ID.
  Exchange& exchange(std::uint64_t peer_id);

  Settings settings_;
  nic::DeviceConfig config_;
  nic::GidTable gids_{config_};
  nic::NeighborCache neighbors_{config_, gids_};
  nic::MulticastReports reports_{config_, gids_};
  nic::rdma_cm::RdmaCm cm_{config_, gids_, neighbors_, reports_};
  nic::rdma_cm::EventChannel channel_{*this};
  transport::Time now_;
  transport::Time begin_;
  int budget_ = kMostSteps;

  std::deque<Sent> sent_;
  std::map<std::string, Mad, std::less<>> arrived_;
  std::map<std::uint64_t, Exchange> exchanges_;                            // by the peer's ID
  Exchange begun_;                                                         // by us, and not answered yet
  std::uint64_t disconnect_tid_ = 0;                                       // of our last DREQ
  std::map<std::string, std::set<std::uint64_t>, std::less<>> peer_tids_;  // by message
  std::set<std::uint64_t> peer_ids_;
  std::uint64_t peer_id_ = kPeerId;  // of its last REQ or REP
  std::uint64_t next_peer_tid_ = 0x7000'0000'0000'0001;
  std::deque<std::string> ladder_;
};

}  // namespace urnic::scripts::connections
