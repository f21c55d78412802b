// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What `urnic run --fault` says of calls: words, and complaints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>

#include "verbs_api/fault/fault_list.h"

namespace urnic::verbs_api {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// What the parser says against it; empty if it takes it.
std::string complaint(std::string_view text) {
  const auto list = FaultList::parse(text);
  return list ? std::string() : list.error().message;
}

CallFault call(std::string_view text) {
  const auto fault = CallFault::parse(text);
  EXPECT_TRUE(fault) << fault.error().message;
  return fault ? fault.value() : CallFault{};
}

AsyncFault event(std::string_view text) {
  const auto fault = AsyncFault::parse(text);
  EXPECT_TRUE(fault) << fault.error().message;
  return fault ? fault.value() : AsyncFault{};
}

TEST(CallFault, IsOnceAtTheFirstCallUnlessItSaysOtherwise) {
  const CallFault fault = call("verb:ibv_reg_mr=ENOMEM");
  EXPECT_EQ(fault.verb, Verb::kRegMr);
  EXPECT_EQ(fault.error, ENOMEM);
  EXPECT_EQ(fault.nth, 1u);
  EXPECT_EQ(fault.times, 1u);
  EXPECT_EQ(fault.probability, 1);
}

TEST(CallFault, ReadsWhichCallsItIsFor) {
  for (const char* const text :
       {"verb:ibv_post_send=EIO:n=5:times=3", "verb:ibv_post_send=EIO:times=3:nth=5"}) {
    EXPECT_EQ(call(text).nth, 5u);
    EXPECT_EQ(call(text).times, 3u);
  }
  EXPECT_EQ(call("verb:ibv_post_send=EIO:times=all").times, CallFault::kAlways);
  EXPECT_EQ(call("verb:ibv_post_send=EIO:p=0.25").times, CallFault::kAlways) << "of dice";
  EXPECT_EQ(call("verb:ibv_post_send=EIO:p=0.25:times=2").times, 2u);
  EXPECT_EQ(call("verb:ibv_modify_qp=EINVAL:to=RTR").to_state, IBV_QPS_RTR);
}

TEST(CallFault, TakesEveryNameOfAVerb) {
  EXPECT_EQ(call("verb:ibv_create_qp_ex=EIO").verb, Verb::kCreateQp);
  EXPECT_EQ(call("verb:ibv_reg_mr_iova2=EIO").verb, Verb::kRegMr);
  EXPECT_NE(complaint("verb:ibv_reg_mr_iova2 =EIO"), "");
  EXPECT_NE(complaint("verb:iova2=EIO"), "") << "a part of a name";
}

TEST(CallFault, KnowsEveryErrnoWithItsSecondNames) {
  EXPECT_EQ(call("verb:ibv_reg_mr=EHWPOISON").error, EHWPOISON);
  EXPECT_EQ(call("verb:ibv_reg_mr=ENOTSUP").error, EOPNOTSUPP);
  EXPECT_EQ(call("verb:ibv_reg_mr=EWOULDBLOCK").error, EAGAIN);
}

TEST(CallFault, ReadsStatusesWithAndWithoutThePrefix) {
  EXPECT_EQ(call("verb:ibv_poll_cq:status=RNR_RETRY_EXC_ERR").status, IBV_WC_RNR_RETRY_EXC_ERR);
  const CallFault fault = call("verb:ibv_poll_cq:status=IBV_WC_LOC_LEN_ERR:kind=receive:nth=2");
  EXPECT_EQ(fault.status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(fault.side, CallFault::Side::kReceive);
  EXPECT_EQ(fault.error, 0);
}

TEST(CallFault, ReadsEventsOfRdmaCmWithTheirStatus) {
  EXPECT_EQ(call("verb:rdma_resolve_addr:event=ADDR_ERROR").event_status, -ETIMEDOUT);
  EXPECT_EQ(call("verb:rdma_resolve_addr:error=ENETUNREACH:event=RDMA_CM_EVENT_ADDR_ERROR").event_status,
            -ENETUNREACH);
  const CallFault rejected = call("verb:rdma_connect:event=REJECTED:reason=8");
  EXPECT_EQ(rejected.event->type, nic::rdma_cm::EventType::kRejected);
  EXPECT_EQ(rejected.event_status, 8);
}

TEST(CallFault, SaysWhatIsWrongInOneLine) {
  const struct {
    const char* text;
    const char* complaint;
  } kWrong[] = {
      {"verb:ibv_post_sent=EIO", "near it: ibv_post_send"},
      {"verb:post_send=EIO", "near it: ibv_post_send"},
      {"verb:quux=EIO", "it is written verb:CALL=ERRNO:nth=N"},
      {"verb:", "which call? it is written"},
      {"verb:ibv_post_send", "how does ibv_post_send fail?"},
      {"verb:ibv_post_send=", "there is no errno ''"},
      {"verb:ibv_post_send=ENOMM", "there is no errno 'ENOMM', such as ENOMEM; near it: "},
      {"verb:ibv_post_send=12", "there is no errno '12'"},
      {"verb:ibv_post_send=EIO:nth=0", "nth: which of the calls, from 1 on, not '0'"},
      {"verb:ibv_post_send=EIO:n=-1", "nth: which of the calls, from 1 on, not '-1'"},
      {"verb:ibv_post_send=EIO:n=1:nth=1", "'nth' is given twice"},
      {"verb:ibv_post_send=EIO:times=0", "times: how many of the calls"},
      {"verb:ibv_post_send=EIO:p=0", "p: a probability above 0 and up to 1, not '0'"},
      {"verb:ibv_post_send=EIO:p=nan", "p: a probability above 0 and up to 1, not 'nan'"},
      {"verb:ibv_post_send=EIO:p=1.5", "p: a probability above 0 and up to 1, not '1.5'"},
      {"verb:ibv_post_send=EIO:psn=7", "there is no 'psn' here; there are status="},
      {"verb:ibv_post_send=EIO:nth", "'nth' is not of the form KEY=VALUE"},
      {"verb:ibv_post_send=EIO:status=RETRY_EXC_ERR", "a status is for ibv_poll_cq"},
      {"verb:ibv_poll_cq:status=RETRY", "near it: RETRY_EXC_ERR"},
      {"verb:ibv_poll_cq:status=SUCCESS", "there is no failure 'SUCCESS'"},
      {"verb:ibv_poll_cq=EIO:status=RETRY_EXC_ERR", "in two ways"},
      {"verb:ibv_poll_cq=EIO:kind=send", "kind= is for the completions of a fault with status="},
      {"verb:ibv_poll_cq:status=RETRY_EXC_ERR:kind=write", "send or receive, not 'write'"},
      {"verb:ibv_create_qp=EIO:to=RTR", "a state is for ibv_modify_qp"},
      {"verb:ibv_modify_qp=EIO:to=FOO", "there are RESET, INIT, RTR"},
      {"verb:ibv_post_send:event=REJECTED", "an event can follow rdma_resolve_addr"},
      {"verb:rdma_connect:event=ADDR_ERROR", "but by CONNECT_ERROR, UNREACHABLE, REJECTED"},
      {"verb:rdma_connect=EIO:error=EIO", "error= and reason= are for a fault with event="},
      {"verb:rdma_connect:event=REJECTED:error=EIO", "REJECTED has a reason=, and no error="},
      {"verb:rdma_connect:event=UNREACHABLE:reason=8", "reason= is for event=REJECTED"},
      {"verb:rdma_connect:event=REJECTED:reason=256", "a number from 1 to 255, not '256'"},
      {"async:FIRE:after=1s", "there is no event 'FIRE'; there are DEVICE_FATAL, PORT_ERR"},
      {"async:PORT_ERR", "when does PORT_ERR come? it is written async:EVENT:after=TIME"},
      {"async:PORT_ERR:after=1", "such as 100ms, not '1'"},
      {"async:PORT_ERR:after=-1s", "such as 100ms, not '-1s'"},
      {"async:PORT_ERR:after=25000h", "such as 100ms"},
      {"async:PORT_ERR:after=100000000s", "up to a day"},
      {"async:PORT_ERR:after=1s:call=ibv_post_send", "after= and call= both say when"},
      {"async:PORT_ERR:after=1s:nth=2", "nth= is for a fault with call="},
      {"async:PORT_ERR:call=ibv_post:nth=2", "there is no call 'ibv_post' that can fail"},
      {"async:PORT_ERR:after=1s:qp=2", "PORT_ERR is no event of such an object"},
      {"async:QP_FATAL:after=1s:qp=0", "from 1 on, not '0'"},
      {"async:QP_FATAL:after=1s:for=1s", "only PORT_ERR lasts"},
      {"verb:ibv_reg_mr=EIO,", "a word is missing between commas"},
  };
  for (const auto& [text, expected] : kWrong) {
    EXPECT_THAT(complaint(text), AllOf(HasSubstr(expected), HasSubstr("fault '"), Not(HasSubstr("\n"))))
        << text;
  }
}

TEST(AsyncFault, ReadsWhenAndWhich) {
  EXPECT_EQ(event("async:DEVICE_FATAL:after=100ms").after, 100ms);
  EXPECT_EQ(event("async:IBV_EVENT_PORT_ERR:after=1.5s:for=2us").lasts, 2us);
  const AsyncFault of_call = event("async:QP_FATAL:qp=2:call=ibv_post_send:n=1000");
  EXPECT_EQ(of_call.object, 2u);
  EXPECT_EQ(of_call.call, Verb::kPostSend);
  EXPECT_EQ(of_call.nth, 1000u);
}

TEST(FaultList, LeavesFramesToTheInjector) {
  const auto list =
      FaultList::parse("loss=0.1,verb:ibv_reg_mr=EIO,drop:psn=7,async:PORT_ERR:after=1s,seed=9");
  ASSERT_TRUE(list);
  EXPECT_EQ(list.value().frames, "loss=0.1,drop:psn=7,seed=9");
  EXPECT_EQ(list.value().calls.size(), 1u);
  EXPECT_EQ(list.value().events.size(), 1u);
  EXPECT_EQ(list.value().seed, 9u);
}

TEST(FaultList, NeedsNoInjectorForASeedOfCallsAlone) {
  const auto list = FaultList::parse("seed=3,verb:ibv_post_send=EIO:p=0.5");
  ASSERT_TRUE(list);
  EXPECT_EQ(list.value().frames, "");
  EXPECT_EQ(list.value().seed, 3u);
}

TEST(FaultList, LeavesATextWithoutFaultsOfCallsAsItIs) {
  for (const char* const text : {"", ",", "loss=2,,", "seed=7", "verbs:x"}) {
    const auto list = FaultList::parse(text);
    ASSERT_TRUE(list) << text;
    EXPECT_EQ(list.value().frames, text);
    EXPECT_FALSE(list.value().has_any_of_calls());
  }
}

TEST(FaultList, MeansTheSameWhenItIsReadAgain) {
  for (const char* const text : {"verb:ibv_reg_mr=EIO", "seed=3,verb:ibv_post_send=EIO:p=0.5",
                                 "loss=0.1,seed=4,async:PORT_ERR:after=1s"}) {
    const auto list = FaultList::parse(text);
    ASSERT_TRUE(list);
    const std::string written = list.value().to_string();
    const auto again = FaultList::parse(written);
    ASSERT_TRUE(again);
    EXPECT_EQ(again.value().to_string(), written);
    EXPECT_EQ(again.value().seed, list.value().seed);
    EXPECT_EQ(again.value().frames, list.value().frames);
  }
}

TEST(FaultList, RefusesMoreThanAPersonWrites) {
  std::string text = "verb:ibv_reg_mr=EIO";
  for (std::size_t i = 1; i < FaultList::kMaxFaults; ++i) text += ",verb:ibv_reg_mr=EIO";
  EXPECT_EQ(complaint(text), "");
  EXPECT_THAT(complaint(text + ",async:PORT_ERR:after=1s"), HasSubstr("more than 64 faults of calls"));
}

}  // namespace
}  // namespace urnic::verbs_api
