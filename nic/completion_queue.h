// CompletionQueue: where completions wait for the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "nic/completion_channel.h"
#include "transport/completion.h"
#include "transport/time.h"

namespace urnic::nic {

class Engine;

/// A ring. The engine adds completions with complete() and makes them visible with publish(), after the
/// acknowledgements that go with them have left; the program takes them with poll(), from any thread.
class CompletionQueue final : public transport::CompletionSink, private ChannelEntry {
 public:
  /// `capacity` completions at least; `channel` (may be null) gets the notifications and must outlive the
  /// queue.
  CompletionQueue(Engine& engine, std::uint32_t capacity, CompletionChannel* channel, void* context);

  std::uint32_t capacity() const { return capacity_; }
  CompletionChannel* channel() const { return channel_; }
  /// The pointer given at creation, for the layer above.
  void* context() const { return context_; }

  // --- The program's side; any thread ---

  /// Takes up to `completions.size()` completions, oldest first. When there are none it first tries to make
  /// progress (a round of the engine, if nobody else is at it).
  std::size_t poll(std::span<transport::Completion> completions);

  /// Asks for one event on the channel when the next completion is added (only a solicited or failed one with
  /// `solicited_only`), and wakes the NIC's thread. Without a channel there is nobody to tell, and it does nothing.
  void request_notification(bool solicited_only);

  /// Whether completions were lost because the queue was full. From the first on, the queue pairs that use it are in
  /// ERR.
  bool has_overrun() const { return overrun_.load(std::memory_order_relaxed); }

  // --- The engine's side; under the engine lock ---

  void complete(const transport::Completion& completion) override;
  /// Makes everything added visible and notifies the channel if asked to.
  void publish();

  /// How many completions were ever added, modulo 2^32.
  std::uint32_t added() const { return tail_; }

  /// A queue pair owes its peer an acknowledgement that goes with a completion added here: that is not to be
  /// published before release(), but for no longer than kMaxHold. Several may hold at once.
  void hold(transport::Time now);
  void release() { --holds_; }
  bool is_held(transport::Time now) const { return holds_ > 0 && now - held_since_ < kMaxHold; }
  static constexpr transport::Duration kMaxHold = std::chrono::milliseconds(5);

  /// The queue is about to be destroyed: nothing is asked for any more, and events not fetched are forgotten.
  void retire();

  /// Queue pairs that use this queue; destroying it is refused while there are any. Control path.
  std::atomic<std::uint32_t> users{0};

  /// Events of this queue that CompletionChannel::wait() handed out, counted under the channel's lock: after
  /// forget(), whoever destroys the queue knows how many acknowledgements to wait for.
  std::atomic<std::uint32_t> events_fetched{0};

 private:
  friend class CompletionChannel;

  bool is_empty() const;

  Engine& engine_;
  std::uint32_t capacity_;
  std::uint32_t mask_;
  std::unique_ptr<transport::Completion[]> ring_;
  CompletionChannel* channel_;
  void* context_;

  std::mutex poll_mutex_;
  std::atomic<std::uint32_t> head_{0};     // next to be polled
  std::atomic<std::uint32_t> visible_{0};  // end of what poll() may take
  std::uint32_t tail_ = 0;                 // end of what was added; engine only
  bool dirty_ = false;                     // on the engine's list of queues to publish
  bool solicited_added_ = false;           // since the last publish
  std::uint32_t holds_ = 0;
  transport::Time held_since_{};
  std::atomic<bool> overrun_{false};

  enum class Armed : std::uint8_t { kNo, kSolicited, kAny };
  std::atomic<Armed> armed_{Armed::kNo};
};

}  // namespace urnic::nic
