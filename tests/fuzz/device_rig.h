// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DeviceRig: a device with connected queue pairs whose peer is a fuzzer, and all that must hold whatever it
// sends.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "nic/device/device.h"
#include "nic/path/gid_table.h"
#include "nic/path/neighbor_cache.h"
#include "nic/path/path.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/queue_pair.h"
#include "nic/queues/shared_receive_queue.h"
#include "nic/queues/xrc_domain.h"
#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/kernel/frame.h"
#include "transport/wire/encapsulation.h"
#include "transport/work_request.h"

namespace urnic::test {

/// Aborts with a line on stderr unless `holds`.
void require(bool holds, const char* what);

/// The wire between the device and the fuzzer. Frames to the device lie in memory of exactly their size.
struct FuzzWire {
  kernel::Inbox to_device;
  std::size_t room = ~std::size_t{0};  ///< frames that it still takes from the device
  std::size_t taken = 0;               ///< frames taken, ever

  /// As a run of packets of that MTU, which has no ICRC; zero: as a frame.
  void put(std::span<const std::byte> frame, transport::PathMtu run_mtu = {}) {
    const bool is_run = run_mtu != transport::PathMtu{};
    to_device.emplace_back(std::vector(frame.begin(), frame.end()), !is_run, nic::RunShape{.mtu = run_mtu});
  }
};

/// How a queue pair of the rig differs from the first.
struct QueuePairKind {
  nic::QpType type = nic::QpType::kRc;
  std::size_t address = nic::GidTable::kIpv4;  ///< its place in the GID table
  transport::wire::Encapsulation encapsulation = transport::wire::Encapsulation::kRoceV2;
  bool shares_receives = false;
};

/// Queue pairs of all kinds in RTS, beginning with three of RC: over IPv4, by RoCE v1, over IPv6. One region
/// that the peer may do everything to, under a second key too, with two windows to be bound to it; one that
/// only we write to (receives, READs and what atomics found go there), one that no request may write to.
/// Three shared receive queues, the second and third for XRC. Methods abort when a promise is broken:
///   - memory outside of the regions and in the third never changes;
///   - every frame sent is well formed, and a bounded number leaves per round;
///   - a work request completes once, or not at all when its queue pair is reset; a successful completion is
///   of the
///     kind and not longer than what was posted;
///   - at the end everything posted has completed, except what is left in shared queues.
class DeviceRig {
 public:
  static constexpr std::size_t kQueuePairs = 8;
  static constexpr std::size_t kSharedQueues = 3;
  static constexpr std::uint32_t kQkey = 0x11223344;
  static constexpr std::size_t kRegionBytes = 16384;

  DeviceRig();
  ~DeviceRig();

  /// The multicast group that queue pairs may join.
  static transport::wire::Gid group() { return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 9, 9, 9}}; }

  nic::QueuePair& qp(std::size_t index) { return *queue_pairs_[index].qp; }
  std::uint64_t remote_address() const { return address_of(kShared); }
  std::uint32_t rkey() const { return regions_[kShared].key; }
  std::uint32_t read_only_rkey() const { return regions_[kConstant].key; }
  /// The key that can be renewed, and the keys of the windows.
  std::uint32_t second_rkey() const { return second_key_; }
  std::uint32_t window_rkey(std::size_t index) const { return windows_[index]; }
  std::uint32_t xrc_number(std::size_t queue) const { return shared_queues_[1 + queue % 2]->number(); }
  /// Which queue pair steps mean that do not name one of the first three.
  std::size_t selected() const { return selected_; }
  FuzzWire& wire() { return *wire_; }
  void pass(transport::Duration duration) { clock_.advance(duration); }

  /// A frame arrives, whatever it is; with an MTU as a run of packets of that MTU.
  void deliver(std::span<const std::byte> frame, transport::PathMtu run_mtu = {});
  /// A packet, BTH to padding, arrives in a right frame from the peer of a queue pair, or sent to the
  /// multicast group; or a run, likewise.
  void deliver_packet(std::size_t qp_index, std::span<const std::byte> packet, bool to_group = false,
                      transport::PathMtu run_mtu = {});

  // What the program does. Refusals are fine.
  struct Posting {
    transport::SendOperation operation = transport::SendOperation::kSend;
    std::uint32_t length = 0;
    bool is_inline = false;
    bool is_signaled = true;
    bool fence = false;
    bool solicited = false;
    std::uint8_t target = 0;  ///< of its low bits: which window, address handle or XRC queue
  };
  void post_send(std::size_t qp_index, const Posting& posting);
  void post_receive(std::size_t qp_index, std::uint32_t length);
  void post_shared(std::size_t queue, std::uint32_t length);
  void arm_limit(std::size_t queue, std::uint32_t limit);
  /// Through RESET to RTS.
  void reconnect(std::size_t qp_index);
  /// With all attributes that such a queue pair needs for that state, except those that `left_out` has a bit
  /// of.
  void modify(std::size_t qp_index, transport::QpState state, std::uint8_t left_out);
  void select(std::size_t qp_index) { selected_ = qp_index; }
  /// Destroys it and makes another, in RESET.
  void renew_queue_pair(std::size_t qp_index);
  void renew_shared_queue(std::size_t queue);
  void renew_window(std::size_t index);
  void renew_second_key();
  void renew_address(std::size_t index);
  void join_group(std::size_t qp_index);
  void leave_group(std::size_t qp_index);

  /// Lets the device work, takes its completions, and checks.
  void run();

 private:
  enum Region : std::size_t { kShared, kOwn, kConstant, kRegions };
  static constexpr std::size_t kGuardBytes = 512;
  static constexpr std::uint32_t kSharedReceives = 16;
  static constexpr transport::QpNumber kPeerQp{0x123456};
  static constexpr transport::Access kEverything =
      transport::Access::kRemoteWrite | transport::Access::kRemoteRead | transport::Access::kRemoteAtomic |
      transport::Access::kFlushGlobal;

  static constexpr auto kRoceV1 = transport::wire::Encapsulation::kRoceV1;
  static constexpr std::array<QueuePairKind, kQueuePairs> kKinds{{{},
                                                                  {.encapsulation = kRoceV1},
                                                                  {.address = nic::GidTable::kIpv6},
                                                                  {.type = nic::QpType::kUc},
                                                                  {.type = nic::QpType::kUd},
                                                                  {.type = nic::QpType::kXrcInitiator},
                                                                  {.type = nic::QpType::kXrcTarget},
                                                                  {.shares_receives = true}}};

  struct Connection {
    QueuePairKind kind;
    std::unique_ptr<nic::QueuePair> qp;
    nic::AddressVector peer;
    nic::Path from_peer;
  };
  struct Work {
    std::optional<transport::QpNumber> qp{};  // none: a shared queue's
    transport::CompletionOpcode opcode{};
    std::uint32_t length = 0;
    bool may_vanish = false;  // its queue pair was reset or destroyed, or it asked for no completion
  };

  std::byte* memory_of(Region region) {
    return arena_.data() + kGuardBytes + region * (kRegionBytes + kGuardBytes);
  }
  std::uint64_t address_of(Region region) const { return 0x100000 * (region + 1); }
  void register_regions();
  void make_shared_queue(std::size_t queue);
  void add_connection(const QueuePairKind& kind);
  std::unique_ptr<nic::QueuePair> make_queue_pair(const QueuePairKind& kind);
  void lead_to(Connection& connection);
  void connect(Connection& connection);
  nic::QpAttributes attributes_for(const Connection& connection, transport::QpState state) const;
  transport::SendRequest request_of(std::uint64_t wr_id, const Posting& posting);
  void let_vanish(transport::QpNumber qp);
  std::uint64_t note_work(const Work& work);
  void poll();
  void check_memory() const;
  void check(const transport::Completion& completion, const Work& work) const;

  kernel::Clock clock_{std::chrono::hours(1)};
  std::shared_ptr<FuzzWire> wire_;
  std::vector<std::byte> arena_;     // guard, region, guard, region, guard, region, guard
  std::vector<std::byte> original_;  // the same before anything happened
  std::unique_ptr<nic::Device> device_;
  std::unique_ptr<nic::ProtectionDomain> pd_;
  std::unique_ptr<nic::CompletionQueue> cq_;
  std::array<nic::MemoryRegion, kRegions> regions_;
  std::uint32_t second_key_ = 0;            // of the shared region
  std::array<std::uint32_t, 2> windows_{};  // their keys: type 1, type 2
  std::array<transport::AddressHandleId, 2> addresses_{};
  std::unique_ptr<nic::XrcDomain> xrc_domain_;
  std::array<std::unique_ptr<nic::SharedReceiveQueue>, kSharedQueues> shared_queues_;
  std::size_t selected_ = 0;
  std::vector<Connection> queue_pairs_;
  std::map<std::uint64_t, Work> outstanding_;  // by wr_id
  std::uint64_t next_wr_id_ = 1;
};

}  // namespace urnic::test
