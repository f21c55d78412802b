// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is answered about devices, ports, nodes and the system.
#include <sys/sysmacros.h>

#include <cerrno>

#include "tools/runtime/netlink/conversation.h"

namespace urnic::netlink {
namespace {

constexpr std::uint8_t kChannelAdapter = 1;  // RDMA_NODE_IB_CA

/// A number of a device as the kernel sends it (huge_encode_dev()).
std::uint64_t encoded(dev_t device) {
  const std::uint64_t minor_number = minor(device);
  return (minor_number & 0xff) | (std::uint64_t{major(device)} << 8) | ((minor_number & ~0xffULL) << 12);
}

}  // namespace

const std::vector<Device>& Conversation::devices() {
  if (!devices_) devices_ = state_.devices();
  return *devices_;
}

const std::vector<tools::NicProcess>& Conversation::processes() {
  if (!processes_) processes_ = state_.processes();
  return *processes_;
}

const Device* Conversation::named_device() {
  const auto index = attributes_.u32(RDMA_NLDEV_ATTR_DEV_INDEX);
  if (!index || *index < first_index() || *index - first_index() >= devices().size()) return nullptr;
  return &devices()[*index - first_index()];
}

const Device* Conversation::device_of_named_port() {
  return attributes_.u32(RDMA_NLDEV_ATTR_PORT_INDEX) == kPort ? named_device() : nullptr;
}

AttributeWriter Conversation::handle_of(const Device& device) {
  AttributeWriter attributes;
  attributes.u32(RDMA_NLDEV_ATTR_DEV_INDEX, index_of(device));
  attributes.text(RDMA_NLDEV_ATTR_DEV_NAME, device.name);
  return attributes;
}

void Conversation::describe(const Device& device) {
  AttributeWriter attributes = handle_of(device);
  attributes.u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  if (!device.firmware.empty()) attributes.text(RDMA_NLDEV_ATTR_FW_VERSION, device.firmware);
  attributes.u64(RDMA_NLDEV_ATTR_NODE_GUID, device.node_guid);
  attributes.u64(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, device.system_guid);
  attributes.u8(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, kChannelAdapter);
  attributes.u8(RDMA_NLDEV_ATTR_DEV_DIM, 0);
  attributes.text(RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
  say(attributes);
}

/// LID, subnet and capabilities are InfiniBand's alone.
void Conversation::describe_port(const Device& device) {
  AttributeWriter attributes = handle_of(device);
  attributes.u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  attributes.u8(RDMA_NLDEV_ATTR_PORT_STATE, device.port_state);
  attributes.u8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, device.port_physical_state);
  if (!device.interface.empty()) {
    attributes.u32(RDMA_NLDEV_ATTR_NDEV_INDEX, device.interface_index);
    attributes.text(RDMA_NLDEV_ATTR_NDEV_NAME, device.interface);
  }
  say(attributes);
}

std::optional<Failure> Conversation::get() {
  const Device* const device = named_device();
  if (device == nullptr) return Failure{EINVAL};
  describe(*device);
  return std::nullopt;
}

std::optional<Failure> Conversation::dump_all() {
  for (const Device& device : devices()) describe(device);
  return std::nullopt;
}

std::optional<Failure> Conversation::port_get() {
  const Device* const device = device_of_named_port();
  if (device == nullptr) return Failure{EINVAL};
  describe_port(*device);
  return std::nullopt;
}

std::optional<Failure> Conversation::port_dump() {
  const Device* const device = named_device();
  if (device == nullptr) return Failure{EINVAL};
  describe_port(*device);
  return std::nullopt;
}

std::optional<Failure> Conversation::system_get() {
  constexpr std::uint8_t kShared = 1;  // devices are seen in all network namespaces
  AttributeWriter attributes;
  attributes.u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, kShared);
  // Registered memory needs no care around a fork: the NIC copies in the process that registered it.
  attributes.u8(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
  say(attributes);
  return std::nullopt;
}

/// For librdmacm the node of rdma_cm, for others a device's node of verbs. No client of the kernel's has the
/// other types here.
std::optional<Failure> Conversation::node_get() {
  constexpr std::uint64_t kRdmaCmAbi = 4;  // RDMA_USER_CM_MAX_ABI_VERSION of rdma_user_cm.h
  const auto type = attributes_.text(RDMA_NLDEV_ATTR_CHARDEV_TYPE);
  const bool has_device = attributes_.has(RDMA_NLDEV_ATTR_DEV_INDEX);
  if (!type || (!has_device && attributes_.has(RDMA_NLDEV_ATTR_PORT_INDEX))) return Failure{EINVAL};
  const Device* const device = named_device();
  if (has_device && device == nullptr) return Failure{EINVAL};
  std::optional<Node> node;
  if (!has_device && type == "rdma_cm") {
    node = Node{.name = "rdma_cm", .device = rdma_cm_, .abi = kRdmaCmAbi};
  } else if (has_device && type == "uverbs") {
    node = device->verbs_node;
  }
  if (!node) return Failure{EOPNOTSUPP, kNotOffered};
  AttributeWriter attributes;
  attributes.u64(RDMA_NLDEV_ATTR_CHARDEV, encoded(node->device));
  attributes.u64(RDMA_NLDEV_ATTR_CHARDEV_ABI, node->abi);
  attributes.text(RDMA_NLDEV_ATTR_CHARDEV_NAME, node->name);
  say(attributes);
  return std::nullopt;
}

}  // namespace urnic::netlink
