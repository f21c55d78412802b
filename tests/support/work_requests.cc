// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/work_requests.h"

#include <utility>

namespace urnic::transport::test {
namespace {

SendWr work_request(std::uint64_t wr_id, SendOperation operation, std::uint32_t length) {
  SendWr wr;
  wr.request.wr_id = wr_id;
  wr.request.operation = operation;
  wr.request.signaled = true;
  if (length > 0) wr.sges = {local(length)};
  return wr;
}

}  // namespace

SendWr SendWr::unsignaled() const {
  SendWr copy = *this;
  copy.request.signaled = false;
  return copy;
}

SendWr SendWr::solicited() const {
  SendWr copy = *this;
  copy.request.solicited = true;
  return copy;
}

SendWr SendWr::fenced() const {
  SendWr copy = *this;
  copy.request.fence = true;
  return copy;
}

SendWr SendWr::with_immediate(std::uint32_t immediate) const {
  SendWr copy = *this;
  copy.request.operation = request.operation == SendOperation::kSend ? SendOperation::kSendWithImmediate
                                                                     : SendOperation::kWriteWithImmediate;
  copy.request.immediate = immediate;
  return copy;
}

SendWr SendWr::from_elements(std::vector<Sge> elements) const {
  SendWr copy = *this;
  copy.sges = std::move(elements);
  return copy;
}

SendWr SendWr::with_inline(Bytes data) const {
  SendWr copy = *this;
  copy.sges.clear();
  copy.inline_data = std::move(data);
  return copy;
}

SendWr SendWr::to(Remote remote) const {
  SendWr copy = *this;
  copy.request.remote_address = remote.address;
  copy.request.rkey = remote.rkey;
  return copy;
}

SendWr send_wr(std::uint64_t wr_id, std::uint32_t length) {
  return work_request(wr_id, SendOperation::kSend, length);
}

SendWr write_wr(std::uint64_t wr_id, std::uint32_t length, Remote to) {
  return work_request(wr_id, SendOperation::kWrite, length).to(to);
}

SendWr read_wr(std::uint64_t wr_id, std::uint32_t length, Remote from) {
  return work_request(wr_id, SendOperation::kRead, length).to(from);
}

}  // namespace urnic::transport::test
