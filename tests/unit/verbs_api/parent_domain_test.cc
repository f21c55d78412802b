// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Thread domains, parent domains, and memory of queues that the program provides.
#include <cerrno>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

using TdPtr = std::unique_ptr<ibv_td, Destroy<ibv_dealloc_td>>;

/// Provides memory, and knows what it has given.
struct Provider {
  enum class Answer { kMemory, kDefault, kNothing, kCrooked };

  static void* allocate(ibv_pd* pd, void* context, std::size_t size, std::size_t alignment,
                        std::uint64_t type) {
    auto& self = *static_cast<Provider*>(context);
    self.domains.insert(pd);
    ++self.calls;
    if (self.calls > self.good_calls) return nullptr;
    switch (self.answer) {
      case Answer::kDefault:
        return IBV_ALLOCATOR_USE_DEFAULT;
      case Answer::kNothing:
        return nullptr;
      case Answer::kMemory:
      case Answer::kCrooked:
        break;
    }
    void* memory = nullptr;
    EXPECT_EQ(posix_memalign(&memory, alignment, size + alignment), 0);
    if (self.answer == Answer::kCrooked) memory = static_cast<char*>(memory) + 1;
    self.given[memory] = type;
    self.types.insert(type);
    return memory;
  }
  static void free(ibv_pd* pd, void* context, void* memory, std::uint64_t type) {
    auto& self = *static_cast<Provider*>(context);
    self.domains.insert(pd);
    const auto found = self.given.find(memory);
    ASSERT_NE(found, self.given.end()) << "this was not given, or was freed before";
    EXPECT_EQ(found->second, type);
    self.given.erase(found);
    std::free(static_cast<char*>(memory) - (self.answer == Answer::kCrooked ? 1 : 0));
  }

  Answer answer = Answer::kMemory;
  int good_calls = 1'000'000;
  int calls = 0;
  std::map<void*, std::uint64_t> given;
  std::set<std::uint64_t> types;
  std::set<ibv_pd*> domains;
};

class ParentDomain : public testing::Test {
 protected:
  PdPtr make(ibv_td* td = nullptr) {
    ibv_parent_domain_init_attr attributes{};
    attributes.pd = pd_.get();
    attributes.td = td;
    return PdPtr(ibv_alloc_parent_domain(context_.get(), &attributes));
  }
  PdPtr make(Provider& provider) {
    ibv_parent_domain_init_attr attributes{};
    attributes.pd = pd_.get();
    attributes.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    attributes.alloc = Provider::allocate;
    attributes.free = Provider::free;
    attributes.pd_context = &provider;
    return PdPtr(ibv_alloc_parent_domain(context_.get(), &attributes));
  }
  /// 0 or an errno value.
  int error_of(ibv_parent_domain_init_attr* attributes) {
    errno = 0;
    const PdPtr made(ibv_alloc_parent_domain(context_.get(), attributes));
    EXPECT_EQ(made == nullptr, errno != 0);
    return errno;
  }
  ibv_cq_ex* make_cq(ibv_pd* domain) {
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 32;
    attributes.wc_flags = IBV_WC_STANDARD_FLAGS;
    attributes.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    attributes.parent_domain = domain;
    errno = 0;
    return ibv_create_cq_ex(context_.get(), &attributes);
  }
  /// Connects a queue pair of each domain and sends from one to the other, from and to memory of theirs.
  void expect_traffic(ibv_pd* from, ibv_pd* to, Buffer& source, Buffer& destination, ibv_cq* cq) {
    ibv_qp_init_attr attributes = rc_attributes(cq);
    const QpPtr a(ibv_create_qp(from, &attributes));
    const QpPtr b(ibv_create_qp(to, &attributes));
    ASSERT_NE(a, nullptr);
    ASSERT_NE(b, nullptr);
    ASSERT_EQ(connect(a.get(), b->qp_num), 0);
    ASSERT_EQ(connect(b.get(), a->qp_num), 0);
    source.fill(3);
    ASSERT_EQ(post_receive(b.get(), 1, {destination.sge()}), 0);
    ASSERT_EQ(post_send(a.get(), request(IBV_WR_SEND, 2), {source.sge()}), 0);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(next_completion(cq).status, IBV_WC_SUCCESS);
    EXPECT_EQ(source.bytes(), destination.bytes());
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const CqPtr cq_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
};

TEST_F(ParentDomain, SharesMemoryRegionsWithTheDomainItWasMadeWith) {
  const PdPtr parent = make();
  ASSERT_NE(parent, nullptr);
  EXPECT_NE(parent.get(), pd_.get());
  EXPECT_EQ(parent->context, context_.get());
  Buffer in_pd(pd_.get(), 100);
  Buffer in_parent(parent.get(), 100);
  expect_traffic(pd_.get(), parent.get(), in_parent, in_pd, cq_.get());
  expect_traffic(parent.get(), parent.get(), in_pd, in_parent, cq_.get());
}

TEST_F(ParentDomain, DoesNotShareThemWithOthers) {
  const PdPtr parent = make();
  const PdPtr stranger(ibv_alloc_pd(context_.get()));
  Buffer foreign(stranger.get(), 100);
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  const QpPtr a(ibv_create_qp(parent.get(), &attributes));
  const QpPtr b(ibv_create_qp(parent.get(), &attributes));
  ASSERT_EQ(connect(a.get(), b->qp_num), 0);
  ASSERT_EQ(connect(b.get(), a->qp_num), 0);
  ASSERT_EQ(post_send(a.get(), request(IBV_WR_SEND, 2), {foreign.sge()}), 0);
  EXPECT_EQ(next_completion(cq_.get()).status, IBV_WC_LOC_PROT_ERR);
}

TEST_F(ParentDomain, MayBeMadeWithAParentDomain) {
  const PdPtr parent = make();
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = parent.get();
  const PdPtr grandparent(ibv_alloc_parent_domain(context_.get(), &attributes));
  ASSERT_NE(grandparent, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(parent.get()), EBUSY);
  Buffer buffer(pd_.get(), 100);
  Buffer other(parent.get(), 100);
  expect_traffic(grandparent.get(), pd_.get(), buffer, other, cq_.get());
}

TEST_F(ParentDomain, HasAddressHandlesAndDatagramsOfTheSameDomain) {
  const PdPtr parent = make();
  ibv_ah_attr address = own_address(context_.get());
  const AhPtr handle(ibv_create_ah(pd_.get(), &address));
  const AhPtr parents_handle(ibv_create_ah(parent.get(), &address));
  ibv_qp_init_attr attributes = qp_attributes(IBV_QPT_UD, cq_.get());
  const QpPtr qp(ibv_create_qp(parent.get(), &attributes));
  ASSERT_EQ(start_datagrams(qp.get(), 5), 0);
  for (ibv_ah* const ah : {handle.get(), parents_handle.get()}) {
    ibv_send_wr wr = request(IBV_WR_SEND);
    wr.wr.ud = {.ah = ah, .remote_qpn = qp->qp_num, .remote_qkey = 5};
    ASSERT_EQ(post_send(qp.get(), wr, {}), 0);
    EXPECT_EQ(next_completion(cq_.get()).status, IBV_WC_SUCCESS);
  }
  const PdPtr stranger(ibv_alloc_pd(context_.get()));
  const AhPtr strangers_handle(ibv_create_ah(stranger.get(), &address));
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.wr.ud = {.ah = strangers_handle.get(), .remote_qpn = qp->qp_num, .remote_qkey = 5};
  ASSERT_EQ(post_send(qp.get(), wr, {}), 0);
  EXPECT_EQ(next_completion(cq_.get()).status, IBV_WC_LOC_QP_OP_ERR);
}

TEST_F(ParentDomain, HasWindowsThatItsQueuePairsBind) {
  const PdPtr parent = make();
  Buffer buffer(pd_.get(), 64, kAllAccess | IBV_ACCESS_MW_BIND);
  const MwPtr mw(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_1));
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  const QpPtr a(ibv_create_qp(parent.get(), &attributes));
  const QpPtr b(ibv_create_qp(parent.get(), &attributes));
  ASSERT_EQ(connect(a.get(), b->qp_num), 0);
  ASSERT_EQ(connect(b.get(), a->qp_num), 0);
  ibv_mw_bind bind{};
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {
      .mr = buffer.mr(), .addr = buffer.address(), .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  ASSERT_EQ(ibv_bind_mw(a.get(), mw.get(), &bind), 0);
  EXPECT_EQ(next_completion(cq_.get()).status, IBV_WC_SUCCESS);
}

TEST_F(ParentDomain, KeepsItsDomainBusyAndIsKeptBusy) {
  PdPtr parent = make();
  EXPECT_EQ(ibv_dealloc_pd(pd_.get()), EBUSY);
  {
    const Buffer buffer(parent.get(), 64);
    EXPECT_EQ(ibv_dealloc_pd(parent.get()), EBUSY);
  }
  {
    const CqPtr cq(ibv_cq_ex_to_cq(make_cq(parent.get())));
    EXPECT_EQ(ibv_dealloc_pd(parent.get()), EBUSY);
  }
  ibv_srq_init_attr srq_attributes{.srq_context = nullptr,
                                   .attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0}};
  {
    const SrqPtr srq(ibv_create_srq(parent.get(), &srq_attributes));
    EXPECT_EQ(ibv_dealloc_pd(parent.get()), EBUSY);
  }
  // It goes, and its domain after it.
  parent.reset();
}

TEST_F(ParentDomain, KeepsItsThreadDomainBusy) {
  ibv_td_init_attr attributes{};
  const TdPtr td(ibv_alloc_td(context_.get(), &attributes));
  ASSERT_NE(td, nullptr);
  EXPECT_EQ(td->context, context_.get());
  PdPtr first = make(td.get());
  const PdPtr second = make(td.get());
  EXPECT_EQ(ibv_dealloc_td(td.get()), EBUSY);
  first.reset();
  EXPECT_EQ(ibv_dealloc_td(td.get()), EBUSY);
}

TEST_F(ParentDomain, RefusesWhatItCannotBeMadeWith) {
  const ContextPtr other = open_device();
  const PdPtr foreign(ibv_alloc_pd(other.get()));
  ibv_td_init_attr td_attributes{};
  const TdPtr foreign_td(ibv_alloc_td(other.get(), &td_attributes));
  Provider provider;

  ibv_parent_domain_init_attr attributes{};
  EXPECT_EQ(error_of(nullptr), EINVAL);
  EXPECT_EQ(error_of(&attributes), EINVAL) << "no domain";
  attributes.pd = foreign.get();
  EXPECT_EQ(error_of(&attributes), EINVAL);
  attributes.pd = pd_.get();
  attributes.td = foreign_td.get();
  EXPECT_EQ(error_of(&attributes), EINVAL);
  attributes.td = nullptr;
  attributes.comp_mask = 1u << 2;
  EXPECT_EQ(error_of(&attributes), EOPNOTSUPP);
  attributes.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  EXPECT_EQ(error_of(&attributes), EINVAL);
  attributes.alloc = Provider::allocate;
  EXPECT_EQ(error_of(&attributes), EINVAL);
  attributes.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  EXPECT_EQ(error_of(&attributes), 0) << "a context that the library never asks for";
  // Nothing of all this is left in the way of ibv_dealloc_pd(), as the fixture finds out.
}

TEST_F(ParentDomain, HasThreadDomainsOfOneKindOnly) {
  ibv_td_init_attr attributes{.comp_mask = 1};
  errno = 0;
  EXPECT_EQ(ibv_alloc_td(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_alloc_td(context_.get(), nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(ParentDomain, IsTheOnlyKindThatACompletionQueueTakes) {
  EXPECT_EQ(make_cq(pd_.get()), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(make_cq(nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(ParentDomain, AsksTheProgramForTheMemoryOfQueuesAndGivesItBack) {
  Provider provider;
  {
    const PdPtr parent = make(provider);
    EXPECT_TRUE(provider.given.empty());
    const CqPtr cq(ibv_cq_ex_to_cq(make_cq(parent.get())));
    const std::size_t of_cq = provider.given.size();
    EXPECT_GT(of_cq, 0u);
    {
      Buffer source(pd_.get(), 100);
      Buffer destination(parent.get(), 100);
      expect_traffic(parent.get(), parent.get(), source, destination, cq.get());
    }
    ibv_srq_init_attr attributes{.srq_context = nullptr, .attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0}};
    {
      const SrqPtr srq(ibv_create_srq(parent.get(), &attributes));
      EXPECT_GT(provider.given.size(), of_cq);
    }
    EXPECT_EQ(provider.given.size(), of_cq);
    EXPECT_EQ(ibv_resize_cq(cq.get(), 1000), 0);
    EXPECT_EQ(provider.given.size(), of_cq);
    EXPECT_EQ(provider.types.size(), 3u) << "of sends, receives and completions";
    EXPECT_EQ(provider.domains, std::set<ibv_pd*>{parent.get()});
  }
  EXPECT_TRUE(provider.given.empty());
}

TEST_F(ParentDomain, UsesItsOwnMemoryWhereTheProgramHasNone) {
  Provider provider;
  provider.answer = Provider::Answer::kDefault;
  const PdPtr parent = make(provider);
  Buffer source(pd_.get(), 100);
  Buffer destination(parent.get(), 100);
  expect_traffic(parent.get(), parent.get(), source, destination, cq_.get());
  EXPECT_GT(provider.calls, 0);
}

// Every allocation but the first `n` fails: whatever was made until then goes back.
TEST_F(ParentDomain, LeaksNothingWhenTheProgramRefusesMemory) {
  ibv_qp_init_attr qp = rc_attributes(cq_.get());
  ibv_srq_init_attr srq{.srq_context = nullptr, .attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0}};
  const auto try_all = [&](ibv_pd* pd) {
    errno = 0;
    EXPECT_TRUE(QpPtr(ibv_create_qp(pd, &qp)) != nullptr || errno == ENOMEM);
    errno = 0;
    EXPECT_TRUE(SrqPtr(ibv_create_srq(pd, &srq)) != nullptr || errno == ENOMEM);
    ibv_cq_ex* const cq = make_cq(pd);
    EXPECT_TRUE(cq != nullptr || errno == ENOMEM);
    if (cq == nullptr) return;
    const int error = ibv_resize_cq(ibv_cq_ex_to_cq(cq), 1000);
    EXPECT_TRUE(error == 0 || error == ENOMEM);
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
  };
  Provider provider;
  const PdPtr parent = make(provider);
  for (int n = 0; n < 12; ++n) {
    provider.calls = 0;
    provider.good_calls = n;
    try_all(parent.get());
    EXPECT_TRUE(provider.given.empty());
  }
  EXPECT_GT(provider.types.size(), 0u);
  provider.good_calls = 1'000'000;
  provider.answer = Provider::Answer::kCrooked;
  errno = 0;
  EXPECT_EQ(ibv_create_qp(parent.get(), &qp), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(provider.given.empty());
}

}  // namespace
}  // namespace urnic::test
