#include "tests/sim/unreliable_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace urnic::sim {
namespace {

using std::chrono::microseconds;
using transport::Psn;
using transport::QpState;

constexpr std::uint32_t kQkey = 0x1ee7'cafe;
constexpr transport::QpNumber kMulticastQp{0xffffff};

nic::QpAttributes to_init(bool is_datagram) {
  nic::QpAttributes attributes;
  attributes.state = QpState::kInit;
  attributes.pkey_index = 0;
  attributes.port = 1;
  if (is_datagram) {
    attributes.qkey = kQkey;
  } else {
    attributes.access = transport::Access::kRemoteWrite;
  }
  return attributes;
}

nic::QpAttributes to_rts(Psn send_psn) {
  nic::QpAttributes attributes;
  attributes.state = QpState::kReadyToSend;
  attributes.send_psn = send_psn;
  return attributes;
}

}  // namespace

UnreliableTraffic::UnreliableTraffic(Scene& scene, std::uint32_t index, const UnreliablePlan& plan)
    : scene_(scene), index_(index), plan_(plan) {
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    Member member{.id = plan.hosts[i], .qp = scene.host(plan.hosts[i]).create_unreliable_qp(plan.type)};
    for (std::size_t buffer = 0; buffer < plan.buffers[i].size(); ++buffer) member.free_buffers.push_back(buffer);
    members_.push_back(std::move(member));
  }
}

UnreliableTraffic::~UnreliableTraffic() {
  for (Member& member : members_) {
    Host& host = scene_.host(member.id);
    if (plan_.is_datagram()) host.leave_group(*member.qp);
    for (const auto& [to, handle] : member.handles) host.destroy_address_handle(handle);
    host.device().destroy_qp(std::move(member.qp));
  }
}

// ---------------------------------------------------------------------------------------------------------
// Connecting

void UnreliableTraffic::begin() {
  connect();
  for (std::size_t member = 0; member < members_.size(); ++member) {
    post_receives(member);
    schedule(Event::Kind::kPostSends, member, scene_.options.post_gap);
    scene_.ring(members_[member].id);
  }
}

void UnreliableTraffic::connect() {
  std::vector<std::uint32_t> first(members_.size());
  for (std::uint32_t& psn : first) psn = scene_.options.psn_near_wrap ? 0xfffff0u : scene_.random.next() & 0xffffffu;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    require(member.qp->modify(to_init(plan_.is_datagram())));
    plan_.is_datagram() ? connect_datagrams(i) : connect_pair(i, first[1 - i]);
    require(member.qp->modify(to_rts(Psn(first[i]))));
    const UnreliableFlow::Expectations expected{
        .is_datagram = plan_.is_datagram(),
        .mtu_bytes = transport::bytes(plan_.is_datagram() ? scene_.host(member.id).device().max_path_mtu()
                                                          : scene_.options.path_mtu),
        .first_psn = first[i],
        .qp_number = to_integer(member.qp->number())};
    const Member& peer = members_[plan_.is_datagram() ? i : 1 - i];
    scene_.observer.on_unreliable(peer.id, to_integer(peer.qp->number()), expected);
  }
}

void UnreliableTraffic::connect_datagrams(std::size_t i) {
  Member& member = members_[i];
  nic::QpAttributes to_rtr;
  to_rtr.state = QpState::kReadyToReceive;
  require(member.qp->modify(to_rtr));
  Host& host = scene_.host(member.id);
  for (std::size_t to = 0; to < members_.size(); ++to) {
    if (to != i) member.handles[to] = host.create_address_handle(scene_.host(members_[to].id).gid());
  }
  member.handles[UnreliableMessage::kGroup] = host.create_address_handle(host.group());
  host.join_group(*member.qp);
}

void UnreliableTraffic::connect_pair(std::size_t i, std::uint32_t receive_psn) {
  const Member& peer = members_[1 - i];
  nic::QpAttributes to_rtr;
  to_rtr.state = QpState::kReadyToReceive;
  to_rtr.address = nic::AddressVector{.destination = scene_.host(peer.id).gid(),
                                      .source_gid_index = scene_.host(members_[i].id).gid_index()};
  to_rtr.path_mtu = scene_.options.path_mtu;
  to_rtr.destination_qp = peer.qp->number();
  to_rtr.receive_psn = Psn(receive_psn);
  require(members_[i].qp->modify(to_rtr));
}

void UnreliableTraffic::require(const Result<void, Error>& result) {
  if (!result) scene_.referee.complain("modify", "unreliable: " + result.error().message);
}

// ---------------------------------------------------------------------------------------------------------
// Posting

void UnreliableTraffic::schedule(Event::Kind kind, std::size_t member, Duration after) {
  scene_.events.add(
      {.time = scene_.now() + after, .kind = kind, .host = members_[member].id, .traffic = index_});
}

void UnreliableTraffic::on_event(const Event& event) {
  const std::size_t member = member_on(event.host);
  if (event.kind == Event::Kind::kPostSends) return post_sends(member);
  if (event.kind == Event::Kind::kPostReceives) return post_receives(member);
  if (scene_.now() >= settle_at_) settle();
}

void UnreliableTraffic::post_sends(std::size_t i) {
  Member& member = members_[i];
  const auto& messages = plan_.messages[i];
  {
    nic::QueuePair::SendBatch batch(*member.qp);
    for (std::uint64_t left = scene_.random.between(1, 4); left > 0 && member.next_message < messages.size(); --left) {
      if (!post(i, batch, messages[member.next_message])) break;
      ++member.next_message;
      scene_.referee.note_progress();
    }
  }
  scene_.ring(member.id);
  if (member.next_message < messages.size()) {
    schedule(Event::Kind::kPostSends, i, scene_.random.between(microseconds(1), 4 * scene_.options.post_gap));
  }
}

bool UnreliableTraffic::post(std::size_t i, nic::QueuePair::SendBatch& batch, const UnreliableMessage& message) {
  Member& member = members_[i];
  Host& host = scene_.host(member.id);
  host.memory().write(message.source, Pattern{message.id});
  transport::SendRequest request{.wr_id = message.id,
                                 .operation = message.kind,
                                 .signaled = message.signaled,
                                 .solicited = message.solicited,
                                 .immediate = message.immediate};
  const bool is_for_group = message.to == UnreliableMessage::kGroup;
  if (plan_.is_datagram()) {
    request.destination = {.address = member.handles.at(message.to),
                           .qp = is_for_group ? kMulticastQp : members_[message.to].qp->number(),
                           .qkey = message.has_wrong_qkey ? kQkey + 1 : kQkey};
  } else if (message.is_write()) {
    const Host& peer = scene_.host(members_[message.to].id);
    request.remote_address = peer.address(message.target);
    request.rkey = peer.rkey(message.target.region);
  }
  const std::array sges{host.sge(message.source, false)};
  const auto status = batch.post(request, sges);
  if (status == nic::PostStatus::kQueueFull && member.sends.outstanding() > 0) return false;
  if (status != nic::PostStatus::kPosted) {
    complain(i, "posting", fmt::format("a send was refused with {}", static_cast<int>(status)));
    return false;
  }
  member.sends.on_posted({.wr_id = message.id,
                          .opcode = message.is_write() ? transport::CompletionOpcode::kRdmaWrite
                                                       : transport::CompletionOpcode::kSend,
                          .signaled = message.signaled});
  if (message.is_write()) scene_.host(members_[message.to].id).memory().begin(message.target);
  return true;
}

void UnreliableTraffic::post_receives(std::size_t i) {
  Member& member = members_[i];
  Host& host = scene_.host(member.id);
  {
    nic::QueuePair::ReceiveBatch batch(*member.qp);
    for (; !member.free_buffers.empty(); member.free_buffers.pop_front()) {
      const std::size_t buffer = member.free_buffers.front();
      const std::array sges{host.sge(plan_.buffers[i][buffer], false)};
      if (batch.post({.wr_id = kReceiveBit | buffer}, sges) != nic::PostStatus::kPosted) break;
      host.memory().begin(plan_.buffers[i][buffer]);
      member.posted_buffers.push_back(buffer);
    }
  }
  scene_.ring(member.id);
}

// ---------------------------------------------------------------------------------------------------------
// Completions

bool UnreliableTraffic::on_completion(HostId host, const transport::Completion& completion) {
  const std::size_t i = member_on(host);
  if (i == members_.size() || members_[i].qp->number() != completion.qp_number) return false;
  scene_.referee.note_progress();
  if (completion.status != transport::CompletionStatus::kSuccess) {
    complain(i, "completions", fmt::format("work request {:#x}: {}", completion.wr_id, to_string(completion.status)));
  } else if ((completion.wr_id & kReceiveBit) != 0) {
    on_receive_completion(i, completion);
  } else {
    on_send_completion(members_[i], completion);
  }
  const bool all_sent = std::ranges::all_of(members_, [&](const Member& member) {
    const std::size_t number = static_cast<std::size_t>(&member - members_.data());
    return member.next_message == plan_.messages[number].size() && member.sends.outstanding() == 0;
  });
  if (all_sent && !std::exchange(is_settling_, true)) {
    settle_at_ = scene_.now() + scene_.options.max_frame_age();
    schedule(Event::Kind::kPairStep, 0, scene_.options.max_frame_age());
  }
  return true;
}

void UnreliableTraffic::on_send_completion(Member& member, const transport::Completion& completion) {
  std::vector<Ended> ended;
  const std::size_t i = static_cast<std::size_t>(&member - members_.data());
  if (const auto complaint = member.sends.on_completion(completion, ended)) complain(i, "completions", *complaint);
  for (const Ended& end : ended) {
    scene_.coverage.add(plan_.is_datagram() ? Happening::kDatagramSent : Happening::kUnreliableSent);
    // Nothing is ever sent again from there.
    const auto& messages = plan_.messages[i];
    const UnreliableMessage& message = messages[end.wr_id - messages.front().id];
    scene_.host(member.id).memory().write(message.source, Pattern{scene_.random.next()});
  }
}

void UnreliableTraffic::on_receive_completion(std::size_t i, const transport::Completion& completion) {
  Member& member = members_[i];
  MemoryModel& memory = scene_.host(member.id).memory();
  const std::size_t index = completion.wr_id & ~kReceiveBit;
  if (member.posted_buffers.empty() || member.posted_buffers.front() != index) {
    return complain(i, "completions", fmt::format("receive {} completes, which is not the oldest", index));
  }
  member.posted_buffers.pop_front();
  const Range& buffer = plan_.buffers[i][index];
  if (const UnreliableMessage* const message = find_sent(i, completion, buffer)) {
    judge_arrival(i, *message);
  } else {
    complain(i, "completions", fmt::format("{} bytes from QP {:#x} were received that nobody sent",
                                           completion.byte_length, to_integer(completion.source_qp)));
  }
  memory.settle_as_is(buffer);
  memory.write(buffer, Pattern{scene_.random.next()});
  member.free_buffers.push_back(index);
  schedule(Event::Kind::kPostReceives, i, scene_.random.between(Duration(0), 2 * scene_.options.receive_gap));
}

const UnreliableMessage* UnreliableTraffic::find_sent(std::size_t receiver, const transport::Completion& completion,
                                                      const Range& buffer) {
  const std::size_t sender = sender_of(receiver, completion.source_qp);
  if (sender == members_.size() || completion.has_grh != plan_.is_datagram()) return nullptr;
  if (plan_.is_datagram()) check_grh(receiver, sender, buffer);
  const UnreliableMessage* again = nullptr;
  for (std::size_t i = 0; i < members_[sender].next_message; ++i) {
    const UnreliableMessage& message = plan_.messages[sender][i];
    if (!fits(receiver, sender, message, completion, buffer)) continue;
    // Empty messages all look the same.
    if (arrivals_[message.id * kMaxHosts + receiver] == 0) return &message;
    again = &message;
  }
  return again;
}

bool UnreliableTraffic::fits(std::size_t receiver, std::size_t sender, const UnreliableMessage& message,
                             const transport::Completion& completion, const Range& buffer) const {
  const bool is_for_us = message.to == receiver || (message.to == UnreliableMessage::kGroup && receiver != sender);
  if (!is_for_us || !message.consumes_receive() || message.has_wrong_qkey) return false;
  const std::uint32_t front = plan_.is_datagram() ? kGrhBytes : 0;
  if (completion.byte_length != front + message.length || completion.solicited != message.solicited ||
      completion.has_immediate != message.has_immediate() ||
      (message.has_immediate() && completion.immediate != message.immediate)) {
    return false;
  }
  const auto opcode = message.is_write() ? transport::CompletionOpcode::kReceiveRdmaWithImmediate
                                         : transport::CompletionOpcode::kReceive;
  if (completion.opcode != opcode) return false;
  const Range data = message.is_write() ? message.target
                                        : Range{.region = buffer.region,
                                                .offset = buffer.offset + front,
                                                .length = message.length};
  return first_mismatch(scene_.host(members_[receiver].id).memory().at(data), Pattern{message.id}) == data.length;
}

void UnreliableTraffic::judge_arrival(std::size_t receiver, const UnreliableMessage& message) {
  scene_.coverage.add(plan_.is_datagram() ? Happening::kDatagramReceived : Happening::kUnreliableReceived);
  if (message.to == UnreliableMessage::kGroup) scene_.coverage.add(Happening::kMulticastReceived);
  if (++arrivals_[message.id * kMaxHosts + receiver] > 1 && !may_arrive_twice()) {
    complain(receiver, "completions", fmt::format("message {} arrives twice", message.id));
  }
  std::uint64_t& newest = newest_[receiver];
  if (!plan_.is_datagram() && keeps_order() && message.length > 0 && message.id < newest) {
    complain(receiver, "completions", fmt::format("message {} arrives behind {}", message.id, newest));
  }
  newest = std::max(newest, message.id);
}

/// Fact 42: the GRH, or 20 bytes of nothing and the IPv4 header.
void UnreliableTraffic::check_grh(std::size_t receiver, std::size_t sender, const Range& buffer) {
  const auto bytes = scene_.host(members_[receiver].id).memory().at(buffer).first(kGrhBytes);
  const bool is_ipv6 = scene_.options.ipv6;
  const auto source = gid_of(members_[sender].id, is_ipv6).octets;
  const std::size_t skipped = is_ipv6 ? 0 : 12;  // of an IPv4-mapped GID
  const std::size_t at = is_ipv6 ? 8 : 32;
  const bool is_source = std::equal(source.begin() + static_cast<std::ptrdiff_t>(skipped), source.end(),
                                    bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                    [](std::uint8_t octet, std::byte byte) { return std::byte{octet} == byte; });
  const std::byte version = bytes[is_ipv6 ? 0 : 20] >> 4;
  if (!is_source || version != std::byte{is_ipv6 ? std::uint8_t{6} : std::uint8_t{4}}) {
    complain(receiver, "memory", "the GRH area does not hold the sender's IP header (fact 42)");
  }
}

// ---------------------------------------------------------------------------------------------------------
// The end

/// No frame is under way any more.
void UnreliableTraffic::settle() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    MemoryModel& memory = scene_.host(members_[i].id).memory();
    for (const std::size_t buffer : std::exchange(members_[i].posted_buffers, {})) {
      memory.settle_as_is(plan_.buffers[i][buffer]);
    }
    for (const UnreliableMessage& message : plan_.messages[i]) {
      if (!message.is_write()) continue;
      MemoryModel& target = scene_.host(members_[message.to].id).memory();
      if (const auto complaint = target.settle_either(message.target, Pattern{message.id})) {
        complain(message.to, "memory", *complaint);
      }
    }
    for (const UnreliableMessage& message : plan_.messages[i]) {
      const bool must_arrive = scene_.options.is_peaceful() && plan_.has_ample_buffers && !message.has_wrong_qkey &&
                               message.consumes_receive() && message.to != UnreliableMessage::kGroup;
      if (!must_arrive || arrivals_[message.id * kMaxHosts + message.to] > 0) continue;
      complain(i, "liveness", fmt::format("message {} did not arrive though the network lost nothing", message.id));
    }
  }
  is_settled_ = true;
}

bool UnreliableTraffic::may_arrive_twice() const {
  return std::ranges::any_of(scene_.options.links, [](const LinkOptions& link) { return link.faults.duplication > 0; });
}

bool UnreliableTraffic::keeps_order() const {
  return std::ranges::none_of(scene_.options.links, [](const LinkOptions& link) {
    return link.faults.duplication > 0 || link.faults.reordering > 0;
  });
}

std::size_t UnreliableTraffic::member_on(HostId host) const {
  const auto found = std::ranges::find_if(members_, [host](const Member& member) { return member.id == host; });
  return static_cast<std::size_t>(found - members_.begin());
}

std::size_t UnreliableTraffic::sender_of(std::size_t receiver, transport::QpNumber qp) const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i != receiver && members_[i].qp->number() == qp) return i;
  }
  return members_.size();
}

std::string UnreliableTraffic::label(std::size_t member) const {
  return fmt::format("{}{} ({})", name(members_[member].id), index_, plan_.is_datagram() ? "UD" : "UC");
}

std::string UnreliableTraffic::describe() const {
  std::string text;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    text += fmt::format("{}{}: posted {} of {}, {} outstanding", i > 0 ? "; " : "", label(i), members_[i].next_message,
                        plan_.messages[i].size(), members_[i].sends.outstanding());
  }
  return text;
}

void UnreliableTraffic::complain(std::size_t member, std::string_view oracle, const std::string& what) {
  scene_.referee.complain(oracle, fmt::format("{}: {}", label(member), what));
}

}  // namespace urnic::sim
