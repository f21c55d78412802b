#include "tests/unit/nic/device_pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace urnic::nic {

using transport::Access;
using transport::Completion;
using transport::CompletionStatus;
using transport::QpState;
using transport::Sge;

namespace {

constexpr std::size_t kEthernetBytes = 14;

DeviceConfig config_of(std::size_t end, const DevicePairOptions& options) {
  const auto number = static_cast<std::uint8_t>(end + 1);
  DeviceConfig config;
  config.mac = {{0x02, 0, 0, 0, 0, number}};
  config.ipv4 = Ipv4Interface{.address = {{10, 0, 0, number}}};
  config.link_mtu = options.link_mtu;
  config.progress = ProgressMode::kManual;
  config.seed = options.seed + end;
  return config;
}

}  // namespace

Host::Host(std::size_t end, FakeWire& wire, const ManualClock& clock, const DevicePairOptions& options)
    : memory_(kMemoryBytes),
      device_(std::make_unique<Device>(config_of(end, options), clock,
                                       [end, &wire](const PortSpec&, std::uint16_t) {
                                         return Result<std::unique_ptr<PacketPort>, Error>(wire.port(end));
                                       })) {
  pd_ = std::move(device_->allocate_pd().value());
  cq_ = std::move(device_->create_cq(1024, &channel_, this).value());
  const Access everything = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead;
  region_ = device_
                ->register_memory(*pd_, memory_.data(), memory_.size(),
                                  reinterpret_cast<std::uint64_t>(memory_.data()), everything)
                .value();
  EXPECT_TRUE(device_->start());
}

Host::~Host() {
  while (!queue_pairs_.empty()) {
    if (queue_pairs_.back()) device_->destroy_qp(std::move(queue_pairs_.back()));
    queue_pairs_.pop_back();
  }
  EXPECT_TRUE(device_->destroy_cq(cq_));
}

std::uint64_t Host::counter(std::string_view name) const {
  for (const auto& [known, value] : device_->all_counters()) {
    if (known == name) return value;
  }
  ADD_FAILURE() << "there is no counter " << name;
  return 0;
}

QueuePair& Host::add_queue_pair() {
  auto qp = device_->create_qp({.capabilities = {.max_send_wr = 64,
                                                 .max_receive_wr = 64,
                                                 .max_send_sge = 4,
                                                 .max_receive_sge = 4,
                                                 .max_inline_data = 128},
                                .pd = pd_.get(),
                                .send_queue = cq_.get(),
                                .receive_queue = cq_.get(),
                                .context = this});
  EXPECT_TRUE(qp);
  return *queue_pairs_.emplace_back(std::move(qp.value()));
}

void Host::destroy_queue_pair(std::size_t index) { device_->destroy_qp(std::move(queue_pairs_[index])); }

Sge Host::sge(std::size_t offset, std::size_t length) const {
  return {.address = region_.address + offset,
          .length = static_cast<std::uint32_t>(length),
          .lkey = transport::Lkey{region_.key}};
}

void Host::post_receive(std::uint64_t wr_id, std::size_t offset, std::size_t length, std::size_t qp_index) {
  const std::array sges{sge(offset, length)};
  EXPECT_EQ(QueuePair::ReceiveBatch(qp(qp_index)).post({.wr_id = wr_id}, sges), PostStatus::kPosted);
}

void Host::post_send(std::uint64_t wr_id, std::size_t offset, std::size_t length, std::size_t qp_index) {
  post({.wr_id = wr_id, .operation = transport::SendOperation::kSend, .signaled = true}, offset, length,
       qp_index);
}

void Host::post(const transport::SendRequest& request, std::size_t offset, std::size_t length,
                std::size_t qp_index) {
  const std::array sges{sge(offset, length)};
  EXPECT_EQ(QueuePair::SendBatch(qp(qp_index)).post(request, sges), PostStatus::kPosted);
}

std::vector<Completion> Host::poll() {
  std::vector<Completion> all(2048);
  all.resize(cq_->poll(all));
  return all;
}

std::string Host::poll_text() {
  std::string text;
  for (const Completion& completion : poll()) {
    if (!text.empty()) text += ", ";
    text += std::to_string(completion.wr_id);
    switch (completion.status) {
      case CompletionStatus::kSuccess:
        text += " ok";
        break;
      case CompletionStatus::kWorkRequestFlushed:
        text += " flushed";
        break;
      case CompletionStatus::kRetryExceeded:
        text += " retry exceeded";
        break;
      default:
        text += " failed";
    }
  }
  return text;
}

DevicePair::DevicePair(const DevicePairOptions& options) : wire(options.link_mtu + kEthernetBytes) {
  for (std::size_t end : {0u, 1u}) hosts[end] = std::make_unique<Host>(end, wire, clock, options);
}

QpAttributes DevicePair::init_attributes() {
  return {.state = QpState::kInit,
          .access = Access::kRemoteWrite | Access::kRemoteRead,
          .pkey_index = std::uint16_t{0},
          .port = std::uint8_t{1}};
}

QpAttributes DevicePair::rtr_attributes(const Host& to, transport::QpNumber peer, const ConnectOptions& options) {
  return {.state = QpState::kReadyToReceive,
          .address = AddressVector{.destination = to.gid(), .source_gid_index = 1},
          .path_mtu = options.path_mtu,
          .destination_qp = peer,
          .receive_psn = options.first_psn,
          .max_responder_resources = std::uint8_t{4},
          .min_rnr_timer = std::uint8_t{12}};
}

QpAttributes DevicePair::rts_attributes(const ConnectOptions& options) {
  return {.state = QpState::kReadyToSend,
          .send_psn = options.first_psn,
          .max_reads_in_flight = std::uint8_t{4},
          .ack_timeout = options.ack_timeout,
          .retry_count = options.retry_count,
          .rnr_retry = std::uint8_t{7}};
}

std::size_t DevicePair::connect(const ConnectOptions& options) {
  QueuePair& first = a().add_queue_pair();
  QueuePair& second = b().add_queue_pair();
  for (QueuePair* qp : {&first, &second}) EXPECT_TRUE(qp->modify(init_attributes()));
  EXPECT_TRUE(first.modify(rtr_attributes(b(), second.number(), options)));
  EXPECT_TRUE(second.modify(rtr_attributes(a(), first.number(), options)));
  for (QueuePair* qp : {&first, &second}) EXPECT_TRUE(qp->modify(rts_attributes(options)));
  return a().queue_pairs().size() - 1;
}

void DevicePair::settle() {
  bool worked = true;
  while (worked) {
    worked = a().device().progress();
    worked |= b().device().progress();
  }
}

void DevicePair::pass(transport::Duration duration) {
  const transport::Time end = clock.now() + duration;
  settle();
  while (clock.now() < end) {
    const transport::Time next = std::min(a().device().next_timeout(), b().device().next_timeout());
    const transport::Duration least = std::chrono::microseconds(1);
    clock.advance(std::clamp(next - clock.now(), least, end - clock.now()));
    settle();
  }
}

}  // namespace urnic::nic
