// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/direct/direct_port.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "drivers/peer_process.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using transport::wire::Mac;
using Clock = std::chrono::steady_clock;

/// So many frames to one station are a conversation: we ask for a link. After twice as many we ask again, and
/// so on, and in the end after every kAskAgainAfter: a NIC may have come.
constexpr std::uint32_t kConversation = 4;
constexpr std::uint32_t kAskAgainAfter = 4096;
/// For a link to a station, and for the first one from it. The keeper says sooner how it ended, if its thread
/// has a turn.
constexpr auto kLinkPatience = 15s;
/// The mark may wait after frames that a crowded switch has not forwarded yet; but it may also be lost. This
/// is less than the ACK timeouts of programs (the shortest usual one is 67 ms). A frame that overtakes others
/// is sent again, and the connection goes on.
constexpr auto kMarkPatience = 50ms;
/// How many frames of one link come in a row while others have some, too.
constexpr std::size_t kShare = 32;
constexpr std::uint32_t kMostRoundsWithoutWire = 7;
/// So many rounds after the last frame of a link, sent or received, a next one is likely.
constexpr std::uint32_t kBusyRounds = 64;

std::uint64_t key_of(const Mac& mac) {
  std::uint64_t key = 0;
  for (const std::uint8_t octet : mac.octets) key = key << 8 | octet;
  return key;
}

// Without the C library's wrappers, which librspreload replaces.

/// Wakes the process at the other end. That the socket is full is as good: it has been woken before.
void wake(int socket) {
  const char byte = 0;
  syscall(SYS_sendto, socket, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
}

/// Takes what has woken us, at most as much as a socket holds by default twice over.
void take_wake_ups(int socket) {
  constexpr int kMost = 20;
  char byte;
  for (int i = 0;
       i < kMost && syscall(SYS_recvfrom, socket, &byte, sizeof byte, MSG_DONTWAIT, nullptr, nullptr) > 0;
       ++i) {
  }
}

template <typename Link>
void erase(std::vector<Link*>& links, const Link& link) {
  links.erase(std::remove(links.begin(), links.end(), &link), links.end());
}

}  // namespace

Result<std::unique_ptr<DirectPort>, Error> DirectPort::create(std::unique_ptr<nic::PacketPort>& wire,
                                                              Config config) {
  const Mac own = config.own;
  auto keeper = LinkKeeper::start({.own = own,
                                   .max_frame_bytes = static_cast<std::uint32_t>(wire->max_frame_bytes()),
                                   .socket_of = std::move(config.socket_of),
                                   .must_have_icrc = config.must_have_icrc,
                                   .unused_after = config.unused_after,
                                   .tell = std::move(config.tell)});
  if (!keeper) return keeper.error();
  const MarkForm marks(wire->medium(), config.shared_address);
  return std::unique_ptr<DirectPort>(new DirectPort(std::move(wire), std::move(keeper.value()), own, marks));
}

// All memory is taken here.
DirectPort::DirectPort(std::unique_ptr<nic::PacketPort> wire, std::unique_ptr<LinkKeeper> keeper,
                       const Mac& own, const MarkForm& marks)
    : PortAround(std::move(wire)),
      keeper_(std::move(keeper)),
      own_(own),
      marks_(marks),
      nothing_(std::make_unique_for_overwrite<std::byte[]>(inner().max_frame_bytes())) {
  sending_.reserve(LinkKeeper::kMaxSending);
  unflushed_.reserve(LinkKeeper::kMaxSending);
  receiving_.reserve(LinkKeeper::kMaxReceiving);
  news_.sending.reserve(LinkKeeper::kMaxSending);
  news_.receiving.reserve(LinkKeeper::kMaxReceiving);
  news_.refused.reserve(LinkKeeper::kMaxRefused);
  make_wake_fd();
}

// Edge-triggered, except for the wire, which clears its own: what wakes us need not be read at once.
void DirectPort::make_wake_fd() {
  epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
  epoll_event wire_event{.events = EPOLLIN, .data = {}};
  const bool is_complete = epoll_ && inner().wake_fd() >= 0 &&
                           epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, keeper_->wake_fd(), &event) == 0 &&
                           epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, inner().wake_fd(), &wire_event) == 0;
  if (is_complete) wake_fd_ = epoll_.get();
}

// --- Links come and go ---

void DirectPort::take_news() {
  keeper_->take_news(news_);
  for (SendingLink* const link : news_.sending) sending_.push_back(link);
  for (ReceivingLink* const link : news_.receiving) {
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, link->socket, &event);
    if (poller_) link->ring.say_poller(*poller_);
    receiving_.push_back(link);
  }
  for (const Mac& peer : news_.refused) stranger_at(peer).is_refused = true;
  news_.sending.clear();
  news_.receiving.clear();
  news_.refused.clear();
  for (std::size_t i = sending_.size(); i-- > 0;) {
    SendingLink& link = *sending_[i];
    const bool is_over = link.is_over.load(std::memory_order_acquire);
    const bool is_unused = link.is_unused.load(std::memory_order_relaxed);
    if (is_over || (is_unused && can_be_given_back(link))) {
      remove(link);
    } else if (is_unused) {
      link.is_unused.store(false, std::memory_order_relaxed);
    }
  }
  last_key_ = kNoKey;
}

/// An unused link: what is in it must not be overtaken by what goes through the switch. But where the other
/// end takes none of it from one time to the next, no program may be there any more, though its socket is
/// still open in another one.
bool DirectPort::can_be_given_back(SendingLink& link) {
  const std::uint64_t untaken = link.ring.count_untaken();
  const std::uint64_t taken = link.ring.committed_slots() - untaken;
  return untaken == 0 || std::exchange(link.taken_when_unused, taken) == taken;
}

void DirectPort::remove(SendingLink& link) {
  own_statistics_.dropped_frames += link.ring.count_untaken();
  link.ring.say_given_up();
  erase(sending_, link);
  erase(unflushed_, link);
  if (target_ == &link) target_ = nullptr;
  last_key_ = kNoKey;
  // One frame went there: there is no waiting for another link.
  strangers_[key_of(link.peer) % kStrangers] = {.key = key_of(link.peer), .frames = 1};
  keeper_->give_back(link);
}

void DirectPort::count_stranger(const Mac& destination) {
  if (!may_be_linked(destination)) return;
  Stranger& stranger = stranger_at(destination);
  ++stranger.frames;
  const bool is_time = stranger.frames >= kConversation && std::has_single_bit(stranger.frames);
  if (is_time || stranger.frames % kAskAgainAfter == 0) ask_for_link_to(destination, stranger);
}

void DirectPort::ask_for_link_to(const Mac& destination, Stranger& stranger) {
  stranger.asked_at = Clock::now();
  stranger.is_refused = !keeper_->want(destination);
}

bool DirectPort::is_making_link_to(const Stranger& stranger) {
  const bool is_asked = stranger.asked_at != Clock::time_point{} && !stranger.is_refused;
  return is_asked && Clock::now() - stranger.asked_at < kLinkPatience;
}

// --- Receive ---

std::size_t DirectPort::receive(std::span<nic::ReceivedFrame> frames) {
  if (keeper_->has_news()) [[unlikely]] {
    take_news();
  }
  // The switch is not kept waiting by links.
  const std::size_t count = receive_from_links(frames.first(frames.size() - frames.size() / 4));
  if (may_pass_over_wire(count)) return count;
  return count + receive_from_wire(frames.subspan(count));
}

/// While links have frames, or had some lately, the host's sockets are looked at in one round of a few: each
/// look is a system call.
bool DirectPort::may_pass_over_wire(std::size_t link_frames) {
  if (link_frames > 0) busy_rounds_left_ = kBusyRounds;
  const bool is_busy = busy_rounds_left_ > 0;
  busy_rounds_left_ -= is_busy;
  const bool may = medium() == nic::Medium::kIp && is_busy && rounds_without_wire_ < kMostRoundsWithoutWire;
  rounds_without_wire_ = may ? rounds_without_wire_ + 1 : 0;
  if (may) has_wire_given_all_ = false;
  return may;
}

std::size_t DirectPort::receive_from_links(std::span<nic::ReceivedFrame> frames) {
  std::size_t count = 0;
  ReceivingLink* ended = nullptr;
  if (++first_ >= receiving_.size()) first_ = 0;
  for (std::size_t i = 0, at = first_; i < receiving_.size(); ++i, ++at) {
    if (at == receiving_.size()) at = 0;
    ReceivingLink& link = *receiving_[at];
    if (!link.is_open && !is_open(link)) [[unlikely]] {
      continue;
    }
    const bool is_over = link.is_over.load(std::memory_order_acquire);
    const std::size_t found =
        link.ring.receive(frames.subspan(count, std::min(frames.size() - count, kShare)));
    for (const nic::ReceivedFrame& frame : frames.subspan(count, found)) {
      own_statistics_.received_frames += frame.shape().packets;
      own_statistics_.received_bytes += frame.size();
    }
    count += found;
    if ((is_over || link.ring.is_broken()) && !link.ring.has_frames() && found == 0) [[unlikely]] {
      ended = &link;
    }
  }
  if (ended != nullptr) [[unlikely]] {
    own_statistics_.dropped_frames += ended->ring.malformed_frames();
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, ended->socket, nullptr);
    erase(receiving_, *ended);
    keeper_->give_back(*ended);
  }
  return count;
}

/// Before the mark has come. It never comes if the switch had no room for long, or the other NIC has ended.
bool DirectPort::is_open(ReceivingLink& link) {
  if (link.is_over.load(std::memory_order_acquire)) return link.is_open = true;
  if (!link.ring.has_frames()) return false;
  if (link.ring.is_only_way()) return link.is_open = true;
  const Clock::time_point now = Clock::now();
  if (!std::exchange(link.has_waited, true)) link.waiting_since = now;
  link.is_open = now - link.waiting_since > kMarkPatience;
  return link.is_open;
}

std::size_t DirectPort::receive_from_wire(std::span<nic::ReceivedFrame> frames) {
  const std::size_t found = inner().receive(frames);
  has_wire_given_all_ = found < frames.size();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < found; ++i) {
    if (const auto mark = marks_.parse(frames[i])) [[unlikely]] {
      open(mark->nonce);
    } else if (is_foreign(frames[i])) [[unlikely]] {
      ++own_statistics_.foreign_frames;
    } else {
      frames[kept++] = frames[i];
    }
  }
  return kept;
}

/// A peer that has given its link up sends by the wire again.
bool DirectPort::is_foreign(std::span<const std::byte> frame) const {
  const auto sender = guard_.sender_of(frame);
  if (!sender) return false;
  return std::any_of(receiving_.begin(), receiving_.end(), [&](const ReceivingLink* link) {
    const bool is_given_up = link->ring.is_given_up() || link->is_over.load(std::memory_order_acquire);
    return link->peer == *sender && link->is_open && !is_given_up;
  });
}

void DirectPort::take_only_from(transport::QpNumber qp, const std::optional<Mac>& station) {
  if (medium() == nic::Medium::kIp) guard_.take_only_from(qp, station);
}

bool DirectPort::may_hold_frames() const {
  if (!has_wire_given_all_ || inner().may_hold_frames()) return true;
  return std::any_of(receiving_.begin(), receiving_.end(),
                     [](const ReceivingLink* link) { return link->is_open && link->ring.has_frames(); });
}

void DirectPort::open(std::uint64_t nonce) {
  // The link was news before the mark was sent, but perhaps not yet when this receive() began.
  if (keeper_->has_news()) take_news();
  for (ReceivingLink* const link : receiving_) link->is_open |= link->nonce == nonce;
}

// --- Send ---

nic::Room DirectPort::reserve_to(const Mac& destination) {
  destination_ = destination;
  target_ = link_to(destination);
  if (target_ != nullptr) return room_on(*target_);
  if (is_waiting_for_first_link(destination)) return nic::Room::none(nic::Room::Refusal::kStation);
  const nic::Room room = inner().reserve_to(destination);
  return room.empty() ? nic::Room::none(nic::Room::Refusal::kShared) : room;
}

/// Over the host's sockets alone.
bool DirectPort::is_waiting_for_first_link(const Mac& destination) {
  if (medium() == nic::Medium::kEthernet || !may_be_linked(destination)) return false;
  Stranger& stranger = stranger_at(destination);
  if (stranger.frames > 0 || stranger.is_refused) return false;
  if (stranger.asked_at == Clock::time_point{}) ask_for_link_to(destination, stranger);
  if (keeper_->has_news()) take_news();
  return is_making_link_to(stranger);
}

bool DirectPort::may_be_linked(const Mac& destination) const {
  return !destination.is_multicast() && destination != own_ && destination != Mac{};
}

DirectPort::Stranger& DirectPort::stranger_at(const Mac& destination) {
  const Key key = key_of(destination);
  Stranger& stranger = strangers_[key % kStrangers];
  if (stranger.key != key) stranger = {.key = key};
  return stranger;
}

/// Null: through the switch.
SendingLink* DirectPort::link_to(const Mac& destination) {
  const Key key = key_of(destination);
  if (key != last_key_) {
    last_key_ = key;
    const auto found = std::find_if(sending_.begin(), sending_.end(),
                                    [&](const SendingLink* link) { return link->peer == destination; });
    last_link_ = found == sending_.end() ? nullptr : *found;
  }
  if (last_link_ == nullptr) return nullptr;
  if (last_link_->ring.is_broken()) [[unlikely]] {
    remove(*last_link_);
    return nullptr;
  }
  if (!last_link_->has_begun && !begin(*last_link_)) [[unlikely]] {
    return nullptr;
  }
  return last_link_;
}

/// Sends the mark, if the switch has room for it now. It needs none where the station was sent nothing
/// before, as is usual over the host's sockets: there a mark gets lost when the host has lost the address
/// that it is sent from.
bool DirectPort::begin(SendingLink& link) {
  if (medium() == nic::Medium::kIp && stranger_at(link.peer).frames == 0) {
    link.ring.say_only_way();
    return link.has_begun = true;
  }
  const nic::Room room = inner().reserve_to(link.peer);
  if (room.size() < MarkForm::kMaxBytes) return false;
  inner().commit(marks_.emit({.to = link.peer, .from = own_, .nonce = link.nonce}, room.bytes()));
  link.has_begun = true;
  return true;
}

nic::Room DirectPort::room_on(SendingLink& link) {
  const std::span<std::byte> room = link.ring.reserve();
  is_room_for_nothing_ = false;
  if (!room.empty()) {
    link.patience.on_progress();
    return link.may_lack_icrc ? nic::Room::without_icrc(room, link.ring.run_bytes()) : nic::Room(room);
  }
  link.patience.look([&] { return process_may_run(link.process); });
  if (!link.patience.is_given_up()) {
    return nic::Room::none(link.patience.is_stalled() ? nic::Room::Refusal::kStalled
                                                      : nic::Room::Refusal::kStation);
  }
  is_room_for_nothing_ = true;
  return std::span(nothing_.get(), max_frame_bytes());
}

bool DirectPort::is_awaiting_turn_of(const Mac& station) {
  const auto found = std::find_if(sending_.begin(), sending_.end(),
                                  [&](const SendingLink* link) { return link->peer == station; });
  if (found == sending_.end()) return is_making_link_to(stranger_at(station));
  SendingLink& link = **found;
  const std::uint64_t untaken = link.ring.count_untaken();
  if (link.is_over.load(std::memory_order_acquire)) return false;
  if (untaken == 0 && !is_awaiting_first_link_from(link)) return false;
  return link.turn.is_awaited(link.process, link.ring.committed_slots() - untaken);
}

/// A station that is sent something makes a link to us, on which its answer comes.
bool DirectPort::is_awaiting_first_link_from(const SendingLink& link) const {
  if (Clock::now() - link.made_at > kLinkPatience) return false;
  return std::none_of(receiving_.begin(), receiving_.end(),
                      [&](const ReceivingLink* back) { return back->peer == link.peer; });
}

void DirectPort::commit(std::size_t length) {
  if (target_ == nullptr) {
    count_stranger(destination_);
    return inner().commit(length);
  }
  if (is_room_for_nothing_) [[unlikely]] {
    ++own_statistics_.dropped_frames;
    return;
  }
  target_->ring.commit(length);
  note_sent(*target_, length, 1);
}

/// The room was on a link, and not that for nothing.
void DirectPort::commit_without_icrc(std::size_t length) {
  target_->ring.commit_without_icrc(length);
  note_sent(*target_, length, 1);
}

void DirectPort::commit_run(std::size_t length, nic::RunShape shape) {
  target_->ring.commit_run(length, shape);
  note_sent(*target_, length, shape.packets);
}

void DirectPort::note_sent(SendingLink& link, std::size_t length, std::uint32_t packets) {
  own_statistics_.sent_frames += packets;
  own_statistics_.sent_bytes += length;
  busy_rounds_left_ = kBusyRounds;
  if (!link.has_unflushed) {
    link.has_unflushed = true;
    unflushed_.push_back(&link);
  }
}

void DirectPort::flush() {
  inner().flush();
  for (SendingLink* const link : unflushed_) {
    if (link->ring.publish()) wake(link->socket);
    link->frames.store(link->ring.committed_slots(), std::memory_order_relaxed);
    link->has_unflushed = false;
  }
  unflushed_.clear();
}

// --- Who polls where ---

void DirectPort::note_poller(std::uint32_t processor) {
  if (poller_ == processor) return;
  poller_ = processor;
  for (ReceivingLink* const link : receiving_) link->ring.say_poller(processor);
}

bool DirectPort::has_poller_on(std::uint32_t processor) const {
  return std::any_of(sending_.begin(), sending_.end(),
                     [&](SendingLink* link) { return link->ring.poller() == processor; });
}

bool DirectPort::is_drained() {
  const auto is_taken = [](SendingLink* link) {
    return link->is_over.load(std::memory_order_acquire) || link->ring.is_broken() || link->ring.is_empty();
  };
  return inner().is_drained() && std::all_of(sending_.begin(), sending_.end(), is_taken);
}

// --- Sleep ---

bool DirectPort::arm() {
  std::array<epoll_event, LinkKeeper::kMaxReceiving + 2> events;
  epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool has_frames = inner().arm();
  for (ReceivingLink* const link : receiving_) {
    link->ring.arm();
    if (link->ring.take_wake_up()) take_wake_ups(link->socket);
    has_frames |= (link->is_open || is_open(*link)) && link->ring.has_frames();
  }
  return has_frames || keeper_->has_news();
}

void DirectPort::disarm() {
  inner().disarm();
  for (ReceivingLink* const link : receiving_) link->ring.disarm();
}

nic::PacketPort::Statistics DirectPort::statistics() const {
  const Statistics wire = inner().statistics();
  Statistics sum = own_statistics_;
  sum.received_frames += wire.received_frames;
  sum.received_bytes += wire.received_bytes;
  sum.sent_frames += wire.sent_frames;
  sum.sent_bytes += wire.sent_bytes;
  sum.dropped_frames += wire.dropped_frames;
  sum.returned_frames += wire.returned_frames;
  sum.foreign_frames += wire.foreign_frames;
  sum.direct_links = sending_.size();
  sum.refused_links = keeper_->refused_links();
  for (const ReceivingLink* const link : receiving_) sum.dropped_frames += link->ring.malformed_frames();
  return sum;
}

}  // namespace urnic::drivers
