// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ResponderResources: the READs and atomics a responder has been asked, to be answered now or, if asked
// again, once more.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/types.h"
#include "transport/wire/headers.h"

namespace urnic::transport {

/// A ring of the last requests that have a response of their own, in PSN order: READs, atomics, FLUSH and
/// ATOMIC WRITE. One that was answered stays until its place is needed, because its response may be lost and
/// asked for again. A READ is then executed again, whole or from some packet on (fact 26); of the others the
/// result is kept (fact 27).
class ResponderResources {
 public:
  /// What answers a request.
  enum class ResponseKind : std::uint8_t {
    kReadData,           ///< READ responses
    kAtomicAck,          ///< an atomic acknowledgement with what the memory held before
    kEmptyReadResponse,  ///< a READ response without payload: FLUSH and ATOMIC WRITE (fact 32)
  };

  /// Forgets everything and keeps `resources` requests (with 0 every one is refused) of packets of
  /// `mtu_bytes`. Allocates 72 bytes for each of them: a program that asks for few has little.
  void start(std::uint32_t resources, std::uint32_t mtu_bytes);

  /// From now on keeps `resources` requests, as start() says, and forgets nothing at once: where it keeps
  /// more already, they go as new ones come, and a new one is refused while `resources` wait for their first
  /// answer. Allocates.
  void resize(std::uint32_t resources);

  /// Whether as many requests wait for their first answer as the requester may have outstanding. Repeats do
  /// not count: a requester that sends a new one has received the answer of the oldest, even if a repeat of
  /// that one is still on its way.
  bool is_full() const;

  /// Adds a new READ, to be answered after those before it, of memory of this protection domain. `msn` comes
  /// with its responses. Only while !is_full().
  void add(Psn psn, const wire::Reth& reth, PdId pd, std::uint32_t msn);

  /// Adds a request that was executed, with its result. Only while !is_full().
  void add_executed(Psn psn, ResponseKind kind, std::uint64_t original, std::uint32_t msn);

  /// A READ is asked again. False when it is not (inside) one that we remember.
  bool repeat(Psn psn, const wire::Reth& reth);

  /// Another request is asked again and answered with what it was answered before. False when it is not
  /// remembered.
  bool repeat_executed(Psn psn, ResponseKind kind);

  /// One packet of a response, or a run of them.
  struct Part {
    ResponseKind kind = ResponseKind::kReadData;
    std::uint64_t original = 0;  ///< of kAtomicAck
    Psn psn;
    std::uint32_t packets = 1;
    PdId pd{};
    Rkey rkey{};
    std::uint64_t address = 0;
    std::uint32_t size = 0;  ///< bytes, 0 for a READ of nothing
    std::uint32_t msn = 0;   ///< when the request was executed
    bool is_first = false;
    bool is_last = false;
    bool is_repeat = false;  ///< all of it was sent before
  };

  /// The next packet to send, or up to `most` if they are sent for the first time: of the READ with the
  /// lowest PSN that is not answered. Only while has_pending().
  Part next(std::uint32_t most) const;
  /// So many packets that next() named were sent.
  void advance(std::uint32_t packets);

  bool has_pending() const { return first_pending_ < size_; }
  /// The rest of the answer that next() belongs to will not be sent.
  void drop_current();
  /// Nothing of what waits will be sent.
  void drop_pending();

 private:
  struct Resource {
    ResponseKind kind = ResponseKind::kReadData;
    // What is being answered: all of it or, when asked again, its end.
    bool is_pending = false;
    bool was_answered = false;  // completely, at least once
    std::uint32_t sent = 0;     // packets of the answer
    Psn answer_psn{};
    std::uint32_t answer_count = 0;
    wire::Reth answer{};
    // What was asked.
    std::uint64_t original = 0;
    Psn first_psn;
    std::uint32_t packet_count = 0;
    wire::Reth reth;
    PdId pd{};
    std::uint32_t msn = 0;
  };
  static_assert(sizeof(Resource) == 72);

  Resource& resource(std::uint32_t age) { return ring_[(oldest_ + age) % capacity_]; }
  const Resource& resource(std::uint32_t age) const { return ring_[(oldest_ + age) % capacity_]; }
  Resource& make_room();
  void forget_oldest();
  void restart_from(std::uint32_t age);
  void skip_answered();
  std::uint32_t packets(std::uint32_t length) const;
  static void answer_from(Resource& resource, Psn psn, std::uint32_t count, const wire::Reth& reth);

  std::unique_ptr<Resource[]> ring_;
  std::uint32_t capacity_ = 0;  // places in the ring, at least limit_
  std::uint32_t limit_ = 0;     // requests to be kept
  std::uint32_t oldest_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t first_pending_ = 0;  // age of the oldest that waits for its answer; size_ if none does
  std::uint32_t mtu_bytes_ = 0;
};

}  // namespace urnic::transport
