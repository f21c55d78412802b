// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/direct/link_keeper.h"

#include <fmt/core.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "drivers/direct/greeting.h"
#include "drivers/peer_user.h"
#include "nic/host/random_bits.h"
#include "nic/process/may_wait.h"
#include "nic/process/own_thread.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;

/// For an answer, which another thread gives. It is waited for longer where that only waits for its turn on a
/// processor.
constexpr auto kHandshakePatience = 1s;
constexpr auto kRefusalLasts = 1s;
constexpr int kHandshakePollMs = 100;
/// A sender that finds the ring full waits for the other process: 64 KiB messages are 1.4 times as fast with
/// 512 slots as with
/// 128. But a NIC that talks to many does not need so much memory for each of them.
constexpr std::size_t kRoomyLinks = 4;
constexpr std::uint32_t kRoomySlots = 512;
constexpr std::uint32_t kSlots = 128;

/// The system call without the C library's function, which librspreload replaces: the port's thread asks.
void signal(int event_fd) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const long written = syscall(SYS_write, event_fd, &one, sizeof one);
}

Descriptor watch_process(pid_t process) {
  return Descriptor(process > 0 ? static_cast<int>(syscall(SYS_pidfd_open, process, 0)) : -1);
}

pid_t process_at(int socket) {
  const auto peer = peer_of(socket);
  return peer ? peer->pid : 0;
}

template <typename Message>
std::span<std::byte> bytes_of(Message& message) {
  return std::as_writable_bytes(std::span(&message, 1));
}

/// The largest ring of these frames that fits, where there are so many links already.
RingGeometry geometry_for(std::uint32_t max_frame_bytes, std::size_t links) {
  RingGeometry geometry{.slots = links < kRoomyLinks ? kRoomySlots : kSlots,
                        .max_frame_bytes = max_frame_bytes};
  while (!geometry.is_valid() && geometry.slots > 1) geometry.slots /= 2;
  return geometry;
}

}  // namespace

Result<std::unique_ptr<LinkKeeper>, Error> LinkKeeper::start(Config config) {
  auto listener = listen_for_links(config.socket_of(config.own));
  if (!listener) return listener.error();
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Descriptor request(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake || !request) {
    const int code = errno;
    return Error{.code = code, .message = "cannot make an eventfd: " + std::generic_category().message(code)};
  }
  std::unique_ptr<LinkKeeper> keeper(
      new LinkKeeper(std::move(config), std::move(listener.value()), std::move(wake), std::move(request)));
  try {
    keeper->thread_ = nic::start_own_thread("urnic-links", [it = keeper.get()] { it->run(); });
  } catch (const std::system_error& error) {
    return Error{.code = error.code().value(),
                 .message = std::string("cannot start the thread of direct links: ") + error.what()};
  }
  return keeper;
}

LinkKeeper::LinkKeeper(Config config, Descriptor listener, Descriptor wake, Descriptor request)
    : config_(std::move(config)),
      incarnation_(static_cast<std::uint32_t>(nic::random_bits())),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      request_(std::move(request)) {
  news_.sending.reserve(kMaxSending);
  news_.receiving.reserve(kMaxReceiving);
  news_.refused.reserve(kMaxRefused);
  wanted_.reserve(kMaxWanted);
  given_back_.reserve(kMaxSending + kMaxReceiving);
}

LinkKeeper::~LinkKeeper() {
  if (thread_.joinable()) {
    nic::assert_may_wait();
    is_stopping_.store(true);
    signal(request_.get());
    thread_.join();
  }
  remove_link_socket(config_.socket_of(config_.own));
}

// --- The port's thread ---

void LinkKeeper::take_news(News& news) {
  const std::lock_guard lock(mutex_);
  // Not a plain store: it sees the flags that were set before what it overwrites.
  has_news_.exchange(false, std::memory_order_acq_rel);
  news.sending.insert(news.sending.end(), news_.sending.begin(), news_.sending.end());
  news.receiving.insert(news.receiving.end(), news_.receiving.begin(), news_.receiving.end());
  news.refused.insert(news.refused.end(), news_.refused.begin(), news_.refused.end());
  news_.sending.clear();
  news_.receiving.clear();
  news_.refused.clear();
}

bool LinkKeeper::want(const Mac& peer) {
  {
    const std::lock_guard lock(mutex_);
    if (has_ended_ || wanted_.size() == kMaxWanted) return false;
    wanted_.push_back(peer);
  }
  signal(request_.get());
  return true;
}

void LinkKeeper::give_back(SendingLink& link) {
  {
    const std::lock_guard lock(mutex_);
    given_back_.push_back(&link);
  }
  signal(request_.get());
}

void LinkKeeper::give_back(ReceivingLink& link) {
  {
    const std::lock_guard lock(mutex_);
    given_back_.push_back(&link);
  }
  signal(request_.get());
}

// --- The keeper's thread ---

void LinkKeeper::run() {
  while (!is_stopping_.load()) {
    wait();
    const Clock::time_point now = Clock::now();
    // A program that closes descriptors which it does not know has closed ours.
    if (((polled_[0].revents | polled_[1].revents) & POLLNVAL) != 0) return end_all(now);
    do_what_the_port_asked(now);
    if ((polled_[1].revents & POLLIN) != 0) accept_all(now);
    look_at_connections(now);
    look_for_unused(now);
    forget_ended();
  }
}

int LinkKeeper::timeout_ms() const {
  const auto is_young = [](const auto& connection) { return connection->link == nullptr; };
  const auto is_asked = [](const auto& connection) { return !connection->is_up && !connection->is_over; };
  if (std::any_of(incoming_.begin(), incoming_.end(), is_young) ||
      std::any_of(outgoing_.begin(), outgoing_.end(), is_asked)) {
    return kHandshakePollMs;
  }
  const auto quarter = static_cast<int>(config_.unused_after.count() / 4);
  return outgoing_.empty() ? -1 : std::max(quarter, 1);  // see look_for_unused()
}

void LinkKeeper::wait() {
  polled_.clear();
  polled_.push_back({.fd = request_.get(), .events = POLLIN, .revents = 0});
  polled_.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
  const auto add = [this](Connection& connection, bool is_young) {
    const bool is_over = connection.is_over;
    connection.polled_at = polled_.size();
    // Bytes that wake are the port's to read.
    const short events = is_young ? POLLIN : POLLRDHUP;
    polled_.push_back({.fd = is_over ? -1 : connection.socket.get(), .events = events, .revents = 0});
    polled_.push_back({.fd = is_over ? -1 : connection.process.get(), .events = POLLIN, .revents = 0});
  };
  for (const auto& outgoing : outgoing_) add(*outgoing, !outgoing->is_up);
  for (const auto& incoming : incoming_) add(*incoming, incoming->link == nullptr);
  if (poll(polled_.data(), polled_.size(), timeout_ms()) <= 0) {
    for (pollfd& each : polled_) each.revents = 0;
  }
}

void LinkKeeper::do_what_the_port_asked(Clock::time_point now) {
  if ((polled_[0].revents & POLLIN) == 0) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const auto bytes = read(request_.get(), &count, sizeof(count));
  std::vector<Mac> wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted = wanted_;
    wanted_.clear();
    for (const void* const link : given_back_) {
      for (auto& outgoing : outgoing_) outgoing->was_given_back |= outgoing->link.get() == link;
      for (auto& incoming : incoming_) incoming->was_given_back |= incoming->link.get() == link;
    }
    given_back_.clear();
  }
  for (const Mac& peer : wanted) {
    if (!connect_to(peer, now)) tell_refused(peer);
  }
}

bool LinkKeeper::connect_to(const Mac& peer, Clock::time_point now) {
  const auto is_to_peer = [&](const auto& outgoing) {
    return outgoing->link->peer == peer && !outgoing->is_over;
  };
  if (std::any_of(outgoing_.begin(), outgoing_.end(), is_to_peer)) return true;
  return can_connect_to(peer, now) && greet(peer, now);
}

/// It was not refused just now, and there is room for one more link.
bool LinkKeeper::can_connect_to(const Mac& peer, Clock::time_point now) {
  const auto was_refused = [&](const Refusal& refusal) {
    return refusal.peer == peer && now < refusal.until;
  };
  if (std::any_of(refusals_.begin(), refusals_.end(), was_refused)) return false;
  refuse(peer, now);  // until it is up
  if (outgoing_.size() < kMaxSending) return true;
  count_refused();
  if (config_.tell && !std::exchange(has_told_, true)) {
    config_.tell(
        fmt::format("this NIC has direct links to {} others, as many as it may; packets to further ones go "
                    "another way, which is slower (port_refused_links of 'urnic stat' counts); a link that "
                    "is not used for 10 s makes room",
                    kMaxSending));
  }
  make_room(now);
  return false;
}

/// The link that is longest unused makes room for a next attempt.
void LinkKeeper::make_room(Clock::time_point now) {
  const auto oldest = std::min_element(outgoing_.begin(), outgoing_.end(), [](const auto& a, const auto& b) {
    return a->last_used < b->last_used;
  });
  if (now - (*oldest)->last_used > kRefusalLasts) {
    (*oldest)->link->is_unused.store(true, std::memory_order_relaxed);
    tell_port();
  }
}

/// Makes the link's memory and sends the Hello. Whether the other NIC's keeper may answer now.
bool LinkKeeper::greet(const Mac& peer, Clock::time_point now) {
  auto socket = connect_for_link(config_.socket_of(peer));
  if (!socket) return false;
  const RingGeometry geometry = geometry_for(config_.max_frame_bytes, outgoing_.size());
  auto memory = RingMemory::create(geometry.bytes());
  if (!memory) return false;
  Hello hello{.nonce = nic::random_bits(),
              .geometry = geometry,
              .from = config_.own,
              .to = peer,
              .incarnation = incarnation_};
  if (!send_message(socket.value().get(), bytes_of(hello), memory.value().file())) return false;
  memory.value().close_file();  // a program may have few descriptors
  auto outgoing = std::make_unique<Outgoing>();
  outgoing->link = std::make_unique<SendingLink>(peer, hello.nonce, std::move(memory.value()), geometry);
  outgoing->socket = std::move(socket.value());
  outgoing->since = outgoing->last_used = now;
  outgoing_.push_back(std::move(outgoing));
  return true;
}

void LinkKeeper::refuse(const Mac& peer, Clock::time_point now) {
  std::erase_if(refusals_,
                [&](const Refusal& refusal) { return refusal.peer == peer || now >= refusal.until; });
  refusals_.push_back({.peer = peer, .until = now + kRefusalLasts});
}

void LinkKeeper::on_welcome(Outgoing& outgoing, Clock::time_point now) {
  Welcome welcome;
  const bool is_fine = receive_message(outgoing.socket.get(), bytes_of(welcome)) &&
                       welcome.magic == kLinkMagic && welcome.version == kLinkVersion &&
                       welcome.nonce == outgoing.link->nonce;
  if (!is_fine) return on_end(outgoing, now);
  outgoing.incarnation = welcome.incarnation;
  outgoing.link->may_lack_icrc = welcome.may_lack_icrc == 1;
  outgoing.link->socket = outgoing.socket.get();
  outgoing.link->process = process_at(outgoing.socket.get());
  outgoing.process = watch_process(outgoing.link->process);
  outgoing.is_up = true;
  outgoing.last_used = now;
  {
    const std::lock_guard lock(mutex_);
    news_.sending.push_back(outgoing.link.get());
  }
  tell_port();
}

void LinkKeeper::accept_all(Clock::time_point now) {
  for (;;) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (!is_trusted_peer(socket.get()) || incoming_.size() >= kMaxReceiving) continue;
    auto incoming = std::make_unique<Incoming>();
    incoming->socket = std::move(socket);
    incoming->since = now;
    incoming_.push_back(std::move(incoming));
  }
}

void LinkKeeper::on_hello(Incoming& incoming, Clock::time_point now) {
  Hello hello;
  auto file = receive_with_descriptor(incoming.socket.get(), bytes_of(hello));
  const bool is_fine = file && hello.magic == kLinkMagic && hello.version == kLinkVersion &&
                       hello.to == config_.own && hello.from != config_.own && hello.geometry.is_valid();
  if (!is_fine) return on_end(incoming);
  auto memory = RingMemory::adopt(std::move(*file), hello.geometry.bytes());
  if (!memory) return on_end(incoming);
  end_links_of_others_than(hello.from, hello.incarnation, now);
  incoming.incarnation = hello.incarnation;
  incoming.link = std::make_unique<ReceivingLink>(hello.from, hello.nonce, std::move(memory.value()),
                                                  hello.geometry, config_.must_have_icrc);
  incoming.link->socket = incoming.socket.get();
  incoming.process = watch_process(process_at(incoming.socket.get()));
  {
    const std::lock_guard lock(mutex_);
    news_.receiving.push_back(incoming.link.get());
  }
  tell_port();
  // After the news: the mark comes after the Welcome, and the port must know the link by then.
  Welcome welcome{.nonce = hello.nonce,
                  .incarnation = incarnation_,
                  .may_lack_icrc = static_cast<std::uint8_t>(!config_.must_have_icrc)};
  if (!send_message(incoming.socket.get(), bytes_of(welcome))) return on_end(incoming);
  // A NIC that receives something usually answers; and this peer is there now.
  std::erase_if(refusals_, [&](const Refusal& refusal) { return refusal.peer == hello.from; });
  connect_to(hello.from, now);
}

void LinkKeeper::on_end(Outgoing& outgoing, Clock::time_point now) {
  outgoing.is_over = true;
  refuse(outgoing.link->peer, now);
  if (!outgoing.is_up) {
    count_refused();
    return tell_refused(outgoing.link->peer);
  }
  outgoing.link->is_over.store(true, std::memory_order_release);
  tell_port();
}

void LinkKeeper::on_end(Incoming& incoming) {
  incoming.is_over = true;
  if (incoming.link == nullptr) return;
  incoming.link->is_over.store(true, std::memory_order_release);
  tell_port();
}

/// A NIC has this MAC now: links with the ones that had it before lead nowhere.
void LinkKeeper::end_links_of_others_than(const Mac& peer, std::uint32_t incarnation, Clock::time_point now) {
  const auto is_left_over = [&](const auto& each, bool is_made) {
    return is_made && !each.is_over && each.link->peer == peer && each.incarnation != incarnation;
  };
  for (auto& each : outgoing_) {
    if (is_left_over(*each, each->is_up)) on_end(*each, now);
  }
  for (auto& each : incoming_) {
    if (is_left_over(*each, each->link != nullptr)) on_end(*each);
  }
}

void LinkKeeper::look_at_connections(Clock::time_point now) {
  const auto is_late = [now](const Connection& each) { return now - each.since > kHandshakePatience; };
  const auto waits_for_turn = [](Outgoing& each) {
    return each.link->turn.is_awaited(process_at(each.socket.get()), 0);
  };
  for (auto& each : outgoing_) {
    const bool is_young = !each->is_up;
    switch (look(*each, is_young, is_young && is_late(*each) && !waits_for_turn(*each))) {
      case Seen::kMessage:
        on_welcome(*each, now);
        break;
      case Seen::kEnd:
        on_end(*each, now);
        break;
      case Seen::kNothing:
        break;
    }
  }
  for (auto& each : incoming_) {
    const bool is_young = each->link == nullptr;
    switch (look(*each, is_young, is_young && is_late(*each))) {
      case Seen::kMessage:
        on_hello(*each, now);
        break;
      case Seen::kEnd:
        on_end(*each);
        break;
      case Seen::kNothing:
        break;
    }
  }
}

LinkKeeper::Seen LinkKeeper::look(const Connection& connection, bool is_young, bool is_late) const {
  if (connection.is_over) return Seen::kNothing;
  if (connection.polled_at == 0) return Seen::kNothing;  // made since
  const short socket_events = polled_[connection.polled_at].revents;
  const short process_events = polled_[connection.polled_at + 1].revents;
  if (is_young && (socket_events & POLLIN) != 0) return Seen::kMessage;
  return socket_events != 0 || process_events != 0 || is_late ? Seen::kEnd : Seen::kNothing;
}

void LinkKeeper::look_for_unused(Clock::time_point now) {
  for (auto& outgoing : outgoing_) {
    if (!outgoing->is_up || outgoing->is_over) continue;
    const std::uint64_t frames = outgoing->link->frames.load(std::memory_order_relaxed);
    if (std::exchange(outgoing->frames_seen, frames) != frames) outgoing->last_used = now;
    if (now - outgoing->last_used < config_.unused_after) continue;
    outgoing->last_used = now;  // not so soon again, if it is not empty
    outgoing->link->is_unused.store(true, std::memory_order_relaxed);
    tell_port();
  }
}

void LinkKeeper::end_all(Clock::time_point now) {
  std::vector<Mac> wanted;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    wanted.swap(wanted_);
  }
  for (const Mac& peer : wanted) tell_refused(peer);
  for (auto& outgoing : outgoing_) on_end(*outgoing, now);
  for (auto& incoming : incoming_) on_end(*incoming);
}

void LinkKeeper::forget_ended() {
  std::erase_if(outgoing_,
                [](const auto& each) { return each->was_given_back || (each->is_over && !each->is_up); });
  std::erase_if(incoming_, [](const auto& each) {
    return each->was_given_back || (each->is_over && each->link == nullptr);
  });
}

/// What waits for the first link to that NIC goes another way then.
void LinkKeeper::tell_refused(const Mac& peer) {
  {
    const std::lock_guard lock(mutex_);
    if (news_.refused.size() < kMaxRefused) news_.refused.push_back(peer);
  }
  tell_port();
}

void LinkKeeper::tell_port() {
  has_news_.store(true, std::memory_order_release);
  signal(wake_.get());
}

}  // namespace urnic::drivers
