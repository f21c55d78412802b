// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/leaks.h"

#include <fmt/core.h>

#include <mutex>
#include <optional>
#include <string>

#include "nic/engine/engine.h"
#include "tools/simulation/seeds/traffic/host.h"
#include "tools/simulation/seeds/traffic/shared_receives.h"
#include "tools/simulation/seeds/traffic/volatile_key.h"

namespace urnic::sim {
namespace {

/// What the host's rdma_cm has still though no program uses it.
std::optional<std::string> find_connections(Host& host) {
  nic::Engine& engine = host.device().engine();
  const std::lock_guard guard(engine);
  const auto& cm = engine.rdma_cm();
  const auto& messages = cm.messages();
  const bool has_timers = cm.next_timeout() != transport::kNever;
  if (cm.ids().empty() && messages.connection_count() == 0 && messages.unconfirmed_count() == 0 &&
      !messages.has_outgoing() && !has_timers) {
    return std::nullopt;
  }
  return fmt::format("rdma_cm has {} ids, {} connections, {} of them unconfirmed, {}, {}", cm.ids().size(),
                     messages.connection_count(), messages.unconfirmed_count(),
                     messages.has_outgoing() ? "messages" : "no messages",
                     has_timers ? "timers" : "no timers");
}

}  // namespace

void take_down(Scene& scene) {
  for (Machine& machine : scene.machines) {
    const std::string host(1, name(machine.host->id()));
    scene.referee.complain_if("leak", find_connections(*machine.host), host);
    machine.volatile_key.reset();
    scene.referee.complain_if("leak", machine.host->tear_down(), host);
    // Destroying may send a last word, but touches no memory.
    scene.referee.complain_if("memory", machine.host->memory().check(), host);
  }
  scene.machines.clear();
}

}  // namespace urnic::sim
