// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What CMake knows about this build. The values are in two files that it writes: build_facts.cc when it
// configures the build, and commit.cc, which every build looks at (write_commit.cmake).
#pragma once

namespace urnic::tools {

struct BuildFacts {
  const char* type;           ///< as CMake names it, or "none"
  const char* compiler;       ///< "GNU 12.2.0"
  const char* machine;        ///< "x86_64"
  const char* dpdk;           ///< its version; empty: there are no DPDK ports, and no drop-in
  const char* sanitizers;     ///< what -fsanitize= says; empty: none
  bool has_lto;               ///< optimised across the files of the product
  const char* first_node;     ///< "IBVERBS_1.0": the public symbol versions of libibverbs that the drop-in
  const char* last_node;      ///< has begin and end with these
  const char* private_nodes;  ///< "34 57": the numbers of IBVERBS_PRIVATE_... that it has
};
extern const BuildFacts kBuildFacts;

/// The commit that was built, as git names it, with "-dirty" where files differ from it; "unknown" where
/// there is neither a repository nor an archive that git made.
extern const char* const kCommit;

}  // namespace urnic::tools
