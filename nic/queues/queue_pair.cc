// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/queue_pair.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nic/adversary/adversary.h"
#include "nic/adversary/endpoint.h"
#include "nic/adversary/placement.h"
#include "nic/errors.h"
#include "nic/path/multicast_groups.h"
#include "nic/path/station.h"
#include "nic/personality/ack_timers.h"
#include "nic/queues/exact_room.h"
#include "nic/queues/make_endpoint.h"
#include "nic/queues/post_observer.h"
#include "nic/queues/queue_pair_state.h"
#include "nic/queues/shared_receive_queue.h"
#include "nic/queues/xrc_domain.h"

namespace urnic::nic {

using transport::QpState;

namespace {

transport::SendQueue::Limits send_limits(const QpCreateAttributes& attributes, const DeviceConfig& device,
                                         bool is_exact) {
  const QpCapabilities& wanted = attributes.capabilities;
  return {.work_requests = wanted.max_send_wr,
          .sges = wanted.max_send_sge,
          .inline_bytes = wanted.max_inline_data,
          .kept_bytes = attributes.type == QpType::kUd ? bytes(usual_path_mtu(device)) : 0,
          .is_exact = is_exact};
}

transport::ReceiveQueue::Limits receive_limits(const QpCapabilities& wanted, bool is_exact) {
  return {.work_requests = wanted.max_receive_wr, .sges = wanted.max_receive_sge, .is_exact = is_exact};
}

transport::QueueMemory* memory_of(const QpCreateAttributes& attributes) {
  return attributes.pd != nullptr ? attributes.pd->memory : nullptr;
}

/// Programs take the port's max_mtu, or a number that they know by heart.
Error path_mtu_too_large(transport::PathMtu wanted, transport::PathMtu most, std::string_view where,
                         std::uint32_t mtu) {
  return {.code = EMSGSIZE,
          .message = fmt::format(
              "path_mtu {} is too large: {} carries IP packets of {} bytes at most, and path_mtu {} fits; "
              "the port's active_mtu fits its usual ways",
              bytes(wanted), where, mtu, bytes(most))};
}

}  // namespace

QueuePair::QueuePair(QueueEngine& engine, transport::Dma& dma, transport::QpEventSink& events,
                     transport::Counters& counters, transport::QpNumber number,
                     const QpCreateAttributes& attributes)
    : engine_(engine),
      number_(number),
      attributes_(attributes),
      schedule_(*this),
      send_queue_(send_limits(attributes, engine.config(), has_exact_room(engine)), memory_of(attributes)),
      receive_queue_(receive_limits(attributes.capabilities, has_exact_room(engine)), memory_of(attributes)),
      monitor_(engine.make_monitor(*this)) {
  Adversary* const adversary = engine.adversary();
  if (adversary != nullptr && !is_for_frames(attributes.type)) {
    const std::uint32_t ordinal = adversary->next_queue_pair();
    placement_ = std::make_unique<Placement>(*adversary, engine.memory(), ordinal);
    endpoint_ = std::make_unique<AdversaryEndpoint>(
        *adversary, ordinal, send_queue_, *placement_,
        make_endpoint(attributes.type, dependencies(*placement_, events, counters)));
  } else {
    endpoint_ = make_endpoint(attributes.type, dependencies(dma, events, counters));
  }
  attributes_.capabilities = {.max_send_wr = send_queue_.limits().work_requests,
                              .max_receive_wr = receive_queue_.limits().work_requests,
                              .max_send_sge = send_queue_.limits().sges,
                              .max_receive_sge = receive_queue_.limits().sges,
                              .max_inline_data = send_queue_.limits().inline_bytes};
  if (&personality() == &personality_of(Column::kDefault)) return;
  restricts_atomics_ =
      personality().atomics == Offer::kNo || personality().atomic_address == AtomicAddress::kAligned;
  likeness_ = std::make_unique<Likeness>();
  return_room_when_polled();
}

// Frames complete by the number of another queue pair (RSS), and an XRC target's receives by its own: what
// the program polls does not lead to the queue there.
void QueuePair::return_room_when_polled() {
  const Personality& nic = personality();
  const bool has_sends = nic.send_room == RoomReturn::kWhenPolled && has_send_queue(attributes_.type);
  const bool has_receives =
      nic.receive_room == RoomReturn::kWhenPolled && has_receive_queue(attributes_.type);
  if (is_for_frames(attributes_.type) || (!has_sends && !has_receives)) return;
  const auto room = std::make_shared<PolledRoom>();
  likeness_->room = room;
  if (has_sends) send_queue_.take_room_from(room->sends_end);
  if (!has_receives) return;
  if (attributes_.srq != nullptr) {
    room->unpolled_receives = attributes_.srq->unpolled();
  } else {
    room->unpolled_receives = std::make_shared<std::atomic<std::uint32_t>>(0);
    receive_queue_.count_taken_in(*room->unpolled_receives);
  }
}

QueuePair::~QueuePair() = default;

transport::QpDependencies QueuePair::dependencies(transport::Dma& dma, transport::QpEventSink& events,
                                                  transport::Counters& counters) {
  transport::ReceiveEnd receiver;
  if (attributes_.srq != nullptr) {
    receiver = attributes_.srq->receive_end(attributes_.receive_queue);
  } else if (has_receive_queue(attributes_.type)) {
    receiver = {.queue = &receive_queue_, .completions = attributes_.receive_queue, .pd = attributes_.pd->id};
  }
  transport::CompletionSink* sends = attributes_.send_queue;
  if (monitor_ != nullptr) {
    if (sends != nullptr) sends = &monitor_->sends();
    if (receiver.completions != nullptr) receiver.completions = &monitor_->receives();
  }
  return {.dma = dma,
          .send_queue = send_queue_,
          .send_completions = sends,
          .receiver = receiver,
          .events = events,
          .counters = counters,
          .xrc_receivers = attributes_.xrc_domain,
          .observer = monitor_.get(),
          .withdrawn_keys = engine_.withdrawn_keys()};
}

// --- The engine's side ---

bool QueuePair::has_send_to(transport::AddressHandleId address) const {
  if (is_connected(attributes_.type)) return false;
  for (std::uint32_t i = send_queue_.head(); i != send_queue_.tail(); ++i) {
    if (send_queue_.at(i).request.destination().address == address) return true;
  }
  return false;
}

void QueuePair::on_packet(const transport::wire::Packet& packet, transport::Time now) {
  if (monitor_ != nullptr) [[unlikely]] {
    monitor_->on_received(packet, now);
  }
  endpoint_->on_packet(packet, now);
}

// The completions of an XRC target belong to the shared receive queues that its peers name, and stay.
void QueuePair::discard_completions(bool may_be_kept) {
  if (personality().unpolled_completions == UnpolledCompletions::kStay) return;
  for (CompletionQueue* const queue : {attributes_.send_queue, attributes_.receive_queue}) {
    if (queue == nullptr || (may_be_kept && queue->keeps_completions_of(number_))) continue;
    const std::uint32_t receives = queue->discard(number_);
    if (const auto told = room()) told->polled_receives(receives);
  }
}

void QueuePair::end() {
  if (placement_ != nullptr) placement_->settle();
  discard_completions(true);
}

bool QueuePair::note_state() {
  const QpState state = endpoint_->state();
  if (posted_state_.load(std::memory_order_relaxed) == state) return false;
  posted_state_.exchange(state, std::memory_order_acq_rel);
  return true;
}

// --- Changing attributes ---

Result<void, Error> QueuePair::modify(const QpAttributes& attributes) {
  if (engine_.is_abandoned()) return failure(abandoned_error());
  if (auto checked = check_ranges(attributes, personality()); !checked) return checked;
  if (attributes.state == QpState::kError) engine_.receive_what_has_come();
  // What was executed for the peer is said before it is forgotten.
  const bool forgets = attributes.state == QpState::kReset || attributes.state == QpState::kError;
  if (forgets) engine_.flush_responses(*this);
  {
    // No thread posts meanwhile: RESET empties the queues.
    const std::scoped_lock queues(send_mutex_, receive_mutex_);
    const std::lock_guard guard(engine_);
    const QpState from = endpoint_->state();
    if (attributes.current_state && *attributes.current_state != from) {
      return failure(invalid("the queue pair is not in the state that was given as the current one"));
    }
    const QpState to = attributes.state.value_or(from);
    if (auto checked = check_transition(attributes_.type, from, to, present_in(attributes)); !checked) {
      return checked;
    }
    if (auto checked = check_route(attributes); !checked) return checked;
    apply(to, merged(current_, attributes));
  }
  // What was posted before completes as flushed, or may be sent at last.
  engine_.ring(*this);
  return success();
}

/// Address vector and path MTU against what this device has.
Result<void, Error> QueuePair::check_route(const QpAttributes& changes) const {
  const DeviceConfig& device = engine_.config();
  if (changes.path_mtu && bytes(*changes.path_mtu) > bytes(max_path_mtu(device))) {
    return failure(path_mtu_too_large(*changes.path_mtu, max_path_mtu(device), "the link", device.link_mtu));
  }
  if (!changes.address) return success();
  if (auto checked = check_address(engine_.gids(), *changes.address); !checked) return checked;
  const transport::wire::Gid& destination = changes.address->destination;
  if (is_multicast(destination)) return failure(invalid("a connection cannot lead to a multicast address"));
  const auto way = engine_.way_to(*changes.address);
  if (!way) return failure(way.error());
  const transport::PathMtu most = max_path_mtu(device, way.value().mtu);
  if (changes.path_mtu && bytes(*changes.path_mtu) > bytes(most)) {
    const std::string name = "the way to " + (destination.is_ipv4_mapped() ? to_string(destination.ipv4())
                                                                           : to_string(destination));
    return failure(path_mtu_too_large(*changes.path_mtu, most, name, way.value().mtu));
  }
  return success();
}

transport::QpConfig QueuePair::config_from(const QpAttributes& attributes) const {
  const DeviceConfig& device = engine_.config();
  const Personality& nic = personality();
  const transport::QpConfig defaults;
  const transport::PathMtu path_mtu = is_connected(attributes_.type)
                                          ? attributes.path_mtu.value_or(defaults.path_mtu)
                                          : usual_path_mtu(device);
  return {
      .service = service_of(attributes_.type).value_or(defaults.service),
      .local_qp = number_,
      .remote_qp = attributes.destination_qp.value_or(defaults.remote_qp),
      .pd = attributes_.pd != nullptr ? attributes_.pd->id : transport::PdId{},
      .access = attributes.access.value_or(defaults.access),
      .path_mtu = path_mtu,
      .receive_psn = attributes.receive_psn.value_or(defaults.receive_psn),
      .max_responder_resources =
          attributes.max_responder_resources.value_or(defaults.max_responder_resources),
      .min_rnr_timer = attributes.min_rnr_timer.value_or(defaults.min_rnr_timer),
      .send_psn = attributes.send_psn.value_or(defaults.send_psn),
      .max_reads_in_flight = attributes.max_reads_in_flight.value_or(defaults.max_reads_in_flight),
      .ack_timeout = attributes.ack_timeout.value_or(defaults.ack_timeout),
      .retry_count = attributes.retry_count.value_or(defaults.retry_count),
      .rnr_retry = attributes.rnr_retry.value_or(defaults.rnr_retry),
      .qkey = attributes.qkey.value_or(defaults.qkey),
      .retry_schedule = likeness_ != nullptr && likeness_->retries.count > 0 ? &likeness_->retries : nullptr,
      .has_endless_retries = nic.seven_retries == SevenRetries::kEndless,
      .is_long_send_operational = nic.long_send == LongSend::kOperationalError,
      .checks_writes_by_packet = nic.long_write == LongWrite::kWholePackets,
      .names_oldest_failure =
          nic.named_failure == NamedFailure::kOldestOutstanding && nic.send_room == RoomReturn::kWhenPolled,
      .marks_sent_immediate = nic.immediate_flag == ImmediateFlag::kBothEnds,
      .notify_when_drained = attributes.notify_when_drained.value_or(false),
      .min_ack_timeout = device.min_ack_timeout,
      .ack_delay = device.ack_delay,
      .window_packets = std::min(device.window_packets, device.window_bytes / bytes(path_mtu)),
      .recovery = recovery(),
      .congestion = device.congestion.is_none() ? nullptr : &device.congestion};
}

void QueuePair::apply(QpState to, const QpAttributes& attributes) {
  const QpState from = endpoint_->state();
  current_ = attributes;
  if (likeness_ != nullptr) {
    likeness_->retries = retry_schedule(personality().ack_timers, attributes.ack_timeout.value_or(0),
                                        attributes.retry_count.value_or(0));
  }
  const transport::QpConfig config = config_from(attributes);
  if (monitor_ != nullptr) monitor_->on_modified();
  switch (to) {
    case QpState::kReset:
      engine_.unschedule(*this);
      // As hardware does: a queue pair that is reset has not completed anything yet.
      discard_completions(false);
      if (const auto told = room()) told->sends_end.store(0, std::memory_order_release);
      engine_.take_only_from(number_, std::nullopt);
      current_ = {};
      agreed_recovery_.reset();
      path_ = {};
      peer_mac_ = {};
      endpoint_->reset();
      break;
    case QpState::kInit:
      endpoint_->to_init(config);
      break;
    case QpState::kReadyToReceive:
      if (is_connected(attributes_.type)) {
        set_address_vector(*attributes.address, config.remote_qp);
        engine_.find_next_hop(*attributes.address);
      }
      endpoint_->to_ready_to_receive(config);
      break;
    case QpState::kReadyToSend:
      if (from == to) {
        endpoint_->update(config);
      } else {
        endpoint_->to_ready_to_send(config);
      }
      break;
    case QpState::kSqDrained:
      if (from == to) {
        if (is_connected(attributes_.type)) set_address_vector(*attributes.address, config.remote_qp);
        endpoint_->update(config);
      } else {
        endpoint_->to_send_queue_drained(config);
      }
      current_.notify_when_drained.reset();
      break;
    default:
      endpoint_->to_error();
  }
  note_state();
  if (PostObserver* const observer = engine_.post_observer()) observer->on_modified(*this);
}

// --- What the peer has, too ---

Result<void, Error> QueuePair::agree_on(ConnectionOptions peer_options) {
  if (engine_.is_abandoned()) return failure(abandoned_error());
  const std::lock_guard guard(engine_);
  if (!is_before_rtr()) return failure(invalid("the peer's options must be known before RTR"));
  agreed_recovery_ = recovery_of(offered_options() & peer_options);
  return success();
}

ConnectionOptions QueuePair::options() const {
  if (engine_.is_abandoned()) return options_of(recovery());
  const std::lock_guard guard(engine_);
  return !agreed_recovery_ && is_before_rtr() ? offered_options() : options_of(recovery());
}

bool QueuePair::is_before_rtr() const {
  const QpState state = endpoint_->state();
  return state == QpState::kReset || state == QpState::kInit;
}

transport::Recovery QueuePair::recovery() const {
  return agreed_recovery_.value_or(transport::Recovery::kGoBackN);
}

void QueuePair::set_address_vector(const AddressVector& address, transport::QpNumber remote_qp) {
  AddressVector marked = address;
  // What came without ECN from the program may be marked where marks are obeyed (ECT(0), RFC 3168).
  constexpr std::uint8_t kEcnBits = 3;
  constexpr std::uint8_t kEct0 = 2;
  const bool has_ecn = (marked.traffic_class & kEcnBits) != 0;
  if (engine_.config().congestion.needs_marks() && !has_ecn) marked.traffic_class |= kEct0;
  path_ = Path::make(marked, engine_.gids().entry_at(address.source_gid_index).value_or(path_.source_entry()),
                     engine_.config().link_source(), number_, remote_qp);
  peer_mac_ = {};
  // Whichever of the host's addresses it is, another one than ours as well.
  const bool is_on_this_host =
      engine_.config().medium == Medium::kIp && engine_.gids().contains(address.destination);
  if (is_on_this_host) path_.set_local_station(station_of(remote_qp));
  engine_.take_only_from(number_, path_.local_station());
}

QpAttributes QueuePair::query() const {
  if (engine_.is_abandoned()) return current_;
  const std::lock_guard guard(engine_);
  const transport::QpConfig config = config_from(current_);
  const QpState state = endpoint_->state();
  const bool has_started = !is_before_rtr();
  return {.state = state,
          .current_state = state,
          .access = config.access,
          .pkey_index = current_.pkey_index.value_or(std::uint16_t{0}),
          .port = current_.port.value_or(std::uint8_t{1}),
          .address = current_.address.value_or(AddressVector{}),
          .path_mtu = config.path_mtu,
          .destination_qp = config.remote_qp,
          .receive_psn = has_started ? endpoint_->next_receive_psn() : config.receive_psn,
          .max_responder_resources = current_.max_responder_resources.value_or(std::uint8_t{0}),
          .min_rnr_timer = config.min_rnr_timer,
          .send_psn = current_.send_psn ? endpoint_->next_send_psn() : config.send_psn,
          .max_reads_in_flight = current_.max_reads_in_flight.value_or(std::uint8_t{0}),
          .ack_timeout = current_.ack_timeout.value_or(std::uint8_t{0}),
          .retry_count = current_.retry_count.value_or(std::uint8_t{0}),
          .rnr_retry = current_.rnr_retry.value_or(std::uint8_t{0}),
          .qkey = config.qkey,
          .is_draining = endpoint_->is_draining()};
}

QueuePairSnapshot QueuePair::snapshot() const {
  const transport::QpConfig& config = endpoint_->config();
  const bool has_peer = path_.header_bytes() > 0;
  return {.number = number_,
          .type = attributes_.type,
          .state = endpoint_->state(),
          .peer_qp = has_peer ? config.remote_qp : transport::QpNumber{},
          .peer = path_.destination(),
          .send_psn = endpoint_->next_send_psn(),
          .receive_psn = endpoint_->next_receive_psn(),
          .msn = endpoint_->msn(),
          .sends_posted = send_queue_.tail() - send_queue_.head(),
          .receives_posted = receive_queue_.size(),
          .progress = endpoint_->send_progress(),
          .congestion = endpoint_->congestion_state(engine_.clock().now()),
          .retry_count = config.retry_count,
          .rnr_retry = config.rnr_retry,
          .ack_timeout = config.ack_timeout,
          .path_mtu = bytes(config.path_mtu),
          .domain = attributes_.pd != nullptr ? std::optional(to_integer(attributes_.pd->id)) : std::nullopt,
          .srq = attributes_.srq != nullptr ? std::optional(attributes_.srq->number()) : std::nullopt,
          .timer = endpoint_->next_timeout()};
}

}  // namespace urnic::nic
