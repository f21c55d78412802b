// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FakeWithdrawnKeys: keys about which nothing is said until a time that a test names.
#pragma once

#include <cstdint>
#include <map>

#include "transport/dma.h"
#include "transport/time.h"
#include "transport/types.h"

namespace urnic::transport::test {

class FakeWithdrawnKeys final : public WithdrawnKeys {
 public:
  void withdraw(Rkey rkey, Time until) { until_[to_integer(rkey)] = until; }

  Time silent_until(Rkey rkey) const override {
    const auto found = until_.find(to_integer(rkey));
    return found == until_.end() ? Time::min() : found->second;
  }

 private:
  std::map<std::uint32_t, Time> until_;
};

}  // namespace urnic::transport::test
