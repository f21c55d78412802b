// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The two ends of direct links, as the port that uses them sees them.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "drivers/direct/frame_ring.h"
#include "drivers/direct/peer_turn.h"
#include "drivers/direct/ring_memory.h"
#include "drivers/patience.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// A link to another NIC. The port's thread uses it; the keeper's thread makes and destroys it, and sets the
/// flags.
struct SendingLink {
  SendingLink(const transport::wire::Mac& to, std::uint64_t name, RingMemory ring_memory,
              const RingGeometry& geometry)
      : peer(to), nonce(name), memory(std::move(ring_memory)), ring(memory.bytes(), geometry) {}

  const transport::wire::Mac peer;
  const std::uint64_t nonce;
  const std::chrono::steady_clock::time_point made_at = std::chrono::steady_clock::now();
  const RingMemory memory;
  RingProducer ring;
  bool may_lack_icrc = false;  ///< frames, and be runs, as the other NIC has said
  int socket = -1;             ///< to the other NIC's process, the keeper's; a byte wakes it
  pid_t process = 0;

  std::atomic<bool> is_over{false};      ///< the other NIC has ended, or wants no more frames
  std::atomic<bool> is_unused{false};    ///< for long: give it back once it is empty
  std::atomic<std::uint64_t> frames{0};  ///< sent, as the port tells the keeper

  Patience patience;
  PeerTurn turn;
  std::uint64_t taken_when_unused =
      ~std::uint64_t{0};   ///< frames, when it was unused the last time and not empty
  bool has_begun = false;  ///< the mark was sent
  bool has_unflushed = false;
};

/// A link from another NIC.
struct ReceivingLink {
  ReceivingLink(const transport::wire::Mac& from, std::uint64_t name, RingMemory ring_memory,
                const RingGeometry& geometry, bool must_have_icrc)
      : peer(from),
        nonce(name),
        memory(std::move(ring_memory)),
        ring(memory.bytes(), geometry, must_have_icrc) {}

  const transport::wire::Mac peer;
  const std::uint64_t nonce;
  const RingMemory memory;
  RingConsumer ring;
  int socket = -1;  ///< to the other NIC's process, the keeper's; readable when that wakes us

  std::atomic<bool> is_over{false};  ///< the other NIC no longer writes; its frames are still to be read

  bool is_open = false;  ///< the mark has come
  bool has_waited = false;
  std::chrono::steady_clock::time_point waiting_since;  ///< for the mark, once there are frames
};

}  // namespace urnic::drivers
