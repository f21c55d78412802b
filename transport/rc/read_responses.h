// ReadResponses: the READs a responder has been asked, to be answered now or, if asked again, once more.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "transport/types.h"
#include "transport/wire/headers.h"

namespace urnic::transport {

/// The responder resources of a connection: a ring of the last READs, in PSN order. One that was answered
/// stays until its place is needed, because its response may be lost and asked for again, whole or from some
/// packet on (fact 26).
class ReadResponses {
 public:
  static constexpr std::uint32_t kMaxResources = 16;

  /// Forgets everything and keeps `resources` READs (0..kMaxResources; with 0 every READ is refused) of
  /// packets of `mtu_bytes`.
  void start(std::uint32_t resources, std::uint32_t mtu_bytes);

  /// Whether as many READs wait for their first answer as the requester may have outstanding. Repeats do not
  /// count: who sends a new READ has received the answer of the oldest, even if a repeat of that one is still
  /// on its way.
  bool is_full() const;

  /// Adds a new READ, to be answered after those before it. `msn` goes into its responses. Only while
  /// !is_full().
  void add(Psn psn, const wire::Reth& reth, std::uint32_t msn);

  /// A READ is asked again; its responses now carry `msn`. False when it is not (inside) one that we
  /// remember.
  bool repeat(Psn psn, const wire::Reth& reth, std::uint32_t msn);

  /// One packet of a response.
  struct Part {
    Psn psn;
    Rkey rkey{};
    std::uint64_t address = 0;
    std::uint32_t size = 0;  ///< bytes, 0 for a READ of nothing
    std::uint32_t msn = 0;
    bool is_first = false;
    bool is_last = false;
    bool is_repeat = false;  ///< all of it was sent before
  };

  /// The next packet to send: of the READ with the lowest PSN that is not answered.
  std::optional<Part> next() const;
  /// The packet that next() named was sent.
  void advance();

  bool has_pending() const { return pending_ > 0; }
  /// The rest of the answer that next() belongs to will not be sent.
  void drop_current();
  /// Nothing of what waits will be sent.
  void drop_pending();

 private:
  struct Resource {
    Psn first_psn;
    std::uint32_t packet_count = 0;
    wire::Reth reth;
    std::uint32_t msn = 0;
    // What is being answered: all of it or, when asked again, its end.
    bool is_pending = false;
    bool was_answered = false;  // completely, at least once
    Psn answer_psn{};
    std::uint32_t answer_count = 0;
    wire::Reth answer{};
    std::uint32_t sent = 0;  // packets of the answer
  };

  Resource& resource(std::uint32_t age) { return ring_[(oldest_ + age) % kMaxResources]; }
  const Resource& resource(std::uint32_t age) const { return ring_[(oldest_ + age) % kMaxResources]; }
  std::optional<std::uint32_t> first_pending() const;  // its age
  std::uint32_t packets(std::uint32_t length) const;
  static void answer_from(Resource& resource, Psn psn, std::uint32_t count, const wire::Reth& reth);

  std::array<Resource, kMaxResources> ring_;
  std::uint32_t capacity_ = 1;
  std::uint32_t oldest_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t pending_ = 0;
  std::uint32_t mtu_bytes_ = 0;
};

}  // namespace urnic::transport
