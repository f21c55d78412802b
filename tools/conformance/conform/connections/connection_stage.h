// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ConnectionStage: a stage whose connection manager is a peer's, on a wire. The listener does what the
// script's program does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/conformance/conform/agent/agent.h"
#include "tools/conformance/conform/connections/aliases.h"
#include "tools/conformance/conform/connections/timing.h"
#include "tools/conformance/conform/wire/wire.h"
#include "tools/conformance/player/connections/stage.h"
#include "tools/conformance/script/script.h"
#include "tools/conformance/script/trouble.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::conform::connections {

/// The two hosts of a script about connections.
struct ConnectionPeer {
  transport::wire::Gid peer{};
  transport::wire::Gid tester{};
  /// After which time without a sign of the peer nothing more is taken to come.
  transport::Duration settle = std::chrono::milliseconds(10);
};

/// Whether the script's program does something, or is told something: then there must be a listener.
bool needs_listener(const scripts::Script& script);

/// Outlived by listener and wire. One case, one stage.
class ConnectionStage final : public scripts::connections::Stage {
 public:
  /// `listener`: null if there is none. `number`: another one for each case. kUnavailable: listener, wire or
  /// addresses cannot do what the script wants.
  static Result<std::unique_ptr<ConnectionStage>, scripts::Trouble> create(const scripts::Script& script,
                                                                           const ConnectionPeer& peer,
                                                                           unsigned number, Agent* listener,
                                                                           Wire& wire);
  /// Lets the program forget all that it has, and answers what the peer says of it.
  void end();

  /// Why the listener does not answer any more; nothing if it does. Asks it.
  std::optional<AgentError> find_lost_listener();

  transport::wire::Gid gid_of(scripts::connections::Host host) const override;
  std::optional<scripts::Trouble> call(const scripts::Statement& statement) override;
  std::optional<scripts::Trouble> arrive(const scripts::connections::Mad& mad, std::size_t bytes,
                                         scripts::connections::Host from) override;
  std::optional<scripts::Trouble> pass(transport::Duration duration) override;

  bool await_message() override;
  std::optional<scripts::connections::Event> await_event() override;
  std::optional<std::string> first_unexpected(Look look) override;
  bool is_gap(transport::Duration is, transport::Duration wanted) const override;

  Result<std::optional<transport::Duration>, scripts::Trouble> next_timer() override;
  Result<std::string_view, scripts::Trouble> state(std::uint64_t id) override;
  Result<std::vector<scripts::connections::NamedNumber>, scripts::Trouble> attributes(
      std::uint64_t id, transport::QpState to) override;
  Result<std::size_t, scripts::Trouble> connection_count() override;

  void note(std::string_view text) override { add_to_ladder(wire_.now() - start_, text); }

 private:
  ConnectionStage(const scripts::connections::Settings& settings, const ConnectionPeer& peer,
                  const Timing& timing, Agent* listener, Wire& wire);

  std::optional<scripts::Trouble> set_up(const scripts::Script& script, unsigned number);
  /// The reply, if there is a listener and it answers; a refusal is a reply, too.
  Result<AgentReply, scripts::Trouble> ask(const std::string& line);
  Result<std::uint64_t, scripts::Trouble> id_of(const scripts::Statement& statement) const;
  std::optional<scripts::Trouble> compare_answer(const scripts::Statement& statement,
                                                 const AgentReply& reply) const;

  /// Something happens when the time that has passed is over.
  void begin_span();
  transport::Time last_moment();
  void take_messages(transport::Time until, bool stops_at_first);
  void take(const Arrival& arrival);
  void answer_disconnect(const scripts::connections::Mad& mad);
  bool send(const scripts::connections::Mad& mad, std::size_t bytes);
  /// False: there is none now.
  bool take_event();
  void note_taken(transport::Time at);

  const ConnectionPeer peer_;
  const Timing timing_;
  Agent* const listener_;  // null: there is none
  Wire& wire_;
  std::optional<Aliases> aliases_;
  std::uint32_t next_psn_ = 0;
  std::optional<scripts::connections::Event> event_;  // the oldest one that was not taken
  std::optional<AgentError> lost_listener_;
  const transport::Time start_;
  // The last thing that happened, and how much time of the script has passed since.
  transport::Time span_begin_;
  transport::Duration passed_{0};
  transport::Time last_taken_;  // when the last thing came that the script took
  bool was_taken_ = false;      // since then, and since time passed
  unsigned arrivals_ = 0;       // that the peer was sent since
  bool may_be_behind_ = false;  // something was done, and nothing came since
};

}  // namespace urnic::conform::connections
