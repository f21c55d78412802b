// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/policy_text.h"

#include <gtest/gtest.h>

namespace urnic::check {
namespace {

TEST(PolicyText, SaysHowFarApartCnpsAre) {
  CongestionPolicy policy;
  ASSERT_TRUE(read_cnp_spacing("50us", policy));
  EXPECT_EQ(policy.cnp_spacing_ns, 50'000);
  EXPECT_EQ(policy.cnp_scope, CnpScope::kQueuePair);
  ASSERT_TRUE(read_cnp_spacing("0.5ms:port", policy));
  EXPECT_EQ(policy.cnp_spacing_ns, 500'000);
  EXPECT_EQ(policy.cnp_scope, CnpScope::kPort);
  ASSERT_TRUE(read_cnp_spacing("4us:address", policy));
  EXPECT_EQ(policy.cnp_scope, CnpScope::kAddress);
}

TEST(PolicyText, SaysTheRateOfALinkAndItsHost) {
  CongestionPolicy policy;
  ASSERT_TRUE(read_link_rate("2.5Gb/s", policy));
  EXPECT_DOUBLE_EQ(policy.link_rate_bps, 2.5e9);
  ASSERT_TRUE(read_link_host("02:00:00:aB:00:01", policy));
  ASSERT_EQ(policy.link_host.size(), 1u);
  EXPECT_EQ(to_string(policy.link_host[0]), "02:00:00:ab:00:01");
  ASSERT_TRUE(read_link_host("02:00:00:00:00:01,02:00:00:00:00:02", policy));
  ASSERT_EQ(policy.link_host.size(), 2u);
  EXPECT_EQ(to_string(policy.link_host[1]), "02:00:00:00:00:02");
}

TEST(PolicyText, RefusesWhatIsNone) {
  CongestionPolicy policy;
  for (const char* text :
       {"", "50", "us", "50 us", "-50us", "0us", "0.4ns", "1e3us", "inf us", "infus", "50us:", "50us:QP",
        "50us:qp:", "1..2us", "2000000s", "50min", ".us", "50us:qp "}) {
    EXPECT_FALSE(read_cnp_spacing(text, policy)) << text;
  }
  for (const char* text :
       {"", "100", "100G", "100Gbps", "0Gb/s", "-1Gb/s", "1000Tb/s", "100 Gb/s", "nanb/s"}) {
    EXPECT_FALSE(read_link_rate(text, policy)) << text;
  }
  for (const char* text :
       {"", "02:00:00:00:00", "02:00:00:00:00:1", "02-00-00-00-00-01", "02:00:00:00:00:0g",
        "03:00:00:00:00:01", "02:00:00:00:00:001", "+2:00:00:00:00:01", "02:00:00:00:00:01,",
        ",02:00:00:00:00:01", "02:00:00:00:00:01,03:00:00:00:00:01"}) {
    EXPECT_FALSE(read_link_host(text, policy)) << text;
  }
  EXPECT_EQ(policy.cnp_spacing_ns, 0);
  EXPECT_EQ(policy.link_rate_bps, 0);
  EXPECT_TRUE(policy.link_host.empty());
}

}  // namespace
}  // namespace urnic::check
