// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// WorkRequestBuilder: the other way to post sends, in which a work request is put together by function calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nic/queues/queue_pair.h"
#include "transport/work_request.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/abi/newer_operations.h"

namespace urnic::verbs_api {

/// The builders (IBV_QP_EX_WITH_*) that a program can request.
std::uint64_t offered_send_operations(nic::QpType type);

/// Between start() and complete() or abort() one thread has the queue; others wait in start(). The device
/// sees nothing before complete(). The first thing that goes wrong spoils the whole batch and is what
/// complete() returns.
class WorkRequestBuilder {
 public:
  /// Only `operations` (IBV_QP_EX_WITH_*) may be built.
  WorkRequestBuilder(nic::QueuePair& qp, std::uint64_t operations);

  /// With an `error` the batch is spoiled from the start and takes nothing.
  void start(int error);
  /// 0 and everything is posted, or an errno value and nothing is.
  int complete();
  void abort();

  /// Begins a work request; `needed` is the flag that the program must have requested.
  void begin(std::uint64_t needed, const transport::SendRequest& request);
  /// Gives it its data, which may happen once. Without data it is posted empty.
  void set_sges(const ibv_sge* list, std::size_t count);
  void set_inline(const ibv_data_buf* list, std::size_t count);
  /// Tells where it goes, which datagrams and XRC need, before or after its data.
  void set_destination(const transport::Destination& destination);
  void set_xrc_srq(std::uint32_t number);
  /// Spoils the batch, unless something else has.
  void spoil(int error);

 private:
  /// What has been set as the data of a work request that still lacks its address.
  enum class Data : std::uint8_t { kNone, kElements, kInline };

  bool needs_address() const { return type_ == nic::QpType::kUd || type_ == nic::QpType::kXrcInitiator; }
  void set_address();
  void keep_inline(std::span<const transport::Sge> pieces);
  void post_pending();
  nic::PostStatus post(const transport::SendRequest& request);
  void finish();
  void note(nic::PostStatus status, bool is_inline);

  nic::QueuePair& qp_;
  std::uint64_t operations_;
  nic::QpType type_;
  std::optional<nic::QueuePair::SendBatch> batch_;  // its lock guards all that follows, too
  std::optional<transport::SendRequest> pending_;
  bool has_address_ = false;  // of pending_, or it needs none
  Data data_ = Data::kNone;   // of pending_
  std::vector<transport::Sge> waiting_sges_;
  std::vector<std::byte> waiting_bytes_;
  std::uint32_t waiting_length_ = 0;
  int error_ = 0;
  bool started_ = false;
};

/// Points all builders of an extended queue pair at functions: a builder that the program did not request
/// spoils the batch, where a null pointer would crash the program.
void fill_builders(QpExWithFlush& qp);

}  // namespace urnic::verbs_api
