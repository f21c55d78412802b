// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/workload_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/experiment/laboratory.h"

namespace urnic::experiment::test {
namespace {

using namespace std::chrono_literals;
using testing::StartsWith;

network::Topology three_hosts() {
  return topology_of(
      R"({"profiles": [{"name": "p"}], "switches": [{"name": "s", "profile": "p"}], "hosts": ["a", "b", "c"], "links": [
      {"ends": ["a", "s"], "rate": "10Gb/s", "delay": "1us"}, {"ends": ["b", "s"], "rate": "10Gb/s", "delay": "1us"},
      {"ends": ["c", "s"], "rate": "10Gb/s", "delay": "1us"}]})");
}

std::string complaint(std::string_view text) {
  const auto workload = parse_workload(text, three_hosts(), 1);
  return workload ? "" : workload.error().message;
}

TEST(WorkloadFile, SaysEverything) {
  const Workload workload = workload_of(
      R"({"name": "w", "path_mtu": 2048, "congestion": "dcqcn:hpcc,line_rate=1000", "ack_timeout": 10, "retry_count": 3,
      "window": 77, "until": "5ms", "faults": {"b": "loss=0.5"}, // and a comment
      "jobs": [{"pattern": "flow", "name": "j", "from": "a", "to": "c", "bytes": "10kB", "message": "4kB", "posted": 3, "elements": 2, "dscp": 26,
                "operation": "send", "start": "2us"}]})",
      three_hosts());
  EXPECT_EQ(workload.name, "w");
  EXPECT_EQ(workload.path_mtu, transport::PathMtu::k2048);
  EXPECT_TRUE(workload.congestion.choice.needs_marks());
  EXPECT_EQ(workload.congestion.choice.line_rate, 1'000'000'000u);
  EXPECT_EQ(workload.ack_timeout, 10);
  EXPECT_EQ(workload.retry_count, 3);
  EXPECT_EQ(workload.window_packets, 77u);
  EXPECT_EQ(workload.until, Duration(5ms));
  EXPECT_EQ(workload.faults.at(HostId(1)).loss, 0.5);
  ASSERT_EQ(workload.jobs.size(), 1u);
  const Job& job = workload.jobs[0];
  EXPECT_EQ(job.name, "j");
  EXPECT_EQ(job.message_bytes, 4000u);
  EXPECT_EQ(job.messages_posted, 3u);
  EXPECT_EQ(job.elements, 2u);
  EXPECT_EQ(job.dscp, 26);
  EXPECT_EQ(job.start, Duration(2us));
  ASSERT_EQ(workload.steps.size(), 1u);
  EXPECT_EQ(workload.steps[0].operation, Operation::kSend);
  EXPECT_EQ(workload.steps[0].host, HostId(0));
  EXPECT_EQ(workload.steps[0].peer, HostId(2));
  EXPECT_EQ(workload.steps[0].bytes, 10'000u);
}

TEST(WorkloadFile, SaysWhatIsWrongAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "workload: no JSON: "},
      {"[]", "workload: an object {...} belongs here, not []"},
      {"{}", "workload: the member 'jobs' is missing"},
      {R"({"jobs": []})", "workload: jobs: a list [...] of jobs belongs here, not []"},
      {R"({"job": []})", "workload: there is no member \"job\"; there are name, "},
      {R"({"jobs": [3]})", "workload: jobs[0]: 'pattern' is one of flow, incast, "},
      {R"({"jobs": [{"pattern": "gossip"}]})", "workload: jobs[0]: 'pattern' is one of "},
      {R"({"jobs": [{"pattern": "flow", "from": "a", "to": "b"}]})",
       "workload: jobs[0]: the member 'bytes' is missing"},
      {R"({"jobs": [{"pattern": "flow", "from": "a", "to": "b", "bytes": "0B"}]})",
       "workload: jobs[0].bytes: 1 byte or more belongs here"},
      {R"({"jobs": [{"pattern": "flow", "from": "a", "to": "a", "bytes": "1B"}]})",
       "workload: jobs[0].to: it is where the flow comes from"},
      {R"({"jobs": [{"pattern": "flow", "from": "a", "to": "d", "bytes": "1B"}]})",
       "workload: jobs[0].to: the topology has no host \"d\""},
      {R"({"jobs": [{"pattern": "flow", "from": "a", "bytes": "1B"}]})",
       "workload: jobs[0]: the member 'to' is missing"},
      {R"({"jobs": [{"pattern": "flow", "from": "a", "to": "b", "bytes": "1B", "shift": 1}]})",
       "workload: jobs[0]: there is no member \"shift\"; there are "},
      {R"({"jobs": [{"pattern": "incast", "to": "b", "bytes": "1B", "hosts": ["a", "a"]}]})",
       "workload: jobs[0].hosts[1]: \"a\" is named twice"},
      {R"({"jobs": [{"pattern": "incast", "to": "b", "bytes": "1B", "hosts": ["a"]}]})",
       "workload: jobs[0].hosts: two hosts or more belong here"},
      {R"({"jobs": [{"pattern": "incast", "to": "b", "bytes": "1B", "hosts": "a"}]})",
       "workload: jobs[0].hosts: a list [...] of hosts belongs here"},
      {R"({"jobs": [{"pattern": "permutation", "bytes": "1B", "shift": 3}]})",
       "workload: jobs[0].shift: a whole number from 1 to 2 belongs here, not 3"},
      {R"({"jobs": [{"pattern": "ring_all_reduce", "bytes": "1B", "operation": "read"}]})",
       "workload: jobs[0].operation: steps of ring_all_reduce wait for "},
      {R"({"jobs": [{"pattern": "incast", "to": "b", "bytes": "1B", "operation": "atomic"}]})",
       "workload: jobs[0].operation: there are write, "},
      {R"({"jobs": [{"pattern": "incast", "to": "b", "bytes": "1GB", "message": "1GB"}]})",
       "workload: jobs[0].message: 1 byte to "},
      {R"({"jobs": [{"pattern": "incast", "to": "b", "bytes": "1B", "dscp": 64}]})",
       "workload: jobs[0].dscp: "},
      {R"({"jobs": [{"pattern": "moe", "bytes": "1B", "skew": -1}]})",
       "workload: jobs[0].skew: it is a number from 0 to 10"},
      {R"({"jobs": [{"pattern": "moe", "bytes": "1B", "top_k": 4}]})",
       "workload: jobs[0].top_k: a whole number from 1 to 3 belongs here"},
      {R"({"jobs": [{"pattern": "kv_push", "from": ["a"], "to": ["b", "c"], "bytes": "1B"}]})",
       "workload: jobs[0].to: 1 hosts belong here, as in 'from', not 2"},
      {R"({"jobs": [{"pattern": "storage", "bytes": "1B"}]})",
       "workload: jobs[0]: the member 'servers' is missing"},
      {R"({"jobs": [{"pattern": "storage", "bytes": "1B", "servers": ["a"], "reads": 1000000, "repeat": 3}]})",
       "workload: jobs[0].pattern: the workload has more than 1000000 steps"},
      {R"({"congestion": "tcp", "jobs": []})", "workload: congestion: "},
      {R"({"path_mtu": 1500, "jobs": []})", "workload: path_mtu: there are 256, 512, "},
      {R"({"faults": {"z": "loss=1"}, "jobs": []})", "workload: faults: the topology has no host \"z\""},
      {R"({"faults": {"a": "los=1"}, "jobs": []})", "workload: faults.a: "},
      {R"({"faults": {"a": 1}, "jobs": []})",
       "workload: faults.a: a text as after --fault belongs here, not 1"},
      {R"({"until": "soon", "jobs": []})", "workload: until: \"soon\" is no time"},
  };
  for (const auto& [text, said] : cases) EXPECT_THAT(complaint(text), StartsWith(said)) << text;
}

}  // namespace
}  // namespace urnic::experiment::test
