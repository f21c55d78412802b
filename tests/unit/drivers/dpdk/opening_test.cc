// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What urnic tells a person when it cannot open a port.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/unit/drivers/dpdk/process.h"
#include "tests/unit/drivers/dpdk/traffic.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// One line that names its subject.
auto is_one_line_about(const std::string& subject, const std::string& reason) {
  return AllOf(HasSubstr(subject), HasSubstr(reason), Not(HasSubstr("|")));
}

std::string error_in_a_child(const nic::PortSpec& spec) {
  Process process(caught([spec](const Process::Parent&) { return error_of_opening(spec); }));
  return process.result();
}

class OpeningAPort : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("wire.sock");
};

TEST_F(OpeningAPort, RefusesAPathThatDoesNotFitASocketAddress) {
  const std::string fits = folder_.path(std::string(107 - folder_.path().size() - 1, 'x'));
  ASSERT_EQ(fits.size(), 107u);
  EXPECT_EQ(error_in_a_child(front_of(fits)), "");
  EXPECT_EQ(error_in_a_child(back_of(fits)), "");
  EXPECT_THAT(error_in_a_child(front_of(fits + "x")), is_one_line_about(fits, "108 bytes"));
  EXPECT_THAT(error_in_a_child(back_of(fits + "x")), is_one_line_about(fits, "108 bytes"));
}

TEST_F(OpeningAPort, CarriesFramesOverTheLongestPath) {
  const std::string path = folder_.path(std::string(107 - folder_.path().size() - 1, 'x'));
  Process back(echo(back_of(path)));
  Process front(caught([path](const Process::Parent&) -> std::string {
    const auto port = open(front_of(path));
    return reach_peer(*port, kPatience) ? "" : "no peer";
  }));
  EXPECT_EQ(front.result(), "");
}

TEST_F(OpeningAPort, RefusesAPathWithAComma) {
  EXPECT_THAT(error_in_a_child(front_of(path_ + ",x")), is_one_line_about(path_, "comma"));
}

TEST_F(OpeningAPort, RefusesAFolderThatIsMissing) {
  EXPECT_THAT(error_in_a_child(front_of(folder_.path("missing/wire.sock"))),
              is_one_line_about("missing/wire.sock", "No such file"));
}

TEST_F(OpeningAPort, RefusesAFileThatIsNotASocketAndLeavesItAlone) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(error_in_a_child(front_of(path_)), is_one_line_about(path_, "not a socket"));
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

TEST_F(OpeningAPort, RefusesASocketThatAnotherFrontServesAndDoesNotDisturbIt) {
  Process first(echo(front_of(path_)));
  ASSERT_TRUE(first.says("open"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(error_in_a_child(front_of(path_)), is_one_line_about(path_, "another process serves it"));
  }
  Process back(caught([this](const Process::Parent&) -> std::string {
    const auto port = open(back_of(path_));
    return reach_peer(*port, kPatience) ? "" : "no peer";
  }));
  EXPECT_EQ(back.result(), "");
}

TEST_F(OpeningAPort, RefusesASocketThatAnyOtherProgramServes) {
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(server, 1), 0);
  EXPECT_THAT(error_in_a_child(front_of(path_)), is_one_line_about(path_, "another process serves it"));
  close(server);
}

TEST_F(OpeningAPort, GivesThePathToOneOfTwoFrontsThatStartTogether) {
  for (int i = 0; i < 5; ++i) {
    const auto hold = caught([this](const Process::Parent& parent) -> std::string {
      const auto port = open(front_of(path_));
      parent.tell("open");
      while (true) pause();
    });
    Process one(hold);
    Process two(hold);
    const auto first_line = one.next_line();
    const auto second_line = two.next_line();
    ASSERT_TRUE(first_line && second_line);
    EXPECT_EQ((*first_line == "open") + (*second_line == "open"), 1) << *first_line << " " << *second_line;
  }
}

TEST_F(OpeningAPort, RefusesAnInterfaceThatIsMissing) {
  EXPECT_THAT(error_in_a_child(interface_port("urnic-none")),
              is_one_line_about("urnic-none", "No such device"));
}

TEST_F(OpeningAPort, NeedsNoPrivilegesForAVhostWire) {
  if (geteuid() != 0) GTEST_SKIP() << "this user is ordinary already: every other test shows it";
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chown(folder_.path().c_str(), kNobody, kNobody), 0);
  const auto as_nobody = [](const Process::Body& body) -> Process::Body {
    return [body](const Process::Parent& parent) -> std::string {
      if (setgid(kNobody) != 0 || setuid(kNobody) != 0) return "cannot become nobody";
      return body(parent);
    };
  };
  Process back(as_nobody(echo(back_of(path_))));
  Process front(as_nobody(caught([this](const Process::Parent&) -> std::string {
    const auto port = open(front_of(path_));
    return exchange_all_lengths(*port, kMinFrame, 0);
  })));
  EXPECT_EQ(front.result(), "");
}

TEST_F(OpeningAPort, NamesTheCapabilityThatAfPacketNeeds) {
  Process process(caught([](const Process::Parent&) -> std::string {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) return "cannot become nobody";
    return error_of_opening(interface_port("lo"));
  }));
  EXPECT_THAT(process.result(), is_one_line_about("lo", "CAP_NET_RAW"));
}

}  // namespace
}  // namespace urnic::drivers
