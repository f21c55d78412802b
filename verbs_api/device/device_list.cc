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

#include "verbs_api/device/failure.h"
#include "verbs_api/device/process_device.h"
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

/// Made once: a program may hold it forever, whatever lists it frees. Its name does not change in a forked
/// child.
ibv_device& the_device(const nic::Device& nic) {
  static DeviceBlock block;
  static std::once_flag filled;
  std::call_once(filled, [&nic] {
    const std::string& name = nic.config().name;
    block.operations = kNoOperations.data();
    block.device.node_type = IBV_NODE_CA;
    block.device.transport_type = IBV_TRANSPORT_IB;
    copy_text(block.device.name, name);
    copy_text(block.device.dev_name, "uverbs0");
    copy_text(block.device.dev_path, "/sys/class/infiniband_verbs/uverbs0");
    copy_text(block.device.ibdev_path, "/sys/class/infiniband/" + name);
  });
  return block.device;
}

}  // namespace

__be64 node_guid(const nic::Device& nic) {
  return htobe64(nic.gids().node_guid());
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::node_guid;
using urnic::verbs_api::or_out_of_memory;
using urnic::verbs_api::ProcessDevice;
using urnic::verbs_api::report;
using urnic::verbs_api::the_device;
using urnic::verbs_api::Verb;

extern "C" {

ibv_device** ibv_get_device_list(int* num_devices) {
  if (num_devices != nullptr) *num_devices = 0;
  return or_out_of_memory([&]() -> ibv_device** {
    const auto nic = ProcessDevice::instance().get();
    if (!nic) return fail(report(nic.error()));
    if (const int error = injected_error(Verb::kGetDeviceList); error != 0) return fail(error);
    // The device and the null pointer after it.
    auto** const list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
    if (list == nullptr) return fail(ENOMEM);
    list[0] = &the_device(*nic.value());
    if (num_devices != nullptr) *num_devices = 1;
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

__be64 ibv_get_device_guid(ibv_device*) {
  const auto nic = ProcessDevice::instance().get();
  return nic ? node_guid(*nic.value()) : 0;
}

}  // extern "C"
