// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the program asks of rdma_cm.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "tests/scripts/connections/rdma_cm_stage.h"
#include "tools/conformance/player/connections/steps.h"
#include "tools/conformance/script/connections/vocabulary.h"
#include "tools/conformance/script/vocabulary.h"
#include "transport/result.h"

namespace urnic::scripts::connections {
namespace {

using namespace std::chrono_literals;
using nic::rdma_cm::ConnectionParameters;
using nic::rdma_cm::IdNumber;
using nic::rdma_cm::PortSpace;
using nic::rdma_cm::RdmaCm;
using nic::rdma_cm::Service;
using nic::rdma_cm::SocketAddress;
using transport::QpNumber;

using Answer = Result<void, Error>;

/// Of every id: events carry it.
constexpr std::uint64_t kUid = 1;

Service service_of(const Statement& statement) {
  return static_cast<Service>(index_of(service_names(), statement.get_or<Word>("service", "rc")));
}

std::uint8_t u8(std::uint64_t number) {
  return static_cast<std::uint8_t>(number);
}

ConnectionParameters parameters_of(const Statement& statement) {
  ConnectionParameters parameters{
      .responder_resources = u8(statement.number("resources", 1)),
      .initiator_depth = u8(statement.number("depth", 1)),
      .flow_control = statement.flag("flow-control"),
      .retry_count = u8(statement.number("retries", kRetries)),
      .rnr_retry_count = u8(statement.number("rnr-retries", kRetries)),
      .srq = statement.flag("srq"),
      .qp = QpNumber{static_cast<std::uint32_t>(statement.number("qpn", kOwnQpn))},
      .qkey = static_cast<std::uint32_t>(statement.number("qkey"))};
  const Octets data = private_octets(statement);
  const std::size_t size = std::min(data.size(), parameters.private_data.bytes.size());
  std::copy_n(data.begin(), size, parameters.private_data.bytes.begin());
  parameters.private_data.size = u8(size);
  return parameters;
}

}  // namespace

SocketAddress RdmaCmStage::address_of(Host host, std::uint16_t port) const {
  const auto family = is_ipv6() ? SocketAddress::Family::kIpv6 : SocketAddress::Family::kIpv4;
  return {.family = family, .address = gid_of(host), .port = port};
}

/// A new id, with the options that the statement names.
Result<IdNumber, Error> RdmaCmStage::create(const Statement& statement) {
  const Service service = service_of(statement);
  const PortSpace space = service == Service::kUd ? PortSpace::kUdp : PortSpace::kTcp;
  const auto id = cm_.create_id(channel_, kUid, space, service);
  if (!id) return id;
  const auto option = [&](std::string_view name, auto setter) -> Answer {
    if (!statement.has(name)) return success();
    return (cm_.*setter)(channel_, id.value(), u8(statement.number(name)));
  };
  if (auto set = option("tos", &RdmaCm::set_type_of_service); !set) return failure(set.error());
  if (auto set = option("ack-timeout", &RdmaCm::set_ack_timeout); !set) return failure(set.error());
  ids[name_of_id(statement)] = transport::to_integer(id.value());
  return id;
}

Result<void, Error> RdmaCmStage::listen(const Statement& statement) {
  const auto id = create(statement);
  if (!id) return failure(id.error());
  const auto port = static_cast<std::uint16_t>(statement.number("port", kPort));
  const auto bound = cm_.bind(channel_, id.value(), address_of(Host::kOurs, port));
  if (!bound) return failure(bound.error());
  const auto listens =
      cm_.listen(channel_, id.value(), static_cast<std::uint32_t>(statement.number("backlog")));
  if (!listens) return failure(listens.error());
  return success();
}

/// From creating the id to REQ, as rdma_create_ep() and rdma_connect() do; an id that is there is only
/// connected.
Result<void, Error> RdmaCmStage::connect(const Statement& statement) {
  const bool is_new = !ids.contains(name_of_id(statement));
  if (is_new) {
    const auto id = create(statement);
    if (!id) return failure(id.error());
    const auto from = static_cast<std::uint16_t>(statement.number("from-port", kFromPort));
    const auto to = static_cast<std::uint16_t>(statement.number("port", kPort));
    if (auto bound = cm_.bind(channel_, id.value(), address_of(Host::kOurs, from)); !bound) {
      return failure(bound.error());
    }
    auto resolved = cm_.resolve_address(channel_, id.value(), {}, address_of(Host::kPeer, to), 1s, now_);
    if (!resolved) return failure(resolved.error());
    cm_.next_event(channel_);
    if (auto route = cm_.resolve_route(channel_, id.value(), 1s); !route) return route;
    cm_.next_event(channel_);
  }
  return cm_.connect(channel_, IdNumber{static_cast<std::uint32_t>(ids.at(name_of_id(statement)))},
                     parameters_of(statement), now_);
}

/// What the engine does when it sees that queue pairs have received requests (nic/engine/gsi.cc).
Result<void, Error> RdmaCmStage::see_data() {
  nic::cm::CommunicationManager& messages = cm_.messages();
  const nic::cm::Connection* const connection = messages.next_unconfirmed();
  if (connection != nullptr) messages.establish(connection->local_id);
  return success();
}

Result<void, Error> RdmaCmStage::call_on_id(const Statement& statement, IdNumber id) {
  const std::string& name = statement.name;
  if (name == "accept") {
    return cm_.accept(channel_, id, kUid, parameters_of(statement), now_);
  }
  if (name == "establish") return cm_.establish(channel_, id);
  if (name == "reject") {
    return cm_.reject(channel_, id, u8(statement.number("reason")), private_octets(statement), now_);
  }
  if (name == "disconnect") return cm_.disconnect(channel_, id, now_);
  if (name == "notify") return cm_.notify(channel_, id, RdmaCm::QpNotice::kCommunicationEstablished);
  ids.erase(name_of_id(statement));
  const auto destroyed = cm_.destroy_id(channel_, id, now_);
  if (!destroyed) return failure(destroyed.error());
  return success();
}

std::optional<Trouble> RdmaCmStage::call(const Statement& statement) {
  const std::string& name = statement.name;
  Answer answer = success();
  if (name == "listen") {
    answer = listen(statement);
  } else if (name == "connect") {
    answer = connect(statement);
  } else if (name == "data") {
    answer = see_data();
  } else {
    const auto id = ids.find(name_of_id(statement));
    if (id == ids.end()) {
      return script_error(fmt::format("the program has no id '{}'", name_of_id(statement)));
    }
    answer = call_on_id(statement, IdNumber{static_cast<std::uint32_t>(id->second)});
  }
  const int error = answer ? 0 : answer.error().code;
  if (error != wanted_error(statement)) {
    return Trouble{answer ? "the call succeeds" : fmt::format("the call fails: {}", answer.error().message)};
  }
  return drain();
}

}  // namespace urnic::scripts::connections
