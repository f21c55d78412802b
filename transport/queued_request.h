// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QueuedRequest: a send work request as a ring keeps it.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/dma.h"
#include "transport/types.h"
#include "transport/work_request.h"

namespace urnic::transport {

/// What a SendRequest says, in less than half of its bytes: what only one operation has shares its place with
/// what only another one has. Asked for what its operation does not have, it returns anything.
class QueuedRequest {
 public:
  QueuedRequest() = default;
  explicit QueuedRequest(const SendRequest& request)
      : wr_id(request.wr_id),
        remote_address(request.remote_address),
        rkey(request.rkey),
        xrc_srq(request.xrc_srq),
        operation(request.operation),
        signaled(request.signaled),
        solicited(request.solicited),
        fence(request.fence) {
    keep_rest_of(request);
  }

  std::uint32_t immediate() const { return immediate_or_key_; }
  Rkey invalidate_rkey() const { return Rkey{immediate_or_key_}; }
  std::uint64_t compare() const { return rest_.atomic.compare; }
  std::uint64_t swap_or_add() const { return rest_.atomic.swap_or_add; }
  Destination destination() const { return rest_.destination; }
  Flush flush() const { return rest_.flush; }
  WindowBinding binding() const {
    return {.window = rkey,
            .new_rkey = Rkey{immediate_or_key_},
            .region = rest_.window.region,
            .address = remote_address,
            .length = rest_.window.length,
            .access = rest_.window.access,
            .is_zero_based = rest_.window.is_zero_based};
  }
  /// As it was posted, without what its operation does not have.
  SendRequest as_posted() const;

  std::uint64_t wr_id = 0;
  std::uint64_t remote_address = 0;  ///< of kBindWindow: the window's
  Rkey rkey{};                       ///< of kBindWindow: the window's
  std::uint32_t xrc_srq = 0;
  SendOperation operation = SendOperation::kSend;
  bool signaled = false;
  bool solicited = false;
  bool fence = false;

 private:
  void keep_rest_of(const SendRequest& request) {
    switch (request.operation) {
      case SendOperation::kCompareSwap:
      case SendOperation::kFetchAdd:
        rest_.atomic = {request.compare, request.swap_or_add};
        break;
      case SendOperation::kFlush:
        std::construct_at(&rest_.flush, request.flush);
        break;
      case SendOperation::kBindWindow:
        keep(request.binding);
        break;
      case SendOperation::kSendWithInvalidate:
      case SendOperation::kLocalInvalidate:
        immediate_or_key_ = to_integer(request.invalidate_rkey);
        break;
      default:
        immediate_or_key_ = request.immediate;
        rest_.destination = request.destination;
    }
  }
  void keep(const WindowBinding& binding) {
    rkey = binding.window;
    immediate_or_key_ = to_integer(binding.new_rkey);
    remote_address = binding.address;
    rest_.window = {binding.length, binding.region, binding.access, binding.is_zero_based};
  }

  struct Atomic {
    std::uint64_t compare;
    std::uint64_t swap_or_add;
  };
  struct Window {
    std::uint64_t length;
    Lkey region;
    Access access;
    bool is_zero_based;
  };
  union Rest {
    Rest() : destination{} {}
    Destination destination;
    Atomic atomic;
    Flush flush;
    Window window;
  };

  std::uint32_t immediate_or_key_ = 0;
  Rest rest_;
};

}  // namespace urnic::transport
