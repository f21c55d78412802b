// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Host: one machine of the world: a device, its application's memory, keys and completion queues.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/adversary/act_log.h"
#include "nic/device/device.h"
#include "tools/simulation/kernel/connect.h"
#include "tools/simulation/seeds/models/atomic_model.h"
#include "tools/simulation/seeds/models/memory_model.h"
#include "tools/simulation/seeds/network/sim_port.h"
#include "tools/simulation/seeds/scenario/plan.h"

namespace urnic::sim {

class Host {
 public:
  /// Makes the device, in kManual mode, and registers the memory that `plans` need.
  Host(HostId id, const Options& options, const Plans& plans, const kernel::Clock& clock, Network& network,
       FrameTap& tap);
  ~Host();
  /// Gives back what it has, when no queue pair is left. A complaint if the device thinks that something is
  /// in use still.
  std::optional<std::string> tear_down();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  HostId id() const { return id_; }
  nic::Device& device() { return *device_; }
  const nic::Device& device() const { return *device_; }
  MemoryModel& memory() { return memory_; }
  /// The oracle of the number at an offset of Region::kAtomic.
  AtomicModel& atomics(std::uint32_t offset) { return atomics_.at(offset); }
  /// At the end, when nothing is outstanding: a complaint about the numbers that atomics worked on.
  std::optional<std::string> check_atomics();
  /// Packets that its device made and dropped, as no other host had answered for their addresses: nothing on
  /// the wire tells of those.
  std::uint64_t packets_without_neighbor() const;
  Attachment& attachment() { return attachment_; }
  const Attachment& attachment() const { return attachment_; }

  /// The address that the peer knows us by.
  transport::wire::Gid gid() const;
  std::uint8_t gid_index() const { return options_.ipv6 ? 2 : 1; }

  /// What this world gives a connection to `peer`; its queue pair, PSNs and rights are still to be set.
  kernel::ConnectionSettings connection_to(const Host& peer) const;

  /// The queue pair of this pair, or with XRC the one that makes requests.
  std::unique_ptr<nic::QueuePair> create_qp(std::uint32_t pair);
  /// The one that takes them.
  std::unique_ptr<nic::QueuePair> create_xrc_target(std::uint32_t pair);

  /// A shared receive queue: number 0 is for all services but XRC, and null when the options have none.
  nic::SharedReceiveQueue* srq(std::size_t number) { return srqs_[number].get(); }
  /// What XRC requests name shared receive queue 1 + `queue` by, and a number that names none.
  std::uint32_t xrc_number(std::size_t queue) const { return srqs_[1 + queue]->number(); }
  std::uint32_t unknown_xrc_number() const;
  /// Asynchronous events of a queue pair, or of the two of an XRC end, counted; the program sets them back.
  struct QpEvents {
    std::uint32_t last_wqe_reached = 0;
    std::uint32_t send_queue_drained = 0;
  };
  QpEvents& events(std::uint32_t pair) { return events_[pair]; }
  /// Times that a shared queue had run low.
  std::uint32_t limit_events(std::size_t number) const { return limit_events_[number]; }
  /// A completion queue that is not among queues(); its error event is counted in *overruns, if that is
  /// given.
  std::unique_ptr<nic::CompletionQueue> create_queue(std::uint32_t capacity, std::uint32_t* overruns);
  std::unique_ptr<nic::QueuePair> create_qp_on(nic::CompletionQueue& queue, std::uint32_t max_sends);
  /// One that rdma_cm is going to connect; it shares its completion queue with the unreliable ones.
  std::unique_ptr<nic::QueuePair> create_connection_qp(QpEvents& events);
  /// One for datagrams or of an unreliable connection, which counts its events there.
  std::unique_ptr<nic::QueuePair> create_unreliable_qp(nic::QpType type, bool shares_receives,
                                                       QpEvents& events);
  transport::AddressHandleId create_address_handle(const transport::wire::Gid& destination);
  void destroy_address_handle(transport::AddressHandleId handle);
  /// The multicast group of this world.
  transport::wire::Gid group() const;
  void join_group(nic::QueuePair& qp);
  void leave_group(nic::QueuePair& qp);

  /// A memory window that is not bound.
  transport::Rkey allocate_window(nic::WindowType type);
  void deallocate_window(transport::Rkey key);

  /// A range as keys' users name it.
  std::uint64_t address(const Range& range) const;
  transport::Sge sge(const Range& range, bool unknown_lkey) const;
  /// The same by plain address, for inline data.
  transport::Sge plain_sge(const Range& range);
  transport::Lkey lkey(Region region) const {
    return transport::Lkey{keys_[static_cast<std::size_t>(region)]};
  }
  transport::Rkey rkey(Region region) const { return rkey_of(keys_[static_cast<std::size_t>(region)]); }
  transport::Rkey unknown_rkey() const { return rkey_of(unknown_key()); }
  transport::Rkey stale_rkey() const { return rkey_of(stale_key_); }
  /// Of the shared region, registered once more in another protection domain.
  transport::Rkey other_pd_rkey() const { return rkey_of(other_pd_key_); }

  /// The shared region once more, under another key; and without it again.
  transport::Rkey register_volatile();
  void deregister_volatile();

  /// All of them, to be polled.
  std::span<const std::unique_ptr<nic::CompletionQueue>> queues() const { return queues_; }

 private:
  std::uint32_t register_region(nic::ProtectionDomain& pd, Region region, transport::Access access);
  std::uint32_t unknown_key() const;
  transport::Rkey rkey_of(std::uint32_t key) const { return transport::Rkey{device_->rkey_of(key)}; }
  void create_queues();
  void create_shared_queues();
  std::uint64_t number_at(std::uint32_t offset);

  HostId id_;
  const Options& options_;
  MemoryModel memory_;
  std::map<std::uint32_t, AtomicModel> atomics_;
  Attachment attachment_;
  nic::ActLog acts_;  // of the adversary, if the device has one
  std::unique_ptr<nic::Device> device_;
  std::unique_ptr<nic::ProtectionDomain> pd_;
  std::unique_ptr<nic::ProtectionDomain> other_pd_;
  std::array<std::uint32_t, kRegions> keys_{};
  std::uint32_t stale_key_ = 0;
  std::uint32_t other_pd_key_ = 0;
  std::uint32_t volatile_key_ = 0;
  std::vector<std::unique_ptr<nic::CompletionQueue>> queues_;
  std::unique_ptr<nic::XrcDomain> xrc_domain_;
  std::array<std::unique_ptr<nic::SharedReceiveQueue>, kSharedQueues> srqs_;
  std::vector<QpEvents> events_;
  std::array<std::uint32_t, kSharedQueues> limit_events_{};
};

/// Addresses of the hosts.
transport::wire::Gid gid_of(HostId host, bool ipv6);

}  // namespace urnic::sim
