// What the connection manager's messages say about a connection, before its first packet.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "tools/check/cm_message.h"
#include "tools/check/flow_key.h"
#include "tools/check/frame.h"
#include "tools/check/psn.h"

namespace urnic::check {

/// One direction of a connection, as its REQ and REP agree upon it.
struct AgreedFlow {
  FlowKey key;
  Psn first_psn;               ///< of the first request
  std::uint32_t path_mtu = 0;  ///< bytes; 0: the REQ has a code that means none
};

struct AgreedConnection {
  AgreedFlow from_active;
  AgreedFlow from_passive;
};

/// Remembers REQs until their REP comes. Bounded: beyond kMaxRequests further ones are not remembered.
class CmExchanges {
 public:
  static constexpr std::size_t kMaxRequests = 4096;

  /// Takes each message of a capture in order; `frame` is the one that it came in. A REP for a REQ that was
  /// seen makes a connection; one that is repeated makes none.
  std::optional<AgreedConnection> on_message(const CmMessage& message, const Frame& frame);

 private:
  /// By the addresses of the REQ and its communication ID, in place of the queue pair.
  std::unordered_map<FlowKey, CmMessage, FlowKeyHash> requests_;
};

}  // namespace urnic::check
