// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Ids: making, ending and moving them, and their options.
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "verbs_api/rdma_cm/command.h"
#include "verbs_api/rdma_cm/open_channels.h"

namespace urnic::verbs_api::ucm {
namespace {

using nic::rdma_cm::IdNumber;
using nic::rdma_cm::KeptId;
using nic::rdma_cm::PortSpace;
using nic::rdma_cm::RdmaCm;
using nic::rdma_cm::Service;

struct Kind {
  PortSpace space;
  Service service;
};

std::optional<Service> service_of(std::uint8_t qp_type) {
  switch (qp_type) {
    case IBV_QPT_RC:
      return Service::kRc;
    case IBV_QPT_UC:
      return Service::kUc;
    case IBV_QPT_UD:
      return Service::kUd;
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      return Service::kXrc;
    default:
      return std::nullopt;
  }
}

/// What an id is for. Only InfiniBand's port space leaves it to the program; nothing for what there is not.
std::optional<Kind> kind_of(const rdma_ucm_create_id& command) {
  switch (command.ps) {
    case RDMA_PS_TCP:
      return Kind{.space = PortSpace::kTcp, .service = Service::kRc};
    case RDMA_PS_UDP:
      return Kind{.space = PortSpace::kUdp, .service = Service::kUd};
    case RDMA_PS_IPOIB:
      return Kind{.space = PortSpace::kIpoib, .service = Service::kUd};
    case RDMA_PS_IB:
      if (const auto service = service_of(command.qp_type)) {
        return Kind{.space = PortSpace::kIb, .service = *service};
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Reads the option's value, which has exactly this size, and hands it to `set`, a method of RdmaCm.
template <typename Value, typename Parameter>
int set(const Command& command, const rdma_ucm_set_option& option,
        Result<void, Error> (RdmaCm::*set)(nic::rdma_cm::EventChannel&, IdNumber, Parameter)) {
  if (option.optlen != sizeof(Value)) return EINVAL;
  Value value{};
  if (!copy_from_program(std::as_writable_bytes(std::span(&value, 1)), option.optval)) return EFAULT;
  const int failed = errno_of(with_id(command, IdNumber{option.id}, [&](RdmaCm& cm, ChannelPart& part) {
    return (cm.*set)(part.events(), IdNumber{option.id}, static_cast<Parameter>(value));
  }));
  if (failed == 0) keep_for_children(command, IdNumber{option.id});
  return failed;
}

}  // namespace

std::vector<ChannelPart*> parts_with(const Command& command, IdNumber id) {
  const auto& parts = command.channel.parts();
  if (parts.size() == 1) return {parts.front().get()};
  std::vector<ChannelPart*> having;
  for (const auto& part : parts) {
    const auto has = with_rdma_cm(
        *part, [&](RdmaCm& cm, ChannelPart& its) -> Result<bool, Error> { return cm.has(its.events(), id); });
    if (has && has.value()) having.push_back(part.get());
  }
  if (having.empty()) having.push_back(parts.front().get());
  return having;
}

void keep_for_children(const Command& command, IdNumber id) {
  ChannelPart& first = *parts_with(command, id).front();
  const auto kept =
      with_rdma_cm(first, [&](RdmaCm& cm, ChannelPart& part) { return cm.kept(part.events(), id); });
  OpenChannels& channels = open_channels();
  if (kept) {
    channels.keep(command.channel, kept.value());
  } else {
    channels.forget(command.channel, id);
  }
}

namespace {

/// Returns how many of its events were fetched.
Result<std::uint32_t, Error> destroy(const Command& command, IdNumber id) {
  std::uint32_t fetched = 0;
  return with_id(command, id, [&](RdmaCm& cm, ChannelPart& part) -> Result<std::uint32_t, Error> {
    auto of_part = cm.destroy_id(part.events(), id, part.nic().now());
    if (!of_part) return of_part;
    fetched += of_part.value();
    return fetched;
  });
}

/// An id of the first device, which the others have, too: only its address tells on which it is.
Result<IdNumber, Error> create(const Command& command, std::uint64_t uid, const Kind& kind) {
  const auto& parts = command.channel.parts();
  const auto kept = with_rdma_cm(*parts.front(), [&](RdmaCm& cm, ChannelPart& part) -> Result<KeptId, Error> {
    const auto id = cm.create_id(part.events(), uid, kind.space, kind.service);
    if (!id) return id.error();
    return cm.kept(part.events(), id.value());
  });
  if (!kept) return kept.error();
  const IdNumber id = kept.value().number;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto made = with_rdma_cm(
        *parts[i], [&](RdmaCm& cm, ChannelPart& part) { return cm.make_again(part.events(), kept.value()); });
    if (made) continue;
    static_cast<void>(destroy(command, id));
    return made.error();
  }
  return id;
}

}  // namespace

int create_id(const Command& command) {
  const auto wish = command.as<rdma_ucm_create_id>();
  const auto kind = kind_of(wish);
  if (!kind) return EINVAL;
  const auto id = create(command, wish.uid, *kind);
  if (!id) return errno_of(id);
  const rdma_ucm_create_id_resp response{.id = static_cast<std::uint32_t>(id.value())};
  const int failed = respond(command, wish.response, response);
  if (failed == 0) {
    keep_for_children(command, id.value());
    return 0;
  }
  static_cast<void>(destroy(command, id.value()));  // the program does not know its number
  return failed;
}

int destroy_id(const Command& command) {
  const auto wish = command.as<rdma_ucm_destroy_id>();
  const auto fetched = destroy(command, IdNumber{wish.id});
  if (!fetched) return errno_of(fetched);
  keep_for_children(command, IdNumber{wish.id});
  return respond(command, wish.response, rdma_ucm_destroy_id_resp{.events_reported = fetched.value()});
}

namespace {

/// Whether the parts of both channels are of the same devices: otherwise one is the parent's, in a forked
/// child.
bool have_same_devices(const Channel& one, const Channel& other) {
  return std::ranges::equal(one.parts(), other.parts(),
                            [](const auto& a, const auto& b) { return &a->nic() == &b->nic(); });
}

}  // namespace

// The command is written to the channel that the id goes to, and names the one that it leaves.
int migrate_id(const Command& command) {
  const auto wish = command.as<rdma_ucm_migrate_id>();
  const IdNumber id{wish.id};
  const std::shared_ptr<Channel> from = open_channels().find(static_cast<int>(wish.fd));
  if (from == nullptr) return DescriptorIdentity::of(static_cast<int>(wish.fd)) ? EINVAL : ENOENT;
  if (!have_same_devices(*from, command.channel)) return EINVAL;
  const Command on_old{.channel = *from, .bytes = {}, .room = 0};
  std::uint32_t fetched = 0;
  for (ChannelPart* const leaving : parts_with(on_old, id)) {
    ChannelPart& entering = *command.channel.parts()[leaving->nic().config().number];
    const auto moved =
        with_rdma_cm(entering, [&](RdmaCm& cm, ChannelPart& part) -> Result<std::uint32_t, Error> {
          if (!leaving->is_open()) return Error{.code = ENOENT, .message = "the channel was closed"};
          return cm.migrate_id(leaving->events(), id, part.events());
        });
    if (!moved) return errno_of(moved);
    fetched += moved.value();
  }
  open_channels().forget(*from, id);
  keep_for_children(command, id);
  return respond(command, wish.response, rdma_ucm_migrate_resp{.events_reported = fetched});
}

int set_option(const Command& command) {
  const auto wish = command.as<rdma_ucm_set_option>();
  // RDMA_OPTION_IB has one option: the path, which here is the one that the addresses lead to.
  if (wish.level != RDMA_OPTION_ID) return wish.level == RDMA_OPTION_IB ? EOPNOTSUPP : ENOSYS;
  switch (wish.optname) {
    case RDMA_OPTION_ID_TOS:
      return set<std::uint8_t>(command, wish, &RdmaCm::set_type_of_service);
    case RDMA_OPTION_ID_REUSEADDR:
      return set<int>(command, wish, &RdmaCm::set_reuse_address);
    case RDMA_OPTION_ID_AFONLY:
      return set<int>(command, wish, &RdmaCm::set_address_family_only);
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      return set<std::uint8_t>(command, wish, &RdmaCm::set_ack_timeout);
    default:
      return ENOSYS;
  }
}

}  // namespace urnic::verbs_api::ucm
