// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PacketPort: where frames come from and go to. Everything under drivers/ implements it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nic/port/medium.h"
#include "nic/port/received_frame.h"
#include "nic/port/room.h"
#include "nic/port/run_shape.h"
#include "transport/result.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// A port that moves whole Ethernet frames (from the destination MAC to the last payload byte, no FCS), or
/// whole IP packets, which are called frames here, too: medium() says which.
///
/// Used by one thread at a time (the engine's lock holder); thread changes happen between calls. Nothing here
/// blocks, throws, allocates or logs, except where it says so. A port never reports an error for a frame: a
/// wire may lose frames, and what a port cannot send it drops and counts.
///
/// Ports wrap ports: the recorder, the fault injector and the loopback are PacketPorts around another one.
class PacketPort {
 public:
  virtual ~PacketPort() = default;

  struct Statistics {
    std::uint64_t received_frames = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_frames = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t dropped_frames = 0;   ///< sent by us, not taken (no peer, too long, queue dead)
    std::uint64_t direct_links = 0;     ///< to other NICs, now (see drivers/direct)
    std::uint64_t refused_links = 0;    ///< how often no link was available
    std::uint64_t returned_frames = 0;  ///< that ICMP says no program took (see drivers/udp)
    std::uint64_t foreign_frames = 0;   ///< received, and not believed (see take_only_from())
  };

  virtual Medium medium() const { return Medium::kEthernet; }

  /// Receives up to `frames.size()` frames and returns how many. The spans stay valid, and may be read only,
  /// until the next call of receive(). Frames longer than max_frame_bytes() never show up (dropped, counted).
  virtual std::size_t receive(std::span<ReceivedFrame> frames) = 0;

  /// After a receive() that returned less than it might: whether frames that came before it may still wait. A
  /// port that has several sources, or fetches few frames at a time, does not return all at once.
  virtual bool may_hold_frames() const { return false; }

  /// From now on the NIC is a member of that multicast group, or not any more. A port that carries IP packets
  /// says so to the link; on Ethernet the NIC does it by itself. A system call. The error is the system's.
  virtual Result<void, Error> join(const transport::wire::Gid& /*group*/) { return success(); }
  virtual void leave(const transport::wire::Gid& /*group*/) {}

  /// A queue pair or datagrams will soon send from `source` to `destination`. A port that carries IP packets
  /// has the system find the MAC of the next hop, which keeps little of what is sent before it has. Waits for
  /// nothing; a system call.
  virtual void find_next_hop(const transport::wire::Gid& /*source*/,
                             const transport::wire::Gid& /*destination*/) {}

  /// From now on packets for the connected queue pair `qp` can only come from this station, which shares the
  /// host's addresses; or from wherever, where there is none, as at first. A port that has a way of its own
  /// to that station drops what comes for `qp` by a way to which any program of the host may write. May
  /// allocate.
  virtual void take_only_from(transport::QpNumber /*qp*/,
                              const std::optional<transport::wire::Mac>& /*station*/) {}

  /// Room for one frame of up to max_frame_bytes() to `destination` (any, where the port carries IP packets),
  /// or none when the port cannot take one now (a queue is full, or its first peer is still to come: try
  /// again later; a port without a peer takes frames and drops them). The refusal says for which stations
  /// that holds: what is for others must not wait for this. Reserving again without commit() gives the first
  /// room up, and returns it again if the destination is the same. The memory is 2-byte aligned for Ethernet
  /// and otherwise uninitialised.
  virtual Room reserve_to(const transport::wire::Mac& destination) = 0;

  /// Whether what was sent to that station still waits in memory for its program, which would take it if it
  /// had its turn on a processor, or that memory, or the one for what comes back, is still being made by
  /// programs that wait for theirs: then no acknowledgement can have come. May ask the kernel.
  virtual bool is_awaiting_turn_of(const transport::wire::Mac& /*station*/) { return false; }

  /// A thread of the program polls on this processor of the host and finds nothing: peers that share memory
  /// with us see it.
  virtual void note_poller(std::uint32_t /*processor*/) {}
  /// Whether the program of such a peer did so last on that processor.
  virtual bool has_poller_on(std::uint32_t /*processor*/) const { return false; }

  /// Room for a frame whose destination is not known yet. A port that has several ways sends it on the one
  /// that reaches every station. There it may be later than a frame reserved for the same station by name.
  std::span<std::byte> reserve() { return reserve_to(transport::wire::Mac::broadcast()).bytes(); }

  /// Sends the first `length` bytes of the reserved room; at least a header, at most max_frame_bytes().
  /// Frames leave in order, at the latest with flush(). The port pads to 60 bytes where its medium demands
  /// it.
  virtual void commit(std::size_t length) = 0;
  /// The same for a RoCE packet with any four bytes in place of its ICRC, where the room allows that
  /// (Room::may_lack_icrc()).
  virtual void commit_without_icrc(std::size_t length) { commit(length); }
  /// The same for a run of such packets, in the first `length` bytes of Room::run(). It counts as all of
  /// them.
  virtual void commit_run(std::size_t /*length*/, RunShape /*shape*/) {}

  /// Hands everything committed to the medium, and takes back a room that was reserved and not committed.
  /// Called once per engine round.
  virtual void flush() = 0;

  /// Whether everything flushed has been taken by the other side (or no peer is there to take it). Asked
  /// before a process ends: frames that still wait in memory it shares would vanish with it.
  virtual bool is_drained() { return true; }

  /// Writes down what is only remembered so far, as a recorder does: the process ends, and may not destroy
  /// the port.
  virtual void write_out() {}

  /// The largest frame, in bytes, that this port can send and receive (link MTU, and + 14 on Ethernet, no
  /// FCS).
  virtual std::size_t max_frame_bytes() const = 0;

  /// A file descriptor that becomes readable when frames wait, or -1 when there is none and the port has to
  /// be polled. It may wake for nothing. Owned by the port; the engine polls it and never reads it itself.
  virtual int wake_fd() const { return -1; }

  /// Arms wake_fd() for the next frame; returns true when frames may be waiting already (then do not sleep).
  /// receive() may be called while armed; disarm() saves the other side the cost of waking us.
  virtual bool arm() { return false; }
  virtual void disarm() {}

  /// When the port wants to be asked again (receive() and flush()) although no frame comes, by the engine's
  /// clock: a port that holds frames back has some that are due then. kNever: not at all.
  virtual transport::Time next_due() const { return transport::kNever; }

  virtual Statistics statistics() const = 0;

  /// One line for people, e.g. "vhost /run/user/1000/wire.sock (front)".
  virtual std::string description() const = 0;
};

}  // namespace urnic::nic
