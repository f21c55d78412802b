// What programs read below the device's sysfs path, which does not exist: answered from memory.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "verbs_api/address.h"
#include "verbs_api/device_list.h"
#include "verbs_api/process_device.h"
#include "verbs_api/vendor.h"

namespace urnic::verbs_api {
namespace {

/// "fe80:0000:...": eight groups, or four for a GUID.
std::string in_groups(const std::uint8_t* octets, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; i += 2) {
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", octets[i], octets[i + 1]);
  }
  return text;
}

std::string guid_text(const nic::Device& nic) {
  const __be64 guid = node_guid(nic);
  std::array<std::uint8_t, sizeof(guid)> octets{};
  std::memcpy(octets.data(), &guid, sizeof(guid));
  return in_groups(octets.data(), octets.size());
}

/// The number that is all that is left of `name` behind `directory`.
std::optional<std::size_t> index_in(std::string_view directory, std::string_view name) {
  if (name.substr(0, directory.size()) != directory) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(directory.size());
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool is_number = error == std::errc{} && end == digits.data() + digits.size();
  return is_number ? std::optional(index) : std::nullopt;
}

std::optional<std::string> port_text(const nic::Device& nic, std::string_view name) {
  if (name == "state") {
    return "4: ACTIVE";
  }
  if (name == "phys_state") {
    return "5: LinkUp";
  }
  if (name == "link_layer") {
    return "Ethernet";
  }
  if (name == "lid" || name == "sm_lid") {
    return "0x0";
  }
  if (name == "pkeys/0") {
    return "0xffff";
  }
  if (const auto index = index_in("gids/", name); index && *index < nic::GidTable::kEntries) {
    const auto gid = nic.gids().at(*index).value_or(transport::wire::Gid{});
    return in_groups(gid.octets.data(), gid.octets.size());
  }
  if (const auto index = index_in("gid_attrs/types/", name); index && nic.gids().at(*index)) {
    return "RoCE v2";
  }
  return std::nullopt;
}

std::optional<std::string> device_text(const nic::Device& nic, std::string_view name) {
  constexpr std::string_view kPortDirectory = "ports/1/";
  if (name == "board_id") {
    return kBoardId;
  }
  if (name == "fw_ver") {
    return URNIC_VERSION;
  }
  if (name == "hca_type" || name == "node_desc") {
    return "urnic";
  }
  if (name == "node_type") {
    return "1: CA";
  }
  if (name == "node_guid" || name == "sys_image_guid") {
    return guid_text(nic);
  }
  if (name.substr(0, kPortDirectory.size()) == kPortDirectory) {
    return port_text(nic, name.substr(kPortDirectory.size()));
  }
  return std::nullopt;
}

/// Copies text and a terminating zero as far as they fit, without a line feed at the end; returns the length,
/// or -1 when the zero does not fit.
int give(std::string_view text, char* to, std::size_t size) {
  if (!text.empty() && text.back() == '\n') {
    text.remove_suffix(1);
  }
  if (text.size() >= size) {
    errno = ERANGE;
    return -1;
  }
  to[text.copy(to, text.size())] = '\0';
  return static_cast<int>(text.size());
}

int read_from_file_system(const std::string& path, char* to, std::size_t size) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return -1;
  }
  std::string text(size + 1, '\0');  // one more, for the line feed that give() removes
  const ssize_t length = read(fd, text.data(), text.size());
  const int error = errno;
  close(fd);
  if (length < 0) {
    errno = error;
    return -1;
  }
  text.resize(static_cast<std::size_t>(length));
  return give(text, to, size);
}

int read_sysfs_file(std::string_view directory, std::string_view file, char* to, std::size_t size) {
  const auto nic = ProcessDevice::instance().get();
  if (nic && directory == "/sys/class/infiniband/" + nic.value()->config().name) {
    if (const auto text = device_text(*nic.value(), file)) {
      return give(*text, to, size);
    }
    errno = ENOENT;
    return -1;
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
