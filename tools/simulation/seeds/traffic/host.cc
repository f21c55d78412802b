// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/traffic/host.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "nic/adversary/adversary.h"
#include "nic/diagnostics/device_counters.h"
#include "nic/engine/engine.h"
#include "tools/simulation/kernel/addresses.h"
#include "tools/simulation/kernel/require.h"

namespace urnic::sim {
namespace {

using kernel::require;
using transport::Access;
using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;

constexpr std::uint32_t kMaxSge = 4;
constexpr std::uint32_t kMaxInline = 256;
constexpr std::uint32_t kMaxUnreliableReceives = 512;
constexpr std::uint32_t kUnreliableCompletions = 8192;

nic::DeviceConfig device_config(HostId host, const Options& options) {
  nic::DeviceConfig config = kernel::config_of(index(host));
  config.name = std::string("sim") + name(host);
  config.ipv6 = nic::Ipv6Interface{.address = gid_of(host, true)};
  config.seed = Random(options.seed, Stream::kDevices).next() + index(host) + 1;
  config.min_ack_timeout = options.min_ack_timeout;
  config.ack_delay = options.ack_delay;
  config.type_2_windows = options.windows_are_2a ? nic::Type2Windows::k2A : nic::Type2Windows::k2B;
  config.window_packets = options.window_packets;
  config.recovery = transport::Recovery::kSelectiveRepeat;  // offered; some connections agree on it
  config.congestion = options.congestion[index(host)];
  return config;
}

Access access_of(Region region) {
  switch (region) {
    case Region::kPrivate:
      return Access::kLocalWrite;
    case Region::kReadable:
      return Access::kRemoteRead;
    case Region::kShared:
      return Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead | Access::kFlushGlobal |
             Access::kWindowBind;
    case Region::kAtomic:
      return Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteAtomic;
  }
  return Access::kNone;
}

}  // namespace

transport::wire::Gid gid_of(HostId host, bool ipv6) {
  return ipv6 ? kernel::ipv6_of(index(host)) : Ipv6Address::from_ipv4(kernel::ipv4_of(index(host)));
}

Host::Host(HostId id, const Options& options, const Plans& plans, const kernel::Clock& clock,
           Network& network, FrameTap& tap)
    : id_(id),
      options_(options),
      memory_(plans.memory[index(id)], options.seed * kMaxHosts + index(id)),
      attachment_{.host = id,
                  .options = options,
                  .clock = clock,
                  .network = network,
                  .tap = tap,
                  .random = Random(options.seed * kMaxHosts + index(id), Stream::kSchedule)} {
  device_ = std::make_unique<nic::Device>(
      device_config(id, options), clock, [this]() -> Result<nic::OpenedPort, Error> {
        return std::unique_ptr<nic::PacketPort>(std::make_unique<SimPort>(attachment_));
      });
  events_.resize(options.all_pairs());
  device_->set_event_handlers({.on_qp =
                                   [](void* context, transport::QpEvent event) {
                                     if (context == nullptr) return;
                                     auto& events = *static_cast<QpEvents*>(context);
                                     events.last_wqe_reached +=
                                         event == transport::QpEvent::kLastWqeReached ? 1 : 0;
                                     events.send_queue_drained +=
                                         event == transport::QpEvent::kSqDrained ? 1 : 0;
                                   },
                               .on_srq_limit = [](void* context) { ++*static_cast<std::uint32_t*>(context); },
                               .on_cq_overrun =
                                   [](void* context) {
                                     if (context != nullptr) ++*static_cast<std::uint32_t*>(context);
                                   }});
  if (options.has_adversary(id)) {
    device_->use(std::make_unique<nic::Adversary>(*options.adversaries[index(id)], acts_));
  }
  require(device_->start());
  pd_ = require(device_->allocate_pd());
  other_pd_ = require(device_->allocate_pd());
  // A key that is stale: its slot may or may not have been given to another region since.
  stale_key_ = register_region(*pd_, Region::kShared, access_of(Region::kShared));
  require(device_->deregister_memory(*pd_, stale_key_));
  for (const Region region : {Region::kPrivate, Region::kReadable, Region::kShared, Region::kAtomic}) {
    keys_[static_cast<std::size_t>(region)] = register_region(*pd_, region, access_of(region));
  }
  other_pd_key_ = register_region(*other_pd_, Region::kShared, access_of(Region::kShared));
  // The new owner of its slot may by chance have got the same number.
  if (std::ranges::find(keys_, stale_key_) != keys_.end() || stale_key_ == other_pd_key_) {
    stale_key_ = unknown_key();
  }
  create_queues();
  create_shared_queues();
  for (const Range& cell : plans.cells[index(id)]) {
    memory_.begin(cell);
    atomics_.emplace(cell.offset, number_at(cell.offset));
  }
}

Host::~Host() {
  static_cast<void>(tear_down());
}

std::optional<std::string> Host::tear_down() {
  std::optional<std::string> complaint;
  const auto require_success = [&complaint](const char* what, const Result<void, Error>& result) {
    if (!result && !complaint) complaint = fmt::format("{}: {}", what, result.error().message);
  };
  for (auto& srq : srqs_) {
    if (srq) require_success("destroying a shared receive queue", device_->destroy_srq(srq));
  }
  if (xrc_domain_) require_success("closing the XRC domain", device_->close_xrc_domain(xrc_domain_));
  for (auto& queue : std::exchange(queues_, {})) {
    require_success("destroying a completion queue", device_->destroy_cq(queue));
  }
  for (const std::uint32_t key : std::exchange(keys_, {})) {
    if (key != 0) require_success("deregistering memory", device_->deregister_memory(*pd_, key));
  }
  if (const std::uint32_t key = std::exchange(other_pd_key_, 0); key != 0) {
    require_success("deregistering memory", device_->deregister_memory(*other_pd_, key));
  }
  return complaint;
}

transport::wire::Gid Host::gid() const {
  return gid_of(id_, options_.ipv6);
}

kernel::ConnectionSettings Host::connection_to(const Host& peer) const {
  return {.address = {.destination = peer.gid(), .source_gid_index = gid_index()},
          .path_mtu = options_.path_mtu,
          .max_reads_in_flight = options_.max_reads_in_flight,
          .min_rnr_timer = options_.min_rnr_timer,
          .ack_timeout = options_.ack_timeout,
          .retry_count = options_.retry_count,
          .rnr_retry = options_.rnr_retry};
}

std::uint64_t Host::number_at(std::uint32_t offset) {
  std::uint64_t number = 0;
  std::memcpy(&number,
              memory_.at({.region = Region::kAtomic, .offset = offset, .length = sizeof number}).data(),
              sizeof number);
  return number;
}

std::optional<std::string> Host::check_atomics() {
  for (const auto& [offset, model] : atomics_) {
    if (const auto complaint = model.judge(number_at(offset))) {
      return fmt::format("at offset {}: {}", offset, *complaint);
    }
  }
  return std::nullopt;
}

std::uint64_t Host::packets_without_neighbor() const {
  return device_->engine().drops().value(nic::DeviceCounter::kNoNeighbor);
}

transport::Rkey Host::allocate_window(nic::WindowType type) {
  return transport::Rkey{require(device_->allocate_window(*pd_, type))};
}

void Host::deallocate_window(transport::Rkey key) {
  require(device_->deallocate_window(*pd_, to_integer(key)));
}

transport::Rkey Host::register_volatile() {
  volatile_key_ = register_region(*pd_, Region::kShared, access_of(Region::kShared));
  return rkey_of(volatile_key_);
}

void Host::deregister_volatile() {
  require(device_->deregister_memory(*pd_, volatile_key_));
}

// Keys' users know the regions by addresses that are the same in every run and are not this process's.
// Most are odd; where numbers must be aligned they are here as there.
std::uint64_t Host::address(const Range& range) const {
  const bool is_aligned = range.region == Region::kAtomic || range.region == Region::kReadable;
  const std::uint64_t start = 0x10'0000'0000u * (static_cast<std::uint64_t>(range.region) + 1) + 0x1000 +
                              (is_aligned ? 0 : 1 + index(id_));
  return start +
         static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(range.offset)));
}

std::uint32_t Host::register_region(nic::ProtectionDomain& pd, Region region, Access access) {
  return require(device_->register_memory(pd, memory_.start(region), memory_.size(region),
                                          address({.region = region}), access))
      .key;
}

void Host::create_queues() {
  const auto create = [this](std::uint32_t capacity) {
    queues_.push_back(require(device_->create_cq(capacity, nullptr, nullptr)));
  };
  const std::uint32_t pairs = options_.all_pairs();
  // Everything in the shared queue may complete on one queue pair.
  const std::uint32_t receives = std::max(options_.receive_depth, options_.shared_receives);
  if (options_.one_cq) {
    create(2 * pairs * (options_.send_depth + receives));
  } else {
    for (std::uint32_t pair = 0; pair < pairs; ++pair) {
      create(2 * options_.send_depth);
      create(2 * receives);
    }
  }
  create(kSharedQueues * 2 * options_.xrc_receives);
  create(kUnreliableCompletions);
}

void Host::create_shared_queues() {
  xrc_domain_ = require(device_->open_xrc_domain());
  for (std::size_t number = 0; number < kSharedQueues; ++number) {
    const bool is_xrc = number > 0;
    const std::uint32_t receives = is_xrc ? options_.xrc_receives : options_.shared_receives;
    if (receives == 0) continue;
    srqs_[number] =
        require(device_->create_srq({.pd = pd_.get(),
                                     .max_wr = receives,
                                     .max_sge = 1,
                                     .xrc_domain = is_xrc ? xrc_domain_.get() : nullptr,
                                     .completions = is_xrc ? queues_[queues_.size() - 2].get() : nullptr,
                                     .context = &limit_events_[number]}));
  }
}

std::uint32_t Host::unknown_xrc_number() const {
  std::uint32_t number = 0;
  const auto is_known = [&] {
    return std::ranges::any_of(srqs_, [&](const auto& srq) { return srq && srq->number() == number; });
  };
  while (number == 0 || is_known()) ++number;
  return number;
}

std::unique_ptr<nic::QueuePair> Host::create_qp(std::uint32_t pair) {
  if (options_.is_xrc[pair]) {
    return require(device_->create_qp({.type = nic::QpType::kXrcInitiator,
                                       .capabilities = {.max_send_wr = options_.send_depth,
                                                        .max_send_sge = kMaxSge,
                                                        .max_inline_data = kMaxInline},
                                       .pd = pd_.get(),
                                       .send_queue = queues_[options_.one_cq ? 0 : 2 * pair].get(),
                                       .context = &events_[pair]}));
  }
  const bool shares = options_.shares_receives(pair);
  return require(device_->create_qp({.capabilities = {.max_send_wr = options_.send_depth,
                                                      .max_receive_wr = shares ? 0 : options_.receive_depth,
                                                      .max_send_sge = kMaxSge,
                                                      .max_receive_sge = shares ? 0 : kMaxSge,
                                                      .max_inline_data = kMaxInline},
                                     .pd = pd_.get(),
                                     .send_queue = queues_[options_.one_cq ? 0 : 2 * pair].get(),
                                     .receive_queue = queues_[options_.one_cq ? 0 : 2 * pair + 1].get(),
                                     .srq = shares ? srqs_[0].get() : nullptr,
                                     .context = &events_[pair]}));
}

std::unique_ptr<nic::QueuePair> Host::create_xrc_target(std::uint32_t pair) {
  return require(device_->create_qp(
      {.type = nic::QpType::kXrcTarget, .xrc_domain = xrc_domain_.get(), .context = &events_[pair]}));
}

std::unique_ptr<nic::CompletionQueue> Host::create_queue(std::uint32_t capacity, std::uint32_t* overruns) {
  return require(device_->create_cq(capacity, nullptr, overruns));
}

std::unique_ptr<nic::QueuePair> Host::create_qp_on(nic::CompletionQueue& queue, std::uint32_t max_sends) {
  return require(device_->create_qp({.capabilities = {.max_send_wr = max_sends, .max_send_sge = 1},
                                     .pd = pd_.get(),
                                     .send_queue = &queue,
                                     .receive_queue = &queue}));
}

std::unique_ptr<nic::QueuePair> Host::create_unreliable_qp(nic::QpType type, bool shares_receives,
                                                           QpEvents& events) {
  return require(
      device_->create_qp({.type = type,
                          .capabilities = {.max_send_wr = options_.send_depth,
                                           .max_receive_wr = shares_receives ? 0 : kMaxUnreliableReceives,
                                           .max_send_sge = 1,
                                           .max_receive_sge = shares_receives ? 0u : 1u},
                          .pd = pd_.get(),
                          .send_queue = queues_.back().get(),
                          .receive_queue = queues_.back().get(),
                          .srq = shares_receives ? srqs_[0].get() : nullptr,
                          .context = &events}));
}

std::unique_ptr<nic::QueuePair> Host::create_connection_qp(QpEvents& events) {
  constexpr std::uint32_t kMost = 8;
  return require(device_->create_qp({.capabilities = {.max_send_wr = kMost,
                                                      .max_receive_wr = kMost,
                                                      .max_send_sge = 1,
                                                      .max_receive_sge = 1},
                                     .pd = pd_.get(),
                                     .send_queue = queues_.back().get(),
                                     .receive_queue = queues_.back().get(),
                                     .context = &events}));
}

transport::AddressHandleId Host::create_address_handle(const transport::wire::Gid& destination) {
  return require(
      device_->create_address_handle(*pd_, {.destination = destination, .source_gid_index = gid_index()}));
}

void Host::destroy_address_handle(transport::AddressHandleId handle) {
  require(device_->destroy_address_handle(*pd_, handle));
}

transport::wire::Gid Host::group() const {
  if (!options_.ipv6) return Ipv6Address::from_ipv4(Ipv4Address{{239, 1, 2, 3}});
  return Ipv6Address{{0xff, 0x1e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34}};
}

void Host::join_group(nic::QueuePair& qp) {
  require(device_->attach_multicast(qp, group()));
}

void Host::leave_group(nic::QueuePair& qp) {
  require(device_->detach_multicast(qp, group()));
}

transport::Sge Host::sge(const Range& range, bool unknown_lkey) const {
  return {.address = address(range),
          .length = range.length,
          .lkey = unknown_lkey ? transport::Lkey{unknown_key()} : lkey(range.region)};
}

transport::Sge Host::plain_sge(const Range& range) {
  return {.address = reinterpret_cast<std::uint64_t>(memory_.at(range).data()), .length = range.length};
}

// A slot that exists with a tag that no key has had.
std::uint32_t Host::unknown_key() const {
  std::uint32_t key = keys_[static_cast<std::size_t>(Region::kShared)];
  do {
    key = (key & ~0xffu) | ((key + 1) & 0xffu);
  } while (key == stale_key_ || key == other_pd_key_);
  return key;
}

}  // namespace urnic::sim
