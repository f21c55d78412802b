// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program gets that asks for a process' status.
#include "nic/diagnostics/status_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>

namespace urnic::nic {
namespace {

using std::chrono::steady_clock;

class StatusServerTest : public ::testing::Test {
 protected:
  StatusServerTest() {
    char folder[] = "/tmp/urnic-test-XXXXXX";
    folder_ = mkdtemp(folder);
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  }
  ~StatusServerTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path socket_path() const {
    return std::filesystem::path(folder_) / "urnic" / StatusName::own().to_string();
  }

  static int connect_to_it() {
    const auto folder = StatusFolder::open();
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = folder.value().address_of(StatusName::own().to_string());
    if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      shutdown(socket, SHUT_WR);
      return socket;
    }
    close(socket);
    return -1;
  }

  static std::string read_all(int socket) {
    std::string text;
    char part[4096];
    for (ssize_t count = 0; (count = read(socket, part, sizeof part)) > 0;) {
      text.append(part, static_cast<std::size_t>(count));
    }
    close(socket);
    return text;
  }

  std::string folder_;
};

TEST_F(StatusServerTest, SaysTheDocumentToEveryoneWhoAsks) {
  int times = 0;
  const auto server = StatusServer::start(
      {.answer = [&times](std::string_view) { return "document " + std::to_string(++times); }});
  ASSERT_TRUE(server);
  EXPECT_EQ(read_all(connect_to_it()), "document 1");
  EXPECT_EQ(read_all(connect_to_it()), "document 2");
}

TEST_F(StatusServerTest, FitsHoweverLongTheFolderIs) {
  const std::string deep = folder_ + "/" + std::string(120, 'x');
  std::filesystem::create_directory(deep);
  setenv("XDG_RUNTIME_DIR", deep.c_str(), 1);
  const auto server = StatusServer::start({.answer = [](std::string_view) { return std::string("here"); }});
  ASSERT_TRUE(server);
  EXPECT_EQ(read_all(connect_to_it()), "here");
}

TEST_F(StatusServerTest, RemovesItsSocketWhenItEnds) {
  auto server = StatusServer::start({.answer = [](std::string_view) { return std::string(); }});
  ASSERT_TRUE(server);
  EXPECT_TRUE(std::filesystem::exists(socket_path()));
  server.value().reset();
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(folder_) / "urnic"));
}

TEST_F(StatusServerTest, TakesThePlaceOfASocketThatADeadProcessLeft) {
  const auto folder = StatusFolder::open();
  ASSERT_TRUE(folder);
  const int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = folder.value().address_of(StatusName::own().to_string());
  ASSERT_EQ(bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(dead);
  ASSERT_EQ(connect_to_it(), -1);
  const auto server = StatusServer::start({.answer = [](std::string_view) { return std::string("alive"); }});
  ASSERT_TRUE(server);
  EXPECT_EQ(read_all(connect_to_it()), "alive");
}

TEST_F(StatusServerTest, RemovesTheSocketsOfDeadProcessesAndNoOthers) {
  const auto folder = StatusFolder::open();
  ASSERT_TRUE(folder);
  const auto bound = [&folder](const char* name) {
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = folder.value().address_of(name);
    EXPECT_EQ(bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(made, 0), 0);
    return made;
  };
  const int alive = bound("status.4711.17");  // in another PID namespace, where it has that number
  close(bound("status.4712.17"));
  close(bound("pair.sock"));
  std::ofstream(folder_ + "/urnic/status.4713.17") << "a file";
  const auto server = StatusServer::start({.answer = [](std::string_view) { return std::string(); }});
  ASSERT_TRUE(server);
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/urnic")) {
    left.insert(entry.path().filename());
  }
  EXPECT_EQ(left, (std::set<std::string>{"pair.sock", "status.4711.17", "status.4713.17",
                                         StatusName::own().to_string()}));
  close(alive);
}

TEST_F(StatusServerTest, GivesUpAReaderThatDoesNotReadAndServesTheNext) {
  const auto server =
      StatusServer::start({.answer = [](std::string_view) { return std::string(8 << 20, 'x'); }});
  ASSERT_TRUE(server);
  const int sleeper = connect_to_it();
  const auto begin = steady_clock::now();
  EXPECT_EQ(read_all(connect_to_it()).size(), 8u << 20);
  EXPECT_LT(steady_clock::now() - begin, std::chrono::milliseconds(10 * StatusServer::kPatienceMs));
  close(sleeper);
}

TEST_F(StatusServerTest, EndsAtOnceInTheMiddleOfServing) {
  auto server = StatusServer::start({.answer = [](std::string_view) { return std::string(8 << 20, 'x'); }});
  ASSERT_TRUE(server);
  const int sleeper = connect_to_it();
  char byte = 0;
  EXPECT_EQ(read(sleeper, &byte, 1), 1);  // it is being served now
  const auto begin = steady_clock::now();
  server.value().reset();
  EXPECT_LT(steady_clock::now() - begin, std::chrono::milliseconds(StatusServer::kPatienceMs / 2));
  close(sleeper);
}

TEST_F(StatusServerTest, SurvivesReadersThatLeaveAndADocumentThatCannotBeMade) {
  int times = 0;
  const auto server = StatusServer::start({.answer = [&times](std::string_view) -> std::string {
    if (++times == 1) throw std::bad_alloc();
    return std::string(1 << 20, 'x');
  }});
  ASSERT_TRUE(server);
  EXPECT_EQ(read_all(connect_to_it()), "");
  close(connect_to_it());  // SIGPIPE would end the process
  EXPECT_EQ(read_all(connect_to_it()).size(), 1u << 20);
}

TEST_F(StatusServerTest, RefusesWhoConnectsAfterTheParentDiedAndAChildLives) {
  auto server = StatusServer::start({.answer = [](std::string_view) { return std::string("parent"); }});
  ASSERT_TRUE(server);
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    StatusServer::abandon_after_fork(std::move(server.value()));
    char byte = 0;
    const ssize_t count = read(go[0], &byte, 1);
    _exit(count == 1 ? 0 : 1);
  }
  // As death would: nothing is closed in order.
  server.value().reset();
  EXPECT_EQ(connect_to_it(), -1);
  EXPECT_EQ(write(go[1], "x", 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close(go[0]);
  close(go[1]);
}

TEST_F(StatusServerTest, SaysWhyNobodyCanAsk) {
  std::filesystem::create_directory(folder_ + "/urnic");
  chmod((folder_ + "/urnic").c_str(), 0755);
  const auto server = StatusServer::start({.answer = [](std::string_view) { return std::string(); }});
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("open to other users"), std::string::npos) << server.error().message;
}

TEST(StatusSocketName, IsToldFromOtherFiles) {
  EXPECT_TRUE(StatusName::parse(StatusName::own().to_string()));
  EXPECT_TRUE(StatusName::parse("status.1.4026531836"));
  EXPECT_FALSE(StatusName::parse(".status.1.4026531836"));
  EXPECT_FALSE(StatusName::parse("status.1"));
  EXPECT_TRUE(StatusName::parse("status.1.2.3"));
  EXPECT_TRUE(StatusName::parse(StatusName::own(3).to_string()));
  EXPECT_FALSE(StatusName::parse("status.1.2.0"));
  EXPECT_FALSE(StatusName::parse("status.1.2.3.4"));
  EXPECT_FALSE(StatusName::parse("status.1.2."));
  EXPECT_FALSE(StatusName::parse("status.1.x"));
  EXPECT_FALSE(StatusName::parse("pair.sock"));
}

}  // namespace
}  // namespace urnic::nic
