// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/nic/device_pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tests/support/value_of.h"
#include "tools/simulation/kernel/addresses.h"

namespace urnic::nic {

using transport::Access;
using transport::Completion;
using transport::CompletionStatus;
using transport::Sge;

namespace {

constexpr std::size_t kEthernetBytes = 14;
constexpr Access kEverything = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead |
                               Access::kRemoteAtomic | Access::kWindowBind;

DeviceConfig config_of(std::size_t end, const DevicePairOptions& options) {
  DeviceConfig config = kernel::config_of(end);
  config.link_mtu = options.link_mtu;
  config.vlan = options.vlans[end];
  config.medium = options.medium;
  config.congestion = options.congestion[end];
  config.congestion_notifications = options.notifications;
  config.recovery = options.recovery;
  config.personality = options.personality;
  if (config.medium == Medium::kIp) {
    config.host_addresses = {{.gid = transport::wire::Gid::from_ipv4(config.ipv4->address)}};
  }
  config.seed = options.seed + end;
  config.explain = options.explain;
  config.devices = options.devices;
  config.number = options.devices - 1;
  return config;
}

}  // namespace

Host::Host(std::size_t end, FakeWire& wire, const kernel::Clock& clock, const DevicePairOptions& options)
    : memory_(kMemoryBytes),
      encapsulation_(options.encapsulation),
      host_(config_of(end, options), clock,
            [end, &wire, routes = options.routes]() {
              OpenedPort opened(wire.port(end));
              opened.routes = routes;
              return Result<OpenedPort, Error>(std::move(opened));
            },
            {.channel = &channel_, .context = this, .memory = memory_, .access = kEverything}) {
  device().set_event_handlers({.on_qp =
                                   [this](void*, transport::QpEvent event) {
                                     using transport::QpEvent;
                                     events_.push_back(event == QpEvent::kFatal            ? "fatal"
                                                       : event == QpEvent::kSqDrained      ? "drained"
                                                       : event == QpEvent::kLastWqeReached ? "last WQE"
                                                                                           : "qp");
                                   },
                               .on_wq_fatal = [this](void*) { events_.push_back("wq fatal"); },
                               .on_srq_limit = [this](void*) { events_.push_back("srq limit"); },
                               .on_cq_overrun = [this](void*) { events_.push_back("cq overrun"); }});
  EXPECT_TRUE(device().start());
}

Host::~Host() {
  while (!queue_pairs_.empty()) {
    if (queue_pairs_.back()) device().destroy_qp(std::move(queue_pairs_.back()));
    queue_pairs_.pop_back();
  }
  EXPECT_TRUE(host_.close());
}

AddressVector Host::address() const {
  AddressVector address = host_.address();
  address.source_gid_index = host_.device().gids().index_of(address.destination, encapsulation_).value();
  return address;
}

std::uint64_t Host::counter(std::string_view name) const {
  for (const auto& [known, value] : host_.device().all_counters()) {
    if (known == name) return value;
  }
  ADD_FAILURE() << "there is no counter " << name;
  return 0;
}

QpCreateAttributes Host::default_attributes() {
  return {.capabilities = {.max_send_wr = 64,
                           .max_receive_wr = 64,
                           .max_send_sge = 4,
                           .max_receive_sge = 4,
                           .max_inline_data = 128},
          .pd = &pd(),
          .send_queue = &cq(),
          .receive_queue = &cq(),
          .context = this};
}

QueuePair& Host::add_queue_pair(const QpCreateAttributes& attributes) {
  return *queue_pairs_.emplace_back(urnic::test::value_of(device().create_qp(attributes)));
}

void Host::destroy_queue_pair(std::size_t index) {
  device().destroy_qp(std::move(queue_pairs_[index]));
}

void Host::post_receive(std::uint64_t wr_id, std::size_t offset, std::size_t length, std::size_t qp_index) {
  const std::array sges{sge(offset, length)};
  EXPECT_EQ(QueuePair::ReceiveBatch(qp(qp_index)).post({.wr_id = wr_id}, sges), PostStatus::kPosted);
}

void Host::post_send(std::uint64_t wr_id, std::size_t offset, std::size_t length, std::size_t qp_index) {
  post({.wr_id = wr_id, .operation = transport::SendOperation::kSend, .signaled = true}, offset, length,
       qp_index);
}

void Host::post(const transport::SendRequest& request, std::size_t offset, std::size_t length,
                std::size_t qp_index) {
  const std::array sges{sge(offset, length)};
  EXPECT_EQ(QueuePair::SendBatch(qp(qp_index)).post(request, sges), PostStatus::kPosted);
}

std::vector<Completion> Host::poll() {
  std::vector<Completion> all(2048);
  all.resize(cq().poll(all));
  return all;
}

std::string Host::poll_text() {
  std::string text;
  for (const Completion& completion : poll()) {
    if (!text.empty()) text += ", ";
    text += std::to_string(completion.wr_id);
    switch (completion.status) {
      case CompletionStatus::kSuccess:
        text += " ok";
        break;
      case CompletionStatus::kWorkRequestFlushed:
        text += " flushed";
        break;
      case CompletionStatus::kRetryExceeded:
        text += " retry exceeded";
        break;
      default:
        text += " failed";
    }
  }
  return text;
}

DevicePair::DevicePair(const DevicePairOptions& options)
    : wire(options.link_mtu + (options.medium == Medium::kEthernet ? kEthernetBytes : 0), options.medium) {
  for (std::size_t end : {0u, 1u}) hosts[end] = std::make_unique<Host>(end, wire, clock, options);
}

std::size_t DevicePair::connect(const ConnectOptions& options) {
  connect(a(), a().add_queue_pair(), b(), b().add_queue_pair(), options);
  return a().queue_pairs().size() - 1;
}

void DevicePair::connect(Host& a, QueuePair& first, Host& b, QueuePair& second,
                         const ConnectOptions& options) {
  EXPECT_TRUE(kernel::connect(first, to_peer(b, second.number(), options)));
  EXPECT_TRUE(kernel::connect(second, to_peer(a, first.number(), options)));
}

void DevicePair::settle() {
  bool worked = true;
  while (worked) {
    worked = a().device().progress();
    worked |= b().device().progress();
  }
}

void DevicePair::pass(transport::Duration duration) {
  const transport::Time end = clock.now() + duration;
  settle();
  while (clock.now() < end) {
    const transport::Time next = std::min(a().device().next_timeout(), b().device().next_timeout());
    const transport::Duration least = std::chrono::microseconds(1);
    clock.advance(std::min(std::max(next - clock.now(), least), end - clock.now()));
    settle();
  }
}

}  // namespace urnic::nic
