// Ah: an address handle as programs hold it.
#pragma once

#include <atomic>
#include <mutex>

#include "nic/path.h"
#include "transport/result.h"
#include "transport/work_request.h"
#include "verbs_api/libibverbs.h"

namespace urnic::verbs_api {

/// The device's handle is made with the first datagram when the device does not run yet: programs make
/// address handles to find out which GIDs are any good, and the port should not be opened for that.
class Ah : public ibv_ah {
 public:
  Ah(ibv_pd& domain, const nic::AddressVector& vector)
      : ibv_ah{domain.context, &domain, 0}, address_(vector) {}
  ~Ah() { end(); }
  Ah(const Ah&) = delete;
  Ah& operator=(const Ah&) = delete;

  static Ah& of(ibv_ah* ah) { return *static_cast<Ah*>(ah); }

  /// What a work request names it by, or an errno value. Any thread.
  Result<transport::AddressHandleId, int> id();

  /// Takes the device's handle away, if there is one.
  void end();

 private:
  Result<transport::AddressHandleId, int> make();

  nic::AddressVector address_;
  std::mutex making_;
  std::atomic<transport::AddressHandleId> id_{};
};

}  // namespace urnic::verbs_api
