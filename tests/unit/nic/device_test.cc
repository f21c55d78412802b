// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using testing::ElementsAre;
using transport::Access;
using transport::PathMtu;

template <typename T>
int error_of(const Result<T, Error>& result) {
  return result ? 0 : result.error().code;
}

class DeviceTest : public testing::Test {
 protected:
  int register_error(void* memory, std::uint64_t length, std::uint64_t address, Access access) {
    return error_of(pair.a().device().register_memory(pair.a().pd(), memory, length, address, access));
  }
  QpCreateAttributes attributes() {
    return {.pd = &pair.a().pd(), .send_queue = &pair.a().cq(), .receive_queue = &pair.a().cq()};
  }

  DevicePair pair;
};

TEST(Device, OpensItsPortWithTheFirstQueuePairAndOnlyOnce) {
  kernel::Clock clock{std::chrono::hours(1)};
  FakeWire wire(4214);
  int opened = 0;
  DeviceConfig config;
  config.progress = ProgressMode::kManual;
  Device device(config, clock, [&]() -> Result<OpenedPort, Error> {
    if (++opened == 1) return failure(Error{.code = ENODEV, .message = "not yet"});
    return wire.port(0);
  });
  auto pd = std::move(device.allocate_pd().value());
  auto queue = std::move(device.create_cq(1, nullptr, nullptr).value());
  EXPECT_EQ(opened, 0);
  EXPECT_FALSE(device.progress());
  EXPECT_EQ(device.next_timeout(), transport::kNever);

  const QpCreateAttributes attributes{
      .pd = pd.get(), .send_queue = queue.get(), .receive_queue = queue.get()};
  EXPECT_EQ(error_of(device.create_qp(attributes)), ENODEV);
  EXPECT_FALSE(device.is_started());
  EXPECT_EQ(pd->users, 0u);
  auto qp = device.create_qp(attributes);
  ASSERT_TRUE(qp);
  EXPECT_TRUE(device.is_started());
  EXPECT_TRUE(device.start());
  EXPECT_EQ(opened, 2);
  device.destroy_qp(std::move(qp.value()));
  EXPECT_TRUE(device.destroy_cq(queue));
}

TEST(Device, OffersTheLargestPathMtuThatLeavesEightyBytes) {
  kernel::Clock clock{std::chrono::hours(1)};
  const auto mtu_of = [&](std::uint16_t link_mtu) {
    DeviceConfig config;
    config.link_mtu = link_mtu;
    return Device(config, clock, {}).max_path_mtu();
  };
  EXPECT_EQ(mtu_of(1500), PathMtu::k1024);
  EXPECT_EQ(mtu_of(4200), PathMtu::k4096);
  EXPECT_EQ(mtu_of(9000), PathMtu::k4096);
  EXPECT_EQ(mtu_of(4096 + 80), PathMtu::k4096);
  EXPECT_EQ(mtu_of(4096 + 79), PathMtu::k2048);
  EXPECT_EQ(mtu_of(512 + 79), PathMtu::k256);
}

TEST_F(DeviceTest, RefusesToDestroyAQueueThatIsInUse) {
  pair.connect();
  auto queue = std::move(pair.a().device().create_cq(4, nullptr, nullptr).value());
  QpCreateAttributes with_queue = attributes();
  with_queue.receive_queue = queue.get();
  auto qp = std::move(pair.a().device().create_qp(with_queue).value());
  EXPECT_EQ(error_of(pair.a().device().destroy_cq(queue)), EBUSY);
  EXPECT_NE(queue, nullptr);
  pair.a().device().destroy_qp(std::move(qp));
  EXPECT_TRUE(pair.a().device().destroy_cq(queue));
  EXPECT_EQ(queue, nullptr);
}

TEST_F(DeviceTest, CountsWhoUsesAProtectionDomain) {
  ProtectionDomain& pd = pair.a().pd();
  const std::uint32_t before = pd.users;
  pair.a().add_queue_pair();
  EXPECT_EQ(pd.users, before + 1);
  int data = 0;
  const auto region = pair.a().device().register_memory(pd, &data, sizeof data, 0, Access::kNone);
  ASSERT_TRUE(region);
  EXPECT_EQ(pd.users, before + 2);
  EXPECT_TRUE(pair.a().device().deregister_memory(pd, region.value().key));
  EXPECT_EQ(error_of(pair.a().device().deregister_memory(pd, region.value().key)), EINVAL);
  pair.a().destroy_queue_pair();
  EXPECT_EQ(pd.users, before);
}

TEST_F(DeviceTest, GivesEachProtectionDomainAnIdOfItsOwn) {
  EXPECT_NE(pair.a().device().allocate_pd().value()->id, pair.a().device().allocate_pd().value()->id);
}

TEST_F(DeviceTest, HasNoMoreProtectionDomainsThanItSays) {
  Device& device = pair.a().device();
  std::vector<std::unique_ptr<ProtectionDomain>> domains;
  auto made = device.allocate_pd();
  while (made && domains.size() < DeviceLimits::kMaxProtectionDomains) {
    domains.push_back(std::move(made.value()));
    made = device.allocate_pd();
  }
  EXPECT_EQ(error_of(made), ENOMEM);
  EXPECT_EQ(domains.size(), DeviceLimits::kMaxProtectionDomains - 1) << "the rig has one";
  domains.pop_back();
  EXPECT_TRUE(device.allocate_pd());
}

TEST_F(DeviceTest, RefusesRemoteWriteWithoutLocalWrite) {
  int data = 0;
  EXPECT_EQ(register_error(&data, 4, 0, Access::kRemoteWrite), EINVAL);
  EXPECT_EQ(register_error(&data, 4, 0, Access::kRemoteAtomic), EINVAL);
  EXPECT_EQ(register_error(&data, 4, 0, Access::kRemoteRead), 0);
  EXPECT_EQ(register_error(&data, 4, 0, Access::kRemoteWrite | Access::kLocalWrite), 0);
}

TEST_F(DeviceTest, RefusesARangeThatWrapsAround) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  int data = 0;
  EXPECT_EQ(register_error(&data, kLast, 0, Access::kNone), EINVAL);
  EXPECT_EQ(register_error(&data, 4, kLast - 2, Access::kNone), EINVAL);
  EXPECT_EQ(register_error(reinterpret_cast<void*>(kLast), 2, 0, Access::kNone), EINVAL);
}

TEST_F(DeviceTest, RefusesMemoryThatIsNotThere) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(register_error(memory, page, 0, Access::kLocalWrite), EFAULT);
  EXPECT_EQ(register_error(memory, page, 0, Access::kRemoteRead), 0);
  munmap(memory, page);
  EXPECT_EQ(register_error(memory, page, 0, Access::kRemoteRead), EFAULT);
  EXPECT_EQ(register_error(nullptr, 1, 0, Access::kNone), EFAULT);
}

TEST_F(DeviceTest, RegistersNoBytesInsideOfAPageOnly) {
  alignas(8) char data[8] = {};
  EXPECT_EQ(register_error(data + 1, 0, 0, Access::kLocalWrite), 0);
  EXPECT_EQ(register_error(nullptr, 0, 0, Access::kLocalWrite), EINVAL);
}

TEST_F(DeviceTest, RefusesQueuePairsBeyondItsLimits) {
  Device& device = pair.a().device();
  EXPECT_EQ(error_of(device.create_qp({})), EINVAL);
  QpCreateAttributes wanted = attributes();
  wanted.capabilities.max_send_wr = DeviceLimits::kMaxWorkRequests + 1;
  EXPECT_EQ(error_of(device.create_qp(wanted)), EINVAL);
  wanted = attributes();
  wanted.capabilities.max_receive_sge = DeviceLimits::kMaxSges + 1;
  EXPECT_EQ(error_of(device.create_qp(wanted)), EINVAL);
  wanted = attributes();
  wanted.capabilities.max_inline_data = DeviceLimits::kMaxInlineBytes + 1;
  EXPECT_EQ(error_of(device.create_qp(wanted)), EINVAL);
  EXPECT_EQ(pair.a().cq().users, 0u);
}

TEST_F(DeviceTest, RefusesCompletionQueuesBeyondItsLimits) {
  EXPECT_EQ(error_of(pair.a().device().create_cq(0, nullptr, nullptr)), EINVAL);
  EXPECT_EQ(error_of(pair.a().device().create_cq(DeviceLimits::kMaxCompletions + 1, nullptr, nullptr)),
            EINVAL);
}

TEST_F(DeviceTest, ChecksAddressVectors) {
  Device& device = pair.a().device();
  const AddressVector good{.destination = pair.b().gid(), .source_gid_index = 1};
  EXPECT_EQ(error_of(device.check_address(good)), 0);
  AddressVector bad = good;
  bad.source_gid_index = 2;
  EXPECT_EQ(error_of(device.check_address(bad)), EINVAL);
  bad = good;
  bad.source_gid_index = 0;
  EXPECT_EQ(error_of(device.check_address(bad)), EINVAL);
  bad = good;
  bad.destination = {};
  EXPECT_EQ(error_of(device.check_address(bad)), EINVAL);
}

TEST_F(DeviceTest, TellsTheEventHandlerWhichQueuePairItIs) {
  std::vector<std::pair<void*, transport::QpEvent>> events;
  pair.b().device().set_event_handlers(
      {.on_qp = [&](void* context, transport::QpEvent event) { events.emplace_back(context, event); }});
  pair.connect();
  pair.settle();
  // A WRITE with a key that is none.
  pair.a().post(
      {.operation = transport::SendOperation::kWrite, .remote_address = 1, .rkey = transport::Rkey{77}}, 0,
      8);
  pair.settle();
  EXPECT_THAT(events, ElementsAre(std::make_pair(&pair.b(), transport::QpEvent::kAccessError)));
}

TEST_F(DeviceTest, TouchesMemoryNoMoreOnceItIsDeregistered) {
  pair.connect();
  Host& b = pair.b();
  std::vector<std::byte> memory(64);
  const auto region = b.device().register_memory(b.pd(), memory.data(), memory.size(), 0x1000,
                                                 Access::kLocalWrite | Access::kRemoteWrite);
  ASSERT_TRUE(region);
  pair.a().memory()[0] = std::byte{42};
  const transport::SendRequest write{.wr_id = 1,
                                     .operation = transport::SendOperation::kWrite,
                                     .signaled = true,
                                     .remote_address = 0x1000,
                                     .rkey = transport::Rkey{region.value().key}};
  pair.a().post(write, 0, 1);
  pair.settle();
  EXPECT_EQ(memory[0], std::byte{42});
  ASSERT_TRUE(b.device().deregister_memory(b.pd(), region.value().key));
  pair.a().memory()[0] = std::byte{43};
  pair.a().post(write, 0, 1);
  pair.settle();
  EXPECT_EQ(memory[0], std::byte{42});
  EXPECT_EQ(pair.a().poll_text(), "1 ok, 1 failed");
}

}  // namespace
}  // namespace urnic::nic
