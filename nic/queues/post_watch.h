// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PostWatch: sees each work request of one queue pair when the program posts it.
#pragma once

#include <cstdint>
#include <span>

#include "nic/queues/posting.h"
#include "transport/work_request.h"

namespace urnic::nic {

/// Of one receive queue, which may be a shared one. Whether the device has taken a request or not, `status`
/// says. Most queues have none. Called with the queue's lock.
class ReceiveWatch {
 public:
  virtual ~ReceiveWatch() = default;

  virtual void on_receive(const transport::ReceiveRequest& request, std::span<const transport::Sge> elements,
                          PostStatus status) = 0;
};

/// The same of both queues of a queue pair.
class PostWatch : public ReceiveWatch {
 public:
  /// Inline data have no elements, but so many bytes.
  virtual void on_send(const transport::SendRequest& request, std::span<const transport::Sge> elements,
                       std::uint64_t inline_bytes, PostStatus status) = 0;
  /// The device does not send what it has taken last, so many requests.
  virtual void on_sends_aborted(std::uint32_t count) = 0;
};

}  // namespace urnic::nic
