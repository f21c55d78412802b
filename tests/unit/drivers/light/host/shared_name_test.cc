// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/shared_name.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "drivers/host/switch_connection.h"
#include "drivers/unix_address.h"
#include "tests/unit/drivers/light/host/running_switch.h"
#include "tests/unit/drivers/light/temporary_folder.h"

namespace urnic::drivers {
namespace {

using namespace test;
using ::testing::HasSubstr;

class SharedNameTest : public testing::Test {
 protected:
  nic::SwitchFiles files_in(const TemporaryFolder& folder) const {
    return {.control_socket = folder.file("host.sock"),
            .lock = folder.file("host.lock"),
            .log = folder.file("host.log"),
            .shared_socket = fmt::format("@urnic-shared-name-test-{}", getpid())};
  }

  const TemporaryFolder folder_;
  const TemporaryFolder other_folder_;
  const nic::SwitchFiles files_ = files_in(folder_);
};

TEST_F(SharedNameTest, IsOneSwitchsWhateverItsFolder) {
  const RunningSwitch host(files_);
  const auto claimed = claim_shared_name(files_in(other_folder_));
  ASSERT_FALSE(claimed);
  EXPECT_EQ(claimed.error().code, EBUSY);
  EXPECT_THAT(claimed.error().message, HasSubstr("is served already by process"));
}

TEST_F(SharedNameTest, IsFreeAgainAfterItsSwitch) {
  { const RunningSwitch host(files_); }
  const auto claimed = claim_shared_name(files_in(other_folder_));
  ASSERT_TRUE(claimed);
  EXPECT_TRUE(claimed.value());
}

TEST_F(SharedNameTest, LeadsNowhereBeforeItsSwitchTakesRequests) {
  const auto claimed = claim_shared_name(files_);
  ASSERT_TRUE(claimed && claimed.value());
  const auto connection = SwitchConnection::connect(files_);
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, ENOENT);
}

TEST_F(SharedNameTest, IsDoneWithoutWhereAnotherUserHasIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t other_user = fork();
  if (other_user == 0) {
    const int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    const auto name = UnixAddress::of(files_.shared_socket);
    const bool has_it =
        setuid(65533) == 0 && bind(listener, name->get(), name->bytes()) == 0 && listen(listener, 8) == 0;
    [[maybe_unused]] const auto told = write(ready[1], has_it ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  {
    const RunningSwitch host(files_);
    const auto connection = SwitchConnection::connect(files_);
    EXPECT_TRUE(connection);
    if (connection) {
      EXPECT_EQ(connection.value().name(), files_.control_socket);
    }
  }
  kill(other_user, SIGKILL);
  waitpid(other_user, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace urnic::drivers
