// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Network: links and switches between hosts, with queues, losses, marks, pauses and links that go down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "drivers/network/counters.h"
#include "drivers/network/event_queue.h"
#include "drivers/network/frame_pool.h"
#include "drivers/network/link_faults.h"
#include "drivers/network/observer.h"
#include "drivers/network/port.h"
#include "drivers/network/random.h"
#include "drivers/network/routes.h"
#include "drivers/network/shared_buffer.h"
#include "drivers/network/sink.h"
#include "drivers/network/topology.h"
#include "transport/wire/address.h"

namespace urnic::network {

/// Time passes when run_until() says so: virtual in a simulator, real in a fabric. The same topology, seed
/// and calls give the same deliveries, counters and observations. TOPOLOGY.md says what is modelled and what
/// is not.
///
/// A frame is bytes from the destination MAC on, without FCS. It is copied once, in send(). Nothing is
/// allocated for a frame once as many are inside as ever before. Times are nanoseconds; inside they are finer
/// (ticks.h), and an event is told with the nanosecond that it lies in. One thread at a time.
class Network {
 public:
  /// `topology` has passed check(). `seed` decides which frames are marked and which of several equal ways a
  /// flow takes. Outages of links count from `start`.
  Network(Topology topology, std::uint64_t seed, Time start = Time{});
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// From now on frames for `mac` go to `host`; before, they go to all hosts. A host may have several.
  void attach(HostId host, const transport::wire::Mac& mac);

  enum class SendResult : std::uint8_t {
    kQueued,
    kNoRoom,     ///< dropped, and counted: ask room() before
    kMalformed,  ///< shorter than its Ethernet header or longer than kMaxFrameBytes: ignored
    kLinkDown,   ///< dropped, and counted
  };
  /// The NIC of `host` queues a frame for its link. What happens before `now` has been run; `now` never goes
  /// back.
  SendResult send(HostId host, std::span<const std::byte> frame, Time now);

  /// When something happens next; kNever when nothing is left. In a network with paused ports something
  /// always is.
  Time next_event() const;
  /// Does all that happens up to and including `now`, in order.
  void run_until(Time now, Sink& sink);

  // What a NIC asks, to be back-pressured.

  /// The priority that the frame has on the host's link, by its DSCP; 0 for what is malformed.
  unsigned priority_of(HostId host, std::span<const std::byte> frame) const;
  /// Bytes of further frames that send() takes.
  std::uint64_t room(HostId host, unsigned priority) const;
  /// Whether the switch has paused it.
  bool is_paused(HostId host, unsigned priority) const;

  // What the world does to it. `now` as in send().

  /// The NIC of `host` pauses its switch, as one does whose receiver is slow, until it is told otherwise.
  /// Ignored for a priority that is not lossless.
  void set_receive_pause(HostId host, unsigned priority, bool is_paused, Time now);
  /// Cuts or mends a link. Frames on it, and queued for it, are lost.
  void set_link(LinkId link, bool is_up, Time now);
  /// What happens to frames on links, from now on. None: nullptr. It outlives the network or is taken away.
  void set_link_faults(LinkFaults* faults);

  // What is seen.

  /// None: nullptr. It outlives the network or is taken away.
  void set_observer(Observer* observer) { observer_ = observer; }
  PortCounters counters(PortId port) const;
  /// Sums over all ports, except highest_queue_bytes: the highest one.
  PriorityCounters total(unsigned priority) const;
  std::uint64_t queue_bytes(PortId port, unsigned priority) const;
  bool is_up(LinkId link) const { return link_is_up_[static_cast<std::size_t>(link)]; }
  const Topology& topology() const { return topology_; }
  std::size_t port_count() const { return ports_.size(); }
  /// The NIC's end of the link of `host`.
  PortId port_of(HostId host) const { return host_ports_[static_cast<std::size_t>(host)]; }
  /// "leaf0->spine1"
  std::string name_of(PortId port) const;
  /// Frames that are queued or on a link.
  std::size_t frames_inside() const { return frames_.in_use(); }

 private:
  struct SwitchState {
    SharedBuffer buffer;
    Random random;
    std::uint64_t salt = 0;
  };

  // network.cc: making it, and its front.
  void add_ports();
  void add_outages();
  Port& port(PortId id) { return ports_[static_cast<std::size_t>(id)]; }
  const Port& port(PortId id) const { return ports_[static_cast<std::size_t>(id)]; }
  void advance_to(Time now);
  void handle(const Event& event);
  Time time() const { return start_ + to_duration(now_); }

  // forwarding.cc: the way of a frame.
  void kick(Port& port);
  void send_next(Port& port);
  void put_on_wire(Port& port, Frame* frame, unsigned priority);
  void travel(Port& port, Frame* frame, unsigned priority);
  void arrive(Port& from);
  void reach_other_end(Port& from, Frame* frame);
  void forward(Port& ingress, Frame* frame);
  std::span<const PortId> ways_of(const Port& ingress, const Frame& frame);
  void enqueue(Port& egress, Port& ingress, Frame* frame);
  std::optional<DropReason> refusal(const Port& egress, const Port& ingress, unsigned priority,
                                    const Frame& frame, bool is_to_be_marked);
  void queue(Port& egress, unsigned priority, const EgressQueues::Queued& queued);
  void free_buffer(const Port& egress, unsigned priority, const EgressQueues::Queued& queued);
  void drop(Port& port, unsigned priority, DropReason reason, Frame* frame);
  void count_drop(Port& port, unsigned priority, DropReason reason, std::span<const std::byte> frame);
  void empty_queue(Port& port, unsigned priority, DropReason reason);

  // pausing.cc: pauses and their watchdog.
  void set_xoff(Port& port, unsigned priority, bool is_xoff);
  void refresh_pause(Port& port, unsigned priority);
  void send_pause_frame(Port& port);
  void obey(Port& port, std::span<const std::byte> frame);
  void pause(Port& port, unsigned priority, Ticks length);
  void resume(Port& port, unsigned priority);
  void watch(Port& port, unsigned priority);
  void look_at_stall(Port& port, unsigned priority);
  void add_event(Event::Kind kind, const Port& port, unsigned priority, Ticks time);

  // faulty_link.cc: links that hurt frames.
  void travel_faulty(Port& port, Frame* frame, unsigned priority);
  void afflict(Port& port, Frame* frame, unsigned priority);
  void travel_late(Port& port, Frame* frame, unsigned priority, Ticks delay);
  void arrive_late(Port& from);
  void lose_what_is_held(Port& port);

  // link_state.cc: links that go down and up.
  void change_link(LinkId link, bool is_up);
  void cut(Port& port);
  void mend(Port& port);

  Topology topology_;
  Profile neighborless_;  // of hosts that are linked to a host
  Time start_;
  Ticks now_ = 0;
  EventQueue events_;
  FramePool frames_;
  Routes routes_;
  std::vector<bool> link_is_up_;
  std::vector<Port> ports_;
  std::vector<SwitchState> switches_;
  std::vector<PortId> host_ports_;
  std::unordered_map<std::uint64_t, HostId> hosts_by_mac_;  // looked up, never iterated
  Sink* sink_ = nullptr;                                    // while run_until() runs
  Observer* observer_ = nullptr;
  LinkFaults* faults_ = nullptr;
};

}  // namespace urnic::network
