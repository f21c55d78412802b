// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Script: a protocol test, read from text and not yet run. README.md describes the language.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "transport/dma.h"
#include "transport/time.h"

namespace urnic::scripts {

/// NAME, NAME+OFFSET or NAME+OFFSET:LENGTH: bytes of a memory region or window, by the script's name for it.
struct Place {
  std::string name;
  std::uint64_t offset = 0;
  std::optional<std::uint32_t> length{};
};

/// FIRST..LAST, both included, modulo 2^24; one PSN is a range too.
struct PsnRange {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
};

/// A name that the vocabulary lists, or that the script made up.
using Word = std::string;
using Octets = std::vector<std::byte>;

using Value = std::variant<bool, std::uint64_t, Word, transport::Duration, transport::Access, PsnRange,
                           Octets, std::vector<Place>>;

/// NAME=VALUE; a bare NAME is a flag that is set.
struct Field {
  std::string name;
  Value value;
};

enum class Verb : std::uint8_t {
  // Settings, which stand before everything else.
  kSet,
  kService,
  kAccess,
  kMemory,
  kWindow,
  kXrcSrq,
  kShareReceives,
  kStart,
  // What the program, the peer and the clock do.
  kPost,
  kReceive,
  kArmLimit,
  kModify,
  kDeregister,
  kChangeRights,
  kStore,
  kCall,
  kArrives,
  kPass,
  // What the script expects.
  kLeaves,
  kSendCompletion,
  kReceiveCompletion,
  kEvent,
  kFlushed,
  kSilence,
  kTimeout,
  kState,
  kPsns,
  kCounter,
  kCheck,
  kAttributes,
  kConnections,
};

constexpr bool is_setting(Verb verb) {
  return verb <= Verb::kStart;
}

/// One line. The parser has made sure that fields belong to the verb, occur once, and have the type and range
/// that the vocabulary says.
struct Statement {
  unsigned line = 0;
  Verb verb{};
  std::string text;                ///< as written, without the comment
  std::string name;                ///< the word that chose the verb, e.g. "expect-psn"
  std::optional<Value> subject{};  ///< the value after it that has no name
  std::vector<Field> fields{};

  bool has(std::string_view field) const { return value(field) != nullptr; }

  /// Null if there is no such field.
  const Value* value(std::string_view field) const {
    for (const Field& candidate : fields) {
      if (candidate.name == field) return &candidate.value;
    }
    return nullptr;
  }

  /// The subject, or the field of this name, which the caller knows to be there and of this type.
  template <typename T>
  const T& subject_as() const {
    return std::get<T>(*subject);
  }
  template <typename T>
  const T& get(std::string_view field) const {
    return std::get<T>(*value(field));
  }
  template <typename T>
  T get_or(std::string_view field, T otherwise) const {
    const Value* const found = value(field);
    return found == nullptr ? otherwise : std::get<T>(*found);
  }
  std::uint64_t number(std::string_view field, std::uint64_t otherwise = 0) const {
    return get_or<std::uint64_t>(field, otherwise);
  }
  bool flag(std::string_view field, bool otherwise = false) const { return get_or<bool>(field, otherwise); }
};

struct Script {
  std::string verifies;  ///< the first line, without its '#'
  std::vector<Statement> statements;
};

}  // namespace urnic::scripts
