#include "tests/sim/shared_receives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/sim/completion_model.h"

namespace urnic::sim {

SharedReceives::SharedReceives(Host& host, std::vector<Range> buffers)
    : host_(host), buffers_(std::move(buffers)) {
  for (std::size_t buffer = 0; buffer < buffers_.size(); ++buffer) free_.push_back(buffer);
}

std::optional<std::string> SharedReceives::post() {
  nic::SharedReceiveQueue::Batch batch(*host_.srq());
  for (; !free_.empty(); free_.pop_front()) {
    const std::size_t buffer = free_.front();
    const std::uint64_t wr_id = kReceiveBit | kSharedBit | ++next_;
    const std::array sges{host_.sge(buffers_[buffer], false)};
    const auto status = batch.post({.wr_id = wr_id}, sges);
    if (status != nic::PostStatus::kPosted) {
      return fmt::format("a shared receive was refused with {}", static_cast<int>(status));
    }
    host_.memory().begin(buffers_[buffer]);
    posted_.push_back({.wr_id = wr_id, .buffer = buffer});
  }
  return std::nullopt;
}

std::optional<std::string> SharedReceives::on_completion(std::uint64_t wr_id, const std::optional<Data>& data) {
  const auto found = std::ranges::find(posted_, wr_id, &Posted::wr_id);
  if (found == posted_.end()) return fmt::format("receive {:#x} of the shared queue is not outstanding", wr_id);
  const std::size_t index = found->buffer;
  newest_completed_ = std::max(newest_completed_, wr_id);
  posted_.erase(found);
  free_.push_back(index);

  const Range& buffer = buffers_[index];
  std::optional<std::string> complaint;
  if (data) {
    const Range filled{.region = buffer.region, .offset = buffer.offset, .length = data->length};
    if (const std::size_t wrong = first_mismatch(host_.memory().at(filled), data->pattern); wrong != data->length) {
      complaint = fmt::format("wrong data at byte {} of {} in a shared receive", wrong, data->length);
    }
  }
  host_.memory().settle_as_is(buffer);
  return complaint;
}

std::optional<std::string> SharedReceives::judge() const {
  if (posted_.empty() || posted_.front().wr_id > newest_completed_) return std::nullopt;
  return fmt::format("receive {:#x} of the shared queue was taken and never completed", posted_.front().wr_id);
}

}  // namespace urnic::sim
