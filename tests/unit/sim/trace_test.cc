// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A world that writes its trace is the one that does not.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <memory>

#include "tools/simulation/seeds/runner.h"

namespace urnic::sim {
namespace {

TEST(Trace, ChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> trace(std::tmpfile(), std::fclose);
    ASSERT_NE(trace, nullptr);
    const Options options = Options::draw(seed, {});
    const SeedResult traced = run_seed(options, /*twice=*/true, trace.get());
    EXPECT_FALSE(traced.failure) << traced.failure->what;
    EXPECT_GT(std::ftell(trace.get()), 0);
    EXPECT_EQ(traced.trace_hash, run_seed(options, /*twice=*/false, nullptr).trace_hash) << "seed " << seed;
  }
}

}  // namespace
}  // namespace urnic::sim
