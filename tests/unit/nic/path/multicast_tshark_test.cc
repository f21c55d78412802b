// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What tshark says of multicast reports: it finds every checksum right, and reads what was meant.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/pcap_file.h"
#include "tests/unit/nic/path/multicast_host.h"

namespace urnic::nic::test {
namespace {

/// What `command` prints; nothing when it fails.
std::string output_of(const std::string& command) {
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  std::string output;
  char part[256];
  while (pipe != nullptr && fgets(part, sizeof part, pipe) != nullptr) output += part;
  return pipe != nullptr && pclose(pipe) == 0 ? output : "";
}

/// A line for each frame: what tshark reads in the fields.
std::string dissected(const std::vector<Bytes>& frames, const std::vector<std::string>& fields) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("multicast_" + std::to_string(getpid()) + ".pcap");
  std::vector<urnic::test::CapturedFrame> captured;
  for (const Bytes& frame : frames) captured.push_back({.bytes = frame, .bytes_on_wire = frame.size()});
  EXPECT_TRUE(urnic::test::write_pcap(path, captured));
  std::string command = "tshark -o ip.check_checksum:TRUE -r '" + path.string() + "' -T fields";
  for (const std::string& field : fields) command += " -e " + field;
  const std::string output = output_of(command);
  std::filesystem::remove(path);
  return output;
}

class MulticastReportsInTshark : public testing::Test {
 protected:
  void SetUp() override {
    if (output_of("tshark --version").empty()) GTEST_SKIP() << "tshark is not installed";
  }

  /// Joins that share a report, an answer, leaves.
  static std::vector<Bytes> say_everything(MulticastHost& host, const std::vector<std::string>& groups,
                                           std::size_t query) {
    for (const std::string& group : groups) host.join(group);
    host.run_for(2s);
    host.receive(linux_multicast_frame(query));
    host.run_for(1s);
    for (const std::string& group : groups) host.leave(group);
    host.run_for(2s);
    return host.take_sent();
  }
};

const std::vector<std::string> kIgmpGroups = {"::ffff:239.255.255.255", "::ffff:224.0.0.251"};
const std::vector<std::string> kMldGroups = {"ff0e::ffff:ffff", "ff02::fb"};
const std::vector<std::string> kIgmpFields = {"eth.dst",
                                              "vlan.id",
                                              "ip.dst",
                                              "ip.ttl",
                                              "ip.checksum.status",
                                              "igmp.checksum.status",
                                              "igmp.version",
                                              "igmp.type",
                                              "igmp.record_type",
                                              "igmp.maddr",
                                              "_ws.malformed"};

TEST_F(MulticastReportsInTshark, AreThoseOfIgmp3) {
  MulticastHost host;
  const auto frames = say_everything(host, kIgmpGroups, kGeneralQuery3);
  const std::string head = "01:00:5e:00:00:16\t\t224.0.0.22\t1\t1\t1\t3\t0x22\t";
  const std::string groups = "\t239.255.255.255,224.0.0.251\t\n";
  const std::string output = dissected(frames, kIgmpFields);
  EXPECT_EQ(output.substr(0, output.find('\n') + 1), head + "4,4" + groups);
  EXPECT_NE(output.find(head + "2,2" + groups), std::string::npos) << output;
  EXPECT_NE(output.find(head + "3,3" + groups), std::string::npos) << output;
}

TEST_F(MulticastReportsInTshark, AreThoseOfIgmp2OnAVlan) {
  DeviceConfig config = config_of_host(1);
  config.vlan = 4094;
  MulticastHost host(config);
  Bytes query = linux_multicast_frame(kGeneralQuery2);
  const Bytes tag = {std::byte{0x81}, std::byte{0}, std::byte{0x0f}, std::byte{0xfe}};
  query.insert(query.begin() + 12, tag.begin(), tag.end());
  ASSERT_TRUE(host.receive(query));
  host.join(kIgmpGroups[0]);
  host.run_for(2s);
  host.leave(kIgmpGroups[0]);
  const std::string report =
      "01:00:5e:7f:ff:ff\t4094\t239.255.255.255\t1\t1\t1\t2\t0x16\t\t239.255.255.255\t\n";
  EXPECT_EQ(dissected(host.take_sent(), kIgmpFields),
            report + report + "01:00:5e:00:00:02\t4094\t224.0.0.2\t1\t1\t1\t2\t0x17\t\t239.255.255.255\t\n");
}

TEST_F(MulticastReportsInTshark, AreThoseOfIgmp1) {
  MulticastHost host;
  Bytes query = linux_multicast_frame(kGeneralQuery2);
  query.at(14 + 24 + 1) = std::byte{0};
  query.at(14 + 24 + 3) = std::byte{0xff};  // the checksum
  ASSERT_TRUE(host.receive(query));
  host.join(kIgmpGroups[1]);
  EXPECT_EQ(dissected(host.take_sent(), kIgmpFields),
            "01:00:5e:00:00:fb\t\t224.0.0.251\t1\t1\t1\t1\t0x12\t\t224.0.0.251\t\n");
}

const std::vector<std::string> kMldFields = {"eth.dst",
                                             "ipv6.dst",
                                             "ipv6.hlim",
                                             "ipv6.opt.router_alert",
                                             "icmpv6.checksum.status",
                                             "icmpv6.type",
                                             "icmpv6.mldr.mar.record_type",
                                             "icmpv6.mldr.mar.multicast_address",
                                             "icmpv6.mld.multicast_address",
                                             "_ws.malformed"};

TEST_F(MulticastReportsInTshark, AreThoseOfMld2) {
  MulticastHost host;
  const auto frames = say_everything(host, kMldGroups, kMldGeneralQuery2);
  const std::string head = "33:33:00:00:00:16\tff02::16\t1\t0\t1\t143\t";
  const std::string groups = "\tff0e::ffff:ffff,ff02::fb\t\t\n";
  const std::string output = dissected(frames, kMldFields);
  EXPECT_EQ(output.substr(0, output.find('\n') + 1), head + "4,4" + groups);
  EXPECT_NE(output.find(head + "2,2" + groups), std::string::npos) << output;
  EXPECT_NE(output.find(head + "3,3" + groups), std::string::npos) << output;
}

TEST_F(MulticastReportsInTshark, AreThoseOfMld1) {
  MulticastHost host;
  ASSERT_TRUE(host.receive(linux_multicast_frame(kMldGeneralQuery1)));
  host.join(kMldGroups[0]);
  host.run_for(2s);
  host.leave(kMldGroups[0]);
  const std::string report = "33:33:ff:ff:ff:ff\tff0e::ffff:ffff\t1\t0\t1\t131\t\t\tff0e::ffff:ffff\t\n";
  EXPECT_EQ(dissected(host.take_sent(), kMldFields),
            report + report + "33:33:00:00:00:02\tff02::2\t1\t0\t1\t132\t\t\tff0e::ffff:ffff\t\n");
}

}  // namespace
}  // namespace urnic::nic::test
