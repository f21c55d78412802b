// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: the specification that `urnic run --chaos` takes, and a completion queue whose adversary it
// makes.
//
// An input is a line of text, and then bytes: the two low bits are a queue pair and the next one says whether
// it is a receive that completes; with the highest bit time passes instead, so many microseconds. A refusal
// says why. The faults that an accepted text draws are understood. Every completion is seen once, none waits
// forever, and each queue keeps its order.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <span>
#include <string>

#include "drivers/fault/fault_spec.h"
#include "nic/adversary/act_log.h"
#include "nic/adversary/adversary.h"
#include "nic/adversary/completion_play.h"
#include "verbs_api/adversary/spec.h"
#include "verbs_api/fault/fault_list.h"

namespace urnic::verbs_api {
namespace {

using transport::Completion;
using transport::CompletionOpcode;
using transport::Time;
using namespace std::chrono_literals;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

/// A completion queue as the play sees it, and the program that polls it.
class Queue {
 public:
  static constexpr std::uint32_t kRoom = 64;

  explicit Queue(nic::Adversary& adversary) : play_(adversary) {}

  void complete(std::uint32_t qp, bool is_receive) {
    hidden_.push_back({.wr_id = ++completed_,
                       .opcode = is_receive ? CompletionOpcode::kReceive : CompletionOpcode::kSend,
                       .qp_number = transport::QpNumber{qp}});
  }

  /// A round of the engine, and a poll.
  void look(Time now) {
    const auto count = static_cast<std::uint32_t>(hidden_.size());
    play_.rearrange(seen_, count, [this](std::uint32_t n) -> Completion& { return hidden_[n]; });
    const std::uint32_t shown = play_.count_shown(seen_, count, kRoom, now);
    require(count - shown <= kRoom / 4, "only a part of the room is hidden");
    require(shown <= count, "only completions that are there are seen");
    require(shown == count || play_.due() != transport::kNever, "what is hidden has its time");
    require(play_.due() == transport::kNever || play_.due() <= now + 200ms, "nothing is hidden for long");
    for (std::uint32_t i = 0; i < shown; ++i) take(hidden_[i]);
    hidden_.erase(hidden_.begin(), hidden_.begin() + shown);
    seen_ += shown;
  }

  bool is_empty() const { return hidden_.empty(); }
  Time due() const { return play_.due(); }
  std::uint64_t completed() const { return completed_; }
  std::uint64_t seen() const { return seen_; }

 private:
  void take(const Completion& completion) {
    const std::uint32_t queue =
        2 * to_integer(completion.qp_number) + (is_receive(completion.opcode) ? 1 : 0);
    require(last_.at(queue) < completion.wr_id, "each queue keeps its order");
    last_.at(queue) = completion.wr_id;
  }

  nic::CompletionPlay play_;
  std::deque<Completion> hidden_;
  std::array<std::uint64_t, 8> last_{};
  std::uint64_t completed_ = 0;
  std::uint32_t seen_ = 0;
};

void play(const nic::AdversarySettings& settings, std::span<const std::byte> steps) {
  nic::ActLog acts;
  nic::Adversary adversary(settings, acts);
  Queue queue(adversary);
  Time now{};
  for (const std::byte step : steps) {
    const auto number = std::to_integer<unsigned>(step);
    if ((number & 0x80u) != 0) {
      now += std::chrono::microseconds(number & 0x7fu);
      queue.look(now);
    } else {
      queue.complete(number & 3u, (number & 4u) != 0);
    }
  }
  while (!queue.is_empty()) {
    if (queue.due() != transport::kNever) now = std::max(now, queue.due());
    queue.look(now);
  }
  require(queue.seen() == queue.completed(), "every completion is seen once");
  for (const std::string& line : acts.last(nic::ActLog::kLines)) {
    require(!line.empty() && line.size() < nic::ActLog::kLineBytes, "an act is a line");
  }
}

void try_input(std::span<const std::byte> data) {
  const auto end = std::find(data.begin(), data.end(), std::byte{'\n'});
  std::string text;
  std::transform(data.begin(), end, std::back_inserter(text),
                 [](std::byte letter) { return static_cast<char>(letter); });
  const auto settings = parse_adversary(text);
  if (!settings) return require(!settings.error().message.empty(), "a refusal says why");
  require(settings.value().scale > 0 && settings.value().scale <= 100, "the scale is within its bounds");

  const std::string drawn = faults_of(settings.value());
  if (!drawn.empty()) {
    const auto faults = FaultList::parse(drawn);
    require(faults && faults.value().calls.empty(), "the faults that are drawn are understood");
    const std::string& frames = faults.value().frames;
    require(frames.empty() || drivers::FaultSpec::parse(frames), "faults of frames, too");
  }
  play(settings.value(),
       data.subspan(std::min(data.size(), static_cast<std::size_t>(end - data.begin()) + 1)));
}

}  // namespace
}  // namespace urnic::verbs_api

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::verbs_api::try_input(std::as_bytes(std::span(data, size)));
  return 0;
}
