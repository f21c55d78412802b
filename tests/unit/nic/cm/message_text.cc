// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/nic/cm/message_text.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <variant>

#include "transport/wire/address.h"

namespace urnic::nic::cm {
namespace {

class Text {
 public:
  explicit Text(std::string_view message, std::uint64_t transaction_id) {
    out_ << message << std::hex;
    number("tid", transaction_id);
  }

  template <typename T>
  Text& number(std::string_view name, T value) {
    if constexpr (std::is_enum_v<T>) {
      return number(name, transport::to_integer(value));
    } else {
      out_ << ' ' << name << '=' << std::uint64_t{value};
      return *this;
    }
  }
  Text& text(std::string_view name, std::string_view value) {
    out_ << ' ' << name << '=' << value;
    return *this;
  }
  /// Without the zeros at its end.
  Text& bytes(std::string_view name, std::span<const std::byte> bytes) {
    while (!bytes.empty() && bytes.back() == std::byte{}) bytes = bytes.first(bytes.size() - 1);
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string digits;
    for (const std::byte byte : bytes) {
      digits += kDigits[std::to_integer<std::size_t>(byte >> 4)];
      digits += kDigits[std::to_integer<std::size_t>(byte & std::byte{0xf})];
    }
    return text(name, digits);
  }
  std::string str() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

/// The codes of the two fields that say it, transport service type and extended transport.
struct TransportCodes {
  unsigned type = 0;
  unsigned extended = 0;
};
TransportCodes codes_of(TransportType transport) {
  switch (transport) {
    case TransportType::kRc:
      return {.type = 0};
    case TransportType::kUc:
      return {.type = 1};
    case TransportType::kXrc:
      return {.type = 3, .extended = 1};
  }
  return {};
}

unsigned code_of(transport::PathMtu mtu) {
  switch (mtu) {
    case transport::PathMtu::k256:
      return 1;
    case transport::PathMtu::k512:
      return 2;
    case transport::PathMtu::k1024:
      return 3;
    case transport::PathMtu::k2048:
      return 4;
    case transport::PathMtu::k4096:
      return 5;
  }
  return 0;
}

std::string describe_body(std::uint64_t id, const Req& req) {
  return Text("REQ", id)
      .number("local", req.local_id)
      .number("guid", req.local_ca_guid)
      .number("qpn", req.local_qp)
      .number("resources", req.responder_resources)
      .number("depth", req.initiator_depth)
      .number("remote_timeout", req.remote_response_timeout)
      .number("type", codes_of(req.transport).type)
      .number("flow_control", req.end_to_end_flow_control)
      .number("psn", req.starting_psn.value())
      .number("local_timeout", req.local_response_timeout)
      .number("retries", req.retry_count)
      .number("pkey", req.pkey)
      .number("mtu", code_of(req.path_mtu))
      .number("rnr", req.rnr_retry_count)
      .number("cm_retries", req.max_cm_retries)
      .number("srq", req.srq)
      .number("extended", codes_of(req.transport).extended)
      .number("local_lid", req.path.local_lid)
      .number("remote_lid", req.path.remote_lid)
      .number("class", req.path.traffic_class)
      .number("hops", req.path.hop_limit)
      .number("sl", req.path.service_level)
      .number("subnet_local", req.path.subnet_local)
      .number("ack_timeout", req.path.local_ack_timeout)
      .number("label", req.path.flow_label)
      .number("rate", req.path.packet_rate)
      .number("service", req.service_id)
      .text("from", to_string(req.path.local_gid))
      .text("to", to_string(req.path.remote_gid))
      .bytes("private", req.private_data)
      .str();
}

std::string describe_body(std::uint64_t id, const Rep& rep) {
  return Text("REP", id)
      .number("local", rep.local_id)
      .number("remote", rep.remote_id)
      .number("qkey", rep.local_qkey)
      .number("qpn", rep.local_qp)
      .number("eec", rep.local_eec)
      .number("psn", rep.starting_psn.value())
      .number("resources", rep.responder_resources)
      .number("depth", rep.initiator_depth)
      .number("ack_delay", rep.target_ack_delay)
      .number("failover", rep.failover_accepted)
      .number("flow_control", rep.end_to_end_flow_control)
      .number("rnr", rep.rnr_retry_count)
      .number("srq", rep.srq)
      .number("guid", rep.local_ca_guid)
      .bytes("private", rep.private_data)
      .str();
}

std::string describe_body(std::uint64_t id, const Rej& rej) {
  return Text("REJ", id)
      .number("local", rej.local_id)
      .number("remote", rej.remote_id)
      .number("answered", rej.answered)
      .number("length", rej.information_length)
      .number("reason", rej.reason)
      .bytes("information", rej.information)
      .bytes("private", rej.private_data)
      .str();
}

std::string describe_body(std::uint64_t id, const Mra& mra) {
  return Text("MRA", id)
      .number("local", mra.local_id)
      .number("remote", mra.remote_id)
      .number("answered", mra.answered)
      .number("timeout", mra.service_timeout)
      .bytes("private", mra.private_data)
      .str();
}

template <typename T>
std::string describe_ids(std::string_view name, std::uint64_t id, const T& message) {
  return Text(name, id)
      .number("local", message.local_id)
      .number("remote", message.remote_id)
      .bytes("private", message.private_data)
      .str();
}

std::string describe_body(std::uint64_t id, const Rtu& rtu) {
  return describe_ids("RTU", id, rtu);
}

std::string describe_body(std::uint64_t id, const Drep& drep) {
  return describe_ids("DREP", id, drep);
}

std::string describe_body(std::uint64_t id, const Dreq& dreq) {
  return Text("DREQ", id)
      .number("local", dreq.local_id)
      .number("remote", dreq.remote_id)
      .number("qpn", dreq.remote_qp)
      .bytes("private", dreq.private_data)
      .str();
}

std::string describe_body(std::uint64_t id, const SidrReq& request) {
  return Text("SIDR_REQ", id)
      .number("local", request.request_id)
      .number("pkey", request.pkey)
      .number("service", request.service_id)
      .bytes("private", request.private_data)
      .str();
}

std::string describe_body(std::uint64_t id, const SidrRep& reply) {
  return Text("SIDR_REP", id)
      .number("local", reply.request_id)
      .number("status", reply.status)
      .number("length", reply.information_length)
      .number("qpn", reply.qp)
      .number("service", reply.service_id)
      .number("qkey", reply.qkey)
      .bytes("private", reply.private_data)
      .str();
}

std::string describe_body(std::uint64_t id, const AlternatePath& path) {
  return Text(path.is_load ? "LAP" : "APR", id)
      .number("local", path.local_id)
      .number("remote", path.remote_id)
      .str();
}

}  // namespace

std::string describe(const Mad& mad) {
  return std::visit([&](const auto& message) { return describe_body(mad.transaction_id, message); },
                    mad.message);
}

}  // namespace urnic::nic::cm
