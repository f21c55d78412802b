// Ids: making, ending and moving them, and their options.
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "verbs_api/rdma_cm/command.h"
#include "verbs_api/rdma_cm/open_channels.h"

namespace urnic::verbs_api::ucm {
namespace {

using nic::rdma_cm::IdNumber;
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
  const int failed = errno_of(with_rdma_cm(command, [&](RdmaCm& cm) {
    return (cm.*set)(command.channel.events(), IdNumber{option.id}, static_cast<Parameter>(value));
  }));
  if (failed == 0) keep_for_children(command, IdNumber{option.id});
  return failed;
}

}  // namespace

void keep_for_children(const Command& command, IdNumber id) {
  const auto kept = with_rdma_cm(command, [&](RdmaCm& cm) { return cm.kept(command.channel.events(), id); });
  OpenChannels& channels = open_channels();
  if (kept) {
    channels.keep(command.channel, kept.value());
  } else {
    channels.forget(command.channel, id);
  }
}

int create_id(const Command& command) {
  const auto wish = command.as<rdma_ucm_create_id>();
  const auto kind = kind_of(wish);
  if (!kind) return EINVAL;
  const auto id = with_rdma_cm(command, [&](RdmaCm& cm) {
    return cm.create_id(command.channel.events(), wish.uid, kind->space, kind->service);
  });
  if (!id) return errno_of(id);
  const rdma_ucm_create_id_resp response{.id = static_cast<std::uint32_t>(id.value())};
  const int failed = respond(command, wish.response, response);
  if (failed == 0) {
    keep_for_children(command, id.value());
    return 0;
  }
  // The program does not know its number.
  static_cast<void>(with_rdma_cm(command, [&](RdmaCm& cm) {
    return cm.destroy_id(command.channel.events(), id.value(), command.channel.nic().now());
  }));
  return failed;
}

int destroy_id(const Command& command) {
  const auto wish = command.as<rdma_ucm_destroy_id>();
  const auto fetched = with_rdma_cm(command, [&](RdmaCm& cm) {
    return cm.destroy_id(command.channel.events(), IdNumber{wish.id}, command.channel.nic().now());
  });
  if (!fetched) return errno_of(fetched);
  keep_for_children(command, IdNumber{wish.id});
  return respond(command, wish.response, rdma_ucm_destroy_id_resp{.events_reported = fetched.value()});
}

// The command is written to the channel that the id goes to, and names the one that it leaves.
int migrate_id(const Command& command) {
  const auto wish = command.as<rdma_ucm_migrate_id>();
  const std::shared_ptr<Channel> from = open_channels().find(static_cast<int>(wish.fd));
  if (from == nullptr) return DescriptorIdentity::of(static_cast<int>(wish.fd)) ? EINVAL : ENOENT;
  if (&from->nic() != &command.channel.nic()) return EINVAL;  // the parent's, in a forked child
  const auto fetched = with_rdma_cm(command, [&](RdmaCm& cm) -> Result<std::uint32_t, Error> {
    if (!from->is_open()) return Error{.code = ENOENT, .message = "the channel was closed"};
    return cm.migrate_id(from->events(), IdNumber{wish.id}, command.channel.events());
  });
  if (!fetched) return errno_of(fetched);
  open_channels().forget(*from, IdNumber{wish.id});
  keep_for_children(command, IdNumber{wish.id});
  return respond(command, wish.response, rdma_ucm_migrate_resp{.events_reported = fetched.value()});
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
