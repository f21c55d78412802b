// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/drivers/dpdk/wire_namespace.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/unit/drivers/dpdk/traffic.h"

namespace urnic::drivers {
namespace {

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return file.flush().good();
}

// Moves this process into a network namespace that ends with it and its children. An ordinary user may do
// that where the system lets users make user namespaces.
bool enter_own_namespace() {
  const uid_t user = geteuid();
  if (user == 0) return unshare(CLONE_NEWNET) == 0;
  return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", fmt::format("0 {} 1", user)) &&
         write_file("/proc/self/gid_map", fmt::format("0 {} 1", getegid()));
}

// A veth pair, "near" and "far", with this MTU, up. Without IPv6 no other program speaks on it.
bool make_wire(int mtu) {
  const auto command = fmt::format(
      "for i in all default; do echo 1 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; done 2> /dev/null;"
      "ip link add near mtu {0} type veth peer name far mtu {0} && ip link set near up && ip link set far up",
      mtu);
  return std::system(command.c_str()) == 0;
}

constexpr const char* kNoNamespace = "no namespace";

}  // namespace

void on_a_wire(int mtu, const std::function<std::string()>& scenario) {
  Process process(caught([&](const Process::Parent&) -> std::string {
    if (!enter_own_namespace() || !make_wire(mtu)) return kNoNamespace;
    return scenario();
  }));
  const std::string result = process.result();
  if (result == kNoNamespace) GTEST_SKIP() << "this user may not make network namespaces and interfaces";
  EXPECT_EQ(result, "");
}

std::string run(const Process::Body& body) {
  return Process(body).result();
}

}  // namespace urnic::drivers
