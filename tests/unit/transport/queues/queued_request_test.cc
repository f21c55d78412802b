// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A send work request is in the ring what it was when it was posted.
#include "transport/queued_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

namespace urnic::transport::test {
namespace {

/// Each member has a value of its own.
SendRequest request_of(SendOperation operation) {
  return {
      .wr_id = 0x1112131415161718,
      .operation = operation,
      .signaled = true,
      .solicited = false,
      .fence = true,
      .immediate = 0x21222324,
      .remote_address = 0x3132333435363738,
      .rkey = Rkey{0x41424344},
      .invalidate_rkey = Rkey{0x51525354},
      .compare = 0x6162636465666768,
      .swap_or_add = 0x7172737475767778,
      .xrc_srq = 0x818283,
      .destination = {.address = AddressHandleId{0x91929394}, .qp = QpNumber(0xa1a2a3), .qkey = 0xb1b2b3b4},
      .flush = {.length = 0xc1c2c3c4, .access = Access::kFlushPersistent, .scope = FlushScope::kRegion},
      .binding = {.window = Rkey{0xd1d2d3d4},
                  .new_rkey = Rkey{0xd1d2d3d5},
                  .region = Lkey{0xe1e2e3e4},
                  .address = 0xf1f2f3f4f5f6f7f8,
                  .length = 0x0102030405060708,
                  .access = Access::kRemoteAtomic,
                  .is_zero_based = true}};
}

class Queued : public testing::TestWithParam<SendOperation> {
 protected:
  bool is_one_of(std::initializer_list<SendOperation> operations) const {
    return std::ranges::find(operations, GetParam()) != operations.end();
  }
};

void expect_flush(const Flush& is, const Flush& was) {
  EXPECT_EQ(is.length, was.length);
  EXPECT_EQ(is.access, was.access);
  EXPECT_EQ(is.scope, was.scope);
}

void expect_binding(const WindowBinding& is, const WindowBinding& was) {
  EXPECT_EQ(is.window, was.window);
  EXPECT_EQ(is.new_rkey, was.new_rkey);
  EXPECT_EQ(is.region, was.region);
  EXPECT_EQ(is.address, was.address);
  EXPECT_EQ(is.length, was.length);
  EXPECT_EQ(is.access, was.access);
  EXPECT_EQ(is.is_zero_based, was.is_zero_based);
}

void expect_destination(const Destination& is, const Destination& was) {
  EXPECT_EQ(is.address, was.address);
  EXPECT_EQ(is.qp, was.qp);
  EXPECT_EQ(is.qkey, was.qkey);
}

TEST_P(Queued, HasWhatItsOperationHas) {
  const SendRequest was = request_of(GetParam());
  const QueuedRequest queued(was);
  const SendRequest posted = queued.as_posted();
  EXPECT_EQ(queued.wr_id, was.wr_id);
  EXPECT_EQ(queued.operation, was.operation);
  EXPECT_TRUE(queued.signaled && !queued.solicited && queued.fence);
  EXPECT_EQ(posted.wr_id, was.wr_id);
  EXPECT_EQ(posted.operation, was.operation);
  EXPECT_TRUE(posted.signaled && !posted.solicited && posted.fence);
  EXPECT_EQ(queued.xrc_srq, was.xrc_srq);
  EXPECT_EQ(posted.xrc_srq, was.xrc_srq);

  using enum SendOperation;
  if (GetParam() == kBindWindow) {
    expect_binding(queued.binding(), was.binding);
    return expect_binding(posted.binding, was.binding);
  }
  EXPECT_EQ(queued.remote_address, was.remote_address);
  EXPECT_EQ(posted.remote_address, was.remote_address);
  EXPECT_EQ(queued.rkey, was.rkey);
  EXPECT_EQ(posted.rkey, was.rkey);
  if (is_one_of({kSendWithImmediate, kWriteWithImmediate})) {
    EXPECT_EQ(queued.immediate(), was.immediate);
    EXPECT_EQ(posted.immediate, was.immediate);
  }
  if (is_one_of({kSendWithInvalidate, kLocalInvalidate})) {
    EXPECT_EQ(queued.invalidate_rkey(), was.invalidate_rkey);
    EXPECT_EQ(posted.invalidate_rkey, was.invalidate_rkey);
  }
  if (is_one_of({kSend, kSendWithImmediate})) {
    expect_destination(queued.destination(), was.destination);
    expect_destination(posted.destination, was.destination);
  }
  if (is_atomic(GetParam())) {
    EXPECT_EQ(queued.compare(), was.compare);
    EXPECT_EQ(posted.compare, was.compare);
    EXPECT_EQ(queued.swap_or_add(), was.swap_or_add);
    EXPECT_EQ(posted.swap_or_add, was.swap_or_add);
  }
  if (GetParam() == kFlush) {
    expect_flush(queued.flush(), was.flush);
    expect_flush(posted.flush, was.flush);
  }
}

INSTANTIATE_TEST_SUITE_P(, Queued,
                         testing::Values(SendOperation::kSend, SendOperation::kSendWithImmediate,
                                         SendOperation::kSendWithInvalidate, SendOperation::kWrite,
                                         SendOperation::kWriteWithImmediate, SendOperation::kRead,
                                         SendOperation::kCompareSwap, SendOperation::kFetchAdd,
                                         SendOperation::kFlush, SendOperation::kAtomicWrite,
                                         SendOperation::kLocalInvalidate, SendOperation::kBindWindow),
                         [](const auto& operation) { return std::string(name_of(operation.param)); });

TEST(QueuedAgain, BeginsAfreshInAPlaceThatWasUsed) {
  QueuedRequest queued(request_of(SendOperation::kBindWindow));
  queued = QueuedRequest({.wr_id = 1});
  EXPECT_EQ(queued.immediate(), 0u);
  EXPECT_EQ(queued.rkey, Rkey{});
  expect_destination(queued.destination(), {});
}

}  // namespace
}  // namespace urnic::transport::test
