// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/script/vocabulary.h"

#include <algorithm>
#include <array>

#include "transport/completion.h"
#include "transport/enum_names.h"
#include "transport/qp_state.h"

namespace urnic::scripts {
namespace {

using List = std::string_view;

constexpr std::uint64_t kByte = 0xff;
constexpr std::uint64_t k24Bits = 0xffffff;
constexpr std::uint64_t k32Bits = 0xffffffff;
constexpr std::uint64_t kMessage = std::uint64_t{1} << 31;
constexpr std::uint64_t kRegion = std::uint64_t{1} << 20;

constexpr auto kServices = std::to_array<List>({"rc", "uc", "ud", "xrc"});
constexpr auto kMtus = std::to_array<List>({"256", "512", "1024", "2048", "4096"});
constexpr auto kStates = transport::names_of<transport::QpState>();
constexpr auto kStarts = std::to_array<List>({"RESET", "INIT", "RTR", "RTS"});
constexpr auto kEvents = [] {
  constexpr auto kOfQueuePairs = transport::names_of<transport::QpEvent>();
  std::array<List, kOfQueuePairs.size() + 1> all;
  *std::copy(kOfQueuePairs.begin(), kOfQueuePairs.end(), all.begin()) = "SRQ_LIMIT_REACHED";
  return all;
}();
constexpr auto kStatuses = transport::names_of<transport::CompletionStatus>();
constexpr auto kOpcodes = transport::names_of<transport::CompletionOpcode>();
constexpr auto kRights = std::to_array<List>(
    {"local-write", "write", "read", "atomic", "bind", "flush-global", "flush-persistent"});
constexpr auto kOperations = std::to_array<List>(
    {"send", "write", "read", "cas", "add", "flush", "atomic-write", "local-inv", "bind"});
constexpr auto kScopes = std::to_array<List>({"range", "region"});
constexpr auto kRoles = std::to_array<List>({"initiator", "target"});
constexpr auto kIpVersions = std::to_array<List>({"ipv4", "ipv6"});

constexpr ValueRule number(std::string_view name, std::uint64_t most) {
  return {name, Form::kNumber, most};
}
constexpr ValueRule needed(ValueRule rule) {
  rule.is_required = true;
  return rule;
}
constexpr ValueRule flag(std::string_view name) {
  return {name, Form::kFlag};
}
constexpr ValueRule one_of(std::string_view name, std::span<const List> choices) {
  return {name, Form::kChoice, 0, choices};
}
constexpr ValueRule any_of(std::string_view name, std::span<const List> choices) {
  return {name, Form::kOneOf, 0, choices};
}
constexpr ValueRule value(std::string_view name, Form form) {
  return {name, form};
}

constexpr auto kServiceFields = std::to_array<ValueRule>({one_of("role", kRoles)});
constexpr auto kMemoryFields = std::to_array<ValueRule>(
    {needed(number("at", ~std::uint64_t{0} >> 1)), needed(number("size", kRegion)),
     needed(number("key", k32Bits)), needed(value("rights", Form::kRights)), number("pd", k32Bits)});
constexpr auto kWindowFields =
    std::to_array<ValueRule>({needed(number("key", k32Bits)), needed(number("type", 2))});
constexpr auto kSrqFields = std::to_array<ValueRule>({number("pd", k32Bits)});

constexpr auto kPostFields = std::to_array<ValueRule>({
    needed(number("id", ~std::uint64_t{0})),
    value("from", Form::kPlaces),
    value("into", Form::kPlaces),
    number("length", kMessage),
    flag("inline"),
    flag("signaled"),
    flag("solicited"),
    flag("fence"),
    flag("burst"),
    number("imm", k32Bits),
    number("inv", k32Bits),
    number("va", ~std::uint64_t{0}),
    number("rkey", k32Bits),
    number("cmp", ~std::uint64_t{0}),
    number("swap", ~std::uint64_t{0}),
    number("add", ~std::uint64_t{0}),
    number("key", k32Bits),
    value("window", Form::kName),
    value("over", Form::kPlaces),
    number("new-key", k32Bits),
    value("rights", Form::kRights),
    flag("zero-based"),
    one_of("scope", kScopes),
    number("srq", k24Bits),
    number("dst", k24Bits),
    number("qkey", k32Bits),
    number("ah", k32Bits),
});
constexpr auto kReceiveFields =
    std::to_array<ValueRule>({needed(number("id", ~std::uint64_t{0})), number("length", kRegion),
                              value("into", Form::kPlaces), number("srq", k24Bits)});
constexpr auto kLimitFields = std::to_array<ValueRule>({number("srq", k24Bits)});
constexpr auto kModifyFields = std::to_array<ValueRule>({
    flag("notify"),
    number("expect-psn", k24Bits),
    number("send-psn", k24Bits),
    number("resources", 128),
    number("reads", 128),
    number("timeout", 31),
    number("retry", 7),
    number("rnr-retry", 7),
    number("rnr-timer", 31),
    value("access", Form::kRights),
    number("qkey", k32Bits),
});
constexpr auto kRightsFields = std::to_array<ValueRule>({needed(value("rights", Form::kRights))});
constexpr auto kStoreFields = std::to_array<ValueRule>(
    {number("number", ~std::uint64_t{0}), number("fill", kByte), value("bytes", Form::kOctets)});
// Beside the numbers of packet_text.h.
constexpr auto kArrivesFields = std::to_array<ValueRule>({
    needed(value("psn", Form::kPsns)),
    number("len", 8192),
    value("to", Form::kPlaces),
    number("fill", kByte),
    value("bytes", Form::kOctets),
    number("like-psn", k24Bits),
    flag("burst"),
    one_of("grh", kIpVersions),
});
constexpr auto kLeavesFields = std::to_array<ValueRule>(
    {value("psn", Form::kPsns), number("len", 8192), value("data", Form::kPlaces), number("fill", kByte),
     value("bytes", Form::kOctets), number("to-ah", k32Bits)});
constexpr auto kSendCompletionFields =
    std::to_array<ValueRule>({needed(number("id", ~std::uint64_t{0})), any_of("status", kStatuses),
                              one_of("opcode", kOpcodes), number("len", k32Bits)});
constexpr auto kReceiveCompletionFields = std::to_array<ValueRule>({
    needed(number("id", ~std::uint64_t{0})),
    any_of("status", kStatuses),
    one_of("opcode", kOpcodes),
    number("len", k32Bits),
    number("imm", k32Bits),
    number("inv", k32Bits),
    flag("solicited"),
    flag("has-grh"),
    number("src", k24Bits),
    number("srq", k24Bits),
});
constexpr auto kFlushedFields =
    std::to_array<ValueRule>({value("rights", Form::kRights), one_of("scope", kScopes)});
constexpr auto kPsnsFields = std::to_array<ValueRule>({number("send", k24Bits), number("receive", k24Bits)});
constexpr auto kCheckFields = std::to_array<ValueRule>({
    flag("untouched"),
    number("number", ~std::uint64_t{0}),
    number("fill", kByte),
    value("bytes", Form::kOctets),
    value("psn", Form::kPsns),
    value("equals", Form::kPlaces),
    one_of("grh", kIpVersions),
});

constexpr ValueRule kPlacesSubject = value("place", Form::kPlaces);
constexpr ValueRule kNameSubject = value("name", Form::kName);

constexpr auto kVerbs = std::to_array<VerbRule>({
    {"service", Verb::kService, one_of("service", kServices), kServiceFields},
    {"mtu", Verb::kSet, one_of("bytes", kMtus), {}},
    {"qp", Verb::kSet, number("number", k24Bits), {}},
    {"peer", Verb::kSet, number("number", k24Bits), {}},
    {"pd", Verb::kSet, number("number", k32Bits), {}},
    {"expect-psn", Verb::kSet, number("psn", k24Bits), {}},
    {"send-psn", Verb::kSet, number("psn", k24Bits), {}},
    {"resources", Verb::kSet, number("number", 128), {}},
    {"reads", Verb::kSet, number("number", 128), {}},
    {"timeout", Verb::kSet, number("code", 31), {}},
    {"retry", Verb::kSet, number("number", 7), {}},
    {"rnr-retry", Verb::kSet, number("number", 7), {}},
    {"rnr-timer", Verb::kSet, number("code", 31), {}},
    {"qkey", Verb::kSet, number("key", k32Bits), {}},
    {"window-packets", Verb::kSet, number("packets", 4096), {}},
    {"ack-delay", Verb::kSet, value("duration", Form::kDuration), {}},
    {"access", Verb::kAccess, value("rights", Form::kRights), {}},
    {"memory", Verb::kMemory, kNameSubject, kMemoryFields},
    {"window", Verb::kWindow, kNameSubject, kWindowFields},
    {"srq", Verb::kXrcSrq, number("number", k24Bits), kSrqFields},
    {"shared-receives", Verb::kShareReceives, {}, {}},
    {"start", Verb::kStart, one_of("state", kStarts), {}},
    {"post", Verb::kPost, one_of("operation", kOperations), kPostFields},
    {"receive", Verb::kReceive, {}, kReceiveFields},
    {"srq-limit", Verb::kArmLimit, number("limit", k24Bits), kLimitFields},
    {"modify", Verb::kModify, one_of("state", kStates), kModifyFields},
    {"dereg", Verb::kDeregister, kNameSubject, {}},
    {"rights", Verb::kChangeRights, kNameSubject, kRightsFields},
    {"store", Verb::kStore, kPlacesSubject, kStoreFields},
    {"<", Verb::kArrives, value("packet", Form::kName), kArrivesFields},
    {"+", Verb::kPass, value("duration", Form::kDuration), {}},
    {">", Verb::kLeaves, value("packet", Form::kName), kLeavesFields},
    {"cqe", Verb::kSendCompletion, {}, kSendCompletionFields},
    {"rcqe", Verb::kReceiveCompletion, {}, kReceiveCompletionFields},
    {"event", Verb::kEvent, any_of("event", kEvents), {}},
    {"flushed", Verb::kFlushed, kPlacesSubject, kFlushedFields},
    {"silence", Verb::kSilence, {}, {}},
    {"timer", Verb::kTimeout, value("duration", Form::kDuration), {}},
    {"state", Verb::kState, one_of("state", kStates), {}},
    {"psns", Verb::kPsns, {}, kPsnsFields},
    {"counter", Verb::kCounter, {}, {}},
    {"check", Verb::kCheck, kPlacesSubject, kCheckFields},
});

}  // namespace

std::span<const VerbRule> verbs() {
  return kVerbs;
}

const VerbRule* find_verb(std::span<const VerbRule> verbs, std::string_view word) {
  const auto found =
      std::find_if(verbs.begin(), verbs.end(), [word](const VerbRule& rule) { return rule.word == word; });
  return found == verbs.end() ? nullptr : &*found;
}

std::span<const std::string_view> right_names() {
  return kRights;
}

bool is_among(std::string_view name, std::string_view alternatives) {
  while (!alternatives.empty()) {
    const std::size_t end = std::min(alternatives.find('|'), alternatives.size());
    if (alternatives.substr(0, end) == name) return true;
    alternatives.remove_prefix(std::min(end + 1, alternatives.size()));
  }
  return false;
}

std::size_t index_of(std::span<const std::string_view> names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace urnic::scripts
