// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "tools/conformance/player/steps.h"

namespace urnic::scripts {
namespace {

using transport::Access;
using transport::Rkey;
using transport::SendOperation;
using transport::SendRequest;
using transport::Sge;
using transport::wire::Service;

using Places = std::vector<Place>;

std::optional<SendOperation> operation_of(const Statement& statement) {
  const Word& name = statement.subject_as<Word>();
  if (name == "send" && statement.has("inv")) return SendOperation::kSendWithInvalidate;
  if (name == "send") return statement.has("imm") ? SendOperation::kSendWithImmediate : SendOperation::kSend;
  if (name == "write") {
    return statement.has("imm") ? SendOperation::kWriteWithImmediate : SendOperation::kWrite;
  }
  if (name == "read") return SendOperation::kRead;
  if (name == "cas") return SendOperation::kCompareSwap;
  if (name == "add") return SendOperation::kFetchAdd;
  if (name == "flush") return SendOperation::kFlush;
  if (name == "atomic-write") return SendOperation::kAtomicWrite;
  if (name == "local-inv") return SendOperation::kLocalInvalidate;
  if (name == "bind") return SendOperation::kBindWindow;
  return std::nullopt;  // the vocabulary has a word that is missing here
}

std::optional<Trouble> fill_binding(Stage& stage, const Statement& statement, SendRequest& request) {
  const auto window = stage.window(statement.get_or<Word>("window", ""));
  if (!window) return script_error("'bind' needs window=NAME of a window");
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

}  // namespace

std::optional<Trouble> post(Stage& stage, const Statement& statement) {
  const auto known = operation_of(statement);
  if (!known) return script_error("posting.cc does not know this operation");
  const SendOperation operation = *known;
  const bool never_sends = stage.config().service == Service::kXrc && stage.settings().is_xrc_target;
  if (never_sends) return script_error("an XRC target sends nothing of its own");
  SendRequest request = request_of(statement, operation);
  if (operation == SendOperation::kBindWindow) {
    if (auto trouble = fill_binding(stage, statement, request)) return trouble;
  }
  const Elements elements = elements_to_post(stage, statement, operation);
  if (elements.trouble) return elements.trouble;
  const bool is_eight_bytes = is_atomic(operation) || operation == SendOperation::kAtomicWrite;
  if (is_eight_bytes && elements.length != 8) return script_error("this operation is about 8 bytes");
  const bool is_inline = statement.flag("inline");
  if (is_inline && (!sends_data(operation) || elements.length > Stage::kInlineBytes)) {
    return script_error(fmt::format("inline is for at most {} bytes that are sent", Stage::kInlineBytes));
  }
  stage.note(statement.text);
  if (auto trouble = stage.post(request, elements.sges, is_inline)) return trouble;
  return drained(stage, statement);
}

}  // namespace urnic::scripts
