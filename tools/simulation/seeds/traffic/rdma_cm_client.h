// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RdmaCmClient: how the programs of one simulated host speak to its rdma_cm.
#pragma once

#include <mutex>
#include <optional>
#include <utility>

#include "nic/engine/engine.h"
#include "nic/rdma_cm/event_channel.h"
#include "nic/rdma_cm/rdma_cm.h"
#include "tools/simulation/seeds/traffic/host.h"
#include "tools/simulation/seeds/traffic/scene.h"

namespace urnic::sim {

/// One event channel, for all programs of the host.
class RdmaCmClient final : private nic::rdma_cm::ChannelSignal {
 public:
  RdmaCmClient(Scene& scene, HostId host) : scene_(scene), host_(host), channel_(*this) {}
  RdmaCmClient(const RdmaCmClient&) = delete;
  RdmaCmClient& operator=(const RdmaCmClient&) = delete;

  /// What `operation` returns when it is called with the RdmaCm and the channel under the engine lock. The
  /// engine runs afterwards.
  template <typename Operation>
  auto call(Operation operation) {
    nic::Engine& engine = scene_.host(host_).device().engine();
    scene_.ring(host_);
    const std::lock_guard guard(engine);
    return operation(engine.rdma_cm(), channel_);
  }

  ~RdmaCmClient() override {
    while (call(
        [this](nic::rdma_cm::RdmaCm& cm, auto& channel) { return cm.end_some_of(channel, scene_.now()); })) {
    }
  }

  bool has_events() const { return has_events_; }
  std::optional<nic::rdma_cm::Event> next_event() {
    return call([](nic::rdma_cm::RdmaCm& cm, auto& channel) { return cm.next_event(channel); });
  }

  /// A program will look for events soon.
  bool is_fetching = false;

 private:
  void set(bool has_events) noexcept override { has_events_ = has_events; }

  Scene& scene_;
  HostId host_;
  nic::rdma_cm::EventChannel channel_;
  bool has_events_ = false;
};

}  // namespace urnic::sim
