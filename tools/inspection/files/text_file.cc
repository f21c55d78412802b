// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/files/text_file.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace urnic::tools {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;

/// Not the function itself, whose attributes a template would drop.
struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Result<std::string, Error> read_text_file(const std::string& path) {
  const auto trouble = [&](int code) {
    return Error{.code = code,
                 .message = fmt::format("cannot read {}: {}", path, std::generic_category().message(code))};
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) return trouble(errno);
  std::string text(kMaxFileBytes, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return trouble(errno);
  if (text.size() == kMaxFileBytes) return trouble(EFBIG);
  return text;
}

}  // namespace urnic::tools
