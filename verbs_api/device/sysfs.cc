// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What programs read below the device's sysfs path, which does not exist: answered from memory.
#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "nic/congestion/parameter_files.h"
#include "verbs_api/config/sysfs_text.h"
#include "verbs_api/device/process_devices.h"

namespace urnic::verbs_api {
namespace {

/// Copies text and a terminating zero as far as they fit, without a line feed at the end; returns the length,
/// or -1 when the zero does not fit.
int give(std::string_view text, char* to, std::size_t size) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.size() >= size) {
    errno = ERANGE;
    return -1;
  }
  to[text.copy(to, text.size())] = '\0';
  return static_cast<int>(text.size());
}

int read_from_file_system(const std::string& path, char* to, std::size_t size) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  std::string text(size + 1, '\0');  // one more, for the line feed that give() removes
  const ssize_t length = ::read(fd, text.data(), text.size());
  const int error = errno;
  ::close(fd);
  if (length < 0) {
    errno = error;
    return -1;
  }
  text.resize(static_cast<std::size_t>(length));
  return give(text, to, size);
}

/// The device whose directory that is; null when it is none's.
const nic::Device* find_device(std::string_view directory) {
  const auto devices = ProcessDevices::instance().get();
  if (!devices) return nullptr;
  for (const auto& device : devices.value()) {
    if (directory == "/sys/class/infiniband/" + device->nic().config().name) return &device->nic();
  }
  return nullptr;
}

int read_sysfs_file(std::string_view directory, std::string_view file, char* to, std::size_t size) {
  if (const nic::Device* const nic = find_device(directory)) {
    const auto text = sysfs_text(nic->gids(), nic->config(), file);
    if (text) return give(*text, to, size);
    const nic::CongestionSettings congestion = nic->congestion();
    const bool has_parameters = nic->config().personality->driver_files == nic::DriverFiles::kMlx5;
    for (const nic::ParameterFile& each : nic::parameter_files(congestion.choice, congestion.notifications)) {
      if (has_parameters && each.name == file) return give(std::to_string(each.value), to, size);
    }
    // Counters, and the card on its bus: `urnic run` has made files of them.
  }
  // librdmacm asks, to know how to speak to /dev/infiniband/rdma_cm, which is ours.
  if (directory == "/sys" && file == "class/misc/rdma_cm/abi_version") {
    return give(std::to_string(RDMA_USER_CM_ABI_VERSION), to, size);
  }
  return read_from_file_system(std::string(directory) + '/' + std::string(file), to, size);
}

}  // namespace
}  // namespace urnic::verbs_api

extern "C" {

// Exported, not declared in the installed header.
[[gnu::visibility("default")]] const char* ibv_get_sysfs_path();
[[gnu::visibility("default")]] int ibv_read_sysfs_file(const char* dir, const char* file, char* buf,
                                                       std::size_t size);

const char* ibv_get_sysfs_path() {
  return "/sys";
}

int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, std::size_t size) {
  return urnic::verbs_api::read_sysfs_file(dir, file, buf, size);
}

}  // extern "C"
