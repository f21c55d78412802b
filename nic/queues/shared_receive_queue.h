// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SharedReceiveQueue: receives that several queue pairs take from.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "nic/memory/protection_domain.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/needs/queue_engine.h"
#include "nic/queues/post_watch.h"
#include "nic/queues/posting.h"
#include "transport/dependencies.h"
#include "transport/receive_queue.h"
#include "transport/result.h"

namespace urnic::nic {

class XrcDomain;

struct SrqCreateAttributes {
  ProtectionDomain* pd = nullptr;  ///< whose memory the receives name; required
  std::uint32_t max_wr = 0;
  std::uint32_t max_sge = 0;
  /// For XRC, both or none: messages that name this queue's number are received here and complete there.
  XrcDomain* xrc_domain = nullptr;
  CompletionQueue* completions = nullptr;
  void* context = nullptr;  ///< for the layer above (events name the queue by it)
};

class SharedReceiveQueue final : private transport::LimitSink {
 public:
  SharedReceiveQueue(QueueEngine& engine, std::uint32_t number, const SrqCreateAttributes& attributes);

  /// What XRCETH names it by where it is for XRC.
  std::uint32_t number() const { return number_; }
  void* context() const { return attributes_.context; }
  const SrqCreateAttributes& attributes() const { return attributes_; }  ///< with the limits granted at first

  /// Holds the queue's lock and posts; when it goes out of scope everything posted becomes visible. Any
  /// thread.
  class Batch {
   public:
    explicit Batch(SharedReceiveQueue& srq);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    PostStatus post(const transport::ReceiveRequest& request, std::span<const transport::Sge> sges);

   private:
    PostStatus take(const transport::ReceiveRequest& request, std::span<const transport::Sge> sges);

    SharedReceiveQueue& srq_;
    std::unique_lock<std::mutex> lock_;
    bool posted_ = false;
  };

  /// Receives that were taken and whose completions were not polled; null unless room comes back by polls.
  const std::shared_ptr<std::atomic<std::uint32_t>>& unpolled() const { return unpolled_; }

  struct Changes {
    /// Room for that many receives, or a few more. Those that wait stay in their order, and queue pairs go on
    /// taking them.
    std::optional<std::uint32_t> max_wr{};
    /// Arms the limit event: once fewer than `limit` receives are left after one was taken. 0 disarms.
    std::optional<std::uint32_t> limit{};
  };
  /// All of it or nothing. EINVAL: no room at all, more than the device allows, or less than for what waits
  /// or for a limit; ENOMEM. Any thread.
  Result<void, Error> modify(const Changes& changes);

  struct Size {
    std::uint32_t max_wr = 0;
    std::uint32_t limit = 0;  ///< 0: none is armed
  };
  Size size() const;
  /// How many receives wait to be taken.
  std::uint32_t waiting() const;

  /// From now on `watch`, which must outlive this, sees what is posted. Before the first post.
  void use(ReceiveWatch& watch) { post_watch_ = &watch; }

  /// Queue pairs that use it; destroying it is refused while there are any. Control path.
  std::atomic<std::uint32_t> users{0};

  /// For endpoints; under the engine lock. `completions` is the queue pair's queue, unless this queue is for
  /// XRC.
  transport::ReceiveEnd receive_end(CompletionQueue* completions);

 private:
  transport::ReceiveQueue::Limits limits(std::uint32_t max_wr) const;
  void on_limit_reached() override;
  Result<void, Error> apply(const Changes& changes, transport::ReceiveQueue* resized);

  QueueEngine& engine_;
  std::uint32_t number_;
  SrqCreateAttributes attributes_;
  ReceiveWatch* post_watch_ = nullptr;
  std::mutex mutex_;
  std::shared_ptr<std::atomic<std::uint32_t>> unpolled_;
  transport::ReceiveQueue queue_;
};

}  // namespace urnic::nic
