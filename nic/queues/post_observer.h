// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PostObserver: is told what programs ask of their queues.
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/types.h"
#include "transport/work_request.h"

namespace urnic::nic {

class QueuePair;

/// Most devices have none. Lengths are bytes.
class PostObserver {
 public:
  virtual ~PostObserver() = default;

  // --- Any thread that has the queue's lock ---

  virtual void on_posted(transport::QpNumber qp, const transport::SendRequest& request,
                         std::uint64_t bytes) = 0;
  /// `queue` is "qp" or "srq", and `number` its own.
  virtual void on_posted(std::string_view queue, std::uint32_t number,
                         const transport::ReceiveRequest& request, std::uint64_t bytes) = 0;
  /// What was posted in the batch that ends is not sent.
  virtual void on_posts_aborted(transport::QpNumber qp) = 0;

  // --- Under the engine lock ---

  /// Its attributes or state are others now.
  virtual void on_modified(const QueuePair& qp) = 0;
};

}  // namespace urnic::nic
