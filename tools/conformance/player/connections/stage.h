// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Stage: what a script about connections is played on. On one side a connection manager with the program
// above it and a clock. On the other side a peer that the script plays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/conformance/player/connections/conversation.h"
#include "tools/conformance/player/stage.h"
#include "tools/conformance/script/connections/mad.h"
#include "tools/conformance/script/script.h"
#include "tools/conformance/script/trouble.h"
#include "transport/qp_state.h"
#include "transport/result.h"
#include "transport/time.h"
#include "transport/wire/address.h"

namespace urnic::scripts::connections {

struct Settings {
  bool is_ipv6 = false;
  std::uint16_t link_mtu = 4200;
};

enum class Host : std::uint8_t { kOurs, kPeer, kStranger };

/// A message of ours, with what the stage knew when it left.
struct Sent {
  Mad mad;
  transport::Time at{};
  transport::wire::Gid source{};
  transport::wire::Gid destination{};
  /// Of its frame; nothing: the stage does not see it.
  std::optional<std::uint8_t> traffic_class{};
  std::optional<std::uint8_t> service_level{};
  std::string fault{};  ///< empty, or what is wrong around it
  KnownNumbers known{};
};

/// By the name that lines have for it.
struct NamedNumber {
  std::string_view name;
  std::uint64_t value = 0;
};

/// What the program has been told.
struct Event {
  std::string_view name;
  std::uint64_t id = 0;  ///< the stage's number of what it is about; of CONNECT_REQUEST a new one
  int status = 0;
  std::vector<NamedNumber> numbers{};  ///< all that it says
  Octets private_data{};
};

class Stage {
 public:
  using Look = scripts::Stage::Look;

  explicit Stage(const Settings& settings) : settings_(settings) {}
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  bool is_ipv6() const { return settings_.is_ipv6; }
  virtual transport::wire::Gid gid_of(Host host) const = 0;
  /// As rdma_cm's header has its address.
  std::array<std::byte, Mad::kAddressBytes> header_address_of(Host host) const;

  // What happens.

  /// What the program asks of rdma_cm.
  virtual std::optional<Trouble> call(const Statement& statement) = 0;
  /// The first `bytes` of a message from that host.
  virtual std::optional<Trouble> arrive(const Mad& mad, std::size_t bytes, Host from) = 0;
  virtual std::optional<Trouble> pass(transport::Duration duration) = 0;

  // What came out. A stage on which things take time waits for them in these.

  /// Whether sent() has a message.
  virtual bool await_message() { return !sent_.empty(); }
  virtual std::optional<Event> await_event() = 0;
  /// What came out and was not taken. May fetch an event.
  virtual std::optional<std::string> first_unexpected(Look look) = 0;
  /// Whether so much time between two messages is as much as the script says.
  virtual bool is_gap(transport::Duration is, transport::Duration wanted) const { return is == wanted; }

  // Questions. Ids are the stage's numbers.

  /// Until the next timer expires; nothing if none runs.
  virtual Result<std::optional<transport::Duration>, Trouble> next_timer() = 0;
  /// Of an id's connection; "NONE": it has none any more.
  virtual Result<std::string_view, Trouble> state(std::uint64_t id) = 0;
  virtual Result<std::vector<NamedNumber>, Trouble> attributes(std::uint64_t id, transport::QpState to) = 0;
  virtual Result<std::size_t, Trouble> connection_count() = 0;

  std::deque<Sent>& sent() { return sent_; }
  Conversation& conversation() { return conversation_; }
  /// The message that the script took last.
  std::optional<Sent> taken;
  /// Names that the script has given to ids, and to numbers.
  std::map<std::string, std::uint64_t> ids;
  std::map<std::string, std::uint64_t> numbers;

  /// What happened, line by line, with times.
  const std::deque<std::string>& ladder() const { return ladder_; }
  virtual void note(std::string_view text) = 0;

 protected:
  void add_to_ladder(transport::Duration since_start, std::string_view text);

  const Settings settings_;
  Conversation conversation_;
  std::deque<Sent> sent_;

 private:
  std::deque<std::string> ladder_;
};

/// As the ladder and failures show it.
std::string describe(const Event& event);

}  // namespace urnic::scripts::connections
