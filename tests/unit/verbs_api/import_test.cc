// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Contexts that are imported by a duplicate of their cmd_fd, and what is imported into them by handle.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

class Import : public testing::Test {
 protected:
  ContextPtr import_context() const {
    const int fd = dup(context_->cmd_fd);
    ContextPtr imported(ibv_import_device(fd));
    EXPECT_NE(imported, nullptr);
    return imported;
  }
  static int error_of_import(int fd) {
    errno = 0;
    EXPECT_EQ(ibv_import_device(fd), nullptr);
    return errno;
  }

  const ContextPtr context_ = open_device();
  PdPtr pd_{ibv_alloc_pd(context_.get())};
  ContextPtr imported_ = import_context();
};

TEST_F(Import, MakesAnotherContextOfTheSameDevice) {
  EXPECT_NE(imported_, context_);
  EXPECT_EQ(imported_->device, context_->device);
  EXPECT_NE(imported_->async_fd, context_->async_fd);
  EXPECT_EQ(imported_->num_comp_vectors, context_->num_comp_vectors);
  const int fd = imported_->cmd_fd;
  EXPECT_NE(fd, context_->cmd_fd);
  imported_.reset();
  EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "it was taken over";
  EXPECT_NE(fcntl(context_->cmd_fd, F_GETFD), -1);
  const PdPtr still_works(ibv_alloc_pd(context_.get()));
  EXPECT_NE(still_works, nullptr);
}

// As pyverbs' test_shared_pd does it, down to giving the domain up before the queue pair in it.
TEST_F(Import, SharesADomainAndTheMemoryInIt) {
  Buffer shared(pd_.get(), 64);
  ibv_pd* const pd = ibv_import_pd(imported_.get(), pd_->handle);
  ASSERT_NE(pd, nullptr);
  EXPECT_EQ(pd->context, imported_.get());
  EXPECT_EQ(pd->handle, pd_->handle);
  ibv_mr* const mr = ibv_import_mr(pd, shared.mr()->handle);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, nullptr);
  EXPECT_EQ(mr->length, 64u);
  EXPECT_EQ(mr->lkey, shared.mr()->lkey);
  EXPECT_EQ(mr->rkey, shared.mr()->rkey);

  const CqPtr cq(ibv_create_cq(imported_.get(), 16, nullptr, nullptr, 0));
  const CqPtr other_cq(ibv_create_cq(context_.get(), 16, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  QpPtr qp(ibv_create_qp(pd, &attributes));
  attributes = rc_attributes(other_cq.get());
  const QpPtr other(ibv_create_qp(pd_.get(), &attributes));
  ASSERT_EQ(connect(qp.get(), other->qp_num), 0);
  ASSERT_EQ(connect(other.get(), qp->qp_num), 0);
  Buffer to(pd_.get(), 64);
  shared.fill(3);
  ASSERT_EQ(post_receive(other.get(), 1, {to.sge()}), 0);
  ASSERT_EQ(
      post_send(qp.get(), request(IBV_WR_SEND),
                {{.addr = reinterpret_cast<std::uintptr_t>(shared.data()), .length = 64, .lkey = mr->lkey}}),
      0);
  EXPECT_EQ(next_completion(cq.get()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(next_completion(other_cq.get()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(to.bytes(), shared.bytes());

  ibv_unimport_mr(mr);
  ibv_unimport_pd(pd);
  qp.reset();
  ASSERT_EQ(post_receive(other.get(), 1, {shared.sge()}), 0) << "the others are what they were";
}

TEST_F(Import, CountsWhatEitherHandleIsUsedFor) {
  const PdPtr pd(ibv_import_pd(imported_.get(), pd_->handle));
  {
    const Buffer buffer(pd.get(), 64);
    EXPECT_EQ(ibv_dealloc_pd(pd_.get()), EBUSY);
    EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
  }
  const std::uint32_t handle = pd_->handle;
  pd_.reset();
  EXPECT_EQ(ibv_import_pd(imported_.get(), handle), nullptr) << "it is gone for those who come later";
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Import, KeepsADomainThatIsGivenUpTooSoon) {
  ibv_pd* const pd = ibv_import_pd(imported_.get(), pd_->handle);
  pd_.reset();
  const CqPtr cq(ibv_create_cq(imported_.get(), 16, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  QpPtr qp(ibv_create_qp(pd, &attributes));
  ASSERT_NE(qp, nullptr);
  ibv_unimport_pd(pd);
  qp.reset();
  ibv_unimport_pd(pd);
}

TEST_F(Import, DeregistersByWhicheverHandleComesFirst) {
  std::array<std::uint8_t, 64> memory{};
  ibv_mr* const mr = ibv_reg_mr(pd_.get(), memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
  const PdPtr pd(ibv_import_pd(imported_.get(), pd_->handle));
  ibv_mr* const first = ibv_import_mr(pd.get(), mr->handle);
  ibv_mr* const second = ibv_import_mr(pd.get(), mr->handle);
  ASSERT_NE(second, nullptr);
  const std::uint32_t handle = mr->handle;
  EXPECT_EQ(ibv_dereg_mr(first), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), EINVAL);
  EXPECT_EQ(ibv_dereg_mr(second), EINVAL);
  EXPECT_EQ(ibv_import_mr(pd.get(), handle), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_unimport_mr(second);
  ibv_unimport_mr(mr);
  EXPECT_EQ(ibv_dealloc_pd(pd_.get()), 0) << "nothing is registered any more";
  pd_.release();
}

TEST_F(Import, SharesDeviceMemory) {
  ibv_alloc_dm_attr attr{.length = 64, .log_align_req = 0, .comp_mask = 0};
  ibv_dm* const dm = ibv_alloc_dm(context_.get(), &attr);
  ibv_dm* const second = ibv_alloc_dm(context_.get(), &attr);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(dm->handle, second->handle);
  ibv_dm* const imported = ibv_import_dm(imported_.get(), dm->handle);
  ASSERT_NE(imported, nullptr);
  EXPECT_EQ(imported->context, imported_.get());
  const std::uint64_t written = 0x0102030405060708;
  ASSERT_EQ(ibv_memcpy_to_dm(dm, 8, &written, sizeof(written)), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
  std::uint64_t read = 0;
  ASSERT_EQ(ibv_memcpy_from_dm(&read, imported, 8, sizeof(read)), 0);
  EXPECT_EQ(read, written);
  const PdPtr pd(ibv_import_pd(imported_.get(), pd_->handle));
  {
    const MrPtr mr(ibv_reg_dm_mr(pd.get(), imported, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE));
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(ibv_free_dm(imported), EBUSY);
  }
  ibv_unimport_dm(imported);
  EXPECT_EQ(ibv_free_dm(second), 0);
}

TEST_F(Import, IsOfTheSameFileOnly) {
  const ContextPtr stranger = open_device();
  EXPECT_EQ(ibv_import_pd(stranger.get(), pd_->handle), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const PdPtr strange_pd(ibv_alloc_pd(stranger.get()));
  Buffer buffer(pd_.get(), 64);
  EXPECT_EQ(ibv_import_mr(strange_pd.get(), buffer.mr()->handle), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_import_dm(stranger.get(), 1), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_import_pd(imported_.get(), 0xffffffff), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_import_pd(nullptr, 1), nullptr);
  EXPECT_EQ(ibv_import_mr(nullptr, 1), nullptr);
  EXPECT_EQ(ibv_import_dm(nullptr, 1), nullptr);
  ibv_unimport_pd(nullptr);
  ibv_unimport_mr(nullptr);
  ibv_unimport_dm(nullptr);
}

TEST_F(Import, SaysWhyADescriptorIsNoDevice) {
  EXPECT_EQ(error_of_import(-1), EBADF);
  const int null = open("/dev/null", O_RDONLY);
  EXPECT_EQ(error_of_import(null), EINVAL);
  EXPECT_NE(fcntl(null, F_GETFD), -1) << "the library has not taken it over";
  close(null);
  const int of_another_process = memfd_create("urnic", 0);
  EXPECT_EQ(error_of_import(of_another_process), EOPNOTSUPP);
  close(of_another_process);
}

TEST(ImportOfAClosedDevice, IsRefused) {
  ContextPtr context = open_device();
  const int fd = dup(context->cmd_fd);
  context.reset();
  EXPECT_EQ(ibv_import_device(fd), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  close(fd);
}

TEST(ImportedContext, LeavesWhatItImportedWhenItCloses) {
  const ContextPtr context = open_device();
  const PdPtr pd(ibv_alloc_pd(context.get()));
  Buffer buffer(pd.get(), 64);
  ibv_context* const imported = ibv_import_device(dup(context->cmd_fd));
  ibv_pd* const same = ibv_import_pd(imported, pd->handle);
  ASSERT_NE(ibv_import_mr(same, buffer.mr()->handle), nullptr);
  EXPECT_EQ(ibv_close_device(imported), 0);
  const CqPtr cq(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  const QpPtr a(ibv_create_qp(pd.get(), &attributes));
  ASSERT_EQ(connect(a.get(), a->qp_num), 0);
  ASSERT_EQ(post_send(a.get(), request(IBV_WR_RDMA_WRITE, buffer), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(cq.get()).status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace urnic::test
