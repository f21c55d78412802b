// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/counter_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "nic/diagnostics/kernel_counters.h"
#include "nic/diagnostics/shown_counters.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

namespace fs = std::filesystem;

using enum CounterNames;
constexpr CounterNames kEveryList[] = {kOwn, kMlx5, kIrdma, kRxe, kNone};

class CounterFilesTest : public testing::Test {
 protected:
  CounterFilesTest() {
    char folder[] = "/tmp/urnic-test-XXXXXX";
    folder_ = mkdtemp(folder);
    make_files(kOwn);
  }
  ~CounterFilesTest() override { fs::remove_all(folder_); }

  void make_files(CounterNames names) const {
    for (const KernelCounter& counter : kernel_counters(names)) {
      fs::create_directories((folder_ / counter.file).parent_path());
      std::ofstream(folder_ / counter.file) << "0\n";
      fs::permissions(folder_ / counter.file, fs::perms(0444));
    }
  }

  std::string text(const std::string& file) const {
    std::ifstream stream(folder_ / file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  fs::path folder_;
};

// A misspelt source would be a counter that never moves.
TEST_F(CounterFilesTest, ShowOnlyWhatADeviceCounts) {
  DevicePair pair;
  std::set<std::string_view> names;
  for (const auto& [name, value] : pair.a().device().all_counters()) names.insert(name);
  for (const CounterNames list : kEveryList) {
    std::set<std::string_view> files;
    for (const KernelCounter& counter : kernel_counters(list)) {
      EXPECT_TRUE(files.insert(counter.file).second) << name_of(list) << ": " << counter.file;
      EXPECT_TRUE(counter.less.empty() || names.contains(counter.less)) << counter.file;
      for (const std::string_view source : counter.sources) {
        EXPECT_TRUE(source.empty() || names.contains(source)) << counter.file << ": " << source;
      }
    }
  }
}

std::set<std::string> names_below(const std::string& folder, CounterNames list) {
  std::set<std::string> names;
  for (const KernelCounter& counter : kernel_counters(list)) {
    if (counter.file.starts_with(folder)) names.emplace(counter.file.substr(folder.size()));
  }
  return names;
}

std::set<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Typed from hardware fact F10, without `lifespan`.
TEST_F(CounterFilesTest, HaveTheWholeListOfMlx5) {
  EXPECT_EQ(names_below("hw_counters/", kMlx5),
            words("duplicate_request implied_nak_seq_err local_ack_timeout_err np_cnp_sent "
                  "np_ecn_marked_roce_packets out_of_buffer out_of_sequence packet_seq_err req_cqe_error "
                  "req_cqe_flush_error req_remote_access_errors req_remote_invalid_request "
                  "req_rnr_retries_exceeded req_transport_retries_exceeded resp_cqe_error "
                  "resp_cqe_flush_error resp_local_length_error resp_remote_access_errors "
                  "rnr_nak_retry_err roce_adp_retrans roce_adp_retrans_to roce_slow_restart "
                  "roce_slow_restart_cnps roce_slow_restart_trans rp_cnp_handled rp_cnp_ignored "
                  "rx_atomic_requests rx_dct_connect rx_icrc_encapsulated rx_read_requests "
                  "rx_write_requests"));
}

// Fact F12.
TEST_F(CounterFilesTest, HaveTheWholeListOfRxe) {
  EXPECT_EQ(names_below("hw_counters/", kRxe),
            words("sent_pkts rcvd_pkts duplicate_request out_of_seq_request rcvd_rnr_err send_rnr_err "
                  "rcvd_seq_err ack_deferred retry_exceeded_err retry_rnr_exceeded_err "
                  "completer_retry_err send_err link_downed rdma_sends rdma_recvs"));
}

// Fact F11; "where the thing happens and is not counted, there is no file".
TEST_F(CounterFilesTest, HaveOfIrdmaWhatIsCountedAndNothingElse) {
  std::set<std::string> driver = words(
      "rxVlanErrors ip4InDiscards ip4InTruncatedPkts ip4OutNoRoutes ip6InDiscards ip6InTruncatedPkts "
      "ip6OutNoRoutes tcpRetransSegs tcpInOptErrors tcpInProtoErrors cnpHandled cnpIgnored cnpSent "
      "ip4InOctets ip4InPkts ip4InReasmRqd ip4InMcastPkts ip4OutOctets ip4OutPkts ip4OutSegRqd "
      "ip4OutMcastPkts ip6InOctets ip6InPkts ip6InReasmRqd ip6InMcastPkts ip6OutOctets ip6OutPkts "
      "ip6OutSegRqd ip6OutMcastPkts tcpInSegs tcpOutSegs iwInRdmaReads iwInRdmaSends iwInRdmaWrites "
      "iwOutRdmaReads iwOutRdmaSends iwOutRdmaWrites iwRdmaBnd iwRdmaInv ip4InMcastOctets "
      "ip4OutMcastOctets ip6InMcastOctets ip6OutMcastOctets RxUDP TxUDP RxECNMrkd");
  for (const std::string& uncounted : words(
           "ip4InDiscards ip4InTruncatedPkts ip4OutNoRoutes ip6InDiscards ip6InTruncatedPkts ip6OutNoRoutes "
           "ip4InOctets ip4InMcastPkts ip4OutOctets ip4OutMcastPkts ip6InOctets ip6InReasmRqd "
           "ip6InMcastPkts ip6OutOctets ip6OutMcastPkts iwRdmaBnd iwRdmaInv ip4InMcastOctets "
           "ip4OutMcastOctets ip6InMcastOctets ip6OutMcastOctets")) {
    EXPECT_EQ(driver.erase(uncounted), 1u) << uncounted;
  }
  EXPECT_EQ(names_below("hw_counters/", kIrdma), driver);
}

// Fact K5.
TEST_F(CounterFilesTest, HaveAFolderOfThePortWhereTheDriverHasOne) {
  EXPECT_FALSE(names_below("counters/", kOwn).empty());
  EXPECT_TRUE(names_below("counters/", kMlx5).contains("link_downed"));
  EXPECT_TRUE(names_below("counters/", kIrdma).empty());
  EXPECT_TRUE(names_below("counters/", kRxe).empty());
}

// "strict" has what is in the list of each driver.
TEST_F(CounterFilesTest, HaveNothingUnderStrictBecauseNoNameIsInEachList) {
  std::set<std::string> common = names_below("", kMlx5);
  for (const CounterNames list : {kIrdma, kRxe}) {
    std::set<std::string> other = names_below("", list);
    std::erase_if(common, [&](const std::string& name) { return !other.contains(name); });
  }
  EXPECT_TRUE(common.empty());
  EXPECT_TRUE(kernel_counters(kNone).empty());
}

// A flushed send is an error (F1); a refusal is not counted where it is made (F2); what is sent again after a
// timeout counts as a congestion notification (F5).
TEST_F(CounterFilesTest, CountAsMlx5Does) {
  make_files(kMlx5);
  CounterFiles files(folder_, kMlx5);
  files.add({{"req_cqe_error", 2},
             {"req_cqe_flush_error", 3},
             {"resp_remote_access_errors", 1},
             {"rp_cnp_handled", 10},
             {"timeout_repetitions", 12},
             {"roce_adp_retrans", 7},
             {"local_ack_timeout_err", 6}});
  EXPECT_EQ(text("hw_counters/req_cqe_error"), "5\n");
  EXPECT_EQ(text("hw_counters/req_cqe_flush_error"), "0\n");
  EXPECT_EQ(text("hw_counters/resp_remote_access_errors"), "0\n");
  EXPECT_EQ(text("hw_counters/rp_cnp_handled"), "22\n");
  EXPECT_EQ(text("hw_counters/roce_adp_retrans"), "7\n");
  EXPECT_EQ(text("hw_counters/local_ack_timeout_err"), "6\n");
}

TEST_F(CounterFilesTest, CountPacketsOfBothVersionsOfIpApart) {
  make_files(kIrdma);
  CounterFiles files(folder_, kIrdma);
  files.add({{"sent_pkts", 10}, {"sent_ipv6_pkts", 4}});
  EXPECT_EQ(text("hw_counters/TxUDP"), "10\n");
  EXPECT_EQ(text("hw_counters/ip4OutPkts"), "6\n");
  EXPECT_EQ(text("hw_counters/ip6OutPkts"), "4\n");
}

TEST_F(CounterFilesTest, TakeNoLockWhereThereAreNoFiles) {
  CounterFiles files(folder_, kNone);
  files.add({{"sent_pkts", 10}});
  EXPECT_EQ(text("hw_counters/sent_pkts"), "0\n");
}

TEST(ShownCounters, AreTheListThatTheFilesWereMadeFor) {
  for (const CounterNames list : kEveryList) EXPECT_EQ(counter_names_named(name_of(list)), list);
  EXPECT_EQ(counter_names_named("mellanox"), std::nullopt);
  EXPECT_EQ(shown_counter_names("/nowhere", "urnic0"), kOwn);
}

TEST_F(CounterFilesTest, ShowTheSumOfAllThatShareThem) {
  CounterFiles one(folder_, kOwn);
  CounterFiles other(folder_, kOwn);
  one.add({{"port_sent_frames", 5}, {"out_of_sequence", 1}});
  other.add({{"port_sent_frames", 7}});
  EXPECT_EQ(text("counters/port_xmit_packets"), "12\n");
  EXPECT_EQ(text("hw_counters/out_of_sequence"), "1\n");
  one.add({{"port_sent_frames", 95}});
  EXPECT_EQ(text("counters/port_xmit_packets"), "102\n");
}

TEST_F(CounterFilesTest, DoNotGoBackwards) {
  CounterFiles files(folder_, kOwn);
  files.add({{"port_sent_frames", 5}});
  files.add({});
  EXPECT_EQ(text("counters/port_xmit_packets"), "5\n") << "the port was closed";
  CounterFiles next(folder_, kOwn);
  next.add({{"port_sent_frames", 2}});
  EXPECT_EQ(text("counters/port_xmit_packets"), "7\n");
}

// InfiniBand's PortXmitData counts groups of four octets.
TEST_F(CounterFilesTest, ShowDataInUnitsOfFourBytesAndLoseNoRest) {
  CounterFiles files(folder_, kOwn);
  files.add({{"port_sent_bytes", 7}});
  EXPECT_EQ(text("counters/port_xmit_data"), "1\n");
  files.add({{"port_sent_bytes", 8}});
  EXPECT_EQ(text("counters/port_xmit_data"), "2\n");
}

TEST_F(CounterFilesTest, AreNotWritableByProgramsInBetween) {
  CounterFiles files(folder_, kOwn);
  files.add({{"port_sent_frames", 5}});
  struct stat status {};
  ASSERT_EQ(stat((folder_ / "counters/port_xmit_packets").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0444u);
}

TEST_F(CounterFilesTest, WaitNotLongForAProcessThatWasStoppedAndAddItLater) {
  CounterFiles files(folder_, kOwn);
  const std::string first = folder_ / kernel_counters(kOwn).front().file;
  const int stopped = open(first.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(stopped, LOCK_EX), 0);
  files.add({{"port_sent_frames", 5}});
  EXPECT_EQ(text("counters/port_xmit_packets"), "0\n");
  close(stopped);
  files.add({{"port_sent_frames", 6}});
  EXPECT_EQ(text("counters/port_xmit_packets"), "6\n");
}

TEST_F(CounterFilesTest, PassOverWhatIsNoFile) {
  const fs::path there = folder_ / "counters/port_xmit_packets";
  fs::remove(there);
  fs::create_symlink("/dev/null", there);
  fs::remove(folder_ / "counters/port_rcv_packets");
  CounterFiles files(folder_, kOwn);
  files.add({{"port_sent_frames", 5}, {"port_received_frames", 5}, {"sent_pkts", 4}});
  EXPECT_EQ(text("hw_counters/sent_pkts"), "4\n");
  EXPECT_FALSE(fs::exists(folder_ / "counters/port_rcv_packets"));
}

}  // namespace
}  // namespace urnic::nic
