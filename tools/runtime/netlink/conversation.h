// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Conversation: how one request is answered.
#pragma once

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/runtime/netlink/answerer.h"
#include "tools/runtime/netlink/message.h"
#include "tools/runtime/netlink/resources.h"
#include "tools/runtime/netlink/state.h"

namespace urnic::netlink {

/// An answer that is no data: an errno, and why, if there are words for it.
struct Failure {
  int code;
  const char* text = nullptr;
};

/// Lives as long as one request is answered, and asks for the state once at most. Each command is a member
/// function, which says its answers and returns nothing, or an errno.
class Conversation {
 public:
  Conversation(State& state, Kernel* kernel, dev_t rdma_cm, const Request& request, const Asker& asker)
      : state_(state),
        kernel_(kernel),
        rdma_cm_(rdma_cm),
        request_(request),
        asker_(asker),
        attributes_(request.payload) {}

  std::vector<Bytes> run();

 private:
  static constexpr std::uint32_t kPort = 1;
  static constexpr const char* kNotOffered = "urnic: its devices do not offer this";

  using Do = std::optional<Failure> (Conversation::*)();

  struct Command {
    std::uint16_t command;
    Do one = nullptr;  ///< a request that is no dump
    Do dump = nullptr;
    bool is_for_admin = false;
  };
  static const Command kCommands[];

  std::uint16_t client() const { return RDMA_NL_GET_CLIENT(request_.head.nlmsg_type); }
  std::uint16_t command() const { return RDMA_NL_GET_OP(request_.head.nlmsg_type); }
  bool is_request() const { return (request_.head.nlmsg_flags & NLM_F_REQUEST) != 0; }
  /// Either bit makes one, as in the kernel.
  bool is_dump() const { return (request_.head.nlmsg_flags & NLM_F_DUMP) != 0; }
  bool is_dump_of_all_devices() const {
    return client() == RDMA_NL_NLDEV && is_request() && is_dump() &&
           (command() == RDMA_NLDEV_CMD_GET || command() == RDMA_NLDEV_CMD_RES_GET);
  }
  bool is_ours();

  std::uint32_t first_index() const { return kernel_ != nullptr ? Answerer::kFirstIndexBesideKernel : 0; }
  const std::vector<Device>& devices();
  const std::vector<tools::NicProcess>& processes();
  std::uint32_t index_of(const Device& device) {
    return first_index() + static_cast<std::uint32_t>(&device - devices().data());
  }
  /// That the request names; null: there is no such device.
  const Device* named_device();
  /// The same, with a port that it names and that there is.
  const Device* device_of_named_port();

  nlmsghdr head(std::uint16_t flags) const {
    return {.nlmsg_len = 0,
            .nlmsg_type = request_.head.nlmsg_type,
            .nlmsg_flags = flags,
            .nlmsg_seq = request_.head.nlmsg_seq,
            .nlmsg_pid = asker_.port};
  }
  void say(const AttributeWriter& attributes) {
    answers_.push_back(message(head(is_dump() ? NLM_F_MULTI : 0), attributes));
  }
  void acknowledge(const Failure& failure);
  void end_dump(int code);
  void forward();
  void forward_without_end();
  AttributeWriter handle_of(const Device& device);

  void describe(const Device& device);
  void describe_port(const Device& device);
  void summarize(const Device& device);
  std::map<std::string_view, std::uint64_t> counters_of(const Device& device);

  std::optional<Failure> get();
  std::optional<Failure> dump_all();
  std::optional<Failure> port_get();
  std::optional<Failure> port_dump();
  std::optional<Failure> summary_get();
  std::optional<Failure> summary_dump();
  std::optional<Failure> resource_get();
  std::optional<Failure> resource_dump();
  std::optional<Failure> resources_in_parts(const ResourceKind& kind, const Device& device,
                                            const std::vector<Resource>& resources);
  std::optional<Failure> system_get();
  std::optional<Failure> node_get();
  std::optional<Failure> counters_get();
  std::optional<Failure> counters_dump();
  std::optional<Failure> counter_names_get();
  std::optional<Failure> refuse_change();
  std::optional<Failure> refuse();

  State& state_;
  Kernel* const kernel_;
  const dev_t rdma_cm_;
  const Request& request_;
  const Asker& asker_;
  const Attributes attributes_;
  std::vector<Bytes> answers_;
  std::optional<std::vector<Device>> devices_;
  std::optional<std::vector<tools::NicProcess>> processes_;
};

}  // namespace urnic::netlink
