// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ConnectionTraffic: programs that connect by rdma_cm, and what they may see.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nic/rdma_cm/types.h"
#include "tools/simulation/seeds/scenario/connection_plan.h"
#include "tools/simulation/seeds/traffic/connection_attempt.h"
#include "tools/simulation/seeds/traffic/rdma_cm_client.h"
#include "tools/simulation/seeds/traffic/scene.h"
#include "tools/simulation/seeds/traffic/traffic.h"

namespace urnic::sim {

/// Every attempt ends within the time that retries and MRAs promise: established on both sides, rejected with
/// the reason and the private data that the other side gave, unreachable only if nothing could come through.
/// Both sides agree about queue pairs, communication IDs, PSNs and private data. Data flow over what is
/// established. After a disconnection both ids see DISCONNECTED, and TIMEWAIT_EXIT not before the end of it.
/// Sides may differ only where one of them left, where the network was cut, or where the last message of a
/// side that then forgot was lost; judge_*() say exactly when. In the end nothing is left.
class ConnectionTraffic final : public Traffic {
 public:
  /// `index`: which traffic of the world this is; `first_pair` the first number that is free for connections
  /// of the wire observer.
  ConnectionTraffic(Scene& scene, std::uint32_t index, std::uint32_t first_pair,
                    const ConnectionPlans& plans);
  ~ConnectionTraffic() override;

  void begin() override;
  void on_event(const Event& event) override;
  bool on_completion(HostId host, const transport::Completion& completion) override;
  void on_polled(HostId host) override;
  bool is_done() const override { return is_done_; }
  std::string describe() const override;

 private:
  using End = AttemptEnd;
  using Stage = AttemptEnd::Stage;
  using Attempt = ConnectionAttempt;
  using CmEvent = nic::rdma_cm::Event;

  // connection_traffic.cc: what happens when.
  void after(Duration delay, std::function<void()> step);
  void listen(std::size_t listener);
  void start(Attempt& attempt);
  void start_over(End& end);
  void fetch(HostId host);
  void on_cm_event(HostId host, const CmEvent& event);
  void enter(End& end, Stage stage);
  void expect(End& end, Duration within);
  void on_overdue(End& end);
  void on_quiet(End& end);
  void leave(End& end);
  void end(End& end);
  void wind_up();
  void close_listeners();
  void look_for_remains();
  std::string remains() const;

  // connection_setup.cc: until a connection is established, or is not.
  void resolve(End& end);
  void on_address_error(End& end);
  void connect(End& end);
  void on_request(HostId host, const CmEvent& event);
  void answer(End& end);
  void accept(End& end);
  void on_response(End& end, const CmEvent& event);
  void get_ready(End& end);
  void on_established(End& end, const CmEvent& event);
  void make_qp(End& end);
  void reject(End& end);
  bool connect_qp(End& end);
  Result<void, Error> move_qp(End& end, transport::QpState state);
  void learn_ids(End& end);
  nic::rdma_cm::PrivateBytes private_data(const Attempt& attempt, Side side) const;

  // established_connection.cc: until it is over.
  void begin_data(End& end);
  void post_receives(End& end);
  void observe(End& active, const End& passive);
  void on_send_completion(End& end, const transport::Completion& completion);
  void on_receive_completion(End& end, const transport::Completion& completion);
  void judge_receive_failure(End& end, const transport::Completion& completion);
  bool has_all_data(const End& end) const;
  void finish_when_ready(End& end);
  void finish(End& end);
  void disconnect(End& end);
  void on_disconnected(End& end, const CmEvent& event);
  void on_timewait_exit(End& end);

  // connection_judge.cc: what may be.
  void judge_request(const Attempt& attempt, const CmEvent& event, HostId host);
  void judge_agreement(const End& active, const End& passive);
  void judge_response(const End& end, const CmEvent& event);
  void judge_rejection(const End& end, const CmEvent& event);
  void judge_silence(const End& end, const CmEvent& event);
  void judge_private_data(const End& end, const nic::rdma_cm::PrivateBytes& got,
                          const nic::rdma_cm::PrivateBytes& sent, std::size_t size);
  bool may_be_refused(const End& end) const;
  bool is_cut(const Attempt& attempt) const;
  bool has_peer_gone(const End& end) const;
  Duration longest_wait(const End& end) const;

  const End* peer_of(const End& end) const;
  static const ConnectionData& data_of(const End& end, bool of_peer);
  static Duration timewait_of(const Attempt& attempt);
  RdmaCmClient& client(HostId host) { return *clients_[index(host)]; }
  std::string label(const End& end) const;
  void complain(const End& end, const std::string& what);
  void count(CoverageEvent event) { scene_.coverage.add(event); }

  Scene& scene_;
  std::uint32_t index_;
  std::uint32_t first_pair_;
  const ConnectionPlans& plans_;
  std::vector<std::unique_ptr<RdmaCmClient>> clients_;  // by host
  std::vector<nic::rdma_cm::IdNumber> listeners_;
  std::vector<Time> listening_since_;
  std::deque<Attempt> attempts_;  // by number
  std::map<std::uint64_t, End*> by_uid_;
  std::map<std::pair<HostId, std::uint32_t>, End*> by_qp_;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> steps_;
  std::uint64_t next_step_ = 0;
  std::uint64_t next_uid_ = 1'000'000;
  bool are_listeners_closed_ = false;
  bool is_winding_up_ = false;
  Time closed_{};
  bool is_done_ = false;
};

}  // namespace urnic::sim
