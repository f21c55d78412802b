// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/queue_pair_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace urnic::nic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using transport::QpState;

// The rules as the manual page of ibv_modify_qp and the Linux kernel's table have them, typed from there and
// not from ours: what is needed for each legal transition, and what may come with it. To RESET and ERR: see
// below.
struct Rule {
  std::vector<std::string> required;
  std::vector<std::string> optional;
};
using Rules = std::map<std::pair<std::string, std::string>, Rule>;

const std::map<QpType, Rules>& rules() {
  static const std::map<QpType, Rules> all{
      {QpType::kRc,
       {{{"RESET", "INIT"}, {{"pkey_index", "port", "access"}, {}}},
        {{"INIT", "INIT"}, {{}, {"pkey_index", "port", "access"}}},
        {{"INIT", "RTR"},
         {{"av", "path_mtu", "dest_qpn", "rq_psn", "max_dest_rd_atomic", "min_rnr_timer"},
          {"pkey_index", "access"}}},
        {{"RTR", "RTS"},
         {{"sq_psn", "max_qp_rd_atomic", "timeout", "retry_cnt", "rnr_retry"},
          {"cur_state", "access", "min_rnr_timer"}}},
        {{"RTS", "RTS"}, {{}, {"cur_state", "access", "min_rnr_timer"}}},
        {{"RTS", "SQD"}, {{}, {"drain_notification"}}},
        {{"SQD", "RTS"}, {{}, {"cur_state", "access", "min_rnr_timer"}}},
        {{"SQD", "SQD"},
         {{},
          {"port", "av", "timeout", "retry_cnt", "rnr_retry", "max_qp_rd_atomic", "max_dest_rd_atomic",
           "access", "pkey_index", "min_rnr_timer"}}}}},
      {QpType::kUc,
       {{{"RESET", "INIT"}, {{"pkey_index", "port", "access"}, {}}},
        {{"INIT", "INIT"}, {{}, {"pkey_index", "port", "access"}}},
        {{"INIT", "RTR"}, {{"av", "path_mtu", "dest_qpn", "rq_psn"}, {"pkey_index", "access"}}},
        {{"RTR", "RTS"}, {{"sq_psn"}, {"cur_state", "access"}}},
        {{"RTS", "RTS"}, {{}, {"cur_state", "access"}}},
        {{"RTS", "SQD"}, {{}, {"drain_notification"}}},
        {{"SQD", "RTS"}, {{}, {"cur_state", "access"}}},
        {{"SQD", "SQD"}, {{}, {"av", "access", "pkey_index"}}},
        {{"SQE", "RTS"}, {{}, {"cur_state", "access"}}}}},
      {QpType::kUd,
       {{{"RESET", "INIT"}, {{"pkey_index", "port", "qkey"}, {}}},
        {{"INIT", "INIT"}, {{}, {"pkey_index", "port", "qkey"}}},
        {{"INIT", "RTR"}, {{}, {"pkey_index", "qkey"}}},
        {{"RTR", "RTS"}, {{"sq_psn"}, {"cur_state", "qkey"}}},
        {{"RTS", "RTS"}, {{}, {"cur_state", "qkey"}}},
        {{"RTS", "SQD"}, {{}, {"drain_notification"}}},
        {{"SQD", "RTS"}, {{}, {"cur_state", "qkey"}}},
        {{"SQD", "SQD"}, {{}, {"pkey_index", "qkey"}}},
        {{"SQE", "RTS"}, {{}, {"cur_state", "qkey"}}}}},
      {QpType::kXrcInitiator,
       {{{"RESET", "INIT"}, {{"pkey_index", "port", "access"}, {}}},
        {{"INIT", "INIT"}, {{}, {"pkey_index", "port", "access"}}},
        {{"INIT", "RTR"}, {{"av", "path_mtu", "dest_qpn", "rq_psn"}, {"pkey_index", "access"}}},
        {{"RTR", "RTS"},
         {{"sq_psn", "max_qp_rd_atomic", "timeout", "retry_cnt", "rnr_retry"}, {"cur_state", "access"}}},
        {{"RTS", "RTS"}, {{}, {"cur_state", "access"}}},
        {{"RTS", "SQD"}, {{}, {"drain_notification"}}},
        {{"SQD", "RTS"}, {{}, {"cur_state", "access"}}},
        {{"SQD", "SQD"},
         {{},
          {"port", "av", "timeout", "retry_cnt", "rnr_retry", "max_qp_rd_atomic", "access", "pkey_index"}}}}},
      {QpType::kXrcTarget,
       {{{"RESET", "INIT"}, {{"pkey_index", "port", "access"}, {}}},
        {{"INIT", "INIT"}, {{}, {"pkey_index", "port", "access"}}},
        {{"INIT", "RTR"},
         {{"av", "path_mtu", "dest_qpn", "rq_psn", "max_dest_rd_atomic", "min_rnr_timer"},
          {"pkey_index", "access"}}},
        {{"RTR", "RTS"}, {{"sq_psn", "timeout"}, {"cur_state", "access", "min_rnr_timer"}}},
        {{"RTS", "RTS"}, {{}, {"cur_state", "access", "min_rnr_timer"}}},
        {{"RTS", "SQD"}, {{}, {"drain_notification"}}},
        {{"SQD", "RTS"}, {{}, {"cur_state", "access", "min_rnr_timer"}}},
        {{"SQD", "SQD"},
         {{}, {"port", "av", "timeout", "max_dest_rd_atomic", "access", "pkey_index", "min_rnr_timer"}}}}},
      // This type has the transitions of all types in the kernel. The kernel's table names only the port for
      // it, and a rate limit.
      {QpType::kRawPacket,
       {{{"RESET", "INIT"}, {{"port"}, {}}},
        {{"INIT", "INIT"}, {{}, {}}},
        {{"INIT", "RTR"}, {{}, {}}},
        {{"RTR", "RTS"}, {{}, {}}},
        {{"RTS", "RTS"}, {{}, {}}},
        {{"RTS", "SQD"}, {{}, {}}},
        {{"SQD", "RTS"}, {{}, {}}},
        {{"SQD", "SQD"}, {{}, {}}},
        {{"SQE", "RTS"}, {{}, {}}}}},
  };
  return all;
}

/// Every state may go to RESET, and all but RESET to ERR, with nothing else given.
const Rule* find_rule(QpType type, const std::string& from, const std::string& to) {
  static const Rule kEnd;
  if (to == "RESET" || (to == "ERR" && from != "RESET")) return &kEnd;
  const Rules& of_type = rules().at(type);
  const auto found = of_type.find({from, to});
  return found == of_type.end() ? nullptr : &found->second;
}

class QueuePairState : public testing::TestWithParam<QpType> {};

INSTANTIATE_TEST_SUITE_P(Type, QueuePairState,
                         testing::Values(QpType::kRc, QpType::kUc, QpType::kUd, QpType::kXrcInitiator,
                                         QpType::kXrcTarget, QpType::kRawPacket));

const std::vector<std::pair<std::string, QpState>> kStates{
    {"RESET", QpState::kReset},     {"INIT", QpState::kInit},     {"RTR", QpState::kReadyToReceive},
    {"RTS", QpState::kReadyToSend}, {"SQD", QpState::kSqDrained}, {"SQE", QpState::kSqError},
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
    {"qkey", Attributes::kQkey},
    {"drain_notification", Attributes::kDrainNotification},
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

TEST_P(QueuePairState, AllowsExactlyTheTransitionsOfTheKernelsTable) {
  for (const auto& [from_name, from] : kStates) {
    for (const auto& [to_name, to] : kStates) {
      const Rule* const rule = find_rule(GetParam(), from_name, to_name);
      const Attributes required = rule != nullptr ? set_of(rule->required) : Attributes::kNone;
      const auto result = check_transition(GetParam(), from, to, required);
      EXPECT_EQ(result.has_value(), rule != nullptr) << from_name << " to " << to_name;
      EXPECT_EQ(result ? EINVAL : result.error().code, EINVAL);
    }
  }
}

TEST_P(QueuePairState, RefusesATransitionThatLacksAnyAttributeItNeeds) {
  for (const auto& [from_name, from] : kStates) {
    for (const auto& [to_name, to] : kStates) {
      const Rule* const rule = find_rule(GetParam(), from_name, to_name);
      if (rule == nullptr) continue;
      for (const std::string& missing : rule->required) {
        EXPECT_FALSE(check_transition(GetParam(), from, to, set_of(rule->required) - set_of({missing})))
            << from_name << " to " << to_name << " without " << missing;
      }
    }
  }
}

TEST_P(QueuePairState, AllowsOptionalAttributesAndNoOthers) {
  for (const auto& [from_name, from] : kStates) {
    for (const auto& [to_name, to] : kStates) {
      const Rule* const rule = find_rule(GetParam(), from_name, to_name);
      if (rule == nullptr) continue;
      for (const auto& [name, attribute] : kAttributes) {
        const bool is_allowed = is_in(rule->required, name) || is_in(rule->optional, name);
        const Attributes given = set_of(rule->required) | attribute;
        EXPECT_EQ(check_transition(GetParam(), from, to, given).has_value(), is_allowed)
            << from_name << " to " << to_name << " with " << name;
      }
    }
  }
}

TEST_P(QueuePairState, ListsTheTransitionsOfTheKernelsTableWithTheirAttributes) {
  const std::vector<Transition> listed = transitions_of(GetParam());
  std::size_t known = 0;
  for (const auto& [from_name, from] : kStates) {
    for (const auto& [to_name, to] : kStates) {
      const Rule* const rule = find_rule(GetParam(), from_name, to_name);
      if (rule == nullptr) continue;
      ++known;
      const auto found = std::find_if(
          listed.begin(), listed.end(),
          [first = from, second = to](const auto& one) { return one.from == first && one.to == second; });
      ASSERT_NE(found, listed.end()) << from_name << " to " << to_name;
      EXPECT_EQ(found->required, set_of(rule->required)) << from_name << " to " << to_name;
      EXPECT_EQ(found->optional, set_of(rule->optional)) << from_name << " to " << to_name;
    }
  }
  EXPECT_EQ(listed.size(), known);
}

TEST(QueuePairStateNames, AreThoseOfLibibverbs) {
  EXPECT_THAT(names_of(Attributes::kAddress | Attributes::kSendPsn | Attributes::kMaxReadsInFlight),
              ElementsAre("AV", "SQ_PSN", "MAX_QP_RD_ATOMIC"));
  EXPECT_THAT(names_of(Attributes::kNone), IsEmpty());
}

TEST(QueuePairStateNames, ListNothingForRss) {
  EXPECT_THAT(transitions_of(QpType::kRss), IsEmpty());
}

TEST(QueuePairStateMessages, SaysWhatIsMissing) {
  const auto result =
      check_transition(QpType::kRc, QpState::kReset, QpState::kInit, Attributes::kPort | Attributes::kAccess);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("P_Key index"));
  EXPECT_THAT(result.error().message, Not(HasSubstr("access")));
}

TEST(QueuePairStateMessages, ChecksEachRangeAtItsLimit) {
  const auto is_fine = [](const QpAttributes& attributes) {
    return check_ranges(attributes, personality_of(Column::kDefault)).has_value();
  };
  using U8 = std::uint8_t;
  EXPECT_TRUE(is_fine({.ack_timeout = U8{31}}));
  EXPECT_FALSE(is_fine({.ack_timeout = U8{32}}));
  EXPECT_TRUE(is_fine({.min_rnr_timer = U8{31}}));
  EXPECT_FALSE(is_fine({.min_rnr_timer = U8{32}}));
  EXPECT_TRUE(is_fine({.retry_count = U8{7}}));
  EXPECT_FALSE(is_fine({.retry_count = U8{8}}));
  EXPECT_TRUE(is_fine({.rnr_retry = U8{7}}));
  EXPECT_FALSE(is_fine({.rnr_retry = U8{8}}));
  EXPECT_TRUE(is_fine({.max_responder_resources = U8{128}}));
  EXPECT_FALSE(is_fine({.max_responder_resources = U8{129}}));
  EXPECT_TRUE(is_fine({.max_reads_in_flight = U8{128}}));
  EXPECT_FALSE(is_fine({.max_reads_in_flight = U8{129}}));
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
