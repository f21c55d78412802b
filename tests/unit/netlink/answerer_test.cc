// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What requests are answered. The requests are iproute2's: what `rdma` 6.1 was recorded to send
// (tests/fuzz/corpus/netlink). Attributes, their sizes and errors are as in Linux' nldev.c.
#include "tools/runtime/netlink/answerer.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "tests/unit/netlink/decoded.h"
#include "tests/unit/netlink/shown_devices.h"

namespace urnic::netlink {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A kernel with one device of its own, with index 0.
class FakeKernel final : public Kernel {
 public:
  std::vector<Bytes> ask(const Request& request, const Asker&) override {
    asked.push_back(request.head.nlmsg_type);
    AttributeWriter device;
    device.u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
    device.text(RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
    nlmsghdr head = request.head;
    head.nlmsg_pid = 99;  // of the socket that asks
    head.nlmsg_flags = NLM_F_MULTI;
    std::vector<Bytes> answers = {message(head, device)};
    if ((request.head.nlmsg_flags & NLM_F_DUMP) != 0) {
      head.nlmsg_type = NLMSG_DONE;
      answers.push_back(message(head, Bytes(4)));
    }
    return answers;
  }
  std::vector<std::uint16_t> asked;
};

class NetlinkAnswers : public testing::Test {
 protected:
  NetlinkAnswers() {
    state.shown = {device_named("urnic0"), device_named("urnic1")};
    state.running = {program(100, "urnic0"), program(200, "urnic1"), program(300, "urnic0")};
  }

  /// As recorded from `rdma`.
  static Bytes recorded(const std::string& name) {
    std::ifstream file(URNIC_NETLINK_CORPUS "/" + name + ".bin", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_FALSE(text.empty()) << name;
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  static Bytes request(int command, int flags, const AttributeWriter& attributes = {},
                       int client = RDMA_NL_NLDEV) {
    return message({.nlmsg_len = 0,
                    .nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(client, command)),
                    .nlmsg_flags = static_cast<std::uint16_t>(flags),
                    .nlmsg_seq = 42,
                    .nlmsg_pid = 0},
                   attributes);
  }
  static AttributeWriter device_index(std::uint32_t index) {
    AttributeWriter attributes;
    attributes.u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
    return attributes;
  }
  static AttributeWriter port(std::uint32_t device, std::uint32_t number) {
    AttributeWriter attributes = device_index(device);
    attributes.u32(RDMA_NLDEV_ATTR_PORT_INDEX, number);
    return attributes;
  }
  std::vector<Bytes> datagrams(const Bytes& sent) {
    return Answerer(state, kernel, kRdmaCm).answer(sent, asker);
  }
  std::vector<Decoded> answers(const Bytes& sent) { return decoded(datagrams(sent)); }
  /// The attributes of the one message that is no end and no acknowledgement.
  DecodedAttributes data(const Bytes& sent) {
    std::optional<DecodedAttributes> found;
    for (const Decoded& answer : answers(sent)) {
      if (answer.head.nlmsg_type < NLMSG_MIN_TYPE) continue;
      EXPECT_FALSE(found) << "more than one";
      found = answer.attributes();
    }
    EXPECT_TRUE(found);
    return found.value_or(DecodedAttributes({}));
  }
  int error(const Bytes& sent) {
    const auto all = answers(sent);
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? -1 : all.back().error();
  }

  static inline const dev_t kRdmaCm = makedev(10, 0x17f);
  ShownDevices state;
  Kernel* kernel = nullptr;
  Asker asker{.port = 4711};
};

TEST_F(NetlinkAnswers, ListsAllDevices) {
  const auto all = answers(recorded("dev_0"));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].head.nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET));
  EXPECT_EQ(all[0].head.nlmsg_flags, NLM_F_MULTI);
  EXPECT_EQ(all[0].head.nlmsg_pid, 4711u);
  std::uint32_t sequence = 0;
  std::memcpy(&sequence, recorded("dev_0").data() + 8, sizeof sequence);
  EXPECT_EQ(all[0].head.nlmsg_seq, sequence);
  EXPECT_EQ(all[1].attributes().u32(RDMA_NLDEV_ATTR_DEV_INDEX), 1u);
  EXPECT_EQ(all[1].attributes().text(RDMA_NLDEV_ATTR_DEV_NAME), "urnic1");
  EXPECT_EQ(all[2].head.nlmsg_type, NLMSG_DONE);
  EXPECT_EQ(all[2].head.nlmsg_flags, NLM_F_MULTI);
  EXPECT_EQ(all[2].error(), 0);
}

TEST_F(NetlinkAnswers, DescribesADevice) {
  const DecodedAttributes device = data(recorded("dev_1"));
  EXPECT_EQ(device.u32(RDMA_NLDEV_ATTR_DEV_INDEX), 0u);
  EXPECT_EQ(device.text(RDMA_NLDEV_ATTR_DEV_NAME), "urnic0");
  EXPECT_EQ(device.u32(RDMA_NLDEV_ATTR_PORT_INDEX), 1u);
  EXPECT_EQ(device.text(RDMA_NLDEV_ATTR_FW_VERSION), "0.1.0");
  EXPECT_EQ(device.u64(RDMA_NLDEV_ATTR_NODE_GUID), 0x0200c0fffe000202u);
  EXPECT_EQ(device.u64(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID), 0x0200c0fffe000203u);
  EXPECT_EQ(device.u8(RDMA_NLDEV_ATTR_DEV_NODE_TYPE), 1u);
  EXPECT_EQ(device.u8(RDMA_NLDEV_ATTR_DEV_DIM), 0u);
  EXPECT_EQ(device.text(RDMA_NLDEV_ATTR_DEV_PROTOCOL), "roce");
}

TEST_F(NetlinkAnswers, AcknowledgesAfterTheAnswer) {
  const auto all = answers(recorded("dev_1"));  // which asks for it
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].head.nlmsg_type, NLMSG_ERROR);
  EXPECT_EQ(all[1].error(), 0);
  EXPECT_EQ(answers(request(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST, device_index(1))).size(), 1u);
}

TEST_F(NetlinkAnswers, DescribesAPort) {
  const DecodedAttributes described = data(recorded("link_1"));
  EXPECT_EQ(described.u32(RDMA_NLDEV_ATTR_PORT_INDEX), 1u);
  EXPECT_EQ(described.u8(RDMA_NLDEV_ATTR_PORT_STATE), 4u);
  EXPECT_EQ(described.u8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE), 5u);
  EXPECT_EQ(described.u32(RDMA_NLDEV_ATTR_NDEV_INDEX), 12u);
  EXPECT_EQ(described.text(RDMA_NLDEV_ATTR_NDEV_NAME), "eth7");
  EXPECT_FALSE(described.has(RDMA_NLDEV_ATTR_LID));
  state.shown[0].interface.clear();
  EXPECT_FALSE(data(recorded("link_1")).has(RDMA_NLDEV_ATTR_NDEV_NAME));
  EXPECT_EQ(error(request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST, port(0, 2))), EINVAL);
  EXPECT_EQ(error(request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST, port(2, 1))), EINVAL);
  EXPECT_EQ(error(request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST)), EINVAL);
}

TEST_F(NetlinkAnswers, TellsOfQueuePairsOfAllProcessesOfTheDevice) {
  const auto entries = data(recorded("qp_1")).inside(RDMA_NLDEV_ATTR_RES_QP);
  ASSERT_EQ(entries.size(), 4u);
  const DecodedAttributes& rc = entries[0];
  EXPECT_EQ(rc.u32(RDMA_NLDEV_ATTR_PORT_INDEX), 1u);
  EXPECT_EQ(rc.u32(RDMA_NLDEV_ATTR_RES_LQPN), 0x11u);
  EXPECT_EQ(rc.u32(RDMA_NLDEV_ATTR_RES_RQPN), 0x12u);
  EXPECT_EQ(rc.u32(RDMA_NLDEV_ATTR_RES_RQ_PSN), 7u);
  EXPECT_EQ(rc.u32(RDMA_NLDEV_ATTR_RES_SQ_PSN), 0xffffffu);
  EXPECT_EQ(rc.u8(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE), 0u);
  EXPECT_EQ(rc.u8(RDMA_NLDEV_ATTR_RES_TYPE), 2u);
  EXPECT_EQ(rc.u8(RDMA_NLDEV_ATTR_RES_STATE), 3u);
  EXPECT_EQ(rc.u32(RDMA_NLDEV_ATTR_RES_PDN), 5u);
  EXPECT_EQ(rc.u32(RDMA_NLDEV_ATTR_RES_PID), 100u);
  const DecodedAttributes& ud = entries[1];
  EXPECT_EQ(ud.u8(RDMA_NLDEV_ATTR_RES_TYPE), 4u);
  EXPECT_FALSE(ud.has(RDMA_NLDEV_ATTR_RES_RQPN));
  EXPECT_FALSE(ud.has(RDMA_NLDEV_ATTR_RES_PDN));
  EXPECT_EQ(entries[2].u32(RDMA_NLDEV_ATTR_RES_PID), 300u);
}

TEST_F(NetlinkAnswers, DoesNotNumberAProcessOfAnotherPidNamespace) {
  state.running = {program(0, "urnic0")};
  EXPECT_FALSE(data(recorded("qp_1")).inside(RDMA_NLDEV_ATTR_RES_QP).at(0).has(RDMA_NLDEV_ATTR_RES_PID));
}

TEST_F(NetlinkAnswers, TellsOfMemoryRegions) {
  const auto entries = data(recorded("mr_1")).inside(RDMA_NLDEV_ATTR_RES_MR);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].u32(RDMA_NLDEV_ATTR_RES_LKEY), 0x12345678u);
  EXPECT_EQ(entries[0].u32(RDMA_NLDEV_ATTR_RES_RKEY), 0x12345678u);
  EXPECT_EQ(entries[0].u64(RDMA_NLDEV_ATTR_RES_IOVA), 0x7f00u);
  EXPECT_EQ(entries[0].u64(RDMA_NLDEV_ATTR_RES_MRLEN), 65536u);
  EXPECT_EQ(entries[0].u32(RDMA_NLDEV_ATTR_RES_MRN), 0x123456u);
  EXPECT_EQ(entries[0].u32(RDMA_NLDEV_ATTR_RES_PDN), 5u);
}

TEST_F(NetlinkAnswers, TellsOfQueuesDomainsAndContexts) {
  const auto queues = data(recorded("cq_1")).inside(RDMA_NLDEV_ATTR_RES_CQ);
  ASSERT_EQ(queues.size(), 2u);
  EXPECT_EQ(queues[0].u32(RDMA_NLDEV_ATTR_RES_CQE), 127u);
  EXPECT_EQ(queues[0].u64(RDMA_NLDEV_ATTR_RES_USECNT), 2u);
  EXPECT_EQ(queues[0].u32(RDMA_NLDEV_ATTR_RES_CQN), 6u);
  EXPECT_EQ(queues[0].u32(RDMA_NLDEV_ATTR_RES_CTXN), 1u);
  const auto domains = data(recorded("pds_1")).inside(RDMA_NLDEV_ATTR_RES_PD);
  ASSERT_EQ(domains.size(), 2u);
  EXPECT_EQ(domains[0].u64(RDMA_NLDEV_ATTR_RES_USECNT), 4u);
  EXPECT_EQ(domains[0].u32(RDMA_NLDEV_ATTR_RES_PDN), 5u);
  const auto contexts = data(recorded("ctx_1")).inside(RDMA_NLDEV_ATTR_RES_CTX);
  ASSERT_EQ(contexts.size(), 2u);
  EXPECT_EQ(contexts[1].u32(RDMA_NLDEV_ATTR_RES_PID), 300u);
  const auto shared = data(recorded("srq_1")).inside(RDMA_NLDEV_ATTR_RES_SRQ);
  ASSERT_EQ(shared.size(), 2u);
  EXPECT_EQ(shared[0].u32(RDMA_NLDEV_ATTR_RES_SRQN), 0x31u);
  EXPECT_EQ(shared[0].u8(RDMA_NLDEV_ATTR_RES_TYPE), 1u);
  EXPECT_EQ(shared[0].u32(RDMA_NLDEV_ATTR_RES_CQN), 6u);
  const auto users = shared[0].inside(RDMA_NLDEV_ATTR_RES_QP);
  ASSERT_EQ(users.size(), 1u);
  EXPECT_EQ(users[0].u32(RDMA_NLDEV_ATTR_RES_LQPN), 0x11u);
}

TEST_F(NetlinkAnswers, GivesTheQueuePairsOfASharedReceiveQueueAsRanges) {
  auto& snapshot = *state.running[0].snapshot;
  snapshot.queue_pairs.clear();
  for (const std::uint32_t number : {9u, 4u, 5u, 6u, 11u, 10u, 20u}) {
    snapshot.queue_pairs.push_back({.number = transport::QpNumber{number}, .srq = 0x31});
  }
  const auto users =
      data(recorded("srq_1")).inside(RDMA_NLDEV_ATTR_RES_SRQ).at(0).inside(RDMA_NLDEV_ATTR_RES_QP);
  ASSERT_EQ(users.size(), 3u);
  EXPECT_EQ(users[0].u32(RDMA_NLDEV_ATTR_MIN_RANGE), 4u);
  EXPECT_EQ(users[0].u32(RDMA_NLDEV_ATTR_MAX_RANGE), 6u);
  EXPECT_EQ(users[1].u32(RDMA_NLDEV_ATTR_MAX_RANGE), 11u);
  EXPECT_EQ(users[2].u32(RDMA_NLDEV_ATTR_RES_LQPN), 20u);
}

TEST_F(NetlinkAnswers, TellsOfIds) {
  const auto entries = data(recorded("cm_id_1")).inside(RDMA_NLDEV_ATTR_RES_CM_ID);
  ASSERT_EQ(entries.size(), 2u);
  const DecodedAttributes& id = entries[0];
  EXPECT_EQ(id.u32(RDMA_NLDEV_ATTR_RES_CM_IDN), 2u);
  EXPECT_EQ(id.u32(RDMA_NLDEV_ATTR_RES_PS), 0x106u);
  EXPECT_EQ(id.u8(RDMA_NLDEV_ATTR_RES_STATE), 5u);
  EXPECT_EQ(id.u32(RDMA_NLDEV_ATTR_RES_LQPN), 0x11u);
  EXPECT_EQ(id.u8(RDMA_NLDEV_ATTR_RES_TYPE), 2u);
  ASSERT_EQ(id.of(RDMA_NLDEV_ATTR_RES_SRC_ADDR).size(), sizeof(sockaddr_storage));
  sockaddr_in source{};
  std::memcpy(&source, id.of(RDMA_NLDEV_ATTR_RES_SRC_ADDR).data(), sizeof source);
  EXPECT_EQ(source.sin_family, AF_INET);
  EXPECT_EQ(ntohs(source.sin_port), 7174);
  EXPECT_EQ(ntohl(source.sin_addr.s_addr), 0x0a000001u);
  sockaddr_in6 peer{};
  std::memcpy(&peer, id.of(RDMA_NLDEV_ATTR_RES_DST_ADDR).data(), sizeof peer);
  EXPECT_EQ(peer.sin6_family, AF_INET6);
  EXPECT_EQ(peer.sin6_addr.s6_addr[15], 2);
}

TEST_F(NetlinkAnswers, CountsResourcesInASummary) {
  const auto entries = data(recorded("res_1")).inside(RDMA_NLDEV_ATTR_RES_SUMMARY);
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (const DecodedAttributes& entry : entries) {
    counts.emplace_back(entry.text(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME),
                        entry.u64(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR));
  }
  using Count = std::pair<std::string, std::uint64_t>;
  EXPECT_THAT(counts, ElementsAre(Count("pd", 2), Count("cq", 2), Count("qp", 4), Count("cm_id", 2),
                                  Count("mr", 2), Count("ctx", 2), Count("srq", 2)));
}

TEST_F(NetlinkAnswers, FindsOneByItsNumber) {
  state.running[0].snapshot->objects.protection_domains.push_back({.number = 1, .context = 1, .users = 9});
  const DecodedAttributes domain = data(recorded("pd_1"));  // pdn 1
  EXPECT_EQ(domain.text(RDMA_NLDEV_ATTR_DEV_NAME), "urnic0");
  EXPECT_EQ(domain.u64(RDMA_NLDEV_ATTR_RES_USECNT), 9u);
  AttributeWriter unknown = device_index(0);
  unknown.u32(RDMA_NLDEV_ATTR_RES_PDN, 77);
  EXPECT_EQ(error(request(RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_REQUEST, unknown)), ENOENT);
  EXPECT_EQ(error(request(RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_REQUEST, device_index(0))), EINVAL);
  // A queue pair is of a port, a domain is not.
  AttributeWriter of_port = port(0, 1);
  of_port.u32(RDMA_NLDEV_ATTR_RES_PDN, 5);
  EXPECT_EQ(error(request(RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_REQUEST, of_port)), EINVAL);
  AttributeWriter qp = port(0, 1);
  qp.u32(RDMA_NLDEV_ATTR_RES_LQPN, 0x13);
  EXPECT_EQ(data(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_REQUEST, qp)).u8(RDMA_NLDEV_ATTR_RES_TYPE), 4u);
}

TEST_F(NetlinkAnswers, SendsLongListsInPartsThatABufferOfAPageTakes) {
  auto& pairs = state.running[0].snapshot->queue_pairs;
  state.running.resize(1);
  pairs.clear();
  for (std::uint32_t number = 1; number <= 5000; ++number) {
    pairs.push_back({.number = transport::QpNumber{number}, .domain = 5});
  }
  const auto parts = datagrams(recorded("qp_1"));
  EXPECT_GT(parts.size(), 50u);
  std::vector<std::uint32_t> numbers;
  int ends = 0;
  for (const Bytes& part : parts) {
    EXPECT_LE(part.size(), Answerer::kMostAtOnce);
    for (const Decoded& answer : decoded(std::span(part))) {
      EXPECT_EQ(answer.head.nlmsg_flags, NLM_F_MULTI);
      if (answer.head.nlmsg_type == NLMSG_DONE) {
        ++ends;
        continue;
      }
      EXPECT_EQ(ends, 0);
      for (const auto& entry : answer.attributes().inside(RDMA_NLDEV_ATTR_RES_QP)) {
        numbers.push_back(entry.u32(RDMA_NLDEV_ATTR_RES_LQPN));
      }
    }
  }
  EXPECT_EQ(ends, 1);
  ASSERT_EQ(numbers.size(), 5000u);
  EXPECT_EQ(numbers.front(), 1u);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
}

TEST_F(NetlinkAnswers, EndsAListOfNothing) {
  state.running.clear();
  const auto all = answers(recorded("qp_1"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].head.nlmsg_type, NLMSG_DONE);
}

TEST_F(NetlinkAnswers, EndsAListWithItsError) {
  const auto all = answers(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_REQUEST | NLM_F_DUMP, device_index(7)));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].head.nlmsg_type, NLMSG_DONE);
  EXPECT_EQ(all[0].error(), EINVAL);
}

TEST_F(NetlinkAnswers, RefusesASecondListWhileOneIsRead) {
  asker.has_dump_running = true;
  const auto all = answers(recorded("dev_0"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].head.nlmsg_type, NLMSG_ERROR);
  EXPECT_EQ(all[0].error(), EBUSY);
  asker.has_dump_running = false;
  Bytes two = recorded("dev_0");
  const Bytes second = two;
  two.insert(two.end(), second.begin(), second.end());
  EXPECT_EQ(answers(two).back().error(), EBUSY);
}

// --- Counters ---

std::map<std::string, std::uint64_t> counters_in(const DecodedAttributes& answer) {
  std::map<std::string, std::uint64_t> counters;
  for (const auto& entry : answer.inside(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)) {
    counters[entry.text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME)] =
        entry.u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
  }
  return counters;
}

TEST_F(NetlinkAnswers, SumsTheCountersOfProcessesUnderNamesOfTheKernel) {
  const DecodedAttributes answer = data(recorded("stat_1"));
  EXPECT_EQ(answer.u32(RDMA_NLDEV_ATTR_PORT_INDEX), 1u);
  const auto counters = counters_in(answer);
  EXPECT_EQ(counters.at("sent_pkts"), 2000u);
  EXPECT_EQ(counters.at("rcvd_pkts"), 0u);
  EXPECT_EQ(counters.at("req_rnr_retries_exceeded"), 6u);  // mlx5's name of rnr_nak_retry_err
  EXPECT_EQ(counters.at("rnr_nak_retry_err"), 6u);
  EXPECT_EQ(counters.count("lifespan"), 0u);
  EXPECT_LE(datagrams(recorded("stat_1")).at(0).size(), Answerer::kMostAtOnce);
}

TEST_F(NetlinkAnswers, CountsWhatFilesKnowOfProcessesThatHaveEnded) {
  state.shown[0].counters = {{"sent_pkts", 5000}, {"rnr_nak_retry_err", 1}};
  const auto counters = counters_in(data(recorded("stat_1")));
  EXPECT_EQ(counters.at("sent_pkts"), 5000u);
  EXPECT_EQ(counters.at("rnr_nak_retry_err"), 6u);
  // Of a device that is like another NIC the same, under the names of its driver.
  state.shown[0].counter_names = nic::CounterNames::kIrdma;
  state.shown[0].counters.clear();
  const auto others = counters_in(data(recorded("stat_1")));
  EXPECT_EQ(others.at("TxUDP"), 2000u);
  EXPECT_EQ(others.count("sent_pkts"), 0u);
}

TEST_F(NetlinkAnswers, NamesTheCountersThatThereAre) {
  const auto entries = data(recorded("stat_mode_1")).inside(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
  EXPECT_EQ(entries.size(), counters_in(data(recorded("stat_1"))).size());
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].u32(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX), i);
    EXPECT_FALSE(entries[i].has(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC));
  }
}

TEST_F(NetlinkAnswers, HasNoCountersOfQueuePairs) {
  EXPECT_EQ(data(recorded("stat_qp_mode_1")).u32(RDMA_NLDEV_ATTR_STAT_MODE), RDMA_COUNTER_MODE_NONE);
  const auto all = answers(recorded("stat_qp_1"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].head.nlmsg_type, NLMSG_DONE);
  EXPECT_EQ(data(recorded("stat_mr_1")).inside(RDMA_NLDEV_ATTR_RES_MR).at(0).u32(RDMA_NLDEV_ATTR_RES_MRN),
            0x123456u);
}

// --- Nodes and the system ---

TEST_F(NetlinkAnswers, NamesTheNodeOfRdmaCm) {
  AttributeWriter type;
  type.text(RDMA_NLDEV_ATTR_CHARDEV_TYPE, "rdma_cm");
  const DecodedAttributes node = data(request(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_REQUEST, type));
  EXPECT_EQ(node.text(RDMA_NLDEV_ATTR_CHARDEV_NAME), "rdma_cm");
  EXPECT_EQ(node.u64(RDMA_NLDEV_ATTR_CHARDEV_ABI), 4u);
  // rdma-core takes it apart so: bits 8 to 19 are the major number, those around it the minor number.
  EXPECT_EQ(node.u64(RDMA_NLDEV_ATTR_CHARDEV), 0x100a7fu);
}

TEST_F(NetlinkAnswers, NamesTheNodeOfADevice) {
  AttributeWriter attributes = device_index(1);
  attributes.text(RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs");
  const DecodedAttributes node = data(request(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_REQUEST, attributes));
  EXPECT_EQ(node.text(RDMA_NLDEV_ATTR_CHARDEV_NAME), "uverbs3");
  EXPECT_EQ(node.u64(RDMA_NLDEV_ATTR_CHARDEV_ABI), 1u);
  AttributeWriter mads = port(1, 1);
  mads.text(RDMA_NLDEV_ATTR_CHARDEV_TYPE, "umad");
  EXPECT_EQ(error(request(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_REQUEST, mads)), EOPNOTSUPP);
  EXPECT_EQ(error(request(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_REQUEST)), EINVAL);
}

TEST_F(NetlinkAnswers, TellsOfTheSystem) {
  const DecodedAttributes system = data(recorded("sys_1"));
  EXPECT_EQ(system.u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE), 1u);
  EXPECT_EQ(system.u8(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK), 1u);
}

// --- Refusals ---

TEST_F(NetlinkAnswers, RefusesChangesToOthersThanAdministrators) {
  for (const char* change : {"add_1", "del_1", "rename_1", "auto_1", "raw_1"}) {
    EXPECT_EQ(error(recorded(change)), EPERM) << change;
  }
}

TEST_F(NetlinkAnswers, RefusesChangesToAdministratorsInWords) {
  asker.is_admin = true;
  asker.wants_text = true;
  asker.wants_short_acks = true;
  const auto all = answers(recorded("add_1"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].error(), EOPNOTSUPP);
  EXPECT_EQ(all[0].head.nlmsg_flags, NLM_F_CAPPED | NLM_F_ACK_TLVS);
  ASSERT_GT(all[0].payload.size(), sizeof(nlmsgerr));
  const DecodedAttributes words(std::span(all[0].payload).subspan(sizeof(nlmsgerr)));
  EXPECT_THAT(words.text(NLMSGERR_ATTR_MSG), HasSubstr("'urnic run' makes the devices"));
}

TEST_F(NetlinkAnswers, SendsTheRequestBackWithItsError) {
  asker.is_admin = true;
  const Bytes sent = recorded("add_1");
  const auto all = answers(sent);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].head.nlmsg_flags, 0);
  const Bytes back(all[0].payload.begin() + 4, all[0].payload.end());
  EXPECT_EQ(back, sent);
}

TEST_F(NetlinkAnswers, KnowsWhatItDoesNotOffer) {
  EXPECT_EQ(error(request(60, NLM_F_REQUEST)), EOPNOTSUPP);
  EXPECT_EQ(error(request(RDMA_NLDEV_CMD_SYS_GET, NLM_F_REQUEST | NLM_F_DUMP)), EINVAL);
  EXPECT_EQ(error(request(RDMA_NL_LS_OP_RESOLVE, NLM_F_REQUEST, {}, RDMA_NL_LS)), EINVAL);
  EXPECT_EQ(error(request(0, NLM_F_REQUEST, {}, RDMA_NL_IWCM)), EINVAL);
}

TEST_F(NetlinkAnswers, IsSilentWhereTheKernelIs) {
  EXPECT_TRUE(answers({}).empty());
  EXPECT_TRUE(answers(Bytes(15)).empty());
  EXPECT_TRUE(answers(request(RDMA_NLDEV_CMD_GET, 0)).empty());
  Bytes longer = recorded("dev_1");
  longer[0] = std::byte{25};
  EXPECT_TRUE(answers(longer).empty());
  Bytes shorter = recorded("dev_1");
  shorter[0] = std::byte{15};
  EXPECT_TRUE(answers(shorter).empty());
}

TEST_F(NetlinkAnswers, TakesAShortAttributeForNone) {
  AttributeWriter byte;
  byte.u8(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
  EXPECT_EQ(error(request(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST, byte)), EINVAL);
}

// --- Beside a kernel that has RDMA netlink ---

TEST_F(NetlinkAnswers, ListsTheKernelsDevicesFirst) {
  FakeKernel real;
  kernel = &real;
  const auto all = answers(recorded("dev_0"));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].attributes().text(RDMA_NLDEV_ATTR_DEV_NAME), "mlx5_0");
  EXPECT_EQ(all[0].head.nlmsg_pid, 4711u);
  EXPECT_EQ(all[1].attributes().u32(RDMA_NLDEV_ATTR_DEV_INDEX), Answerer::kFirstIndexBesideKernel);
  EXPECT_EQ(all[2].attributes().u32(RDMA_NLDEV_ATTR_DEV_INDEX), Answerer::kFirstIndexBesideKernel + 1);
  EXPECT_EQ(all[3].head.nlmsg_type, NLMSG_DONE);
}

TEST_F(NetlinkAnswers, AsksTheKernelAboutItsDevices) {
  FakeKernel real;
  kernel = &real;
  EXPECT_EQ(data(recorded("dev_1")).text(RDMA_NLDEV_ATTR_DEV_NAME), "mlx5_0");
  answers(recorded("qp_1"));
  answers(recorded("add_1"));
  answers(recorded("sys_1"));
  answers(request(0, NLM_F_REQUEST, {}, RDMA_NL_LS));
  EXPECT_EQ(real.asked.size(), 5u);
  const auto ours = device_index(Answerer::kFirstIndexBesideKernel + 1);
  EXPECT_EQ(data(request(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST, ours)).text(RDMA_NLDEV_ATTR_DEV_NAME), "urnic1");
  AttributeWriter type;
  type.text(RDMA_NLDEV_ATTR_CHARDEV_TYPE, "rdma_cm");
  data(request(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_REQUEST, type));
  EXPECT_EQ(real.asked.size(), 5u);
}

TEST_F(NetlinkAnswers, AsksProcessesNoMoreThanOnceForOneRequest) {
  answers(recorded("res_1"));
  EXPECT_EQ(state.questions, 1);
  answers(recorded("dev_0"));
  EXPECT_EQ(state.questions, 1);
}

}  // namespace
}  // namespace urnic::netlink
