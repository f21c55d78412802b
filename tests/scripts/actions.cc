#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/scripts/steps.h"
#include "tests/scripts/vocabulary.h"

namespace urnic::scripts {
namespace {

using transport::Access;
using transport::Lkey;
using transport::Psn;
using transport::QpState;
using transport::Rkey;
using transport::SendOperation;
using transport::SendRequest;
using transport::Sge;
using transport::wire::Service;

using Places = std::vector<Place>;

constexpr std::uint64_t kDefaultReceiveBytes = 4096;

std::uint32_t u32(std::uint64_t number) {
  return static_cast<std::uint32_t>(number);
}

struct Elements {
  std::vector<Sge> sges;
  std::uint64_t length = 0;
  std::optional<Trouble> trouble;
};

/// Scatter/gather elements. `length` is that of a single element that names none.
Elements elements_of(Stage& stage, const Places& places, std::uint64_t length) {
  Elements elements;
  for (const Place& place : places) {
    const ScriptMemory::Region* region = stage.memory().region(place.name);
    if (region == nullptr) {
      elements.trouble = script_error(fmt::format("there is no memory '{}'", place.name));
      return elements;
    }
    if (!place.length && places.size() > 1) {
      elements.trouble = script_error("several elements each need a length: local+0:100,local+200:8");
      return elements;
    }
    const std::uint64_t bytes = place.length.value_or(u32(length));
    elements.sges.push_back(
        {.address = region->address + place.offset, .length = u32(bytes), .lkey = Lkey{region->key}});
    elements.length += bytes;
  }
  if (elements.length > transport::kMaxMessageBytes) {
    elements.trouble = script_error("longer than 2^31 bytes, the longest message (fact 29)");
  }
  return elements;
}

SendOperation operation_of(const Statement& statement) {
  const Word& name = statement.subject_as<Word>();
  if (name == "send" && statement.has("inv")) return SendOperation::kSendWithInvalidate;
  if (name == "send") return statement.has("imm") ? SendOperation::kSendWithImmediate : SendOperation::kSend;
  if (name == "write")
    return statement.has("imm") ? SendOperation::kWriteWithImmediate : SendOperation::kWrite;
  if (name == "read") return SendOperation::kRead;
  if (name == "cas") return SendOperation::kCompareSwap;
  if (name == "add") return SendOperation::kFetchAdd;
  if (name == "flush") return SendOperation::kFlush;
  if (name == "atomic-write") return SendOperation::kAtomicWrite;
  return name == "local-inv" ? SendOperation::kLocalInvalidate : SendOperation::kBindWindow;
}

std::optional<Trouble> fill_binding(Stage& stage, const Statement& statement, SendRequest& request) {
  const ScriptMemory::Window* window = stage.memory().window(statement.get_or<Word>("window", ""));
  if (window == nullptr) return script_error("'bind' needs window=NAME of a window");
  request.binding.window = Rkey{u32(statement.number("key", window->key))};
  request.binding.new_rkey = Rkey{u32(statement.number("new-key", window->key))};
  request.binding.access = statement.get_or<Access>("rights", Access::kNone);
  request.binding.is_zero_based = statement.flag("zero-based");
  const Places over = statement.get_or<Places>("over", {});
  if (over.empty()) return std::nullopt;  // unbinds
  const Elements elements = elements_of(stage, over, 0);
  if (elements.trouble) return elements.trouble;
  request.binding.region = elements.sges[0].lkey;
  request.binding.address = elements.sges[0].address;
  request.binding.length = elements.sges[0].length;
  return std::nullopt;
}

SendRequest request_of(const Statement& statement, SendOperation operation) {
  SendRequest request{.wr_id = statement.number("id"), .operation = operation};
  request.signaled = statement.flag("signaled", true);
  request.solicited = statement.flag("solicited");
  request.fence = statement.flag("fence");
  request.immediate = htonl(u32(statement.number("imm")));
  request.remote_address = statement.number("va");
  request.rkey = Rkey{u32(statement.number("rkey"))};
  request.invalidate_rkey = Rkey{u32(statement.number("inv", statement.number("key")))};
  request.compare = statement.number("cmp");
  request.swap_or_add = statement.number(operation == SendOperation::kFetchAdd ? "add" : "swap");
  request.xrc_srq = u32(statement.number("srq"));
  request.destination = {.address = transport::AddressHandleId{u32(statement.number("ah", 1))},
                         .qp = transport::QpNumber{u32(statement.number("dst"))},
                         .qkey = u32(statement.number("qkey"))};
  if (operation == SendOperation::kFlush) {
    request.flush.length = u32(statement.number("length"));
    request.flush.access = statement.get_or<Access>("rights", Access::kFlushGlobal);
    const bool is_whole = statement.get_or<Word>("scope", "range") == "region";
    request.flush.scope = is_whole ? transport::FlushScope::kRegion : transport::FlushScope::kRange;
  }
  return request;
}

Elements elements_to_post(Stage& stage, const Statement& statement, SendOperation operation) {
  if (is_local(operation) || operation == SendOperation::kFlush) return {};
  const bool has_fixed_size = is_atomic(operation) || operation == SendOperation::kAtomicWrite;
  const std::uint64_t length = statement.number("length", has_fixed_size ? 8 : 0);
  const std::string_view field = sends_data(operation) ? "from" : "into";
  if (statement.has(field)) return elements_of(stage, statement.get<Places>(field), length);
  if (length == 0) return {};
  return elements_of(stage, {Place{.name = "local"}}, length);
}

std::optional<Trouble> copy_inline(Stage& stage, const Elements& elements, const SendRequest& request) {
  if (!sends_data(request.operation) || elements.length > Stage::kInlineBytes) {
    return script_error(fmt::format("inline is for at most {} bytes that are sent", Stage::kInlineBytes));
  }
  Octets bytes(elements.length);
  std::size_t at = 0;
  for (const Sge& sge : elements.sges) {
    const auto to = std::span(bytes).subspan(at, sge.length);
    if (sge.length > 0 && stage.memory().read_local(stage.config().pd, sge.lkey, sge.address, to) !=
                              transport::DmaStatus::kOk) {
      return script_error("there is nothing to copy inline");
    }
    at += sge.length;
  }
  const auto place = stage.send_queue().prepare_inline(request, u32(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), place.begin());
  return std::nullopt;
}

std::optional<Trouble> drained(Stage& stage, const Statement& statement) {
  if (statement.flag("burst")) return std::nullopt;
  if (auto wrong = stage.drain()) return Trouble{*std::move(wrong)};
  return std::nullopt;
}

std::optional<Trouble> post(Stage& stage, const Statement& statement) {
  const SendOperation operation = operation_of(statement);
  const QpState state = stage.endpoint().state();
  if (state == QpState::kReset || state == QpState::kInit || state == QpState::kReadyToReceive) {
    return script_error("nothing can be posted in this state");
  }
  const bool never_sends = stage.config().service == Service::kXrc && stage.settings().is_xrc_target;
  if (never_sends) return script_error("an XRC target sends nothing of its own");
  if (stage.send_queue().is_full()) return script_error("the send queue is full");
  SendRequest request = request_of(statement, operation);
  if (operation == SendOperation::kBindWindow) {
    if (auto trouble = fill_binding(stage, statement, request)) return trouble;
  }
  const Elements elements = elements_to_post(stage, statement, operation);
  if (elements.trouble) return elements.trouble;
  const bool is_eight_bytes = is_atomic(operation) || operation == SendOperation::kAtomicWrite;
  if (is_eight_bytes && elements.length != 8) return script_error("this operation is about 8 bytes");
  stage.note(statement.text);
  if (statement.flag("inline")) {
    if (auto trouble = copy_inline(stage, elements, request)) return trouble;
  } else {
    stage.send_queue().prepare(request, elements.sges, u32(elements.length));
  }
  stage.send_queue().publish();
  return drained(stage, statement);
}

std::optional<Trouble> receive(Stage& stage, const Statement& statement) {
  std::optional<std::uint64_t> number;
  if (statement.has("srq")) number = statement.number("srq");
  transport::ReceiveQueue* queue = stage.receive_queue(number);
  if (queue == nullptr) return script_error("there is no such receive queue");
  if (!number && stage.endpoint().state() == QpState::kReset)
    return script_error("nothing can be posted in RESET");
  if (queue->is_full()) return script_error("the receive queue is full");
  const std::uint64_t length = statement.number("length", kDefaultReceiveBytes);
  const Elements elements =
      elements_of(stage, statement.get_or<Places>("into", {Place{.name = "buffers"}}), length);
  if (elements.trouble) return elements.trouble;
  stage.note(statement.text);
  queue->prepare({.wr_id = statement.number("id")}, elements.sges, u32(elements.length));
  queue->publish();
  return drained(stage, statement);
}

std::optional<Trouble> arm_limit(Stage& stage, const Statement& statement) {
  std::optional<std::uint64_t> number;
  if (statement.has("srq")) number = statement.number("srq");
  transport::ReceiveQueue* queue = stage.receive_queue(number);
  if (queue == nullptr) return script_error("there is no such receive queue");
  stage.arm_limit(*queue, u32(statement.subject_as<std::uint64_t>()));
  return std::nullopt;
}

std::optional<Trouble> modify(Stage& stage, const Statement& statement) {
  transport::QpConfig& config = stage.config();
  config.notify_when_drained = statement.flag("notify");
  if (statement.has("expect-psn")) config.receive_psn = Psn(u32(statement.number("expect-psn")));
  if (statement.has("send-psn")) config.send_psn = Psn(u32(statement.number("send-psn")));
  const auto set = [&](std::string_view name, std::uint8_t& to) {
    to = static_cast<std::uint8_t>(statement.number(name, to));
  };
  set("timeout", config.ack_timeout);
  set("retry", config.retry_count);
  set("rnr-retry", config.rnr_retry);
  set("rnr-timer", config.min_rnr_timer);
  config.access = statement.get_or<Access>("access", config.access);
  config.qkey = u32(statement.number("qkey", config.qkey));
  const auto to = static_cast<QpState>(index_of(state_names(), statement.subject_as<Word>()));
  if (auto wrong = stage.modify(to)) return script_error(*std::move(wrong));
  return drained(stage, statement);
}

std::optional<Trouble> change_region(Stage& stage, const Statement& statement) {
  ScriptMemory::Region* region = stage.memory().region(statement.subject_as<Word>());
  if (region == nullptr)
    return script_error(fmt::format("there is no memory '{}'", statement.subject_as<Word>()));
  stage.note(statement.text);
  if (statement.verb == Verb::kDeregister) {
    region->is_registered = false;
  } else {
    region->access = statement.get<Access>("rights");
  }
  return std::nullopt;
}

std::optional<Trouble> store(Stage& stage, const Statement& statement) {
  const Place& place = statement.subject_as<Places>().front();
  Octets contents = statement.get_or<Octets>("bytes", {});
  if (statement.has("number")) {
    // As the program's processor keeps a 64-bit number.
    const std::uint64_t number = statement.number("number");
    contents.resize(sizeof number);
    std::memcpy(contents.data(), &number, sizeof number);
  } else if (statement.has("fill")) {
    contents.assign(std::min<std::size_t>(place.length.value_or(1), 1u << 20),
                    static_cast<std::byte>(statement.number("fill")));
  }
  const PlacedBytes to = bytes_at(stage, place, contents.size());
  if (to.trouble) return to.trouble;
  std::copy(contents.begin(), contents.end(), to.bytes.begin());
  return std::nullopt;
}

/// va and rkey of a place that the peer reaches for.
std::optional<Trouble> aim(Stage& stage, const Places& places, PacketFields& packet) {
  if (places.size() != 1) return script_error("a request goes to one place");
  const Place& place = places.front();
  if (const ScriptMemory::Region* region = stage.memory().region(place.name)) {
    packet.va = region->address + place.offset;
    packet.rkey = region->key;
  } else if (const ScriptMemory::Window* window = stage.memory().window(place.name)) {
    packet.va = window->address + place.offset;
    packet.rkey = window->key;
  } else {
    return script_error(fmt::format("there is no memory or window '{}'", place.name));
  }
  return std::nullopt;
}

std::optional<Trouble> fill_payload(Stage& stage, const Statement& statement, PacketFields& packet) {
  if (!carries_payload(packet)) return std::nullopt;
  const bool is_atomic_write = packet.name() == "ATOMIC_WRITE";
  const std::size_t usual = fills_the_path(packet) ? bytes(stage.config().path_mtu) : is_atomic_write ? 8 : 0;
  packet.payload = statement.get_or<Octets>("bytes", {});
  if (!statement.has("bytes")) {
    packet.payload.resize(statement.number("len", usual));
    const auto psn = u32(statement.number("like-psn", packet.psn));
    for (std::size_t i = 0; i < packet.payload.size(); ++i) {
      packet.payload[i] =
          statement.has("fill") ? static_cast<std::byte>(statement.number("fill")) : peer_byte(psn, i);
    }
  }
  packet.pad = -packet.payload.size() & 3u;
  return std::nullopt;
}

std::optional<Trouble> fill_packet(Stage& stage, const Statement& statement, PacketFields& packet) {
  const transport::QpConfig& config = stage.config();
  packet.dst = to_integer(config.local_qp);
  packet.src = to_integer(config.remote_qp);
  packet.qkey = config.qkey;
  if (!stage.settings().xrc_queues.empty()) packet.srq = stage.settings().xrc_queues.front().number;
  if (auto trouble = fill_payload(stage, statement, packet)) return trouble;
  if (statement.has("to")) {
    if (auto trouble = aim(stage, statement.get<Places>("to"), packet)) return trouble;
  }
  if (packet_number(packet, "dmalen") && !statement.has("dmalen")) {
    if (!carries_payload(packet) || fills_the_path(packet))
      return script_error("this packet needs dmalen=...");
    packet.dmalen = packet.payload.size();
  }
  for (const Field& field : statement.fields) {
    if (const auto* number = std::get_if<std::uint64_t>(&field.value))
      set_packet_number(packet, field.name, *number);
  }
  return std::nullopt;
}

std::optional<Trouble> arrive(Stage& stage, const Statement& statement) {
  const auto& psns = statement.get<PsnRange>("psn");
  const auto service = static_cast<WireService>(transport::to_integer(stage.config().service) >> 5);
  const auto named = named_packet(statement.subject_as<Word>(), service);
  if (!named) return script_error("this service has no such packet");
  for (std::uint32_t i = 0; i < psns.count; ++i) {
    PacketFields packet = *named;
    packet.psn = (psns.first + i) & Psn::kMask;
    if (auto trouble = fill_packet(stage, statement, packet)) return trouble;
    if (auto wrong = stage.arrive(packet, network_header(statement.get_or<Word>("grh", "ipv4")))) {
      return script_error(*std::move(wrong));
    }
    if (auto trouble = drained(stage, statement)) return trouble;
  }
  return std::nullopt;
}

}  // namespace

bool is_action(Verb verb) {
  return verb >= Verb::kPost && verb <= Verb::kPass;
}

PlacedBytes bytes_at(Stage& stage, const Place& place, std::size_t length) {
  const auto bytes = stage.memory().bytes(place, length);
  if (!bytes)
    return {{},
            script_error(fmt::format("there are no {} bytes at {}+{}", length, place.name, place.offset))};
  return {*bytes, std::nullopt};
}

std::span<const std::byte> network_header(const Word& ip_version) {
  static constexpr auto kIpv4 = [] {
    std::array<std::byte, 20> header{};
    for (std::size_t i = 0; i < header.size(); ++i) header[i] = static_cast<std::byte>(0x45 + i);
    return header;
  }();
  static constexpr auto kIpv6 = [] {
    std::array<std::byte, 40> header{};
    for (std::size_t i = 0; i < header.size(); ++i) header[i] = static_cast<std::byte>(0x60 + i);
    return header;
  }();
  if (ip_version == "ipv6") return kIpv6;
  return kIpv4;
}

std::optional<Trouble> act(Stage& stage, const Statement& statement) {
  switch (statement.verb) {
    case Verb::kPost:
      return post(stage, statement);
    case Verb::kReceive:
      return receive(stage, statement);
    case Verb::kArmLimit:
      return arm_limit(stage, statement);
    case Verb::kModify:
      return modify(stage, statement);
    case Verb::kDeregister:
    case Verb::kChangeRights:
      return change_region(stage, statement);
    case Verb::kStore:
      return store(stage, statement);
    case Verb::kArrives:
      return arrive(stage, statement);
    case Verb::kPass:
      stage.note(statement.text);
      if (auto wrong = stage.pass(statement.subject_as<transport::Duration>()))
        return Trouble{*std::move(wrong)};
      return std::nullopt;
    default:
      return script_error("not an action");
  }
}

}  // namespace urnic::scripts
