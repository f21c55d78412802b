#include "tools/check/cm_exchanges.h"

namespace urnic::check {

std::optional<AgreedConnection> CmExchanges::on_message(const CmMessage& message, const Frame& frame) {
  if (message.kind == CmKind::kRequest) {
    const FlowKey key{frame.source, frame.destination, message.local_id};
    if (requests_.size() < kMaxRequests || requests_.contains(key)) requests_[key] = message;
    return std::nullopt;
  }
  const bool answers = message.kind == CmKind::kReply || message.kind == CmKind::kReject;
  if (!answers) return std::nullopt;
  const Address& active = frame.destination;
  const Address& passive = frame.source;
  const auto found = requests_.find(FlowKey{active, passive, message.remote_id});
  if (found == requests_.end()) return std::nullopt;
  const CmMessage request = found->second;
  requests_.erase(found);
  if (message.kind == CmKind::kReject) return std::nullopt;
  return AgreedConnection{.from_active = {.key = {active, passive, message.qp},
                                          .first_psn = message.first_psn,
                                          .path_mtu = request.path_mtu},
                          .from_passive = {.key = {passive, active, request.qp},
                                           .first_psn = request.first_psn,
                                           .path_mtu = request.path_mtu}};
}

}  // namespace urnic::check
