// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/script/connections/vocabulary.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace urnic::scripts::connections {
namespace {

using List = std::string_view;

constexpr std::uint64_t kByte = 0xff;
constexpr std::uint64_t k16Bits = 0xffff;
constexpr std::uint64_t k24Bits = 0xffffff;
constexpr std::uint64_t k32Bits = 0xffffffff;

constexpr auto kErrors = std::to_array<NamedError>({{"EINVAL", EINVAL},
                                                    {"ENOENT", ENOENT},
                                                    {"EISCONN", EISCONN},
                                                    {"EADDRINUSE", EADDRINUSE},
                                                    {"ETIMEDOUT", ETIMEDOUT}});
constexpr auto kErrorNames = [] {
  std::array<List, kErrors.size()> names;
  std::transform(kErrors.begin(), kErrors.end(), names.begin(), [](const NamedError& e) { return e.name; });
  return names;
}();
// As rdma_event_str() has them, without "RDMA_CM_EVENT_".
constexpr auto kEvents = std::to_array<List>(
    {"ADDR_RESOLVED", "ADDR_ERROR", "ROUTE_RESOLVED", "ROUTE_ERROR", "CONNECT_REQUEST", "CONNECT_RESPONSE",
     "CONNECT_ERROR", "UNREACHABLE", "REJECTED", "ESTABLISHED", "DISCONNECTED", "DEVICE_REMOVAL",
     "MULTICAST_JOIN", "MULTICAST_ERROR", "ADDR_CHANGE", "TIMEWAIT_EXIT"});
constexpr auto kServices = std::to_array<List>({"rc", "uc", "ud", "xrc"});
constexpr auto kIpVersions = std::to_array<List>({"ipv4", "ipv6"});
constexpr auto kMtus = std::to_array<List>({"1500", "4200"});
constexpr auto kQpStates = std::to_array<List>({"RTR", "RTS"});
constexpr auto kHosts = std::to_array<List>({"ours", "peer", "stranger"});
// The states of enum ib_cm_state that a script can see.
constexpr auto kStates = std::to_array<List>({"REQ_SENT", "REQ_RCVD", "REP_SENT", "REP_RCVD", "ESTABLISHED",
                                              "DREQ_SENT", "DREQ_RCVD", "TIMEWAIT", "NONE"});

constexpr ValueRule number(std::string_view name, std::uint64_t most) {
  return {name, Form::kNumber, most};
}
constexpr ValueRule flag(std::string_view name) {
  return {name, Form::kFlag};
}
constexpr ValueRule drawn(std::string_view name, std::uint64_t most) {
  return {name, Form::kDrawn, most};
}
constexpr ValueRule one_of(std::string_view name, std::span<const List> choices) {
  return {name, Form::kChoice, 0, choices};
}
constexpr ValueRule value(std::string_view name, Form form) {
  return {name, form};
}

constexpr ValueRule kId = value("id", Form::kName);
constexpr ValueRule kPrivate = value("private", Form::kOctets);
constexpr ValueRule kPrivateSize = number("private-size", kByte);
constexpr ValueRule kErrno = one_of("errno", kErrorNames);
constexpr ValueRule kService = one_of("service", kServices);

constexpr auto kListenFields =
    std::to_array<ValueRule>({kId, kErrno, kService, number("port", k16Bits), number("backlog", k16Bits),
                              number("tos", kByte), number("ack-timeout", kByte)});
constexpr auto kConnectFields = std::to_array<ValueRule>({
    kId,
    kErrno,
    kService,
    kPrivate,
    kPrivateSize,
    number("port", k16Bits),
    number("from-port", k16Bits),
    number("qpn", k24Bits),
    number("resources", kByte),
    number("depth", kByte),
    number("retries", kByte),
    number("rnr-retries", kByte),
    number("tos", kByte),
    number("ack-timeout", kByte),
    flag("srq"),
    flag("flow-control"),
});
constexpr auto kAcceptFields = std::to_array<ValueRule>({
    kId,
    kErrno,
    kPrivate,
    kPrivateSize,
    number("qpn", k24Bits),
    number("resources", kByte),
    number("depth", kByte),
    number("rnr-retries", kByte),
    number("qkey", k32Bits),
    flag("srq"),
    flag("flow-control"),
});
constexpr auto kRejectFields =
    std::to_array<ValueRule>({kId, kErrno, kPrivate, kPrivateSize, number("reason", kByte)});
constexpr auto kIdFields = std::to_array<ValueRule>({kId, kErrno});

// Beside the numbers of mad.h.
constexpr auto kArrivesFields = std::to_array<ValueRule>({
    kPrivate,
    kPrivateSize,
    number("port", k16Bits),
    number("bytes", 256),
    one_of("from", kHosts),
    one_of("local-gid", kHosts),
    one_of("remote-gid", kHosts),
    one_of("source", kHosts),
    one_of("destination", kHosts),
    flag("again"),
    flag("burst"),
});
constexpr auto kLeavesFields = std::to_array<ValueRule>({
    kPrivate,
    kPrivateSize,
    number("port", k16Bits),
    one_of("to", kHosts),
    number("tos", kByte),
    number("priority", kByte),
    flag("again"),
    number("times", 1000),
    value("after", Form::kDuration),
});
constexpr auto kEventFields = std::to_array<ValueRule>({
    kId,
    kPrivate,
    kPrivateSize,
    number("private-room", kByte),
    number("status", k16Bits),
    one_of("error", kErrorNames),
    drawn("qpn", k24Bits),
    number("resources", kByte),
    number("depth", kByte),
    number("retries", kByte),
    number("rnr-retries", kByte),
    number("qkey", k32Bits),
    flag("srq"),
    flag("flow-control"),
});
constexpr auto kAttributesFields = std::to_array<ValueRule>({
    kId,
    drawn("qpn", k24Bits),
    drawn("send-psn", k24Bits),
    drawn("receive-psn", k24Bits),
    number("mtu", k16Bits),
    number("resources", kByte),
    number("depth", kByte),
    number("ack-timeout", kByte),
    number("retries", kByte),
    number("rnr-retries", kByte),
    number("flow-label", k24Bits),
    number("traffic-class", kByte),
    number("sl", kByte),
    flag("reads"),
});
constexpr auto kStateFields = std::to_array<ValueRule>({kId});

constexpr auto kVerbs = std::to_array<VerbRule>({
    {"over", Verb::kSet, one_of("ip-version", kIpVersions), {}},
    {"link-mtu", Verb::kSet, one_of("bytes", kMtus), {}},
    {"listen", Verb::kCall, {}, kListenFields},
    {"connect", Verb::kCall, {}, kConnectFields},
    {"accept", Verb::kCall, {}, kAcceptFields},
    {"establish", Verb::kCall, {}, kIdFields},
    {"reject", Verb::kCall, {}, kRejectFields},
    {"disconnect", Verb::kCall, {}, kIdFields},
    {"destroy", Verb::kCall, {}, kIdFields},
    {"notify", Verb::kCall, {}, kIdFields},
    {"data", Verb::kCall, {}, kIdFields},
    {"<", Verb::kArrives, value("message", Form::kName), kArrivesFields},
    {"+", Verb::kPass, value("duration", Form::kDuration), {}},
    {">", Verb::kLeaves, value("message", Form::kName), kLeavesFields},
    {"event", Verb::kEvent, one_of("event", kEvents), kEventFields},
    {"silence", Verb::kSilence, {}, {}},
    {"timer", Verb::kTimeout, value("duration", Form::kDuration), {}},
    {"state", Verb::kState, one_of("state", kStates), kStateFields},
    {"attributes", Verb::kAttributes, one_of("state", kQpStates), kAttributesFields},
    {"connections", Verb::kConnections, number("number", k32Bits), {}},
});

}  // namespace

std::span<const VerbRule> verbs() {
  return kVerbs;
}

std::span<const NamedError> errors() {
  return kErrors;
}

std::span<const std::string_view> event_names() {
  return kEvents;
}

std::span<const std::string_view> service_names() {
  return kServices;
}

std::span<const std::string_view> host_names() {
  return kHosts;
}

}  // namespace urnic::scripts::connections
