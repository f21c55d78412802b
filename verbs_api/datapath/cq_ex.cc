// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The extended way to poll: one completion at a time, its details read by functions.
#include <cerrno>
#include <span>

#include "nic/personality/vendor_error.h"
#include "verbs_api/adversary/garbage.h"
#include "verbs_api/datapath/completion.h"
#include "verbs_api/datapath/like_completion.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/fault_injection.h"
#include "verbs_api/queues/cq.h"

namespace urnic::verbs_api {
namespace {

/// How many completions it has put into `current`: one or none.
std::size_t take(Cq& cq) {
  return cq.inner->poll(std::span(&cq.current, 1), std::span(&cq.current_times, 1));
}

/// The same where failures are explained.
std::size_t take_counted(Cq& cq) {
  cq.account->check_waiting(cq.inner->waiting());
  return cq.inner->poll_each(1,
                             [&](const transport::Completion& completion, const nic::CompletionTimes* times) {
                               cq.current = completion;
                               if (times != nullptr) cq.current_times = *times;
                               cq.account->polled(completion);
                             });
}

/// The same for the sanitizer.
std::size_t take_watched(Cq& cq) {
  if (cq.account != nullptr) return take_counted(cq);
  cq.ledger->check_waiting(cq.inner->waiting());
  const std::size_t taken = take(cq);
  note_poll(*cq.ledger, taken);
  if (taken != 0) cq.ledgers->polled(cq.current);
  return taken;
}

/// 0, or ENOENT when there is nothing. The caller holds the polling lock.
int take_next(Cq& cq) {
  const std::size_t taken = cq.is_watched ? take_watched(cq) : take(cq);
  if (taken == 0) return ENOENT;
  cq.wr_id = cq.current.wr_id;
  cq.status = wc_status(cq.current.status);
  if (cq.rooms != nullptr) [[unlikely]] {
    cq.rooms->polled(cq.current);
  }
  if (cq.adversary != nullptr) [[unlikely]] {
    spoil(cq.current, *cq.adversary, ++cq.polled);
  }
  return 0;
}

void lock(Cq& cq) {
  if (cq.ledger != nullptr) [[unlikely]] {
    cq.ledger->enter();
  }
  if (!cq.single_threaded) cq.polling.lock();
}

void unlock(Cq& cq) {
  if (!cq.single_threaded) cq.polling.unlock();
  if (cq.ledger != nullptr) [[unlikely]] {
    cq.ledger->leave();
  }
}

/// The program reads a detail that only a success has.
transport::Completion& detail(ibv_cq_ex* read, const char* function) {
  Cq& cq = Cq::of(read);
  if (cq.ledger != nullptr && cq.status != IBV_WC_SUCCESS) [[unlikely]] {
    cq.ledger->undefined_read(function, ibv_wc_status_str(cq.status));
  }
  return cq.current;
}

int start_poll(ibv_cq_ex* polled, ibv_poll_cq_attr* attributes) noexcept {
  Cq& cq = Cq::of(polled);
  const Context& owner = Context::of(cq.context);
  if (owner.is_dead()) return owner.dead_error();
  if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
  lock(cq);
  const int result = take_next(cq);
  if (result != 0) {
    unlock(cq);  // end_poll is called after success only
  }
  return result;
}

int next_poll(ibv_cq_ex* polled) noexcept {
  return take_next(Cq::of(polled));
}

void end_poll(ibv_cq_ex* polled) noexcept {
  unlock(Cq::of(polled));
}

ibv_wc_opcode read_opcode(ibv_cq_ex* cq) noexcept {
  return wc_opcode(detail(cq, "ibv_wc_read_opcode()").opcode);
}
std::uint32_t read_vendor_error(ibv_cq_ex* read) noexcept {
  const Cq& cq = Cq::of(read);
  if (cq.ledger != nullptr) [[unlikely]] {
    cq.ledger->vendor_error_read();
  }
  return cq.like != nullptr ? nic::vendor_error(cq.like->vendor_errors, cq.current) : 0;
}
std::uint32_t read_byte_length(ibv_cq_ex* cq) noexcept {
  return detail(cq, "ibv_wc_read_byte_len()").byte_length;
}
__be32 read_immediate(ibv_cq_ex* cq) noexcept {
  return detail(cq, "ibv_wc_read_imm_data()").immediate;
}
std::uint32_t read_qp_number(ibv_cq_ex* cq) noexcept {
  return to_integer(Cq::of(cq).current.qp_number);
}
std::uint32_t read_source_qp(ibv_cq_ex* cq) noexcept {
  return to_integer(detail(cq, "ibv_wc_read_src_qp()").source_qp);
}
unsigned int read_flags(ibv_cq_ex* polled) noexcept {
  const Cq& cq = Cq::of(polled);
  return cq.like != nullptr ? wc_flags_like(*cq.like, cq.current) : wc_flags(cq.current);
}
// RoCE has no LIDs.
std::uint32_t read_source_lid(ibv_cq_ex*) noexcept {
  return 0;
}
std::uint8_t read_service_level(ibv_cq_ex* cq) noexcept {
  return service_level(Cq::of(cq).current);
}
std::uint8_t read_destination_path_bits(ibv_cq_ex*) noexcept {
  return 0;
}
// A tick of the device's clock is a nanosecond.
std::uint64_t read_time(ibv_cq_ex* cq) noexcept {
  return static_cast<std::uint64_t>(Cq::of(cq).current_times.device.time_since_epoch().count());
}
std::uint64_t read_wall_time(ibv_cq_ex* cq) noexcept {
  return static_cast<std::uint64_t>(Cq::of(cq).current_times.wall_time.count());
}

}  // namespace

void fill_extended_operations(ibv_cq_ex& cq, std::uint64_t wc_flags) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = read_opcode;
  cq.read_vendor_err = read_vendor_error;
  cq.read_byte_len = read_byte_length;
  cq.read_imm_data = read_immediate;
  cq.read_qp_num = read_qp_number;
  cq.read_src_qp = read_source_qp;
  cq.read_wc_flags = read_flags;
  cq.read_slid = read_source_lid;
  cq.read_sl = read_service_level;
  cq.read_dlid_path_bits = read_destination_path_bits;
  if ((wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0) cq.read_completion_ts = read_time;
  if ((wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0) {
    cq.read_completion_wallclock_ns = read_wall_time;
  }
  inject_faults(cq);
}

}  // namespace urnic::verbs_api
