// How another program of the user takes the link of a NIC down and up: requests to its StatusServer.
#pragma once

#include <string_view>

namespace urnic::nic {

inline constexpr std::string_view kLinkDown = "link down";
inline constexpr std::string_view kLinkUp = "link up";
/// The answer to a request that was carried out; any other is a reason, for a person.
inline constexpr std::string_view kLinkDone = "done";

}  // namespace urnic::nic
