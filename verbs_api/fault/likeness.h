// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which names a person may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace urnic::verbs_api {

/// Which of `names` are like `name`, the likest first, three at most, with commas between; empty if none is.
/// They are like it if few letters would have to change, or one is a part of the other.
std::string names_like(std::string_view name, std::span<const std::string_view> names);

}  // namespace urnic::verbs_api
