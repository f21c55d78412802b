// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LiveStage: a stage whose queue pair is a peer's, on a wire. The agent does what the script's program does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/conformance/conform/agent/agent.h"
#include "tools/conformance/conform/stage/pace.h"
#include "tools/conformance/conform/stage/peer_memory.h"
#include "tools/conformance/conform/wire/wire.h"
#include "tools/conformance/player/stage.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::conform {

/// What the user says of the peer, and what the tester is to it.
struct Peer {
  std::string device = "-";       ///< of the agent's host; "-": the first
  unsigned port = 1;              ///< of that device
  std::string gid_index = "-";    ///< "-": the agent chooses the one of its own address
  transport::wire::Gid tester{};  ///< the address that packets of the tester come from
  /// After which time without a sign of the peer nothing more is taken to come.
  transport::Duration settle = std::chrono::milliseconds(10);
};

/// Outlived by agent and wire. One case, one stage: what the agent made for it goes with the next.
class LiveStage final : public scripts::Stage {
 public:
  /// Has the agent make memory and a queue pair as the settings say, whose peer is the queue pair `own_qp` of
  /// the wire. `reads_counters`: the script asks for them. kUnavailable: the agent or its NIC cannot.
  static Result<std::unique_ptr<LiveStage>, scripts::Trouble> create(const scripts::Settings& settings,
                                                                     const Pace& pace, const Peer& peer,
                                                                     std::uint32_t own_qp,
                                                                     bool reads_counters, Agent& agent,
                                                                     Wire& wire);

  /// Why the agent does not answer any more; nothing if it does. Asks it.
  std::optional<AgentError> find_lost_agent();

  void note(std::string_view text) override;
  std::optional<scripts::Trouble> post(const transport::SendRequest& request,
                                       std::span<const transport::Sge> elements, bool is_inline) override;
  std::optional<scripts::Trouble> receive(std::optional<std::uint64_t> srq, std::uint64_t wr_id,
                                          std::span<const transport::Sge> elements) override;
  std::optional<scripts::Trouble> arm_limit(std::optional<std::uint64_t> srq, std::uint32_t limit) override;
  std::optional<scripts::Trouble> modify(transport::QpState to) override;
  std::optional<scripts::Trouble> deregister(const std::string& region) override;
  std::optional<scripts::Trouble> change_rights(const std::string& region, transport::Access rights) override;
  std::optional<scripts::Trouble> store(const scripts::Place& place,
                                        std::span<const std::byte> bytes) override;

  std::optional<scripts::Trouble> arrive(const scripts::PacketFields& packet,
                                         std::span<const std::byte> network_header) override;
  std::optional<scripts::Trouble> drain() override;
  std::optional<scripts::Trouble> pass(transport::Duration duration) override;

  Awaited await_packet(const scripts::WantedPacket& wanted) override;
  Awaited await_send_completion() override;
  Awaited await_receive_completion() override;
  Awaited await_event() override;
  std::optional<std::string> first_unexpected(Look look) override;

  Result<scripts::Octets, scripts::Trouble> load(const scripts::Place& place, std::size_t length) override;
  std::optional<scripts::RemotePlace> window(const std::string&) override { return std::nullopt; }
  Result<transport::QpState, scripts::Trouble> state() override;
  Result<Psns, scripts::Trouble> psns() override;
  Result<std::optional<transport::Duration>, scripts::Trouble> next_timer() override;
  Result<std::uint64_t, scripts::Trouble> counter(transport::Counter counter) override;
  std::vector<scripts::FlushRecord>* flushes() override { return nullptr; }
  bool knows_solicited() const override { return false; }

 private:
  LiveStage(const scripts::Settings& settings, const Pace& pace, const Peer& peer, Agent& agent, Wire& wire);

  std::optional<scripts::Trouble> set_up(std::uint32_t own_qp, bool reads_counters);
  std::optional<scripts::Trouble> make_memory();
  std::optional<scripts::Trouble> read_first_counters();
  std::optional<scripts::Trouble> make_queue_pair(std::uint32_t own_qp);
  /// The reply if it is "ok"; else why it is not.
  Result<AgentReply, scripts::Trouble> ask(const std::string& line);
  std::optional<scripts::Trouble> order(const std::string& line);

  /// Times count from now on: something happens.
  void begin_span(transport::Time at);
  Awaited came(transport::Time at);
  transport::Time last_moment();
  bool comes_too_early(transport::Time at) const;
  void settle();
  void take_packets(transport::Time until, bool stops_at_first);
  void take_all();
  /// False: nothing came, or the agent cannot be asked.
  bool take_completion(bool is_send, unsigned milliseconds);
  bool take_events();

  const Pace pace_;
  const Peer peer_;
  Agent& agent_;
  Wire& wire_;
  PeerMemory memory_;
  std::optional<AgentError> lost_agent_;
  std::map<std::string, std::uint64_t> first_counters_;
  transport::Duration counters_age_;  // how old what the device says of counters may be
  transport::QpConfig told_;          // what the queue pair has been told
  transport::QpState state_ = transport::QpState::kReset;
  transport::Time start_;
  // The last thing that happened, and how much time of the script has passed since.
  transport::Time span_begin_;
  transport::Duration passed_{0};
  // All things that happened: any of them may have begun a timer.
  struct Beginning {
    transport::Time at;
    transport::Duration script_time;
  };
  std::vector<Beginning> beginnings_;
  transport::Duration script_time_{0};
  bool may_be_behind_ = false;                     // something was done, and nothing came since
  std::optional<std::string> strange_completion_;  // the last one that no script can name
};

}  // namespace urnic::conform
