// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Atomic operations on remote memory.
#include <cstring>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

class Atomic : public testing::Test {
 protected:
  static std::uint64_t number_in(Buffer& buffer) {
    std::uint64_t number = 0;
    std::memcpy(&number, buffer.data(), sizeof(number));
    return number;
  }
  static void set(Buffer& buffer, std::uint64_t number) {
    std::memcpy(buffer.data(), &number, sizeof(number));
  }
  ibv_send_wr atomic(ibv_wr_opcode opcode, std::uint64_t compare_or_add, std::uint64_t swap = 0) const {
    ibv_send_wr wr = request(opcode);
    wr.wr.atomic.remote_addr = remote_.address();
    wr.wr.atomic.rkey = const_cast<Buffer&>(remote_).rkey();
    wr.wr.atomic.compare_add = compare_or_add;
    wr.wr.atomic.swap = swap;
    return wr;
  }

  Pair pair_;
  Buffer local_{pair_.pd(), 16};
  Buffer remote_{pair_.pd(), 16};
};

TEST_F(Atomic, AddsAndTellsWhatWasThere) {
  set(remote_, 40);
  ASSERT_EQ(post_send(pair_.a(), atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 2), {local_.sge(0, 8)}), 0);
  const ibv_wc completion = next_completion(pair_.cq_a());
  EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
  EXPECT_EQ(completion.opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(number_in(local_), 40u);
  EXPECT_EQ(number_in(remote_), 42u);
}

TEST_F(Atomic, SwapsOnlyWhatItExpects) {
  set(remote_, 7);
  ASSERT_EQ(post_send(pair_.a(), atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 8, 9), {local_.sge(0, 8)}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).opcode, IBV_WC_COMP_SWAP);
  EXPECT_EQ(number_in(local_), 7u);
  EXPECT_EQ(number_in(remote_), 7u);
  ASSERT_EQ(post_send(pair_.a(), atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 7, 9), {local_.sge(0, 8)}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(number_in(remote_), 9u);
}

TEST_F(Atomic, WritesEightBytesAtOnce) {
  set(local_, 0x1122334455667788);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_ATOMIC_WRITE, remote_), {local_.sge(0, 8)}), 0);
  const ibv_wc completion = next_completion(pair_.cq_a());
  EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
  EXPECT_EQ(completion.opcode, IBV_WC_ATOMIC_WRITE);
  EXPECT_EQ(number_in(remote_), 0x1122334455667788u);
}

TEST_F(Atomic, IsOfEightBytesAndNotInline) {
  for (const ibv_wr_opcode opcode :
       {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_WRITE}) {
    EXPECT_EQ(post_send(pair_.a(), atomic(opcode, 1), {local_.sge(0, 4)}), EINVAL);
    EXPECT_EQ(post_send(pair_.a(), atomic(opcode, 1), {local_.sge(0, 16)}), EINVAL);
    EXPECT_EQ(post_send(pair_.a(), atomic(opcode, 1), {}), EINVAL);
  }
  ibv_send_wr wr = atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 1);
  wr.send_flags |= IBV_SEND_INLINE;
  EXPECT_EQ(post_send(pair_.a(), wr, {local_.sge(0, 8)}), EINVAL);
  EXPECT_EQ(
      post_send(pair_.a(), atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 1), {local_.sge(0, 4), local_.sge(4, 4)}), 0);
}

TEST_F(Atomic, NeedsAnAlignedAddress) {
  ibv_send_wr wr = atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 1);
  wr.wr.atomic.remote_addr += 1;
  ASSERT_EQ(post_send(pair_.a(), wr, {local_.sge(0, 8)}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(Atomic, NeedsTheRightToDoIt) {
  Buffer read_only(pair_.pd(), 8, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  ibv_send_wr wr = atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 1);
  wr.wr.atomic.remote_addr = read_only.address();
  wr.wr.atomic.rkey = read_only.rkey();
  ASSERT_EQ(post_send(pair_.a(), wr, {local_.sge(0, 8)}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_REM_ACCESS_ERR);
}

}  // namespace
}  // namespace urnic::test
