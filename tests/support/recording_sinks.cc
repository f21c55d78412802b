#include "tests/support/recording_sinks.h"

#include <string_view>

namespace urnic::transport {
namespace {

std::string_view name_of(CompletionStatus status) {
  using enum CompletionStatus;
  switch (status) {
    case kSuccess:
      return "success";
    case kLocalLengthError:
      return "local length error";
    case kLocalQpOperationError:
      return "local QP operation error";
    case kLocalProtectionError:
      return "local protection error";
    case kWorkRequestFlushed:
      return "flushed";
    case kMemoryWindowBindError:
      return "window bind error";
    case kBadResponse:
      return "bad response";
    case kLocalAccessError:
      return "local access error";
    case kRemoteInvalidRequest:
      return "remote invalid request";
    case kRemoteAccessError:
      return "remote access error";
    case kRemoteOperationError:
      return "remote operation error";
    case kRetryExceeded:
      return "retry exceeded";
    case kRnrRetryExceeded:
      return "RNR retry exceeded";
  }
  return "(not a value)";
}

std::string_view name_of(CompletionOpcode opcode) {
  using enum CompletionOpcode;
  switch (opcode) {
    case kSend:
      return "SEND";
    case kRdmaWrite:
      return "RDMA WRITE";
    case kRdmaRead:
      return "RDMA READ";
    case kCompareSwap:
      return "COMPARE SWAP";
    case kFetchAdd:
      return "FETCH ADD";
    case kFlush:
      return "FLUSH";
    case kAtomicWrite:
      return "ATOMIC WRITE";
    case kLocalInvalidate:
      return "LOCAL INV";
    case kBindWindow:
      return "BIND MW";
    case kReceive:
      return "receive";
    case kReceiveRdmaWithImmediate:
      return "receive RDMA with immediate";
  }
  return "(not a value)";
}

std::string_view name_of(QpEvent event) {
  using enum QpEvent;
  switch (event) {
    case kFatal:
      return "fatal";
    case kRequestError:
      return "request error";
    case kAccessError:
      return "access error";
    case kCommunicationEstablished:
      return "communication established";
    case kSqDrained:
      return "SQ drained";
    case kLastWqeReached:
      return "last WQE reached";
  }
  return "(not a value)";
}

}  // namespace

void PrintTo(CompletionStatus status, std::ostream* out) {
  *out << name_of(status);
}

void PrintTo(CompletionOpcode opcode, std::ostream* out) {
  *out << name_of(opcode);
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
  *out << name_of(event);
}

void PrintTo(QpState state, std::ostream* out) {
  *out << name_of(state);
}

}  // namespace urnic::transport
