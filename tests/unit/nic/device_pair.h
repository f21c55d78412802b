// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DevicePair: two devices on a fake wire, with everything a queue pair needs, in the test's time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nic/device/device.h"
#include "nic/queues/completion_channel.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/queue_pair.h"
#include "tests/unit/nic/fake_wire.h"
#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/kernel/connect.h"
#include "tools/simulation/kernel/virtual_host.h"
#include "transport/completion.h"
#include "transport/qp_config.h"
#include "transport/work_request.h"

namespace urnic::nic {

struct DevicePairOptions {
  std::uint16_t link_mtu = 4200;
  std::uint64_t seed = 1;
  unsigned devices = 1;  ///< in the process of each; both are the last one there
  bool explain = false;
  HostRoutes routes{};                   ///< of both devices
  std::array<std::uint16_t, 2> vlans{};  ///< of either device; 0: none
  Medium medium = Medium::kEthernet;
  std::array<transport::congestion::Choice, 2> congestion{};  ///< of either device
  transport::congestion::NotificationParameters notifications{};
  transport::Recovery recovery = transport::Recovery::kGoBackN;
  const Personality* personality = &personality_of(Column::kDefault);
  /// How both send, where the personality has such entries.
  transport::wire::Encapsulation encapsulation = transport::wire::Encapsulation::kRoceV2;
};

/// A device in manual mode at one end of the wire, with one protection domain, queue, region, and as many
/// queue pairs as a test connects. Methods fail the test when the device refuses.
class Host {
 public:
  static constexpr std::size_t kMemoryBytes = 1 << 20;

  Host(std::size_t end, FakeWire& wire, const kernel::Clock& clock, const DevicePairOptions& options);
  ~Host();

  Device& device() { return host_.device(); }
  ProtectionDomain& pd() { return host_.pd(); }
  CompletionQueue& cq() { return host_.cq(); }
  /// Asynchronous events so far: "fatal", "drained", "last WQE", "wq fatal", "srq limit", "cq overrun",
  /// "qp" for others.
  std::vector<std::string>& events() { return events_; }
  CompletionChannel& channel() { return channel_; }
  std::vector<std::byte>& memory() { return memory_; }
  const MemoryRegion& region() const { return host_.region(); }
  std::vector<std::unique_ptr<QueuePair>>& queue_pairs() { return queue_pairs_; }
  QueuePair& qp(std::size_t index = 0) { return *queue_pairs_[index]; }
  AddressVector address() const;
  transport::wire::Gid gid() const { return address().destination; }
  /// By its name in Device::all_counters().
  std::uint64_t counter(std::string_view name) const;

  /// What add_queue_pair() asks for, to be changed by a test.
  QpCreateAttributes default_attributes();
  QueuePair& add_queue_pair() { return add_queue_pair(default_attributes()); }
  QueuePair& add_queue_pair(const QpCreateAttributes& attributes);
  void destroy_queue_pair(std::size_t index = 0);

  /// Elements in the host's region.
  transport::Sge sge(std::size_t offset, std::size_t length) const { return host_.sge(offset, length); }
  void post_receive(std::uint64_t wr_id, std::size_t offset, std::size_t length, std::size_t qp_index = 0);
  void post_send(std::uint64_t wr_id, std::size_t offset, std::size_t length, std::size_t qp_index = 0);
  void post(const transport::SendRequest& request, std::size_t offset, std::size_t length,
            std::size_t qp_index = 0);

  /// All completions that are visible.
  std::vector<transport::Completion> poll();
  /// Their status and wr_id, in short: "1 ok, 2 flushed".
  std::string poll_text();

 private:
  CompletionChannel channel_;
  std::vector<std::byte> memory_;
  transport::wire::Encapsulation encapsulation_;
  kernel::VirtualHost host_;
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
  std::vector<std::string> events_;
};

class DevicePair {
 public:
  using ConnectOptions = kernel::ConnectionSettings;

  explicit DevicePair(const DevicePairOptions& options = {});

  /// One more connection between the two, in RTS, with its index.
  std::size_t connect(const ConnectOptions& options = {});
  /// The same with two queue pairs in RESET, in a() and in b().
  static void connect(Host& a, QueuePair& first, Host& b, QueuePair& second,
                      const ConnectOptions& options = {});
  /// What kernel::connect() needs for a queue pair whose peer is `qp` of `host`.
  static ConnectOptions to_peer(const Host& host, transport::QpNumber qp, ConnectOptions options = {}) {
    options.address = host.address();
    options.peer_qp = qp;
    return options;
  }
  /// The attributes that bring an RC queue pair to the next state.
  static QpAttributes init_attributes() { return attributes_for(transport::QpState::kInit, {}); }
  static QpAttributes rtr_attributes(const Host& to, transport::QpNumber peer,
                                     const ConnectOptions& options = {}) {
    return attributes_for(transport::QpState::kReadyToReceive, to_peer(to, peer, options));
  }
  static QpAttributes rts_attributes(const ConnectOptions& options = {}) {
    return attributes_for(transport::QpState::kReadyToSend, options);
  }

  /// Lets both devices work until neither has anything to do at this time.
  void settle();
  /// Moves time, stopping at every timeout on the way.
  void pass(transport::Duration duration);

  kernel::Clock clock{std::chrono::hours(1)};
  FakeWire wire;
  std::array<std::unique_ptr<Host>, 2> hosts;
  Host& a() { return *hosts[0]; }
  Host& b() { return *hosts[1]; }

 private:
  static QpAttributes attributes_for(transport::QpState state, const ConnectOptions& options) {
    return kernel::attributes_for(QpType::kRc, state, options);
  }
};

}  // namespace urnic::nic
