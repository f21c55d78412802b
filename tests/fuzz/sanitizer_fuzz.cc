// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: the value that `urnic run --sanitize` takes, and a program's posts and polls as the sanitizer
// counts them.
//
// An input is a line of text, and then triples of bytes: what the program does, and two details. Whatever it
// does, no more requests are outstanding than the queue holds, and no more of them are signaled.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "verbs_api/sanitizer/ledgers/memory_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/receive_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/send_ledger.h"
#include "verbs_api/sanitizer/settings.h"

namespace urnic::verbs_api {
namespace {

constexpr QueueRoom kRoom{.requested = 5, .granted = 8};
constexpr std::size_t kStep = 3;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

/// Keeps nothing; the words are made so that making them is tried.
class Listener final : public Complaints {
 private:
  bool count(Finding finding, const std::string& object, const CallPath*) override {
    require(!object.empty(), "a complaint is about an object");
    require(!row_of(finding).name.empty(), "a finding has a name");
    return true;
  }
  void tell(Finding, const std::string&, const std::string& what, const CallPath*) override {
    require(!what.empty(), "a complaint says what happened");
  }
};

class Program {
 public:
  void step(std::uint8_t what, std::uint8_t one, std::uint8_t other) {
    const transport::Sge element{.address = std::uint64_t{one} * 16 - 64,
                                 .length = std::uint32_t{other} * 4,
                                 .lkey = transport::Lkey{one % 4u}};
    switch (what % 8) {
      case 0:
        post(one, other, element);
        break;
      case 1:
        sends_.polled(one % 8u, (other & 1u) != 0);
        break;
      case 2:
        sends_.aborted(one % 4u);
        break;
      case 3:
        memory_.add(element.lkey, {.address = element.address,
                                   .length = element.length,
                                   .domain = other % 2u == 0 ? this : nullptr,
                                   .is_writable = (one & 8u) != 0,
                                   .has_bounds = (one & 16u) != 0});
        break;
      case 4:
        memory_.remove(element.lkey);
        break;
      case 5:
        receives_.posted(one, std::span(&element, 1));
        break;
      case 6:
        if (other == 0) receives_.clear();
        receives_.polled();
        break;
      default:
        sends_.uses_key(element.lkey);
        if (other == 0) sends_.clear();
        break;
    }
    require(sends_.outstanding() <= kRoom.granted, "no more are outstanding than there is room for");
    require(sends_.signaled() <= sends_.outstanding(), "what is signaled is outstanding");
    require(receives_.outstanding() <= kRoom.granted, "nor more receives");
  }

 private:
  void post(std::uint8_t one, std::uint8_t other, const transport::Sge& element) {
    const transport::SendRequest request{.wr_id = one % 8u,
                                         .operation = static_cast<transport::SendOperation>(other % 12u),
                                         .signaled = (one & 8u) != 0,
                                         .fence = (one & 16u) != 0};
    memory_.check({.name = name_, .domain = this, .wr_id = request.wr_id, .is_written = (one & 32u) != 0},
                  std::span(&element, 1));
    sends_.posted(request, std::span(&element, 1));
  }

  Listener listener_;
  std::string name_ = "QP 1";
  MemoryLedger memory_{listener_};
  SendLedger sends_{name_, kRoom, false, memory_.writes(), listener_};
  ReceiveLedger receives_{name_, kRoom, listener_};
};

}  // namespace
}  // namespace urnic::verbs_api

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace urnic::verbs_api;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\n'), input.size());
  const auto settings = SanitizerSettings::parse(input.substr(0, end));
  require(settings || !settings.error().message.empty(), "an error says what is wrong");
  Program program;
  for (std::size_t i = end + 1; i + kStep <= size; i += kStep) {
    program.step(data[i], data[i + 1], data[i + 2]);
  }
  return 0;
}
