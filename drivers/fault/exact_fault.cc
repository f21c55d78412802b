// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/exact_fault.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "drivers/fault/words.h"
#include "drivers/network/quantity.h"

namespace urnic::drivers {
namespace {

struct ActionName {
  std::string_view name;
  ExactFault::Action value;
};

constexpr auto kActions = std::to_array<ActionName>({
    {"drop", ExactFault::Action::kDrop},
    {"dup", ExactFault::Action::kDuplicate},
    {"reorder", ExactFault::Action::kReorder},
    {"delay", ExactFault::Action::kDelay},
    {"corrupt", ExactFault::Action::kCorrupt},
    {"ce", ExactFault::Action::kMarkCe},
    {"set", ExactFault::Action::kSet},
});

constexpr std::string_view kActionNames = "drop, dup, reorder, delay, corrupt, ce, set";

constexpr std::int32_t kMaxPsn = (1 << 23) - 1;  // what distance() can tell

constexpr std::string_view kConditions =
    "kind=, opcode=, service=, qp=, psn=, again=yes|no, direction=tx|rx, nth=, times=N|all, p=PROBABILITY";

/// Reads a number between two limits.
template <typename Number>
bool read_between(std::string_view text, std::uint64_t least, std::uint64_t most, Number& number) {
  std::uint64_t read = 0;
  if (!read_number(text, read) || read < least || read > most) return false;
  number = static_cast<Number>(read);
  return true;
}

bool read_probability(std::string_view text, double& probability) {
  return read_number(text, probability) && probability > 0 && probability <= 1;
}

/// One of two words.
template <typename Value>
bool read_choice(std::string_view text, std::string_view one, Value value_of_one, std::string_view other,
                 Value value_of_other, Value& value) {
  if (text != one && text != other) return false;
  value = text == one ? value_of_one : value_of_other;
  return true;
}

using Applied = std::optional<Error>;

/// A key that every action has, and what is wrong with its value.
struct Key {
  std::string_view name;
  Applied (*apply)(ExactFault& fault, std::string_view value);
};

constexpr auto kCommonKeys = std::to_array<Key>({
    {"kind",
     [](ExactFault& fault, std::string_view value) -> Applied {
       if (fault.packets.narrow_to_kind(value)) return std::nullopt;
       return bad_fault("there is no kind of packets '{}'; there are {}", value, PacketChoice::kinds());
     }},
    {"opcode",
     [](ExactFault& fault, std::string_view value) -> Applied {
       if (fault.packets.narrow_to_opcode(value)) return std::nullopt;
       return bad_fault(
           "there is no opcode '{}'; one is written 'rc_send_middle', 'rdma_write_only' (of every service), "
           "or 0x01",
           value);
     }},
    {"service",
     [](ExactFault& fault, std::string_view value) -> Applied {
       if (fault.packets.narrow_to_service(value)) return std::nullopt;
       return bad_fault("there is no service '{}'; there are rc, uc, ud and xrc", value);
     }},
    {"qp",
     [](ExactFault& fault, std::string_view value) -> Applied {
       std::uint32_t number = 0;
       if (!read_between(value, 1, PacketHistory::kMaxFlows, number)) {
         return bad_fault(
             "qp: which queue pair, in the order in which packets went to them, from 1 to {}, not '{}'",
             PacketHistory::kMaxFlows, value);
       }
       fault.packets.queue_pair = number;
       return std::nullopt;
     }},
    {"psn",
     [](ExactFault& fault, std::string_view value) -> Applied {
       std::int32_t number = 0;
       if (!read_between(value, 0, kMaxPsn, number)) {
         return bad_fault("psn: from 0, the first one of the connection, to {}, not '{}'", kMaxPsn, value);
       }
       fault.packets.psn = number;
       return std::nullopt;
     }},
    {"again",
     [](ExactFault& fault, std::string_view value) -> Applied {
       bool is_again = false;
       if (!read_choice(value, "yes", true, "no", false, is_again)) {
         return bad_fault("again: yes or no, not '{}'", value);
       }
       fault.packets.is_again = is_again;
       return std::nullopt;
     }},
    {"direction",
     [](ExactFault& fault, std::string_view value) -> Applied {
       Way way{};
       if (!read_choice(value, "tx", Way::kSent, "rx", Way::kReceived, way)) {
         return bad_fault("direction: tx or rx, not '{}'", value);
       }
       fault.packets.way = way;
       return std::nullopt;
     }},
    {"nth",
     [](ExactFault& fault, std::string_view value) -> Applied {
       if (read_between(value, 1, ExactFault::kAlways, fault.nth)) return std::nullopt;
       return bad_fault("nth: which of the packets that fit, from 1 on, not '{}'", value);
     }},
    {"times",
     [](ExactFault& fault, std::string_view value) -> Applied {
       fault.times = ExactFault::kAlways;
       if (value == "all" || read_between(value, 1, ExactFault::kAlways, fault.times)) return std::nullopt;
       return bad_fault("times: how many of the packets that fit, or all, not '{}'", value);
     }},
    {"p",
     [](ExactFault& fault, std::string_view value) -> Applied {
       if (read_probability(value, fault.probability)) return std::nullopt;
       return bad_fault("p: a probability above 0 and up to 1, not '{}'", value);
     }},
});

/// What only some actions have; nothing when `key` is none of it.
std::optional<Applied> apply_own(ExactFault& fault, std::string_view key, std::string_view value) {
  using Action = ExactFault::Action;
  if (fault.action == Action::kReorder && key == "by") {
    if (read_between(value, 1, ExactFault::kMaxBehind, fault.behind)) return Applied();
    return bad_fault("by: how many later frames go first, from 1 to {}, not '{}'", ExactFault::kMaxBehind,
                     value);
  }
  if (fault.action == Action::kDelay && key == "by") {
    const auto delay = network::parse_duration(value);
    if (!delay || *delay <= transport::Duration{} || *delay > ExactFault::kMaxDelay) {
      return bad_fault("by: how much later, above 0 and up to 10s, such as 500us or 2ms, not '{}'", value);
    }
    fault.delay = *delay;
    return Applied();
  }
  const bool changes_bytes = fault.action == Action::kCorrupt || fault.action == Action::kSet;
  if (changes_bytes && key == "icrc") {
    if (read_choice(value, "right", true, "wrong", false, fault.is_icrc_right)) return Applied();
    return bad_fault("icrc: right or wrong, not '{}'", value);
  }
  if (fault.action == Action::kCorrupt && key == "byte") {
    std::size_t byte = 0;
    if (!read_between(value, 0, 0xffff, byte)) {
      return bad_fault("byte: from 0, the first one of the BTH, not '{}'", value);
    }
    fault.byte = byte;
    return Applied();
  }
  if (fault.action != Action::kSet || key.find('.') == std::string_view::npos) return std::nullopt;
  const PacketField* const field = find_packet_field(key);
  if (field == nullptr) return bad_fault("there is no field '{}'; there are {}", key, packet_field_names());
  std::uint64_t number = 0;
  if (!read_number(value, number) || !field->has_room_for(number)) {
    return bad_fault("{}: a number of at most {} bits, not '{}'", key, field->bits, value);
  }
  fault.fields.push_back({field, number});
  fault.packets.narrow_to_field(*field);
  return Applied();
}

Applied apply(ExactFault& fault, std::string_view key, std::string_view value) {
  if (auto applied = apply_own(fault, key, value)) return std::move(*applied);
  for (const Key& known : kCommonKeys) {
    if (known.name == key) return known.apply(fault, value);
  }
  const std::string_view own = fault.action == ExactFault::Action::kReorder   ? "by=, "
                               : fault.action == ExactFault::Action::kDelay   ? "by=TIME, "
                               : fault.action == ExactFault::Action::kCorrupt ? "icrc=right|wrong, byte=, "
                               : fault.action == ExactFault::Action::kSet     ? "icrc=right|wrong, FIELD=, "
                                                                              : "";
  return bad_fault("there is no '{}' here; there are {}{}", key, own, kConditions);
}

const ActionName* find_action(std::string_view item) {
  const std::string_view word = item.substr(0, item.find(':'));
  const auto* const row = std::find_if(kActions.begin(), kActions.end(),
                                       [&](const ActionName& action) { return action.name == word; });
  return row != kActions.end() ? row : nullptr;
}

/// What is wrong with a fault whose words are each right.
Applied find_contradiction(const ExactFault& fault) {
  if (fault.action == ExactFault::Action::kSet && fault.fields.empty()) {
    return bad_fault("set: which field? FIELD=VALUE; there are {}", packet_field_names());
  }
  if (fault.action == ExactFault::Action::kDelay && fault.delay == transport::Duration{}) {
    return bad_fault("delay: by how much? by=TIME, such as by=500us");
  }
  if (fault.packets.opcodes.none()) return bad_fault("no opcode fits all of it: kind, opcode and fields");
  return std::nullopt;
}

}  // namespace

bool ExactFault::is_one(std::string_view item) {
  const std::size_t colon = item.find(':');
  return colon < item.find('=') || find_action(item) != nullptr;
}

Result<ExactFault, Error> ExactFault::parse(std::string_view text) {
  const auto complain = [&](const Error& error) { return bad_fault("fault '{}': {}", text, error.message); };
  const ActionName* const action = find_action(text);
  if (action == nullptr) return complain(bad_fault("there is no such action; there are {}", kActionNames));

  ExactFault fault{
      .action = action->value, .is_icrc_right = action->value == Action::kSet, .text = std::string(text)};
  std::string seen = ":";
  for (std::size_t at = text.find(':'); at != std::string_view::npos;) {
    const std::size_t end = text.find(':', at + 1);
    const std::string_view item = text.substr(at + 1, end - at - 1);
    at = end;
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      return complain(bad_fault("'{}' is not of the form KEY=VALUE", item));
    }
    const std::string_view key = item.substr(0, equals);
    const std::string mark = fmt::format(":{}:", key);
    if (seen.find(mark) != std::string::npos) return complain(bad_fault("'{}' is given twice", key));
    seen += mark;
    if (auto error = apply(fault, key, item.substr(equals + 1))) return complain(*error);
  }
  if (auto error = find_contradiction(fault)) return complain(*error);
  const bool names_a_number = seen.find(":times:") != std::string::npos;
  if (seen.find(":p:") != std::string::npos && !names_a_number) fault.times = kAlways;
  return fault;
}

}  // namespace urnic::drivers
