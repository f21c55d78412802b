#include "tests/support/recording_sinks.h"

#include <array>
#include <cstddef>

namespace urnic::transport {
namespace {

template <typename Enum, std::size_t kCount>
void print_name(Enum value, const std::array<std::string_view, kCount>& names, std::ostream* out) {
  const std::size_t index = to_integer(value);
  *out << (index < kCount ? names[index] : std::string_view("(not a value)"));
}

}  // namespace

void PrintTo(CompletionStatus status, std::ostream* out) {
  print_name(status,
             std::to_array<std::string_view>(
                 {"success", "local length error", "local QP operation error", "local protection error",
                  "flushed", "bad response", "remote invalid request", "remote access error",
                  "remote operation error", "retry exceeded", "RNR retry exceeded"}),
             out);
}

void PrintTo(CompletionOpcode opcode, std::ostream* out) {
  print_name(opcode,
             std::to_array<std::string_view>(
                 {"SEND", "RDMA WRITE", "RDMA READ", "receive", "receive RDMA with immediate"}),
             out);
}

void PrintTo(const Completion& completion, std::ostream* out) {
  *out << "{wr_id " << completion.wr_id << ", ";
  PrintTo(completion.status, out);
  *out << ", ";
  PrintTo(completion.opcode, out);
  *out << ", " << completion.byte_length << " bytes";
  if (completion.has_immediate) {
    *out << ", immediate " << completion.immediate;
  }
  *out << (completion.solicited ? ", solicited}" : "}");
}

void PrintTo(QpEvent event, std::ostream* out) {
  print_name(event,
             std::to_array<std::string_view>({"fatal", "request error", "access error",
                                              "communication established", "SQ drained", "last WQE reached"}),
             out);
}

void PrintTo(QpState state, std::ostream* out) {
  print_name(state, std::to_array<std::string_view>({"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}),
             out);
}

}  // namespace urnic::transport
