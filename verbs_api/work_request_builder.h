// WorkRequestBuilder: the other way to post sends, in which a work request is put together by function calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "nic/queue_pair.h"
#include "transport/work_request.h"
#include "verbs_api/libibverbs.h"

namespace urnic::verbs_api {

/// The builders of ibv_qp_ex that can be asked for.
inline constexpr std::uint64_t kOfferedSendOperations =
    IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ;

/// Between start() and complete() or abort() one thread has the queue; others wait in start(). The device
/// sees nothing before complete(). The first thing that goes wrong spoils the whole batch and is what
/// complete() returns.
class WorkRequestBuilder {
 public:
  /// Only `operations` (IBV_QP_EX_WITH_*) may be built.
  WorkRequestBuilder(nic::QueuePair& qp, std::uint64_t operations) : qp_(qp), operations_(operations) {}

  /// With an `error` the batch is spoiled from the start and takes nothing.
  void start(int error);
  /// 0 and everything is posted, or an errno value and nothing is.
  int complete();
  void abort();

  /// Begins a work request; `needed` is the flag that must have been asked for.
  void begin(std::uint64_t needed, const transport::SendRequest& request);
  /// Gives it its data, which may happen once. Without data it is posted empty.
  void set_sges(const ibv_sge* list, std::size_t count);
  void set_inline(const ibv_data_buf* list, std::size_t count);
  /// Spoils the batch, unless something else has.
  void spoil(int error);

 private:
  void post_pending();
  void finish();
  void note(nic::PostStatus status);

  nic::QueuePair& qp_;
  std::uint64_t operations_;
  std::mutex building_;  // held from start() on, unless that failed
  std::optional<nic::QueuePair::SendBatch> batch_;
  std::optional<transport::SendRequest> pending_;
  int error_ = 0;
  bool started_ = false;
};

/// Points the builders of an extended queue pair, all of them, at functions: those that were not asked for
/// spoil the batch, where a null pointer would crash the program.
void fill_builders(ibv_qp_ex& qp);

}  // namespace urnic::verbs_api
