// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/port.h"

#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <utility>

#include "drivers/dpdk/shielded.h"

namespace urnic::drivers {

Medium::~Medium() {
  end_device();
}

void Medium::end_device() {
  if (device_ == nullptr) return;
  // Without a thread there is no ending it either: the driver could raise SIGPIPE.
  if (!run_shielded([this] { device_.reset(); })) leave_device();
}

DpdkPort::DpdkPort(std::unique_ptr<Medium> medium, Config config)
    : link_(medium->device().link()),
      port_id_(medium->device().port_id()),
      config_(std::move(config)),
      medium_(std::move(medium)) {}

DpdkPort::~DpdkPort() {
  for (Batch* batch : {&held_, &early_, &spare_, &queue_}) {
    rte_pktmbuf_free_bulk(batch->buffers.data(), batch->count);
  }
}

std::size_t DpdkPort::receive(std::span<nic::ReceivedFrame> frames) {
  rte_pktmbuf_free_bulk(held_.buffers.data(), held_.count);
  held_.count = 0;
  if (frames.empty()) return 0;
  has_looked_early_ = early_.count > 0;
  if (has_looked_early_) [[unlikely]] {
    held_ = early_;
    early_.count = 0;
  } else {
    receive_burst(held_, static_cast<std::uint16_t>(std::min<std::size_t>(frames.size(), kBurst)));
  }

  std::size_t count = 0;
  for (std::uint16_t i = 0; i < held_.count; ++i) rte_prefetch0(rte_pktmbuf_mtod(held_.buffers[i], void*));
  for (std::uint16_t i = 0; i < held_.count; ++i) {
    const rte_mbuf* const buffer = held_.buffers[i];
    const std::size_t length = buffer->data_len;
    if (buffer->nb_segs != 1 || length > config_.max_frame_bytes) [[unlikely]] {
      ++statistics_.dropped_frames;
      continue;
    }
    statistics_.received_bytes += length;
    frames[count++] = std::span(rte_pktmbuf_mtod(buffer, const std::byte*), length);
  }
  statistics_.received_frames += count;
  return count;
}

std::uint16_t DpdkPort::receive_burst(Batch& batch, std::uint16_t limit) {
  const Link::Use use(link_);
  batch.count = rte_eth_rx_burst(port_id_, 0, batch.buffers.data(), limit);
  if (batch.count > 0) heard_after_ = link_.departures();
  return batch.count;
}

/// A peer may speak, and be answered, before the thread that serves it has had its turn to report it.
bool DpdkPort::has_peer() const {
  return link_.is_up() || heard_after_ == link_.departures();
}

nic::Room DpdkPort::reserve_to(const transport::wire::Mac&) {
  if (queue_.count == kBurst) return {};
  if (is_new_ && is_waiting_for_first_peer()) return {};
  if (spare_.count == 0) {
    if (rte_pktmbuf_alloc_bulk(medium_->device().pool(), spare_.buffers.data(), kBurst) != 0) return {};
    spare_.count = kBurst;
  }
  return std::span(rte_pktmbuf_mtod(spare_.buffers[spare_.count - 1], std::byte*), config_.max_frame_bytes);
}

bool DpdkPort::is_waiting_for_first_peer() {
  is_new_ = config_.waits_for_first_peer && !has_peer() && Clock::now() - opened_at_ < kFirstPeerPatience;
  return is_new_;
}

void DpdkPort::commit(std::size_t length) {
  assert(spare_.count > 0 && queue_.count < kBurst);
  assert(length <= config_.max_frame_bytes);
  rte_mbuf* const buffer = spare_.buffers[--spare_.count];
  if (length < config_.min_frame_bytes) {
    std::memset(rte_pktmbuf_mtod_offset(buffer, std::byte*, length), 0, config_.min_frame_bytes - length);
    length = config_.min_frame_bytes;
  }
  buffer->data_len = static_cast<std::uint16_t>(length);
  buffer->pkt_len = static_cast<std::uint32_t>(length);
  queue_.buffers[queue_.count++] = buffer;
  if (queue_.count == kBurst) flush();
}

void DpdkPort::flush() {
  if (queue_.count == 0) return;
  if (!has_peer()) return drop_queue();

  // The device frees what it takes, so count first.
  std::array<std::uint16_t, kBurst> lengths;
  for (std::uint16_t i = 0; i < queue_.count; ++i) lengths[i] = queue_.buffers[i]->data_len;

  std::uint16_t sent = 0;
  if (medium_->can_send()) {
    const Link::Use use(link_);
    sent = rte_eth_tx_burst(port_id_, 0, queue_.buffers.data(), queue_.count);
  }
  for (std::uint16_t i = 0; i < sent; ++i) statistics_.sent_bytes += lengths[i];
  statistics_.sent_frames += sent;

  const auto rest = static_cast<std::uint16_t>(queue_.count - sent);
  if (sent > 0) patience_.on_progress();
  if (rest > 0) std::copy_n(queue_.buffers.begin() + sent, rest, queue_.buffers.begin());
  queue_.count = rest;
  if (rest > 0 && patience_.is_over([this] { return medium_->may_go_on(); })) drop_queue();
}

void DpdkPort::drop_queue() {
  statistics_.dropped_frames += queue_.count;
  rte_pktmbuf_free_bulk(queue_.buffers.data(), queue_.count);
  queue_.count = 0;
}

bool DpdkPort::is_drained() {
  if (!has_peer()) return true;
  return queue_.count == 0 && medium_->is_drained();
}

bool DpdkPort::arm() {
  if (config_.is_polled) return false;
  link_.drain();
  {
    const Link::Use use(link_);
    rte_eth_dev_rx_intr_enable(port_id_, 0);
  }
  // The peer looks whether we want to be woken after it has written a frame, so look for one after saying so.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (early_.count == 0) receive_burst(early_, 1);
  return early_.count > 0;
}

void DpdkPort::disarm() {
  if (config_.is_polled) return;
  const Link::Use use(link_);
  rte_eth_dev_rx_intr_disable(port_id_, 0);
}

DpdkPort::Statistics DpdkPort::statistics() const {
  Statistics statistics = statistics_;
  const std::uint64_t lost = medium_->lost_frames();
  statistics.sent_frames -= lost;
  statistics.dropped_frames += lost;
  return statistics;
}

}  // namespace urnic::drivers
