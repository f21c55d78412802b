// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Device: the software RNIC.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "nic/clock.h"
#include "nic/config.h"
#include "nic/congestion/settings.h"
#include "nic/engine/opened_port.h"
#include "nic/event_handlers.h"
#include "nic/memory/device_memory.h"
#include "nic/memory/memory_table.h"
#include "nic/memory/protection_domain.h"
#include "nic/path/gid_table.h"
#include "nic/queues/completion_channel.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/polled_rooms.h"
#include "nic/queues/queue_pair.h"
#include "nic/queues/shared_receive_queue.h"
#include "nic/queues/srq_numbers.h"
#include "nic/queues/xrc_domain.h"
#include "nic/raw/flow_rule.h"
#include "nic/raw/indirection_table.h"
#include "transport/counters.h"
#include "transport/result.h"

namespace urnic::nic {

class Adversary;
class Engine;
class FailureLog;

/// A device with one port. Making one needs no port, thread or privilege; start() opens the port, and the
/// first queue pair starts it (a fork before that does no harm). The creator of an object owns it and must
/// destroy it before the device. Any thread, except where noted; two devices in one process do not know of
/// each other.
class Device {
 public:
  /// `clock` must outlive the device. `open_port` is called once, by start().
  Device(const DeviceConfig& config, const Clock& clock, PortOpener open_port);
  /// Lets the peer drain (linger()), stops the NIC's thread, closes the port.
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Does not change, except for congestion and congestion_notifications: ask congestion() for those.
  const DeviceConfig& config() const { return config_; }
  const GidTable& gids() const { return gids_; }
  /// False when the host's link is down, in a NIC that has the host's addresses, or when set_link() has taken
  /// the NIC's own link down.
  bool has_link() const {
    return has_link_.load(std::memory_order_relaxed) && is_plugged_.load(std::memory_order_relaxed);
  }
  /// Takes the NIC's link down, as who pulls out a cable, or up again. The error: there is no memory, or the
  /// device was forked away.
  Result<void, Error> set_link(bool is_up);

  /// The host has these addresses now, and the first interface a carrier or not. Returns whether GIDs came or
  /// went.
  bool update_host(const std::vector<HostAddress>& addresses, bool has_link);
  /// The largest path MTU that fits the link: largest with MTU + 80 <= link MTU (fact 41), and 4
  /// more with a VLAN's tag.
  transport::PathMtu max_path_mtu() const;
  transport::PathMtu usual_path_mtu() const;

  /// Opens the port and starts progress; does nothing the second time. The error is the port's.
  Result<void, Error> start();
  bool is_started() const;
  /// Whether start() was called, however it ended: the port's library may be in use.
  bool has_begun() const { return has_begun_.load(std::memory_order_acquire); }

  /// From now on `log`, which must outlive the device, counts what the device writes to the program's memory.
  void use(WriteLog& log);

  /// From now on, and before there are objects, the device does what the rules allow and programs may not
  /// expect.
  void use(std::unique_ptr<Adversary> adversary);
  /// Null for most devices.
  Adversary* adversary() const { return adversary_.get(); }

  // --- Objects ---

  /// ENOMEM: too many.
  Result<std::unique_ptr<ProtectionDomain>, Error> allocate_pd();

  /// Registers `length` bytes at `memory`, known to key users as `address`. EINVAL: remote write or atomic
  /// without local write; EFAULT: a page cannot be read (or written, with local write). Returns the region
  /// with its key. With on-demand paging (Backing::kOnDemand) no page is looked at; EOPNOTSUPP where the
  /// system does not let us copy memory that may not be there.
  Result<MemoryRegion, Error> register_memory(ProtectionDomain& pd, void* memory, std::uint64_t length,
                                              std::uint64_t address, transport::Access access,
                                              Backing backing = Backing::kMapped);
  /// Gives the region with `region.key`, of the domain `from`, the attributes in `region`, and the domain
  /// `to`, in one step. Errors as register_memory(), and EBUSY: windows are bound to it; the region is as it
  /// was then.
  Result<void, Error> reregister_memory(ProtectionDomain& from, ProtectionDomain& to, MemoryRegion region);
  /// By which peers name the region with this key; the same number, unless an adversary wants it otherwise.
  std::uint32_t rkey_of(std::uint32_t key) const;
  /// Afterwards the memory is not touched any more.
  Result<void, Error> deregister_memory(ProtectionDomain& pd, std::uint32_t key);

  enum class Prefetch : std::uint8_t { kRead, kWrite, kPresentOnly };
  /// Makes `length` bytes of a region with on-demand paging present, to be read or to be written. EFAULT: no
  /// such region, a range that is not inside, or memory that is not there; EPERM: another domain, or no right
  /// to write; EINVAL: a region of another kind.
  Result<void, Error> prefetch_memory(const ProtectionDomain& pd, std::uint32_t key, std::uint64_t address,
                                      std::uint64_t length, Prefetch how);

  DeviceMemoryPool& device_memory() { return device_memory_; }

  Result<std::unique_ptr<CompletionQueue>, Error> create_cq(std::uint32_t capacity,
                                                            CompletionChannel* channel, void* context,
                                                            const CompletionQueueOptions& options = {});
  /// See CompletionQueue::resize(). EINVAL also for limits.
  Result<void, Error> resize_cq(CompletionQueue& queue, std::uint32_t capacity);
  /// EBUSY, with the queue untouched, while queue pairs use it.
  Result<void, Error> destroy_cq(std::unique_ptr<CompletionQueue>& queue);

  /// Starts the device if it is not. EINVAL: limits; ENOMEM: too many, or no memory.
  Result<std::unique_ptr<QueuePair>, Error> create_qp(const QpCreateAttributes& attributes);
  /// EBUSY, with the queue pair untouched, while it is a member of a multicast group, has flow rules or is in
  /// an indirection table.
  Result<void, Error> check_destroyable(const QueuePair& qp) const;
  /// Sends its pending responses first. Its completions leave the completion queues, as cards do it. For a
  /// bounded time the number goes on to acknowledge the peer's repeats, whose acknowledgement may have been
  /// lost.
  void destroy_qp(std::unique_ptr<QueuePair> qp);
  /// As when work of theirs has failed: the queue pairs of which `is_meant` is true go to ERR, where what was
  /// posted completes as flushed. `is_meant` is called under the engine lock. Nothing happens to a queue pair
  /// in RESET or ERR.
  void fail_queue_pairs(const std::function<bool(const QueuePair& qp)>& is_meant);
  /// The same for the queue pair that has completed a work request, which is said to have failed: its later
  /// sends (or receives) that wait unpolled are flushed, too. Nothing happens if it is not there any more.
  void fail_completed_work(transport::QpNumber number, bool is_receive);

  /// ENOMEM: too many, EINVAL: limits, or one of domain and completions without the other.
  Result<std::unique_ptr<SharedReceiveQueue>, Error> create_srq(const SrqCreateAttributes& attributes);
  /// EBUSY, with the queue untouched, while queue pairs use it.
  Result<void, Error> destroy_srq(std::unique_ptr<SharedReceiveQueue>& srq);

  /// For RSS. EINVAL: not all are work queues, or their number is no power of two that the device allows;
  /// ENOMEM: too many tables.
  Result<std::unique_ptr<IndirectionTable>, Error> create_indirection_table(
      std::span<QueuePair* const> queues);
  /// EBUSY, with the table untouched, while queue pairs use it.
  Result<void, Error> destroy_indirection_table(std::unique_ptr<IndirectionTable>& table);

  Result<std::unique_ptr<XrcDomain>, Error> open_xrc_domain();
  /// EBUSY while anything is in it.
  Result<void, Error> close_xrc_domain(std::unique_ptr<XrcDomain>& domain);

  /// Where datagrams can be sent to. EINVAL: see check_address(); ENOMEM: too many. Does not start the
  /// device: programs make address handles to find out which GIDs are any good.
  Result<transport::AddressHandleId, Error> create_address_handle(ProtectionDomain& pd,
                                                                  const AddressVector& address);
  /// Waits until the link has told the MAC of the destination, or it is known that it will not, for a second
  /// at most. Whether it is known now. Does not wait where the owner makes the progress (kManual). Not for
  /// the data path.
  bool resolve(const AddressVector& address);
  /// Datagrams that were posted for it and did not leave yet are lost.
  Result<void, Error> destroy_address_handle(ProtectionDomain& pd, transport::AddressHandleId handle);

  /// The queue pair (UD) receives what is sent to the group. EINVAL: it is not UD, or that is no group's
  /// address; ENOMEM: too many members; otherwise the port's. Joining twice is the same as once.
  Result<void, Error> attach_multicast(QueuePair& qp, const transport::wire::Gid& group);
  /// EINVAL: it is not a member.
  Result<void, Error> detach_multicast(QueuePair& qp, const transport::wire::Gid& group);

  /// From now on the queue pair (raw packets, or RSS) is given the frames that the rule is about; see
  /// FlowTable for the order among rules. EOPNOTSUPP: a datagram queue pair; EINVAL: another one; ENOMEM: too
  /// many rules. The rule ends with destroy_flow(), or with the queue pair.
  Result<FlowId, Error> create_flow(const QueuePair& qp, const FlowRule& rule);
  /// EINVAL: there is no such rule.
  Result<void, Error> destroy_flow(FlowId flow);

  /// A memory window that is not bound, and its key. Binding is a work request.
  Result<std::uint32_t, Error> allocate_window(ProtectionDomain& pd, WindowType type);
  /// `key` is any that the window has had.
  Result<void, Error> deallocate_window(ProtectionDomain& pd, std::uint32_t key);

  /// Checks an address vector as creating an address handle does: EINVAL for a zero destination, an unused
  /// source index, or addresses of different kinds.
  Result<void, Error> check_address(const AddressVector& address) const;

  /// The time on the clock of which CompletionTimes tell.
  transport::Time now() const { return clock_.now(); }

  /// Of queues whose room comes back when the program polls; null unless the device is like such a NIC. To be
  /// told of every completion that the program polls.
  const PolledRooms* polled_rooms() const {
    const Personality& nic = *config_.personality;
    const bool is_polled =
        nic.send_room == RoomReturn::kWhenPolled || nic.receive_room == RoomReturn::kWhenPolled;
    return is_polled ? &rooms_ : nullptr;
  }

  // --- Progress ---

  /// One round of the engine, unless another thread is in one: receive, timers, transmit, publish. Returns
  /// whether anything was done. In kManual mode this is the only thing that makes progress.
  bool progress();
  /// kManual: when progress() must be called next at the latest, for timers; kNever when only input can cause
  /// work.
  transport::Time next_timeout() const;
  /// Ends what the program has of rdma_cm, as the kernel does when a process ends: peers are disconnected and
  /// requests rejected. Runs until the port has been drained and peers that still repeat were answered;
  /// bounded (about a second at worst, nothing at all when no packet was sent lately), and has the port write
  /// down what it only remembers. Called before the process ends.
  void linger();

  /// In the child of a fork: the device must not be used any more; every call that would fails with EIO at
  /// once and the destructor leaves everything alone. The engine's lock is never touched again.
  void abandon_after_fork();

  // --- Congestion control ---

  /// What is in force: config()'s, until it is updated.
  CongestionSettings congestion() const;
  /// For the queue pairs that there are, whose controllers go on from where they are, and for those that
  /// come. EINVAL: a controller of another kind; nothing is changed then.
  Result<void, Error> update_congestion(const CongestionSettings& settings);

  // --- Observation ---

  const transport::Counters& counters() const;
  /// Every counter by name: the transport's, the device's drops ("rx_drop_bad_icrc"), the connection
  /// manager's ("cm_tx_msgs_req"), the port's ("port_sent_frames").
  std::vector<std::pair<std::string_view, std::uint64_t>> all_counters() const;

  struct ObjectCounts {
    std::uint64_t completion_queues = 0;
    std::uint64_t shared_receive_queues = 0;
    std::uint64_t memory_regions = 0;
    std::uint64_t memory_windows = 0;
  };
  ObjectCounts object_counts() const;
  /// How long ago the device was made.
  transport::Duration age() const { return clock_.now() - made_at_; }

  /// Failures that wait to be explained; null unless config().explain. Any thread; not in the child of a
  /// fork.
  FailureLog* failures();

  /// Set before start().
  void set_event_handlers(EventHandlers handlers);

  Engine& engine() { return *engine_; }

 private:
  Result<void, Error> check_usable() const;
  /// What peers have sent is in memory afterwards. Under the engine lock.
  void settle_placements();

  DeviceMemoryPool device_memory_;
  DeviceConfig config_;
  const Clock& clock_;
  transport::Time made_at_;
  PortOpener open_port_;
  GidTable gids_;
  std::atomic<bool> has_link_{true};
  std::atomic<std::uint64_t> links_downed_{0};  // how often the link went down
  std::atomic<bool> is_plugged_{true};
  std::unique_ptr<Adversary> adversary_;  // outlives the engine
  std::unique_ptr<Engine> engine_;
  std::mutex start_mutex_;
  std::atomic<bool> has_begun_{false};
  std::atomic<std::uint32_t> next_pd_{1};
  /// Shared with the protection domains, the last of which may end after the device.
  std::shared_ptr<std::atomic<std::uint32_t>> pd_count_ = std::make_shared<std::atomic<std::uint32_t>>(0);
  std::atomic<std::uint32_t> queue_count_{0};  // completion queues
  std::atomic<std::uint32_t> srq_count_{0};
  std::atomic<std::uint32_t> table_count_{0};  // for RSS
  PolledRooms rooms_;
  SrqNumbers srq_numbers_;  // under the engine lock
};

}  // namespace urnic::nic
