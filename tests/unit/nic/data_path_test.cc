// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the data path may not do: allocate. A program of its own, because it counts every operator new.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>

#include "nic/queues/queue_pair.h"
#include "tests/support/self_connected_device.h"
#include "transport/rc/endpoint.h"

namespace {

std::size_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace urnic::nic {
namespace {

using test::SelfConnectedDevice;
using transport::QpNumber;
using transport::SendOperation;
using transport::SendRequest;

// Beside its rings: queues, and the responder resources. Of mutexes there are two, with 40 bytes on x86-64
// and 48 on arm64.
TEST(QueuePairSize, OfAnIdleConnectionIsAboutTwoKibibytes) {
  constexpr std::size_t kMutexes = 2 * (sizeof(std::mutex) - 40);
  // What a queue pair has to know of the NIC that it may be like, of RoCE v1 and of an adversary.
  constexpr std::size_t kUnlikeOthers = 128;
  EXPECT_LT(sizeof(QueuePair) + sizeof(transport::RcEndpoint), 2048u + kUnlikeOthers + kMutexes);
}

/// What a batch allocates, once everything has been done before.
class DataPath : public testing::Test {
 protected:
  static constexpr std::size_t kBatch = 32;

  /// Of `kBatch` requests, each of which takes a receive if `receives`.
  std::size_t allocations_of(const SendRequest& request, std::uint32_t length, bool receives) {
    const std::size_t completions = receives ? 2 * kBatch : kBatch;
    std::size_t before = 0;
    for (int round = 0; round < 3; ++round) {
      before = allocations;
      if (receives) device.post_receives(1, kBatch, 8192);
      device.run(0, request, length, kBatch, completions);
    }
    return allocations - before;
  }
  SendRequest remote(SendOperation operation) {
    return {.operation = operation,
            .signaled = true,
            .remote_address = device.address() + 8192,
            .rkey = device.rkey()};
  }

  SelfConnectedDevice device;
};

TEST_F(DataPath, CountsWhatIsAllocated) {
  const std::size_t before = allocations;
  delete new int(1);
  EXPECT_EQ(allocations, before + 1);
}

TEST_F(DataPath, AllocatesNothingForAReliableConnection) {
  device.add_pair();
  EXPECT_EQ(allocations_of(remote(SendOperation::kSend), 5000, true), 0u);
  EXPECT_EQ(allocations_of(remote(SendOperation::kSendWithImmediate), 64, true), 0u);
  EXPECT_EQ(allocations_of(remote(SendOperation::kWrite), 5000, false), 0u);
  EXPECT_EQ(allocations_of(remote(SendOperation::kWriteWithImmediate), 5000, true), 0u);
  EXPECT_EQ(allocations_of(remote(SendOperation::kRead), 5000, false), 0u);
  EXPECT_EQ(allocations_of(remote(SendOperation::kFetchAdd), 8, false), 0u);
  EXPECT_EQ(allocations_of(remote(SendOperation::kCompareSwap), 8, false), 0u);
  EXPECT_EQ(allocations_of(remote(SendOperation::kAtomicWrite), 8, false), 0u);
}

TEST_F(DataPath, AllocatesNothingForAnUnreliableConnection) {
  device.add_pair(QpType::kUc);
  EXPECT_EQ(allocations_of(remote(SendOperation::kSend), 5000, true), 0u);
  EXPECT_EQ(allocations_of(remote(SendOperation::kWrite), 5000, false), 0u);
}

TEST_F(DataPath, AllocatesNothingForDatagrams) {
  device.add_pair(QpType::kUd);
  const SendRequest send{
      .operation = SendOperation::kSend,
      .signaled = true,
      .destination = {
          .address = device.self(), .qp = device.qp(1).number(), .qkey = SelfConnectedDevice::kQkey}};
  EXPECT_EQ(allocations_of(send, 1000, true), 0u);
}

}  // namespace
}  // namespace urnic::nic
