// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/recording_sinks.h"

namespace urnic::transport {

void PrintTo(CompletionStatus status, std::ostream* out) {
  *out << name_of(status);
}

void PrintTo(CompletionOpcode opcode, std::ostream* out) {
  *out << name_of(opcode);
}

void PrintTo(const Completion& completion, std::ostream* out) {
  *out << "{wr_id " << completion.wr_id << ", " << name_of(completion.status) << ", "
       << name_of(completion.opcode) << ", " << completion.byte_length << " bytes";
  if (completion.has_immediate) *out << ", immediate " << completion.immediate;
  *out << (completion.solicited ? ", solicited}" : "}");
}

void PrintTo(QpEvent event, std::ostream* out) {
  *out << name_of(event);
}

void PrintTo(QpState state, std::ostream* out) {
  *out << name_of(state);
}

}  // namespace urnic::transport
