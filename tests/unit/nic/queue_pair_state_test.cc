#include "nic/queue_pair_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace urnic::nic {
namespace {

using testing::HasSubstr;
using transport::QpState;

// The rules for RC as the manual page of ibv_modify_qp and the Linux kernel's table have them, typed from there and not
// from ours: what is needed for each legal transition, and what may come with it.
struct Rule {
  std::vector<std::string> required;
  std::vector<std::string> optional;
};
using Rules = std::map<std::pair<std::string, std::string>, Rule>;

const Rules& rules() {
  static const Rules all{
      {{"RESET", "RESET"}, {}},
      {{"INIT", "RESET"}, {}},
      {{"RTR", "RESET"}, {}},
      {{"RTS", "RESET"}, {}},
      {{"ERR", "RESET"}, {}},
      {{"INIT", "ERR"}, {}},
      {{"RTR", "ERR"}, {}},
      {{"RTS", "ERR"}, {}},
      {{"ERR", "ERR"}, {}},
      {{"RESET", "INIT"}, {.required = {"pkey_index", "port", "access"}, .optional = {}}},
      {{"INIT", "INIT"}, {.required = {}, .optional = {"pkey_index", "port", "access"}}},
      {{"INIT", "RTR"},
       {.required = {"av", "path_mtu", "dest_qpn", "rq_psn", "max_dest_rd_atomic", "min_rnr_timer"},
        .optional = {"pkey_index", "access"}}},
      {{"RTR", "RTS"},
       {.required = {"sq_psn", "max_qp_rd_atomic", "timeout", "retry_cnt", "rnr_retry"},
        .optional = {"cur_state", "access", "min_rnr_timer"}}},
      {{"RTS", "RTS"}, {.required = {}, .optional = {"cur_state", "access", "min_rnr_timer"}}},
  };
  return all;
}

const std::vector<std::pair<std::string, QpState>> kStates{
    {"RESET", QpState::kReset},       {"INIT", QpState::kInit},         {"RTR", QpState::kReadyToReceive},
    {"RTS", QpState::kReadyToSend},   {"SQD", QpState::kSqDrained},     {"SQE", QpState::kSqError},
    {"ERR", QpState::kError},
};

const std::vector<std::pair<std::string, Attributes>> kAttributes{
    {"cur_state", Attributes::kCurrentState},
    {"access", Attributes::kAccess},
    {"pkey_index", Attributes::kPkeyIndex},
    {"port", Attributes::kPort},
    {"av", Attributes::kAddress},
    {"path_mtu", Attributes::kPathMtu},
    {"dest_qpn", Attributes::kDestinationQp},
    {"rq_psn", Attributes::kReceivePsn},
    {"max_dest_rd_atomic", Attributes::kMaxResponderResources},
    {"min_rnr_timer", Attributes::kMinRnrTimer},
    {"sq_psn", Attributes::kSendPsn},
    {"max_qp_rd_atomic", Attributes::kMaxReadsInFlight},
    {"timeout", Attributes::kAckTimeout},
    {"retry_cnt", Attributes::kRetryCount},
    {"rnr_retry", Attributes::kRnrRetry},
};

Attributes set_of(const std::vector<std::string>& names) {
  Attributes set = Attributes::kNone;
  for (const auto& [name, attribute] : kAttributes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) set = set | attribute;
  }
  return set;
}

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(QueuePairState, AllowsExactlyTheTransitionsOfTheKernelsTable) {
  for (const auto& [from_name, from] : kStates) {
    for (const auto& [to_name, to] : kStates) {
      const auto rule = rules().find({from_name, to_name});
      const bool is_legal = rule != rules().end();
      const Attributes required = is_legal ? set_of(rule->second.required) : Attributes::kNone;
      const auto result = check_transition(from, to, required);
      EXPECT_EQ(result.has_value(), is_legal) << from_name << " to " << to_name;
      EXPECT_EQ(result ? EINVAL : result.error().code, EINVAL);
    }
  }
}

TEST(QueuePairState, RefusesATransitionThatLacksAnyAttributeItNeeds) {
  for (const auto& [states, rule] : rules()) {
    for (const std::string& missing : rule.required) {
      const auto find_state = [&](const std::string& name) {
        return std::find_if(kStates.begin(), kStates.end(), [&](const auto& s) { return s.first == name; })->second;
      };
      const Attributes given = set_of(rule.required) - set_of({missing});
      EXPECT_FALSE(check_transition(find_state(states.first), find_state(states.second), given))
          << states.first << " to " << states.second << " without " << missing;
    }
  }
}

TEST(QueuePairState, AllowsOptionalAttributesAndNoOthers) {
  for (const auto& [from_name, from] : kStates) {
    for (const auto& [to_name, to] : kStates) {
      const auto rule = rules().find({from_name, to_name});
      if (rule == rules().end()) continue;
      for (const auto& [name, attribute] : kAttributes) {
        const bool is_allowed = is_in(rule->second.required, name) || is_in(rule->second.optional, name);
        const Attributes given = set_of(rule->second.required) | attribute;
        EXPECT_EQ(check_transition(from, to, given).has_value(), is_allowed)
            << from_name << " to " << to_name << " with " << name;
      }
    }
  }
}

TEST(QueuePairState, SaysWhatIsMissing) {
  const auto result =
      check_transition(QpState::kReset, QpState::kInit, Attributes::kPort | Attributes::kAccess);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("P_Key index"));
  EXPECT_THAT(result.error().message, Not(HasSubstr("access")));
}

TEST(QueuePairState, SaysThatSqdIsNotSupported) {
  const auto result = check_transition(QpState::kReadyToSend, QpState::kSqDrained, Attributes::kNone);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("SQD is not supported"));
}

TEST(QueuePairState, ChecksEachRangeAtItsLimit) {
  const auto is_fine = [](const QpAttributes& attributes) { return check_ranges(attributes).has_value(); };
  using U8 = std::uint8_t;
  EXPECT_TRUE(is_fine({.ack_timeout = U8{31}}));
  EXPECT_FALSE(is_fine({.ack_timeout = U8{32}}));
  EXPECT_TRUE(is_fine({.min_rnr_timer = U8{31}}));
  EXPECT_FALSE(is_fine({.min_rnr_timer = U8{32}}));
  EXPECT_TRUE(is_fine({.retry_count = U8{7}}));
  EXPECT_FALSE(is_fine({.retry_count = U8{8}}));
  EXPECT_TRUE(is_fine({.rnr_retry = U8{7}}));
  EXPECT_FALSE(is_fine({.rnr_retry = U8{8}}));
  EXPECT_TRUE(is_fine({.max_responder_resources = U8{16}}));
  EXPECT_FALSE(is_fine({.max_responder_resources = U8{17}}));
  EXPECT_TRUE(is_fine({.max_reads_in_flight = U8{16}}));
  EXPECT_FALSE(is_fine({.max_reads_in_flight = U8{17}}));
  EXPECT_TRUE(is_fine({.port = U8{1}}));
  EXPECT_FALSE(is_fine({.port = U8{0}}));
  EXPECT_FALSE(is_fine({.port = U8{2}}));
  EXPECT_TRUE(is_fine({.pkey_index = std::uint16_t{0}}));
  EXPECT_FALSE(is_fine({.pkey_index = std::uint16_t{1}}));
  EXPECT_TRUE(is_fine({.destination_qp = transport::QpNumber{0xffffff}}));
  EXPECT_FALSE(is_fine({.destination_qp = transport::QpNumber{0x1000000}}));
}

}  // namespace
}  // namespace urnic::nic
