// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/checks/mapped_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "nic/process/descriptor.h"

namespace urnic::verbs_api {
namespace {

/// The next word of a line.
std::string_view take_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(begin);
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

std::optional<std::uint64_t> read_hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// 7f12a000-7f12b000 rw-s 00001000 fd:01 1234   /path/of/file
std::optional<MappedMemory::Range> read_line(std::string_view line) {
  const std::string_view addresses = take_word(line);
  const std::size_t dash = std::min(addresses.find('-'), addresses.size());
  const auto first = read_hex(addresses.substr(0, dash));
  const auto end = read_hex(addresses.substr(std::min(dash + 1, addresses.size())));
  const std::string_view rights = take_word(line);
  take_word(line);  // the offset in the file
  take_word(line);  // its device
  const std::string_view inode = take_word(line);
  if (!first || !end || rights.size() != 4 || inode.empty()) return std::nullopt;
  const std::size_t name = std::min(line.find_first_not_of(' '), line.size());
  return MappedMemory::Range{.first = *first,
                             .end = *end,
                             .is_shared = rights[3] == 's',
                             .file = inode == "0" ? std::string() : std::string(line.substr(name))};
}

}  // namespace

std::optional<MappedMemory> MappedMemory::read() {
  const nic::Descriptor file(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::string text;
  std::array<char, 65536> part;
  ssize_t length = 0;
  while ((length = ::read(file.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(length));
  }
  return length == 0 ? std::optional(parse(text)) : std::nullopt;
}

MappedMemory MappedMemory::parse(std::string_view text) {
  MappedMemory result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto range = read_line(text.substr(0, end))) result.ranges_.push_back(std::move(*range));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ranges::sort(result.ranges_, {}, &Range::first);
  return result;
}

std::optional<std::uint64_t> MappedMemory::gap(std::uint64_t address, std::uint64_t length) const {
  const std::uint64_t end = address + length;
  auto range = std::ranges::upper_bound(ranges_, address, {}, &Range::end);
  while (address < end) {
    if (range == ranges_.end() || range->first > address) return address;
    address = range->end;
    ++range;
  }
  return std::nullopt;
}

std::optional<std::string> MappedMemory::shared_file(std::uint64_t address, std::uint64_t length) const {
  auto range = std::ranges::upper_bound(ranges_, address, {}, &Range::end);
  for (; range != ranges_.end() && range->first < address + length; ++range) {
    if (range->is_shared && !range->file.empty()) return range->file;
  }
  return std::nullopt;
}

bool is_written_back(const std::string& file) {
  struct statfs facts {};
  if (statfs(file.c_str(), &facts) != 0) return false;
  const auto kind = static_cast<std::uint64_t>(facts.f_type);
  return kind != TMPFS_MAGIC && kind != RAMFS_MAGIC && kind != HUGETLBFS_MAGIC;
}

}  // namespace urnic::verbs_api
