// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/device_list.h"

#include <endian.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>
#include <string>

#include "verbs_api/config/environment_values.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/process_devices.h"
#include "verbs_api/fault/call_faults.h"

namespace urnic::verbs_api {
namespace {

/// libmlx5 and libefa find out whether a device is theirs by the pointer right after the public struct, which
/// libibverbs sets to the driver's operations. It must be readable, and not theirs.
struct DeviceBlock {
  ibv_device device;
  const void* operations;
  std::array<std::byte, 64> tail;  // reference count, list and sysfs pointers in libibverbs
};
static_assert(offsetof(DeviceBlock, operations) == 664);

constexpr std::array<std::byte, 256> kNoOperations{};

void copy_text(std::span<char> to, const std::string& text) {
  to[text.copy(to.data(), to.size() - 1)] = '\0';
}

/// Each is made once: a program may hold it forever, whatever lists it frees. Their names do not change in a
/// forked child.
constinit std::array<DeviceBlock, kMaxDevices> device_blocks{};
constinit std::array<std::once_flag, kMaxDevices> are_filled;

}  // namespace

ibv_device& device_of(const nic::Device& nic) {
  const unsigned number = nic.config().number;
  DeviceBlock& block = device_blocks[number];
  std::call_once(are_filled[number], [&nic, &block, number] {
    const std::string& name = nic.config().name;
    const std::string uverbs = "uverbs" + std::to_string(number);
    block.operations = kNoOperations.data();
    block.device.node_type = IBV_NODE_CA;
    block.device.transport_type = IBV_TRANSPORT_IB;
    copy_text(block.device.name, name);
    copy_text(block.device.dev_name, uverbs);
    copy_text(block.device.dev_path, "/sys/class/infiniband_verbs/" + uverbs);
    copy_text(block.device.ibdev_path, "/sys/class/infiniband/" + name);
  });
  return block.device;
}

std::optional<unsigned> number_of(const ibv_device& device) {
  for (unsigned number = 0; number < kMaxDevices; ++number) {
    if (&device_blocks[number].device == &device) return number;
  }
  return std::nullopt;
}

__be64 node_guid(const nic::Device& nic) {
  return htobe64(nic.gids().node_guid());
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::device_of;
using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::node_guid;
using urnic::verbs_api::number_of;
using urnic::verbs_api::or_out_of_memory;
using urnic::verbs_api::ProcessDevices;
using urnic::verbs_api::report;
using urnic::verbs_api::Verb;

extern "C" {

ibv_device** ibv_get_device_list(int* num_devices) {
  if (num_devices != nullptr) *num_devices = 0;
  return or_out_of_memory([&]() -> ibv_device** {
    const auto devices = ProcessDevices::instance().get();
    if (!devices) return fail(report(devices.error()));
    if (const int error = injected_error(Verb::kGetDeviceList); error != 0) return fail(error);
    const std::size_t count = devices.value().size();
    // The devices and the null pointer after them.
    auto** const list = static_cast<ibv_device**>(std::calloc(count + 1, sizeof(ibv_device*)));
    if (list == nullptr) return fail(ENOMEM);
    for (std::size_t i = 0; i < count; ++i) list[i] = &device_of(devices.value()[i]->nic());
    if (num_devices != nullptr) *num_devices = static_cast<int>(count);
    return list;
  });
}

void ibv_free_device_list(ibv_device** list) {
  std::free(list);
}

const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

// There is no kernel device, and so no index of one.
int ibv_get_device_index(ibv_device*) {
  return -1;
}

__be64 ibv_get_device_guid(ibv_device* device) {
  const auto devices = ProcessDevices::instance().get();
  const auto number = number_of(*device);
  const bool is_there = devices && number && *number < devices.value().size();
  return is_there ? node_guid(devices.value()[*number]->nic()) : 0;
}

}  // extern "C"
