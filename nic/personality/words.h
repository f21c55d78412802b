// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What people are told of the values of a Personality.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nic/personality/personality.h"

namespace urnic::nic {

std::string_view words_of(GrantedRoom room);
std::string_view words_of(RoomReturn moment);
std::string_view words_of(PostError error);
std::string_view words_of(EarlyPost post);
std::string_view words_of(AtomicAddress address);
std::string_view words_of(UndefinedFields fields);
std::string_view words_of(VendorErrors errors);
std::string_view words_of(GrhFlag flag);
std::string_view words_of(ImmediateFlag flag);
std::string_view words_of(UnpolledCompletions completions);
std::string_view words_of(NamedFailure failure);
std::string_view words_of(AckTimers timers);
std::string_view words_of(SevenRetries retries);
std::string_view words_of(LongSend send);
std::string_view words_of(LongWrite write);
std::string_view words_of(GidEntries entries);
std::string_view words_of(CounterNames names);
std::string_view words_of(DriverFiles files);
std::string_view words_of(Offer offer);
/// Hexadecimal from 2^32 on.
std::string words_of(std::uint64_t number);

}  // namespace urnic::nic
