// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/traffic/shared_receives.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tools/simulation/seeds/models/completion_model.h"

namespace urnic::sim {

SharedReceives::SharedReceives(Host& host, std::size_t number, std::vector<Range> buffers)
    : host_(host), number_(number), buffers_(std::move(buffers)) {
  for (std::size_t buffer = 0; buffer < buffers_.size(); ++buffer) free_.push_back(buffer);
}

std::optional<std::string> SharedReceives::post() {
  if (auto complaint = check_limit()) return complaint;
  newest_post_ = posted_count_ + 1;
  nic::SharedReceiveQueue::Batch batch(*host_.srq(number_));
  for (; !free_.empty(); free_.pop_front()) {
    const std::size_t buffer = free_.front();
    const std::uint64_t wr_id = wr_id_of(++posted_count_);
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

std::optional<std::string> SharedReceives::arm(std::uint32_t limit) {
  if (auto complaint = check_limit()) return complaint;
  if (const auto result = host_.srq(number_)->modify({.limit = limit}); !result) {
    return "arming the limit: " + result.error().message;
  }
  armed_ = Armed{.limit = limit, .first = wr_id_of(newest_post_)};
  return std::nullopt;
}

std::optional<std::string> SharedReceives::check_limit() {
  const std::uint32_t events = host_.limit_events(number_) - limit_events_;
  limit_events_ += events;
  if (events > (armed_ ? 1u : 0u)) {
    return fmt::format("{} limit events where {} was armed", events, armed_ ? 1 : 0);
  }
  if (events > 0) armed_.reset();
  const std::uint32_t limit = armed_ ? armed_->limit : 0;
  if (host_.srq(number_)->size().limit == limit) return std::nullopt;
  return fmt::format("the limit is {} and should be {}", host_.srq(number_)->size().limit, limit);
}

std::optional<Range> SharedReceives::buffer_of(std::uint64_t wr_id) const {
  const auto found = std::ranges::find(posted_, wr_id, &Posted::wr_id);
  return found == posted_.end() ? std::nullopt : std::optional(buffers_[found->buffer]);
}

std::optional<std::string> SharedReceives::on_completion(std::uint64_t wr_id,
                                                         const std::optional<Data>& data) {
  const auto found = std::ranges::find(posted_, wr_id, &Posted::wr_id);
  if (found == posted_.end()) {
    return fmt::format("receive {:#x} of the shared queue is not outstanding", wr_id);
  }
  const std::size_t index = found->buffer;
  newest_completed_ = std::max(newest_completed_, wr_id);
  posted_.erase(found);
  free_.push_back(index);

  const Range& buffer = buffers_[index];
  std::optional<std::string> complaint = check_limit();
  // All before it were taken too, and since then more was posted, not less.
  if (armed_ && wr_id >= armed_->first && wr_id_of(posted_count_) - wr_id < armed_->limit) {
    complaint = fmt::format("{} receives of the shared queue are left, and no limit event came",
                            wr_id_of(posted_count_) - wr_id);
  }
  if (data) {
    const Range filled{
        .region = buffer.region, .offset = buffer.offset + data->front, .length = data->length};
    if (const std::size_t wrong = first_mismatch(host_.memory().at(filled), data->pattern);
        wrong != data->length) {
      complaint = fmt::format("wrong data at byte {} of {} in a shared receive", wrong, data->length);
    }
  }
  host_.memory().settle_as_is(buffer);
  return complaint;
}

std::optional<std::string> SharedReceives::judge() const {
  if (posted_.empty() || posted_.front().wr_id > newest_completed_) return std::nullopt;
  return fmt::format("receive {:#x} of the shared queue was taken and never completed",
                     posted_.front().wr_id);
}

void complete_shared(Scene& scene, HostId host, std::uint64_t wr_id,
                     const std::optional<SharedReceives::Data>& data) {
  const std::size_t number = shared_queue_of(wr_id);
  scene.referee.complain_if("shared receives",
                            scene.machine(host).shared_receives[number]->on_completion(wr_id, data),
                            std::string(1, name(host)));
  scene.events.add({.time = scene.now() + scene.random.between(Duration(0), 2 * scene.options.receive_gap),
                    .kind = Event::Kind::kPostShared,
                    .host = host,
                    .traffic = static_cast<std::uint32_t>(number)});
}

}  // namespace urnic::sim
