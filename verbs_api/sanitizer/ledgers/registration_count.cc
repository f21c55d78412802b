// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/registration_count.h"

#include <fmt/core.h>

namespace urnic::verbs_api {
namespace {

constexpr const char* kRegisteredMemory = "registered memory";

}  // namespace

void RegistrationCount::add(std::uint64_t pinned, std::chrono::steady_clock::time_point now) {
  pinned_ += pinned;
  if (pinned != 0 && pinned_ > pin_limit_) {
    complaints_.complain(Finding::kMoreThanMemlock, kRegisteredMemory, [&] {
      return fmt::format("{} bytes are registered with this region, and RLIMIT_MEMLOCK is {}", pinned_,
                         pin_limit_);
    });
  }
  if (now - second_begins_ >= std::chrono::seconds(1)) {
    second_begins_ = now;
    added_ = 0;
    removed_ = 0;
  }
  ++added_;
  if (added_ <= kMostPerSecond || removed_ <= kMostPerSecond / 2) return;
  complaints_.complain(Finding::kRegistrationPerMessage, kRegisteredMemory, [&] {
    return fmt::format("{} regions were registered and {} deregistered within a second", added_, removed_);
  });
}

void RegistrationCount::remove(std::uint64_t pinned) {
  pinned_ -= pinned;
  ++removed_;
}

}  // namespace urnic::verbs_api
