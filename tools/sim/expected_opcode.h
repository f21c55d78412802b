// What a completed work request has to be called, typed apart from the transport's own table.
#pragma once

#include <array>
#include <cstddef>

#include "transport/completion.h"
#include "transport/work_request.h"

namespace urnic::sim {

constexpr transport::CompletionOpcode expected_opcode(transport::SendOperation operation) {
  using enum transport::CompletionOpcode;
  // In the order of SendOperation.
  constexpr std::array kOpcodes = {
      kSend,        kSend,     kSend,  kRdmaWrite,   kRdmaWrite,       kRdmaRead,
      kCompareSwap, kFetchAdd, kFlush, kAtomicWrite, kLocalInvalidate, kBindWindow};
  return kOpcodes[static_cast<std::size_t>(operation)];
}

}  // namespace urnic::sim
