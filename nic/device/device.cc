// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/device/device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "nic/adversary/adversary.h"
#include "nic/diagnostics/counter_aliases.h"
#include "nic/engine/engine.h"
#include "nic/engine/farewell.h"
#include "nic/errors.h"
#include "nic/personality/room.h"
#include "nic/raw/indirection_table.h"

namespace urnic::nic {

using transport::Duration;
using transport::Time;
using namespace std::chrono_literals;

namespace {

/// What Linux' RDMA core is known to wait for a neighbor when an address handle is made.
constexpr Duration kLongestResolution = 1s;
constexpr Duration kFirstResolutionPause = 20us;
constexpr Duration kLastResolutionPause = 2ms;

Error no_memory() {
  return out_of("there is no memory for the queue");
}

Result<void, Error> check_needs(const QpCreateAttributes& attributes) {
  if (attributes.type == QpType::kXrcTarget) {
    if (attributes.xrc_domain == nullptr) return failure(invalid("an XRC target needs an XRC domain"));
  } else if (attributes.pd == nullptr) {
    return failure(invalid("a queue pair needs a protection domain"));
  }
  if (has_send_queue(attributes.type) && attributes.send_queue == nullptr) {
    return failure(invalid("a queue pair needs a completion queue for what it sends"));
  }
  const bool receives = has_receive_queue(attributes.type);
  if (receives && attributes.receive_queue == nullptr) {
    return failure(invalid("a queue pair needs a completion queue for what it receives"));
  }
  if (!receives && attributes.srq != nullptr) {
    return failure(invalid("a queue pair that has no receives of its own has no shared ones either"));
  }
  if ((attributes.type == QpType::kRss) != (attributes.rss.table != nullptr)) {
    return failure(invalid("a queue pair for RSS needs an indirection table, others have none"));
  }
  if (attributes.srq != nullptr && attributes.srq->attributes().xrc_domain != nullptr) {
    return failure(invalid("a shared receive queue of an XRC domain is for XRC targets"));
  }
  return success();
}

constexpr RoomService room_service_of(QpType type) {
  switch (type) {
    case QpType::kUd:
      return RoomService::kDatagram;
    case QpType::kXrcInitiator:
    case QpType::kXrcTarget:
      return RoomService::kXrc;
    case QpType::kRawPacket:
    case QpType::kRss:
    case QpType::kWorkQueue:
      return RoomService::kRaw;
    case QpType::kRc:
    case QpType::kUc:
      break;
  }
  return RoomService::kConnected;
}

/// What the device grants of them, where it is like that NIC.
Result<QpCapabilities, Error> granted(const Personality& nic, QpType type, const QpCapabilities& wanted) {
  const auto sizes = granted_sizes(nic, room_service_of(type),
                                   {.sends = wanted.max_send_wr,
                                    .receives = wanted.max_receive_wr,
                                    .send_sges = wanted.max_send_sge,
                                    .receive_sges = wanted.max_receive_sge,
                                    .inline_bytes = wanted.max_inline_data});
  if (!sizes) return sizes.error();
  return QpCapabilities{.max_send_wr = sizes.value().sends,
                        .max_receive_wr = sizes.value().receives,
                        .max_send_sge = sizes.value().send_sges,
                        .max_receive_sge = sizes.value().receive_sges,
                        .max_inline_data = sizes.value().inline_bytes};
}

/// Notes on all objects that a queue pair uses that they have one more user, or one less.
void count_users(const QpCreateAttributes& attributes, int change) {
  const auto count = [change](auto* used) {
    if (used != nullptr) used->users.fetch_add(static_cast<std::uint32_t>(change));
  };
  count(attributes.pd);
  count(attributes.send_queue);
  count(attributes.receive_queue);
  count(attributes.srq);
  count(attributes.xrc_domain);
  count(attributes.rss.table);
}

/// What is known of a neighbor; if that is nothing, asks for it.
NeighborCache::State ask_for(Engine& engine, const AddressVector& address, Time now) {
  const std::lock_guard guard(engine);
  engine.find_next_hop(address);
  return engine.tables().neighbors.resolve(address.destination, now).state;
}

void add_aliases(std::vector<std::pair<std::string_view, std::uint64_t>>& counters) {
  const std::size_t own = counters.size();
  for (const CounterAlias& alias : kCounterAliases) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < own; ++i) {
      const bool is_source =
          std::find(alias.sources.begin(), alias.sources.end(), counters[i].first) != alias.sources.end();
      if (is_source) sum += counters[i].second;
    }
    counters.emplace_back(alias.name, sum);
  }
}

}  // namespace

Device::Device(const DeviceConfig& config, const Clock& clock, PortOpener open_port)
    : config_(config),
      clock_(clock),
      made_at_(clock.now()),
      open_port_(std::move(open_port)),
      gids_(config_),
      engine_(std::make_unique<Engine>(config_, clock_, gids_)) {}

Device::~Device() {
  if (engine_->is_abandoned()) {
    // Threads that are not there any more may hold its locks, and the port is the parent's.
    static_cast<void>(engine_.release());
    return;
  }
  linger();
  engine_->stop();
}

transport::PathMtu Device::max_path_mtu() const {
  return nic::max_path_mtu(config_);
}

transport::PathMtu Device::usual_path_mtu() const {
  return nic::usual_path_mtu(config_);
}

bool Device::update_host(const std::vector<HostAddress>& addresses, bool has_link) {
  const std::lock_guard guard(*engine_);
  const GidTable::Update update = gids_.update(addresses);
  for (const transport::wire::Gid& moved : update.moved) engine_->rdma_cm().on_address_moved(moved);
  const bool had_link = this->has_link();
  has_link_.store(has_link);
  if (had_link && !has_link) ++links_downed_;
  return update.has_changed;
}

Result<void, Error> Device::set_link(bool is_up) {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  const std::lock_guard once(start_mutex_);
  const std::lock_guard guard(*engine_);
  try {
    if (engine_->is_started()) engine_->pipeline().set_link(is_up);
  } catch (const std::bad_alloc&) {
    return failure(no_memory());
  }
  const bool had_link = has_link();
  is_plugged_.store(is_up, std::memory_order_relaxed);
  if (had_link && !is_up) ++links_downed_;
  return success();
}

bool Device::is_started() const {
  return engine_->is_started();
}

Result<void, Error> Device::check_usable() const {
  if (engine_->is_abandoned()) return failure(abandoned_error());
  return success();
}

Result<void, Error> Device::start() {
  if (auto usable = check_usable(); !usable) return usable;
  const std::lock_guard once(start_mutex_);
  if (engine_->is_started()) return success();
  has_begun_.store(true, std::memory_order_release);
  auto opened = open_port_();
  if (!opened) return failure(std::move(opened.error()));
  if (opened.value().port->medium() != config_.medium) {
    return failure(invalid("the device was told of another medium than the port has"));
  }
  if (auto started = engine_->start(std::move(opened.value())); !started) return started;
  if (is_plugged_.load(std::memory_order_relaxed)) return success();
  const std::lock_guard guard(*engine_);
  engine_->pipeline().set_link(false);
  return success();
}

// --- Completion queues ---

Result<std::unique_ptr<CompletionQueue>, Error> Device::create_cq(std::uint32_t capacity,
                                                                  CompletionChannel* channel, void* context,
                                                                  const CompletionQueueOptions& options) {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  if (auto checked = check_completions(*config_.personality, capacity); !checked) {
    return failure(checked.error());
  }
  if (queue_count_.fetch_add(1) >= config_.personality->max_cq) {
    queue_count_.fetch_sub(1);
    return failure(out_of("there are too many completion queues"));
  }
  std::unique_ptr<CompletionQueue> queue;
  try {
    queue = std::make_unique<CompletionQueue>(*engine_, capacity, channel, context, options);
  } catch (const std::bad_alloc&) {
    queue_count_.fetch_sub(1);
    return failure(no_memory());
  }
  if (options.pd != nullptr) options.pd->users.fetch_add(1);
  const std::lock_guard guard(*engine_);
  engine_->pipeline().expect_queues(queue_count_.load());
  return queue;
}

Result<void, Error> Device::resize_cq(CompletionQueue& queue, std::uint32_t capacity) {
  if (auto usable = check_usable(); !usable) return usable;
  if (auto checked = check_completions(*config_.personality, capacity); !checked) return checked;
  return queue.resize(capacity);
}

Result<void, Error> Device::destroy_cq(std::unique_ptr<CompletionQueue>& queue) {
  if (auto usable = check_usable(); !usable) return usable;
  if (queue->users.load() > 0) return failure(busy("queue pairs still use the completion queue"));
  {
    const std::lock_guard guard(*engine_);
    engine_->pipeline().forget_queue(*queue);
  }
  ProtectionDomain* const pd = queue->pd();
  queue.reset();
  if (pd != nullptr) pd->users.fetch_sub(1);
  queue_count_.fetch_sub(1);
  return success();
}

// --- Queue pairs ---

Result<std::unique_ptr<QueuePair>, Error> Device::create_qp(const QpCreateAttributes& attributes) {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  if (auto checked = check_needs(attributes); !checked) return failure(checked.error());
  const auto capabilities = granted(*config_.personality, attributes.type, attributes.capabilities);
  if (!capabilities) return failure(capabilities.error());
  QpCreateAttributes made = attributes;
  made.capabilities = capabilities.value();
  if (config_.medium == Medium::kIp && is_for_frames(attributes.type)) {
    return failure(not_offered(
        "the port carries IP packets, and no Ethernet frames as raw packet queue pairs need them"));
  }
  if (auto started = start(); !started) return failure(started.error());

  std::optional<transport::QpNumber> number;
  {
    const std::lock_guard guard(*engine_);
    const bool has_room = engine_->tables().queue_pairs.count() < config_.personality->max_qp;
    if (has_room) number = engine_->tables().queue_pairs.allocate();
  }
  if (!number) return failure(out_of("there are too many queue pairs"));
  std::unique_ptr<QueuePair> qp;
  try {
    qp = std::make_unique<QueuePair>(*engine_, engine_->tables().memory, engine_->events(),
                                     engine_->counters(), *number, made);
    const std::lock_guard guard(*engine_);
    engine_->pipeline().expect_queue_pairs(engine_->tables().queue_pairs.count());
  } catch (const std::bad_alloc&) {
    const std::lock_guard guard(*engine_);
    engine_->tables().queue_pairs.release(*number);
    return failure(no_memory());
  }
  count_users(attributes, +1);
  const std::lock_guard guard(*engine_);
  engine_->tables().queue_pairs.insert(*number, *qp);
  if (qp->room() != nullptr) rooms_.add(*number, qp->room());
  return qp;
}

void Device::destroy_qp(std::unique_ptr<QueuePair> qp) {
  const QpCreateAttributes attributes = qp->attributes();
  if (engine_->is_abandoned()) {
    // As ~Device(): its locks and lists are not ours.
    static_cast<void>(qp.release());
  } else {
    engine_->flush_responses(*qp);
    send_last_requests(*engine_, *qp);
    const std::lock_guard guard(*engine_);
    if (qp->room() != nullptr) rooms_.remove(qp->number());
    engine_->pipeline().enter_time_wait(*qp, clock_.now());
    engine_->take_only_from(qp->number(), std::nullopt);
  }
  qp.reset();
  count_users(attributes, -1);
}

namespace {

/// The caller has the engine lock.
void fail(Engine& engine, QueuePair& qp) {
  const transport::QpState state = qp.endpoint().state();
  if (state == transport::QpState::kReset || state == transport::QpState::kError) return;
  qp.endpoint().to_error();
  qp.note_state();
  engine.pipeline().wake(qp);
}

}  // namespace

void Device::fail_queue_pairs(const std::function<bool(const QueuePair& qp)>& is_meant) {
  if (!engine_->is_started() || engine_->is_abandoned()) return;
  const std::lock_guard guard(*engine_);
  engine_->tables().queue_pairs.for_each([&](QueuePair& qp) {
    if (is_meant(qp)) fail(*engine_, qp);
  });
}

void Device::fail_completed_work(transport::QpNumber number, bool is_receive) {
  if (!engine_->is_started() || engine_->is_abandoned()) return;
  const std::lock_guard guard(*engine_);
  QueuePair* const qp = engine_->tables().queue_pairs.find(number);
  if (qp == nullptr) return;
  const QpCreateAttributes& attributes = qp->attributes();
  CompletionQueue* const queue = is_receive ? attributes.receive_queue : attributes.send_queue;
  if (queue != nullptr) queue->flush_waiting(number, is_receive);
  fail(*engine_, *qp);
}

Result<void, Error> Device::check_destroyable(const QueuePair& qp) const {
  if (engine_->is_abandoned()) return success();
  const std::lock_guard guard(*engine_);
  if (engine_->tables().groups.has(qp)) {
    return failure(busy("the queue pair is still a member of a multicast group"));
  }
  if (engine_->tables().flows.has(qp.number())) {
    return failure(busy("there are still flow rules for the queue pair"));
  }
  if (qp.users.load() > 0) return failure(busy("the work queue is still in an indirection table"));
  return success();
}

Result<void, Error> Device::check_address(const AddressVector& address) const {
  return nic::check_address(gids_, address);
}

// Nothing waits under the lock: rounds are run in between, by this thread as by any other.
bool Device::resolve(const AddressVector& address) {
  using State = NeighborCache::State;
  if (!engine_->is_started() || engine_->is_abandoned()) return false;
  const Time end = clock_.now() + kLongestResolution;
  for (Duration pause = kFirstResolutionPause;; pause = std::min(2 * pause, kLastResolutionPause)) {
    const Time now = clock_.now();
    const State state = ask_for(*engine_, address, now);
    const bool can_wait = config_.progress != ProgressMode::kManual && now < end;
    if (state == State::kReachable || state == State::kFailed || !can_wait) return state == State::kReachable;
    if (!engine_->try_round().worked) engine_->pause(pause);
  }
}

// --- Progress ---

bool Device::progress() {
  return engine_->try_round().worked;
}

Time Device::next_timeout() const {
  if (!engine_->is_started() || engine_->is_abandoned()) return transport::kNever;
  const std::lock_guard guard(*engine_);
  return engine_->pipeline().next_deadline(clock_.now());
}

void Device::linger() {
  if (!engine_->is_started() || engine_->is_abandoned()) return;
  wait_for_peers(*engine_);
  const std::lock_guard guard(*engine_);
  engine_->pipeline().port().write_out();
}

void Device::abandon_after_fork() {
  engine_->abandon();
}

// --- Congestion control ---

CongestionSettings Device::congestion() const {
  const auto in_force = [this] {
    return CongestionSettings{.choice = config_.congestion,
                              .notifications = config_.congestion_notifications};
  };
  if (engine_->is_abandoned()) return in_force();
  const std::lock_guard guard(*engine_);
  return in_force();
}

// Queue pairs and the notification point read config_, under the same lock.
Result<void, Error> Device::update_congestion(const CongestionSettings& settings) {
  if (auto usable = check_usable(); !usable) return usable;
  {
    const std::lock_guard guard(*engine_);
    if (settings.choice.parameters.index() != config_.congestion.parameters.index()) {
      return failure(invalid("a device keeps the kind of its congestion controllers"));
    }
    config_.congestion = settings.choice;
    config_.congestion_notifications = settings.notifications;
    const Time now = clock_.now();
    engine_->tables().queue_pairs.for_each([&](QueuePair& qp) {
      qp.endpoint().on_congestion_parameters(now);
      // A window may be larger now.
      engine_->pipeline().wake(qp);
    });
  }
  if (config_.progress != ProgressMode::kManual) engine_->try_round();
  return success();
}

// --- Observation ---

const transport::Counters& Device::counters() const {
  return engine_->counters();
}

std::vector<std::pair<std::string_view, std::uint64_t>> Device::all_counters() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> all;
  const auto add = [&all]<typename Kind>(Kind, const auto& value_of) {
    for (std::size_t i = 0; i < transport::count_of<Kind>(); ++i) {
      const auto counter = static_cast<Kind>(i);
      all.emplace_back(name_of(counter), value_of(counter));
    }
  };
  add(transport::Counter{}, [this](transport::Counter counter) { return counters().value(counter); });
  add(DeviceCounter{}, [this](DeviceCounter counter) { return engine_->drops().value(counter); });
  add(NeighborCounter{},
      [this](NeighborCounter counter) { return engine_->tables().neighbors.counter(counter); });
  add(MulticastCounter{},
      [this](MulticastCounter counter) { return engine_->tables().reports.counter(counter); });
  const auto messages = engine_->rdma_cm().messages().counters().all();
  all.insert(all.end(), messages.begin(), messages.end());
  add_aliases(all);
  all.emplace_back("link_downed", links_downed_.load(std::memory_order_relaxed));
  if (!engine_->is_started() || engine_->is_abandoned()) return all;
  const std::lock_guard guard(*engine_);
  const PacketPort::Statistics port = engine_->pipeline().port().statistics();
  all.emplace_back("port_received_frames", port.received_frames);
  all.emplace_back("port_received_bytes", port.received_bytes);
  all.emplace_back("port_sent_frames", port.sent_frames);
  all.emplace_back("port_sent_bytes", port.sent_bytes);
  all.emplace_back("port_dropped_frames", port.dropped_frames);
  all.emplace_back("port_direct_links", port.direct_links);
  all.emplace_back("port_refused_links", port.refused_links);
  all.emplace_back("port_returned_frames", port.returned_frames);
  all.emplace_back("port_foreign_frames", port.foreign_frames);
  return all;
}

Device::ObjectCounts Device::object_counts() const {
  ObjectCounts counts{.completion_queues = queue_count_.load(), .shared_receive_queues = srq_count_.load()};
  if (engine_->is_abandoned()) return counts;
  const std::lock_guard guard(*engine_);
  counts.memory_regions = engine_->tables().memory.region_count();
  counts.memory_windows = engine_->tables().memory.window_count();
  return counts;
}

FailureLog* Device::failures() {
  return engine_->failures();
}

void Device::set_event_handlers(EventHandlers handlers) {
  engine_->events().set_handlers(std::move(handlers));
}

}  // namespace urnic::nic
