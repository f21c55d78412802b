// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Stage: what a script is played on. On one side a queue pair with its program, its memory and a clock. On
// the other side a peer that the script plays.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/conformance/player/settings.h"
#include "tools/conformance/script/packet_text.h"
#include "tools/conformance/script/script.h"
#include "tools/conformance/script/trouble.h"
#include "transport/completion.h"
#include "transport/counters.h"
#include "transport/result.h"
#include "transport/time.h"
#include "transport/work_request.h"

namespace urnic::scripts {

/// Everything that came out and was not yet looked at, stream by stream.
struct Outputs {
  struct Packet {
    PacketFields fields;
    std::string fault;
    std::uint32_t address_handle = 0;
    transport::Time at{};  ///< on the stage's clock
  };
  struct Received {
    transport::Completion completion;
    std::optional<std::uint32_t> srq;
  };

  std::deque<Packet> packets;
  std::deque<transport::Completion> send_completions;
  std::deque<Received> receive_completions;
  std::deque<std::string> events;
};

/// What came out first and was not taken; nothing if all is.
std::optional<std::string> first_of(const Outputs& outputs);

/// What is wrong with a packet, beside what a script says of it; empty: nothing.
std::string fault_of(const PacketFields& packet, const transport::QpConfig& config);

/// What FLUSH asked for.
struct FlushRecord {
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  transport::FlushScope scope{};
  transport::Access access{};
};

/// Where packets of the peer reach a region or a window.
struct RemotePlace {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

/// A packet that the script expects next.
struct WantedPacket {
  std::string_view name;
  std::optional<std::uint32_t> psn;
};

class Stage {
 public:
  static constexpr std::uint32_t kQueueDepth = 64;
  static constexpr std::uint32_t kInlineBytes = 256;

  explicit Stage(const Settings& settings) : settings_(settings) {}
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  transport::QpConfig& config() { return settings_.config; }
  const Settings& settings() const { return settings_; }
  Outputs& outputs() { return outputs_; }
  /// What happened, line by line, with times.
  const std::deque<std::string>& ladder() const { return ladder_; }
  virtual void note(std::string_view text) = 0;

  // What the program does.

  virtual std::optional<Trouble> post(const transport::SendRequest& request,
                                      std::span<const transport::Sge> elements, bool is_inline) = 0;
  /// `srq` is the number of an XRC queue.
  virtual std::optional<Trouble> receive(std::optional<std::uint64_t> srq, std::uint64_t wr_id,
                                         std::span<const transport::Sge> elements) = 0;
  virtual std::optional<Trouble> arm_limit(std::optional<std::uint64_t> srq, std::uint32_t limit) = 0;
  /// A step of modify_qp; config() has its attributes.
  virtual std::optional<Trouble> modify(transport::QpState to) = 0;
  virtual std::optional<Trouble> deregister(const std::string& region) = 0;
  virtual std::optional<Trouble> change_rights(const std::string& region, transport::Access rights) = 0;
  virtual std::optional<Trouble> store(const Place& place, std::span<const std::byte> bytes) = 0;

  // What the peer and the clock do.

  virtual std::optional<Trouble> arrive(const PacketFields& packet,
                                        std::span<const std::byte> network_header) = 0;
  /// The queue pair does all that it has to do now, if it does not do so by itself.
  virtual std::optional<Trouble> drain() = 0;
  virtual std::optional<Trouble> pass(transport::Duration duration) = 0;

  // What came out. A stage on which things take time waits for them in these.

  enum class Awaited : std::uint8_t {
    kCame,     ///< the stream has something
    kNothing,  ///< it has nothing, and nothing will come
    kCovered,  ///< what is there stands for what is wanted, and for more
  };
  virtual Awaited await_packet(const WantedPacket&) { return has(outputs_.packets); }
  virtual Awaited await_send_completion() { return has(outputs_.send_completions); }
  virtual Awaited await_receive_completion() { return has(outputs_.receive_completions); }
  virtual Awaited await_event() { return has(outputs_.events); }
  enum class Look : std::uint8_t {
    kBeforeAction,  ///< the next thing is done now
    kBeforeTime,    ///< the script lets time pass before it does the next thing
    kSilence,       ///< the script says that nothing came, or ends
  };
  /// What came out and was not taken.
  virtual std::optional<std::string> first_unexpected(Look) { return first_of(outputs_); }

  // Questions.

  virtual Result<Octets, Trouble> load(const Place& place, std::size_t length) = 0;
  virtual std::optional<RemotePlace> window(const std::string& name) = 0;
  virtual Result<transport::QpState, Trouble> state() = 0;
  struct Psns {
    std::uint32_t send = 0;
    std::uint32_t receive = 0;
  };
  virtual Result<Psns, Trouble> psns() = 0;
  /// Until the next timer expires; nothing if none runs.
  virtual Result<std::optional<transport::Duration>, Trouble> next_timer() = 0;
  /// A stage that knows counters late waits until it is so great.
  virtual Result<std::uint64_t, Trouble> counter(transport::Counter counter, std::uint64_t expected) = 0;
  /// Whether completions say that their message was a solicited one: the verbs do not.
  virtual bool knows_solicited() const { return true; }
  /// Whether a datagram that comes out tells which address handle it was posted with.
  virtual bool knows_address_handles() const { return true; }
  /// What must stand in front of a datagram for which arrive() was given the IP header `given`, where `there`
  /// stands: on a wire the header is another one.
  virtual Result<Octets, Trouble> expected_header(std::span<const std::byte> given,
                                                  std::span<const std::byte> /*there*/) const {
    return Octets(given.begin(), given.end());
  }
  /// That were carried out and not taken. Null: the stage cannot tell.
  virtual std::vector<FlushRecord>* flushes() = 0;

 protected:
  void add_to_ladder(transport::Duration since_start, std::string_view text);

  Settings settings_;
  Outputs outputs_;

 private:
  template <typename Stream>
  static Awaited has(const Stream& stream) {
    return stream.empty() ? Awaited::kNothing : Awaited::kCame;
  }

  std::deque<std::string> ladder_;
};

/// As the ladder and failures show it.
std::string describe(const transport::Completion& completion, std::string_view word);

}  // namespace urnic::scripts
