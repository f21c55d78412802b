// XrcDomain: the shared receive queues that XRC targets of one domain receive into.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "transport/surroundings.h"

namespace urnic::nic {

class CompletionQueue;
class SharedReceiveQueue;

/// All calls under the engine lock, but for the count of users.
class XrcDomain final : public transport::XrcReceivers {
 public:
  void add(SharedReceiveQueue& srq);
  void remove(const SharedReceiveQueue& srq);
  const transport::ReceiveEnd* find(std::uint32_t srq_number) override;
  /// Where the queue with this number completes; null when there is none.
  CompletionQueue* completions_of(std::uint32_t srq_number) const;
  /// Whether any of its queues completes there.
  bool completes_in(const transport::CompletionSink& completions) const;

  /// Queue pairs and shared receive queues in it; closing is refused while there are any. Control path.
  std::atomic<std::uint32_t> users{0};

 private:
  struct Receiver {
    transport::ReceiveEnd end;
    CompletionQueue* completions = nullptr;
  };

  const Receiver* find_receiver(std::uint32_t srq_number) const;

  std::unordered_map<std::uint32_t, Receiver> receivers_;
};

}  // namespace urnic::nic
