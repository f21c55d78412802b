// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What `urnic --version` says: which urnic this is, how it was built, and what it does on this processor.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/command/build_facts.h"

namespace urnic::tools {

struct Version {
  std::string number;  ///< "1.0.0"
  std::string commit;
  BuildFacts build;
  std::vector<std::string> processor;  ///< what it has of what urnic and ISA-L ask about, as Linux names it
  std::string crc_copy;                ///< how a packet is copied and gets its CRC in one pass; empty: in two
  bool catches_faults = false;         ///< memory that a program takes away fails its work request
};

/// This urnic, on this processor.
Version this_version();

/// Lines for people, the last one without its end. The first is "urnic NUMBER" and nothing else: scripts read
/// it.
std::string text_of(const Version& version);
/// One object for programs. Within a version of urnic's command line members are only added.
nlohmann::ordered_json json_of(const Version& version);

}  // namespace urnic::tools
