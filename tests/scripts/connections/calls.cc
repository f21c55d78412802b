// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the program asks of rdma_cm.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "tests/scripts/connections/steps.h"
#include "tests/scripts/connections/vocabulary.h"
#include "tools/conformance/script/vocabulary.h"
#include "transport/result.h"

namespace urnic::scripts::connections {
namespace {

using namespace std::chrono_literals;
using nic::rdma_cm::ConnectionParameters;
using nic::rdma_cm::EventType;
using nic::rdma_cm::IdNumber;
using nic::rdma_cm::PortSpace;
using nic::rdma_cm::RdmaCm;
using nic::rdma_cm::Service;
using transport::QpNumber;

using Answer = Result<void, Error>;

constexpr std::uint16_t kFromPort = 40000;
constexpr std::uint64_t kOwnQpn = 0x11;
/// Of every id: events carry it.
constexpr std::uint64_t kUid = 1;

std::string name_of_id(const Statement& statement) {
  return statement.get_or<Word>("id", statement.name == "listen" ? kListener : kConnection);
}

Service service_of(const Statement& statement) {
  return static_cast<Service>(index_of(service_names(), statement.get_or<Word>("service", "rc")));
}

std::uint8_t u8(std::uint64_t number) {
  return static_cast<std::uint8_t>(number);
}

ConnectionParameters parameters_of(const Statement& statement) {
  constexpr std::uint64_t kDefaultRetries = 7;
  ConnectionParameters parameters{
      .responder_resources = u8(statement.number("resources", 1)),
      .initiator_depth = u8(statement.number("depth", 1)),
      .flow_control = statement.flag("flow-control"),
      .retry_count = u8(statement.number("retries", kDefaultRetries)),
      .rnr_retry_count = u8(statement.number("rnr-retries", kDefaultRetries)),
      .srq = statement.flag("srq"),
      .qp = QpNumber{static_cast<std::uint32_t>(statement.number("qpn", kOwnQpn))},
      .qkey = static_cast<std::uint32_t>(statement.number("qkey"))};
  const Octets data = private_octets(statement);
  const std::size_t size = std::min(data.size(), parameters.private_data.bytes.size());
  std::copy_n(data.begin(), size, parameters.private_data.bytes.begin());
  parameters.private_data.size = u8(size);
  return parameters;
}

/// A new id, with the options that the statement names.
Result<IdNumber, Error> create(Stage& stage, const Statement& statement) {
  const Service service = service_of(statement);
  const PortSpace space = service == Service::kUd ? PortSpace::kUdp : PortSpace::kTcp;
  const auto id = stage.cm().create_id(stage.channel(), kUid, space, service);
  if (!id) return id;
  const auto option = [&](std::string_view name, auto set) -> Answer {
    if (!statement.has(name)) return success();
    return (stage.cm().*set)(stage.channel(), id.value(), u8(statement.number(name)));
  };
  if (auto set = option("tos", &RdmaCm::set_type_of_service); !set) return failure(set.error());
  if (auto set = option("ack-timeout", &RdmaCm::set_ack_timeout); !set) return failure(set.error());
  stage.ids[name_of_id(statement)] = id.value();
  return id;
}

Answer listen(Stage& stage, const Statement& statement) {
  const auto id = create(stage, statement);
  if (!id) return failure(id.error());
  const auto port = static_cast<std::uint16_t>(statement.number("port", kPort));
  const auto bound = stage.cm().bind(stage.channel(), id.value(), stage.address_of(Host::kOurs, port));
  if (!bound) return failure(bound.error());
  const auto listens =
      stage.cm().listen(stage.channel(), id.value(), static_cast<std::uint32_t>(statement.number("backlog")));
  if (!listens) return failure(listens.error());
  return success();
}

/// From creating the id to REQ, as rdma_create_ep() and rdma_connect() do; an id that is there is only
/// connected.
Answer connect(Stage& stage, const Statement& statement) {
  RdmaCm& cm = stage.cm();
  const bool is_new = !stage.ids.contains(name_of_id(statement));
  if (is_new) {
    const auto id = create(stage, statement);
    if (!id) return failure(id.error());
    const auto from = static_cast<std::uint16_t>(statement.number("from-port", kFromPort));
    const auto to = static_cast<std::uint16_t>(statement.number("port", kPort));
    if (auto bound = cm.bind(stage.channel(), id.value(), stage.address_of(Host::kOurs, from)); !bound) {
      return failure(bound.error());
    }
    auto resolved = cm.resolve_address(stage.channel(), id.value(), {}, stage.address_of(Host::kPeer, to), 1s,
                                       stage.now());
    if (!resolved) return failure(resolved.error());
    cm.next_event(stage.channel());
    if (auto route = cm.resolve_route(stage.channel(), id.value(), 1s); !route) return route;
    cm.next_event(stage.channel());
  }
  return cm.connect(stage.channel(), stage.ids.at(name_of_id(statement)), parameters_of(statement),
                    stage.now());
}

/// What the engine does when it sees that queue pairs have received requests (nic/engine/gsi.cc).
Answer see_data(Stage& stage) {
  nic::cm::CommunicationManager& messages = stage.cm().messages();
  const nic::cm::Connection* const connection = messages.next_unconfirmed();
  if (connection != nullptr) messages.establish(connection->local_id);
  return success();
}

Answer call_on_id(Stage& stage, const Statement& statement, IdNumber id) {
  RdmaCm& cm = stage.cm();
  const std::string& name = statement.name;
  if (name == "accept") {
    return cm.accept(stage.channel(), id, kUid, parameters_of(statement), stage.now());
  }
  if (name == "establish") return cm.establish(stage.channel(), id);
  if (name == "reject") {
    return cm.reject(stage.channel(), id, u8(statement.number("reason")), private_octets(statement),
                     stage.now());
  }
  if (name == "disconnect") return cm.disconnect(stage.channel(), id, stage.now());
  if (name == "notify") return cm.notify(stage.channel(), id, RdmaCm::QpNotice::kCommunicationEstablished);
  stage.ids.erase(name_of_id(statement));
  const auto destroyed = cm.destroy_id(stage.channel(), id, stage.now());
  if (!destroyed) return failure(destroyed.error());
  return success();
}

int wanted_error(const Statement& statement) {
  const Word name = statement.get_or<Word>("errno", "");
  for (const NamedError& error : errors()) {
    if (error.name == name) return error.value;
  }
  return 0;
}

}  // namespace

std::optional<Trouble> call(Stage& stage, const Statement& statement) {
  stage.note(statement.text);
  const std::string& name = statement.name;
  Answer answer = success();
  if (name == "listen") {
    answer = listen(stage, statement);
  } else if (name == "connect") {
    answer = connect(stage, statement);
  } else if (name == "data") {
    answer = see_data(stage);
  } else {
    const auto id = stage.ids.find(name_of_id(statement));
    if (id == stage.ids.end()) {
      return script_error(fmt::format("the program has no id '{}'", name_of_id(statement)));
    }
    answer = call_on_id(stage, statement, id->second);
  }
  const int error = answer ? 0 : answer.error().code;
  if (error != wanted_error(statement)) {
    return Trouble{answer ? "the call succeeds" : fmt::format("the call fails: {}", answer.error().message)};
  }
  if (auto wrong = stage.drain()) return Trouble{*std::move(wrong)};
  return std::nullopt;
}

}  // namespace urnic::scripts::connections
