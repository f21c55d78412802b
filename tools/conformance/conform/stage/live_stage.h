// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LiveStage: a stage whose queue pair is a peer's, on a wire. The agent does what the script's program does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/conformance/conform/agent/agent.h"
#include "tools/conformance/conform/stage/attributes.h"
#include "tools/conformance/conform/stage/datagrams.h"
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
  std::string gid = "0";          ///< its index, or its 32 digits
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
  std::optional<scripts::RemotePlace> window(const std::string& name) override;
  Result<transport::QpState, scripts::Trouble> state() override;
  Result<Psns, scripts::Trouble> psns() override;
  Result<std::optional<transport::Duration>, scripts::Trouble> next_timer() override;
  Result<std::uint64_t, scripts::Trouble> counter(transport::Counter counter,
                                                  std::uint64_t expected) override;
  std::vector<scripts::FlushRecord>* flushes() override { return nullptr; }
  bool knows_solicited() const override { return false; }
  bool knows_address_handles() const override { return false; }
  /// The addresses must be right; what else is in the header the tester's sockets do not show.
  Result<scripts::Octets, scripts::Trouble> expected_header(std::span<const std::byte> given,
                                                            std::span<const std::byte> there) const override;

 private:
  static constexpr std::size_t kMostMem = 4096;  ///< that the agent reads or writes at once

  struct SharedQueue {
    std::optional<std::uint32_t> script;  ///< the number that a script of XRC gives it
    std::uint64_t number = 0;             ///< of the agent's
    std::uint32_t on_the_wire = 0;        ///< of one for XRC
  };
  struct CompletionQueue {
    std::string poll;  ///< the agent's line, without the time
    bool is_send = false;
    std::optional<std::uint32_t> srq;  ///< the script's number of the shared queue that this is of
  };

  LiveStage(const scripts::Settings& settings, const Pace& pace, const Peer& peer, Agent& agent, Wire& wire);

  // What is there before the script begins (set_up.cc).
  std::optional<scripts::Trouble> set_up(std::uint32_t own_qp, bool reads_counters);
  std::optional<scripts::Trouble> open_device();
  /// The agent's number of a protection domain; without `pd` it is the queue pair's.
  Result<std::uint64_t, scripts::Trouble> find_domain(std::optional<std::uint32_t> pd);
  std::optional<scripts::Trouble> make_region(const scripts::Settings::Region& region);
  std::optional<scripts::Trouble> make_window(const scripts::Settings::Window& window);
  std::optional<scripts::Trouble> make_memory();
  std::optional<scripts::Trouble> make_shared_queue(const scripts::Settings::SharedQueue* of_xrc);
  std::optional<scripts::Trouble> make_shared_queues();
  std::optional<scripts::Trouble> read_first_counters();
  std::optional<scripts::Trouble> make_queue_pair(std::uint32_t own_qp);

  // What the script's program does (program.cc).
  std::optional<scripts::Trouble> bind(const transport::SendRequest& request);
  /// What the agent's `post` says of where a datagram goes.
  Result<std::string, scripts::Trouble> destination_text(const transport::SendRequest& request,
                                                         std::span<const transport::Sge> elements);
  const SharedQueue* shared_queue(std::optional<std::uint64_t> script_number) const;
  /// What packets call an XRC queue of the script. A number of no queue stays the number of none.
  std::uint32_t queue_on_the_wire(std::uint32_t script_number) const;

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
  bool take_completion(const CompletionQueue& queue, unsigned milliseconds);
  /// Of each queue for sends, or for receives, one if there is one.
  bool take_completions(bool is_send, unsigned milliseconds);
  Awaited await_completion(bool is_send);
  bool take_events();
  void await_counters();
  Result<std::uint64_t, scripts::Trouble> read_counter(const std::string& name);

  const Pace pace_;
  const Peer peer_;
  Agent& agent_;
  Wire& wire_;
  const QueuePairKind kind_;
  PeerMemory memory_;
  std::map<std::uint32_t, std::uint64_t> domains_;  // the agent's, by the script's
  std::vector<SharedQueue> shared_queues_;
  std::vector<CompletionQueue> completion_queues_;
  std::size_t port_mtu_ = 0;
  bool has_atomics_ = true;
  std::vector<std::byte> peers_gid_;
  std::optional<Datagrams> datagrams_;                      // of UD
  std::map<std::uint32_t, std::uint64_t> address_handles_;  // the agent's, by the script's
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
