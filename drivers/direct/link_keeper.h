// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LinkKeeper: makes direct links to other NICs of a fabric, and ends them.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/direct/link_ends.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// A thread that talks to the keepers of other NICs. A link carries frames one way: the NIC that wants to
/// send makes it, so two that begin at the same moment do not meet. The NIC that will receive may refuse.
///
/// Each NIC listens on a Unix socket that is named after its MAC. The connection stays as long as the link,
/// and tells each side of the other's end; where other processes have inherited it, the end of the process
/// itself tells. Where that cannot be seen either, as in another PID namespace, the next NIC with that MAC
/// tells, or that nothing is taken for long.
///
/// The port gets links by take_news() and gives each one back when it is over: only then the keeper destroys
/// it.
class LinkKeeper {
 public:
  using Mac = transport::wire::Mac;

  /// Links that a NIC has at most, each way. A NIC that finds no place at another one sends through the
  /// switch.
  static constexpr std::size_t kMaxSending = 32;
  static constexpr std::size_t kMaxReceiving = 64;
  /// NICs that the port asks for at once, at most.
  static constexpr std::size_t kMaxWanted = 64;
  /// Links that the port asked for, and links that the keeper began itself.
  static constexpr std::size_t kMaxRefused = kMaxWanted + kMaxSending;

  struct Config {
    Mac own;
    std::uint32_t max_frame_bytes = 0;
    /// The path of the socket of the NIC with that MAC.
    std::function<std::string(const Mac&)> socket_of;
    /// Frames that come over links must have their ICRC: something between the link and the NIC looks at
    /// frames or changes them.
    bool must_have_icrc = false;
    /// A link on which nothing was sent for so long is given back.
    std::chrono::milliseconds unused_after = std::chrono::seconds(10);
    /// Takes a line for people, once: that there are as many links as there may be. Called by the keeper's
    /// thread.
    std::function<void(const std::string& line)> tell = {};
  };

  /// Starts the thread. EADDRINUSE: another NIC has this MAC. Otherwise the system's error.
  static Result<std::unique_ptr<LinkKeeper>, Error> start(Config config);
  /// Ends all links; the port uses none any more.
  ~LinkKeeper();
  LinkKeeper(const LinkKeeper&) = delete;
  LinkKeeper& operator=(const LinkKeeper&) = delete;

  // --- The port's thread. Nothing here waits for another process. ---

  /// An eventfd that becomes readable when there is news.
  int wake_fd() const { return wake_.get(); }

  struct News {
    std::vector<SendingLink*> sending;
    std::vector<ReceivingLink*> receiving;
    std::vector<Mac> refused;  ///< there is no link to these for now; at most kMaxRefused
  };
  /// How often a NIC that is there got no link, because one of the two has as many as it may, or the other
  /// one makes none.
  std::uint64_t refused_links() const { return refused_links_.load(std::memory_order_relaxed); }
  /// Whether there are new links or refusals, or a flag of a link was set.
  bool has_news() const { return has_news_.load(std::memory_order_acquire); }
  /// Adds the new links and refusals to `news`.
  void take_news(News& news);
  /// Asks for a link to that NIC; the news tell how it went. False: no news will come, it cannot ask now.
  bool want(const Mac& peer);
  void give_back(SendingLink& link);
  void give_back(ReceivingLink& link);

 private:
  using Clock = std::chrono::steady_clock;

  /// What both kinds of links have.
  struct Connection {
    Descriptor socket;
    Descriptor process;  // a pidfd, if there is one
    Clock::time_point since;
    std::uint32_t incarnation = 0;  // of the other NIC, as it says
    std::size_t polled_at = 0;      // in polled_; 0: not yet
    bool is_over = false;
    bool was_given_back = false;
  };
  struct Outgoing : Connection {
    std::unique_ptr<SendingLink> link;
    bool is_up = false;  // the port has it
    std::uint64_t frames_seen = 0;
    Clock::time_point last_used;
  };
  struct Incoming : Connection {
    std::unique_ptr<ReceivingLink> link;  // null until the Hello
  };
  /// A NIC that has no link for us is not asked again before.
  struct Refusal {
    Mac peer;
    Clock::time_point until;
  };

  LinkKeeper(Config config, Descriptor listener, Descriptor wake, Descriptor request);

  void run();
  int timeout_ms() const;
  void wait();
  void do_what_the_port_asked(Clock::time_point now);
  /// False: there is no link and none is being made.
  bool connect_to(const Mac& peer, Clock::time_point now);
  bool can_connect_to(const Mac& peer, Clock::time_point now);
  void make_room(Clock::time_point now);
  void count_refused() { refused_links_.fetch_add(1, std::memory_order_relaxed); }
  bool greet(const Mac& peer, Clock::time_point now);
  void accept_all(Clock::time_point now);
  void on_welcome(Outgoing& outgoing, Clock::time_point now);
  void on_hello(Incoming& incoming, Clock::time_point now);
  void on_end(Outgoing& outgoing, Clock::time_point now);
  void on_end(Incoming& incoming);
  void end_links_of_others_than(const Mac& peer, std::uint32_t incarnation, Clock::time_point now);
  enum class Seen : std::uint8_t { kNothing, kMessage, kEnd };
  Seen look(const Connection& connection, bool is_young, bool is_late) const;
  void look_at_connections(Clock::time_point now);
  void end_all(Clock::time_point now);
  void look_for_unused(Clock::time_point now);
  void forget_ended();
  void refuse(const Mac& peer, Clock::time_point now);
  void tell_refused(const Mac& peer);
  void tell_port();

  const Config config_;
  const std::uint32_t incarnation_;
  const Descriptor listener_;
  const Descriptor wake_;     // the port's: there is news
  const Descriptor request_;  // ours: the port has asked for something

  // The keeper's thread.
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::vector<Refusal> refusals_;
  std::vector<pollfd> polled_;
  bool has_told_ = false;

  std::atomic<std::uint64_t> refused_links_{0};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_news_{false};
  std::mutex mutex_;        // the following
  bool has_ended_ = false;  // the thread
  News news_;
  std::vector<Mac> wanted_;
  std::vector<const void*> given_back_;

  std::thread thread_;
};

}  // namespace urnic::drivers
