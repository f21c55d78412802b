// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RdmaCmStage: a NIC's rdma_cm with its communication manager and the program above it, in virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic/config.h"
#include "nic/path/gid_table.h"
#include "nic/path/multicast_reports.h"
#include "nic/path/neighbor_cache.h"
#include "nic/rdma_cm/rdma_cm.h"
#include "tools/conformance/player/connections/runner.h"
#include "tools/conformance/player/connections/stage.h"
#include "transport/time.h"

namespace urnic::scripts::connections {

class RdmaCmStage final : public Stage, private nic::rdma_cm::ChannelSignal {
 public:
  /// Messages that come and go, and timers that expire, in one script.
  static constexpr int kMostSteps = 5'000;

  explicit RdmaCmStage(const Settings& settings);
  ~RdmaCmStage() override;

  transport::wire::Gid gid_of(Host host) const override;
  std::optional<Trouble> call(const Statement& statement) override;
  std::optional<Trouble> arrive(const Mad& mad, std::size_t bytes, Host from) override;
  std::optional<Trouble> pass(transport::Duration duration) override;

  std::optional<Event> await_event() override;
  std::optional<std::string> first_unexpected(Look look) override;

  Result<std::optional<transport::Duration>, Trouble> next_timer() override;
  Result<std::string_view, Trouble> state(std::uint64_t id) override;
  Result<std::vector<NamedNumber>, Trouble> attributes(std::uint64_t id, transport::QpState to) override;
  Result<std::size_t, Trouble> connection_count() override;

  void note(std::string_view text) override { add_to_ladder(now_ - begin_, text); }

 private:
  void set(bool) noexcept override {}
  bool may_go_on() { return budget_ > 0 && --budget_ > 0; }
  /// Takes what is to be sent. Returns what went wrong with the run itself.
  std::optional<Trouble> drain();

  // What the program asks for (calls.cc).
  nic::rdma_cm::SocketAddress address_of(Host host, std::uint16_t port) const;
  Result<nic::rdma_cm::IdNumber, Error> create(const Statement& statement);
  Result<void, Error> listen(const Statement& statement);
  Result<void, Error> connect(const Statement& statement);
  Result<void, Error> see_data();
  Result<void, Error> call_on_id(const Statement& statement, nic::rdma_cm::IdNumber id);

  nic::DeviceConfig config_;
  nic::GidTable gids_{config_};
  nic::NeighborCache neighbors_{config_, gids_};
  nic::MulticastReports reports_{config_, gids_};
  nic::rdma_cm::RdmaCm cm_{config_, gids_, neighbors_, reports_};
  nic::rdma_cm::EventChannel channel_{*this};
  transport::Time now_;
  transport::Time begin_;
  int budget_ = kMostSteps;
};

/// Bounded in time and memory, whatever the script says.
Outcome run_connection_script(const Script& script);
/// Does what the script does and checks no result; skips what cannot be done. For fuzzing.
void play_connection_script(const Script& script);

}  // namespace urnic::scripts::connections
