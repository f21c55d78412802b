// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/netlink/answerer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "tools/runtime/netlink/conversation.h"

namespace urnic::netlink {
using C = Conversation;

const Conversation::Command Conversation::kCommands[] = {
    {RDMA_NLDEV_CMD_GET, &C::get, &C::dump_all},
    {RDMA_NLDEV_CMD_SET, &C::refuse_change, nullptr, true},
    {RDMA_NLDEV_CMD_NEWLINK, &C::refuse_change, nullptr, true},
    {RDMA_NLDEV_CMD_DELLINK, &C::refuse_change, nullptr, true},
    {RDMA_NLDEV_CMD_PORT_GET, &C::port_get, &C::port_dump},
    {RDMA_NLDEV_CMD_SYS_GET, &C::system_get},
    {RDMA_NLDEV_CMD_SYS_SET, &C::refuse_change, nullptr, true},
    {RDMA_NLDEV_CMD_RES_GET, &C::summary_get, &C::summary_dump},
    {RDMA_NLDEV_CMD_RES_QP_GET, &C::resource_get, &C::resource_dump},
    {RDMA_NLDEV_CMD_RES_CM_ID_GET, &C::resource_get, &C::resource_dump},
    {RDMA_NLDEV_CMD_RES_CQ_GET, &C::resource_get, &C::resource_dump},
    {RDMA_NLDEV_CMD_RES_MR_GET, &C::resource_get, &C::resource_dump},
    {RDMA_NLDEV_CMD_RES_PD_GET, &C::resource_get, &C::resource_dump},
    {RDMA_NLDEV_CMD_RES_CTX_GET, &C::resource_get, &C::resource_dump},
    {RDMA_NLDEV_CMD_RES_SRQ_GET, &C::resource_get, &C::resource_dump},
    {RDMA_NLDEV_CMD_GET_CHARDEV, &C::node_get},
    {RDMA_NLDEV_CMD_STAT_SET, &C::refuse, nullptr, true},
    {RDMA_NLDEV_CMD_STAT_GET, &C::counters_get, &C::counters_dump},
    {RDMA_NLDEV_CMD_STAT_DEL, &C::refuse, nullptr, true},
    {RDMA_NLDEV_CMD_RES_QP_GET_RAW, &C::refuse, &C::refuse, true},
    {RDMA_NLDEV_CMD_RES_CQ_GET_RAW, &C::refuse, &C::refuse, true},
    {RDMA_NLDEV_CMD_RES_MR_GET_RAW, &C::refuse, &C::refuse, true},
    {RDMA_NLDEV_CMD_STAT_GET_STATUS, &C::counter_names_get},
};

std::vector<Bytes> Conversation::run() {
  const bool goes_to_kernel = kernel_ != nullptr && !is_ours();
  if (goes_to_kernel) {
    forward();
    return std::move(answers_);
  }
  // The kernel ignores messages that are no requests, and types of netlink itself, except to acknowledge.
  const bool is_control = request_.head.nlmsg_type < NLMSG_MIN_TYPE;
  if (!is_request() || is_control) {
    acknowledge({.code = 0});
    return std::move(answers_);
  }
  if (client() != RDMA_NL_NLDEV) {
    // As a kernel without that client.
    acknowledge({.code = EINVAL});
    return std::move(answers_);
  }
  const auto* const found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                         [this](const Command& row) { return row.command == command(); });
  if (found == std::end(kCommands)) {
    acknowledge({.code = EOPNOTSUPP, .text = kNotOffered});
  } else if (found->is_for_admin && !asker_.is_admin) {
    acknowledge({.code = EPERM});
  } else if (!is_dump()) {
    acknowledge((this->*found->one)().value_or(Failure{.code = 0}));
  } else if (found->dump == nullptr) {
    acknowledge({.code = EINVAL});
  } else if (asker_.has_dump_running) {
    acknowledge({.code = EBUSY});
  } else {
    if (kernel_ != nullptr && is_dump_of_all_devices()) forward_without_end();
    const auto failed = (this->*found->dump)();
    end_dump(failed ? failed->code : 0);
  }
  return std::move(answers_);
}

/// Where there is a kernel to ask.
bool Conversation::is_ours() {
  if (client() != RDMA_NL_NLDEV || !is_request()) return false;
  if (is_dump_of_all_devices()) return true;
  if (attributes_.has(RDMA_NLDEV_ATTR_DEV_INDEX)) return named_device() != nullptr;
  // The program's rdma_cm is ours.
  return command() == RDMA_NLDEV_CMD_GET_CHARDEV &&
         attributes_.text(RDMA_NLDEV_ATTR_CHARDEV_TYPE) == "rdma_cm";
}

/// What the kernel answers, with the port of the program in the place of the one by which we ask.
void Conversation::forward() {
  for (Bytes& answer : kernel_->ask(request_, asker_)) {
    nlmsghdr head{};
    if (answer.size() < sizeof head) continue;
    std::memcpy(&head, answer.data(), sizeof head);
    head.nlmsg_pid = asker_.port;
    std::memcpy(answer.data(), &head, sizeof head);
    answers_.push_back(std::move(answer));
  }
}

/// Of a dump, whose end is still to come.
void Conversation::forward_without_end() {
  forward();
  const auto is_end = [](const Bytes& answer) {
    nlmsghdr head{};
    std::memcpy(&head, answer.data(), sizeof head);
    return head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR;
  };
  answers_.erase(std::remove_if(answers_.begin(), answers_.end(), is_end), answers_.end());
}

/// Answers a request whether there was an error or not: with 0 only if it wants that.
void Conversation::acknowledge(const Failure& failure) {
  const bool is_wanted = (request_.head.nlmsg_flags & NLM_F_ACK) != 0;
  if (failure.code == 0 && !is_wanted) return;
  const bool has_request = failure.code != 0 && !asker_.wants_short_acks;
  const bool has_text = failure.text != nullptr && asker_.wants_text;
  nlmsghdr answer = head(0);
  answer.nlmsg_type = NLMSG_ERROR;
  if (!has_request) answer.nlmsg_flags |= NLM_F_CAPPED;
  if (has_text) answer.nlmsg_flags |= NLM_F_ACK_TLVS;
  const nlmsgerr error{.error = -failure.code, .msg = request_.head};
  Bytes payload(sizeof error);
  std::memcpy(payload.data(), &error, sizeof error);
  if (has_request) payload.insert(payload.end(), request_.payload.begin(), request_.payload.end());
  if (has_text) {
    payload.resize(NLMSG_ALIGN(payload.size()));
    AttributeWriter words;
    words.text(NLMSGERR_ATTR_MSG, failure.text);
    payload.insert(payload.end(), words.written().begin(), words.written().end());
  }
  answers_.push_back(message(answer, payload));
}

/// An error of a dump stands in the message that ends it.
void Conversation::end_dump(int code) {
  nlmsghdr answer = head(NLM_F_MULTI);
  answer.nlmsg_type = NLMSG_DONE;
  const std::int32_t negative = -code;
  answers_.push_back(message(answer, std::as_bytes(std::span(&negative, 1))));
}

std::optional<Failure> Conversation::refuse_change() {
  return Failure{
      EOPNOTSUPP,
      "urnic: 'urnic run' makes the devices of a program; they cannot be added, changed or removed"};
}

std::optional<Failure> Conversation::refuse() {
  return Failure{EOPNOTSUPP, kNotOffered};
}

namespace {

/// Puts messages that follow each other into one, as long as they fit.
std::vector<Bytes> packed(std::vector<Bytes> messages) {
  std::vector<Bytes> together;
  for (Bytes& message : messages) {
    if (!together.empty() && together.back().size() + message.size() <= Answerer::kMostAtOnce) {
      together.back().insert(together.back().end(), message.begin(), message.end());
    } else {
      together.push_back(std::move(message));
    }
  }
  return together;
}

}  // namespace

std::vector<Bytes> Answerer::answer(std::span<const std::byte> sent, const Asker& asker) {
  std::vector<Bytes> answers;
  Asker now = asker;
  while (const auto request = Request::take(sent)) {
    for (Bytes& answer : packed(Conversation(state_, kernel_, rdma_cm_, *request, now).run())) {
      answers.push_back(std::move(answer));
    }
    const bool is_dump = (request->head.nlmsg_flags & NLM_F_DUMP) != 0;
    now.has_dump_running = now.has_dump_running || (is_dump && !answers.empty());
  }
  return answers;
}

}  // namespace urnic::netlink
