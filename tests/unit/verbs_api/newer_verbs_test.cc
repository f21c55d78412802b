// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Verbs of rdma-core 59 to 65, called as programs do that were built with its headers. Their structs and
// prototypes are written down here once more, as infiniband/verbs.h of version 65 has them, since the
// installed one may be older.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace rdma_core_65 {

struct InitAttr {
  std::size_t length;
  int access;
  std::uint64_t comp_mask;
  std::uint64_t iova;
  void* addr;
  int fd;
  std::uint64_t fd_offset;
  void* dmah;
  void* buf;
};
constexpr std::uint64_t kIova = 1, kAddr = 2, kFd = 4, kFdOffset = 8, kDmah = 16, kBuf = 32;

ibv_mr* reg_mr_ex(ibv_pd*, InitAttr*) __asm__("ibv_reg_mr_ex");
void* alloc_buf(ibv_pd*, std::size_t, void**) __asm__("ibv_alloc_buf");
void free_buf(void*) __asm__("ibv_free_buf");
ibv_mr* reg_buf_mr(ibv_pd*, void*, void*, std::size_t, int) __asm__("ibv_reg_buf_mr");
int export_buf_dmabuf_fd(void*) __asm__("ibv_export_buf_dmabuf_fd");
int query_port_speed(ibv_context*, std::uint32_t, std::uint64_t*) __asm__("ibv_query_port_speed");
void* alloc_dmah(ibv_context*, void*) __asm__("ibv_alloc_dmah");
int dealloc_dmah(void*) __asm__("ibv_dealloc_dmah");
int dm_export_dmabuf_fd(void*) __asm__("ibv_dm_export_dmabuf_fd");
int query_comp_cntr_caps(ibv_context*, void*, std::size_t) __asm__("_ibv_query_comp_cntr_caps");
void* create_comp_cntr(ibv_context*, void*) __asm__("ibv_create_comp_cntr");
int destroy_comp_cntr(void*) __asm__("ibv_destroy_comp_cntr");
int qp_attach_comp_cntr(ibv_qp*, void*, void*) __asm__("ibv_qp_attach_comp_cntr");
using ChangeCounter = int(void*, std::uint64_t);
ChangeCounter set_comp_cntr __asm__("ibv_set_comp_cntr");
ChangeCounter set_err_comp_cntr __asm__("ibv_set_err_comp_cntr");
ChangeCounter inc_comp_cntr __asm__("ibv_inc_comp_cntr");
ChangeCounter inc_err_comp_cntr __asm__("ibv_inc_err_comp_cntr");
using ReadCounter = int(void*, std::uint64_t*);
ReadCounter read_comp_cntr __asm__("ibv_read_comp_cntr");
ReadCounter read_err_comp_cntr __asm__("ibv_read_err_comp_cntr");

}  // namespace rdma_core_65

namespace {

using namespace rdma_core_65;

class NewerVerbs : public testing::Test {
 protected:
  /// The errno value of a registration that must fail.
  int refused(InitAttr attributes) {
    errno = 0;
    EXPECT_EQ(reg_mr_ex(pd_.get(), &attributes), nullptr);
    return errno;
  }
  InitAttr of_memory() {
    return {.length = memory_.size(),
            .access = kAllAccess,
            .comp_mask = kAddr,
            .iova = 0x1234,
            .addr = memory_.data(),
            .fd = -1,
            .fd_offset = 0,
            .dmah = nullptr,
            .buf = nullptr};
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(4096);
};

/// What `region` shows to a READ of a queue pair of the same device: the first byte at `address`.
std::uint8_t read_byte(ibv_context* context, ibv_pd* pd, const ibv_mr* region, std::uint64_t address) {
  const CqPtr cq(ibv_create_cq(context, 16, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  const QpPtr reader(ibv_create_qp(pd, &attributes));
  const QpPtr answerer(ibv_create_qp(pd, &attributes));
  EXPECT_EQ(connect(reader.get(), answerer->qp_num), 0);
  EXPECT_EQ(connect(answerer.get(), reader->qp_num), 0);
  Buffer to(pd, 1);
  ibv_sge sge = to.sge();
  ibv_send_wr request{};
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = address;
  request.wr.rdma.rkey = region->rkey;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(reader.get(), &request, &bad), 0);
  EXPECT_EQ(next_completion(cq.get()).status, IBV_WC_SUCCESS);
  return *to.data();
}

TEST_F(NewerVerbs, RegisterMemoryAtItsOwnAddress) {
  InitAttr attributes = of_memory();
  const MrPtr mr(reg_mr_ex(pd_.get(), &attributes));
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, memory_.data());
  EXPECT_EQ(mr->length, memory_.size());
  EXPECT_EQ(mr->pd, pd_.get());
  memory_[100] = 77;
  EXPECT_EQ(read_byte(context_.get(), pd_.get(), mr.get(), reinterpret_cast<std::uintptr_t>(&memory_[100])),
            77);
}

TEST_F(NewerVerbs, RegisterMemoryAtAnother) {
  InitAttr attributes = of_memory();
  attributes.comp_mask |= kIova;
  const MrPtr mr(reg_mr_ex(pd_.get(), &attributes));
  ASSERT_NE(mr, nullptr);
  memory_[100] = 78;
  EXPECT_EQ(read_byte(context_.get(), pd_.get(), mr.get(), 0x1234 + 100), 78);
}

TEST_F(NewerVerbs, ReadTheStructOnlyAsFarAsTheOlderOneGoes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const pages = static_cast<std::uint8_t*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(pages), MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  const InitAttr attributes = of_memory();
  constexpr std::size_t kSizeIn59 = offsetof(InitAttr, buf);
  std::uint8_t* const at = pages + page - kSizeIn59;
  std::memcpy(at, &attributes, kSizeIn59);
  const MrPtr mr(reg_mr_ex(pd_.get(), reinterpret_cast<InitAttr*>(at)));
  EXPECT_NE(mr, nullptr);
  munmap(pages, 2 * page);
}

TEST_F(NewerVerbs, RegisterADmaBuf) {
  const int fd = memfd_create("dma-buf", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 8192), 0);
  const std::uint8_t byte = 79;
  ASSERT_EQ(pwrite(fd, &byte, 1, 4096 + 5), 1);
  InitAttr attributes = of_memory();
  attributes.comp_mask = kFd | kFdOffset | kIova;
  attributes.fd = fd;
  attributes.fd_offset = 4096;
  attributes.length = 64;
  const MrPtr mr(reg_mr_ex(pd_.get(), &attributes));
  ASSERT_NE(mr, nullptr);
  close(fd);
  EXPECT_EQ(read_byte(context_.get(), pd_.get(), mr.get(), 0x1234 + 5), 79);
}

TEST_F(NewerVerbs, RefuseWhatIsNoRegistration) {
  const auto with = [this](std::uint64_t mask) {
    InitAttr attributes = of_memory();
    attributes.comp_mask = mask;
    return refused(attributes);
  };
  EXPECT_EQ(with(0), EINVAL) << "of nothing";
  EXPECT_EQ(with(kAddr | kFd), EINVAL) << "of two things";
  EXPECT_EQ(with(kFdOffset), EINVAL);
  EXPECT_EQ(with(kBuf | kAddr), EINVAL) << "of no buffer";
  EXPECT_EQ(with(kAddr | kDmah), EOPNOTSUPP);
  EXPECT_EQ(with(kAddr | 64), EOPNOTSUPP) << "a member that is not there yet";
  errno = 0;
  EXPECT_EQ(reg_mr_ex(pd_.get(), nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(NewerVerbs, AllocateBuffersInPagesAndRegisterPartsOfThem) {
  void* buffer = nullptr;
  auto* const memory = static_cast<std::uint8_t*>(alloc_buf(pd_.get(), 5000, &buffer));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)),
            0u);
  std::memset(memory, 80, 5000);
  const MrPtr mr(reg_buf_mr(pd_.get(), buffer, memory + 4096, 904, kAllAccess));
  ASSERT_NE(mr, nullptr);
  const auto address = reinterpret_cast<std::uintptr_t>(memory + 4096);
  EXPECT_EQ(read_byte(context_.get(), pd_.get(), mr.get(), address), 80);
  InitAttr attributes = of_memory();
  attributes.comp_mask = kBuf | kAddr | kIova;
  attributes.addr = memory;
  attributes.buf = buffer;
  const MrPtr whole(reg_mr_ex(pd_.get(), &attributes));
  EXPECT_NE(whole, nullptr);
  EXPECT_EQ(read_byte(context_.get(), pd_.get(), whole.get(), 0x1234), 80);
  errno = 0;
  EXPECT_EQ(export_buf_dmabuf_fd(buffer), -1);
  EXPECT_EQ(errno, ENODATA);
  free_buf(buffer);
}

TEST_F(NewerVerbs, RefusePartsOfBuffersThatAreNone) {
  const PdPtr other(ibv_alloc_pd(context_.get()));
  void* buffer = nullptr;
  auto* const memory = static_cast<std::uint8_t*>(alloc_buf(pd_.get(), 4096, &buffer));
  ASSERT_NE(memory, nullptr);
  const auto part = [&](ibv_pd* pd, void* from, std::size_t length) {
    errno = 0;
    return reg_buf_mr(pd, buffer, from, length, kAllAccess) == nullptr ? errno : 0;
  };
  EXPECT_EQ(part(pd_.get(), memory, 4097), EINVAL);
  EXPECT_EQ(part(pd_.get(), memory + 4096, 1), EINVAL);
  EXPECT_EQ(part(pd_.get(), memory - 1, 1), EINVAL);
  EXPECT_EQ(part(pd_.get(), memory + 1, SIZE_MAX), EINVAL);
  EXPECT_EQ(part(other.get(), memory, 64), EINVAL);
  InitAttr attributes = of_memory();
  attributes.buf = buffer;
  attributes.comp_mask = kBuf;
  EXPECT_EQ(refused(attributes), EINVAL) << "which part?";
  attributes.comp_mask = kBuf | kAddr | kFd;
  EXPECT_EQ(refused(attributes), EINVAL);
  free_buf(buffer);
}

TEST_F(NewerVerbs, KnowBuffersThatAreGone) {
  void* buffer = nullptr;
  void* const memory = alloc_buf(pd_.get(), 64, &buffer);
  ASSERT_NE(memory, nullptr);
  free_buf(buffer);
  free_buf(buffer);
  free_buf(nullptr);
  errno = 0;
  EXPECT_EQ(reg_buf_mr(pd_.get(), buffer, memory, 64, kAllAccess), nullptr);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(export_buf_dmabuf_fd(buffer), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(NewerVerbs, AllocateNoBufferWithoutSizeOrOfAnySize) {
  void* buffer = nullptr;
  errno = 0;
  EXPECT_EQ(alloc_buf(pd_.get(), 0, &buffer), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(alloc_buf(pd_.get(), SIZE_MAX, &buffer), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(buffer, nullptr);
}

TEST_F(NewerVerbs, TellThePortsSpeedAsWidthAndSpeedDo) {
  std::uint64_t speed = 0;
  EXPECT_EQ(query_port_speed(context_.get(), 1, &speed), 0);
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(context_.get(), 1, &port), 0);
  EXPECT_EQ(port.active_width, 2) << "4x";
  EXPECT_EQ(port.active_speed, 4) << "10 Gb/s";
  EXPECT_EQ(speed, 4u * 100);
  EXPECT_EQ(query_port_speed(context_.get(), 2, &speed), EINVAL);
}

TEST_F(NewerVerbs, SayWhatIsNotOffered) {
  std::uint64_t value = 0;
  errno = 0;
  EXPECT_EQ(alloc_dmah(context_.get(), &value), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  errno = 0;
  EXPECT_EQ(create_comp_cntr(context_.get(), &value), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  errno = 0;
  EXPECT_EQ(dm_export_dmabuf_fd(nullptr), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(dealloc_dmah(nullptr), EOPNOTSUPP);
  EXPECT_EQ(query_comp_cntr_caps(context_.get(), &value, sizeof(value)), EOPNOTSUPP);
  EXPECT_EQ(destroy_comp_cntr(nullptr), EOPNOTSUPP);
  EXPECT_EQ(qp_attach_comp_cntr(nullptr, nullptr, nullptr), EOPNOTSUPP);
  for (ChangeCounter* const change : {set_comp_cntr, set_err_comp_cntr, inc_comp_cntr, inc_err_comp_cntr}) {
    EXPECT_EQ(change(nullptr, 1), EOPNOTSUPP);
  }
  for (ReadCounter* const read : {read_comp_cntr, read_err_comp_cntr})
    EXPECT_EQ(read(nullptr, &value), EOPNOTSUPP);
}

}  // namespace
}  // namespace urnic::test
