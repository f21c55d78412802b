// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Command: what a program writes to a channel, and the commands that it may write.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "nic/device/device.h"
#include "nic/engine/engine.h"
#include "nic/rdma_cm/rdma_cm.h"
#include "transport/result.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/rdma_cm/channel.h"
#include "verbs_api/rdma_cm/program_memory.h"

namespace urnic::verbs_api::ucm {

/// A command that was copied into memory of ours; `bytes` is what follows its header.
struct Command {
  Channel& channel;
  std::span<const std::byte> bytes;  ///< at least as many as the command needs; newer programs have more
  std::size_t room;                  ///< for the response

  /// The struct of the command. What an older program leaves out at the end is zero.
  template <typename Struct>
  Struct as() const {
    Struct read{};
    std::memcpy(&read, bytes.data(), std::min(sizeof(read), bytes.size()));
    return read;
  }
};

/// Writes the response as far as the program has room for it. EFAULT: the program's memory is not there.
template <typename Struct>
int respond(const Command& command, std::uint64_t address, const Struct& response) {
  const auto bytes = std::as_bytes(std::span(&response, 1));
  return copy_to_program(address, bytes.first(std::min(bytes.size(), command.room))) ? 0 : EFAULT;
}

/// What `operation` returns, a Result whose error is an Error, when it is called with the RdmaCm of the
/// part's NIC, under the engine lock. EBADF: another thread closed the channel meanwhile.
template <typename Operation>
auto with_rdma_cm(ChannelPart& part, Operation operation)
    -> decltype(operation(std::declval<nic::rdma_cm::RdmaCm&>(), part)) {
  nic::Engine& engine = part.nic().engine();
  const std::lock_guard lock(engine);
  if (!part.is_open()) return Error{.code = EBADF, .message = "the channel was closed"};
  return operation(engine.rdma_cm(), part);
}

/// The same for an operation that returns a Step: while it has a question, asks the host, without the lock,
/// and goes on.
template <typename Operation>
Result<void, Error> with_ports(ChannelPart& part, Operation operation) {
  using namespace nic::rdma_cm;
  nic::Engine& engine = part.nic().engine();
  Step step = with_rdma_cm(part, operation);
  while (step && step.value()) {
    const PortQuestion question = *step.value();
    const PortAnswer answer = ask(*engine.rdma_cm().host(), question);
    // Another thread may have closed the channel meanwhile, and its ids are destroyed: then the port goes
    // back.
    const std::lock_guard lock(engine);
    if (auto answered = engine.rdma_cm().answer(question, answer); !answered) return answered;
    step = operation(engine.rdma_cm(), part);
  }
  if (!step) return failure(step.error());
  return success();
}

/// The parts that have the id: one, or all while it may come to be on any device. The first one where no part
/// has it, whose RdmaCm says what is wrong.
std::vector<ChannelPart*> parts_with(const Command& command, nic::rdma_cm::IdNumber id);

/// with_rdma_cm() for each part that has the id. What the last one returns, or the first error.
template <typename Operation>
auto with_id(const Command& command, nic::rdma_cm::IdNumber id, Operation operation)
    -> decltype(operation(std::declval<nic::rdma_cm::RdmaCm&>(), std::declval<ChannelPart&>())) {
  const std::vector<ChannelPart*> parts = parts_with(command, id);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    auto result = with_rdma_cm(*parts[i], operation);
    if (!result) return result;
  }
  return with_rdma_cm(*parts.back(), operation);
}

/// Whether bind says so because another id has the port: EADDRNOTAVAIL where one of the two is bound to any
/// address, as Linux' cma_check_port() has it.
inline bool is_port_taken(int code) {
  return code == EADDRINUSE || code == EADDRNOTAVAIL;
}

/// The errno value of a Result; 0 for success.
template <typename Value>
int errno_of(const Result<Value, Error>& result) {
  return result ? 0 : explain("rdma_cm", result.error());
}

/// An id has been made, or has changed: notes what a child of a fork needs to make it again, if it can. Not
/// under the engine lock.
void keep_for_children(const Command& command, nic::rdma_cm::IdNumber id);

/// Opens the ports of the NICs that may have the id, if they are not open: what has to do with addresses
/// needs them. An errno value.
int start_nics(const Command& command, nic::rdma_cm::IdNumber id);

// Each carries out one command and returns 0 or an errno value (get_event() also kNoEventYet). They are named
// as the kernel's header names them, with the meaning that the kernel gives them.

int create_id(const Command& command);
int destroy_id(const Command& command);
int migrate_id(const Command& command);
int set_option(const Command& command);

int bind_ip(const Command& command);
int bind(const Command& command);
int resolve_ip(const Command& command);
int resolve_addr(const Command& command);
int resolve_route(const Command& command);

int query_route(const Command& command);
int query(const Command& command);
int init_qp_attr(const Command& command);

int listen(const Command& command);
int connect(const Command& command);
int accept(const Command& command);
int reject(const Command& command);
int disconnect(const Command& command);
int notify(const Command& command);

int join_ip_mcast(const Command& command);
int join_mcast(const Command& command);
int leave_mcast(const Command& command);

int get_event(const Command& command);

}  // namespace urnic::verbs_api::ucm
