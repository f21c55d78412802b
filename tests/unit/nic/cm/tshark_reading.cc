// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/nic/cm/tshark_reading.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string_view>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"

namespace urnic::nic::cm {
namespace {

struct Field {
  std::string_view name;    ///< in describe()
  std::string_view tshark;  ///< after "infiniband."
  enum class Kind { kNumber, kBytes, kAddress } kind = Kind::kNumber;
};

struct Layout {
  std::string_view attribute;
  std::string_view message;
  std::vector<Field> fields;
};

const std::vector<Layout>& layouts() {
  using enum Field::Kind;
  static const std::vector<Layout> all = {
      {"0x0010",
       "REQ",
       {{"local", "cm.req"},
        {"guid", "cm.req.localcaguid"},
        {"qpn", "cm.req.localqpn"},
        {"resources", "cm.req.responderres"},
        {"depth", "cm.req.initdepth"},
        {"remote_timeout", "cm.req.remoteresptout"},
        {"type", "cm.req.transpsvctype"},
        {"flow_control", "cm.req.e2eflowctrl"},
        {"psn", "cm.req.startpsn"},
        {"local_timeout", "cm.req.localresptout"},
        {"retries", "cm.req.retrcount"},
        {"pkey", "cm.req.pkey"},
        {"mtu", "cm.req.pppmtu"},
        {"rnr", "cm.req.rnrretrcount"},
        {"cm_retries", "cm.req.maxcmretr"},
        {"srq", "cm.req.srq"},
        {"extended", "cm.req.ext_transport"},
        {"local_lid", "cm.req.prim_locallid"},
        {"remote_lid", "cm.req.prim_remotelid"},
        {"class", "cm.req.prim_tfcclass"},
        {"hops", "cm.req.prim_hoplim"},
        {"sl", "cm.req.prim_sl"},
        {"subnet_local", "cm.req.prim_subnetlocal"},
        {"ack_timeout", "cm.req.prim_localacktout"},
        {"service", "cm.req.serviceid"},
        {"from", "cm.req.prim_localgid", kAddress},
        {"to", "cm.req.prim_remotegid", kAddress},
        {"private", "cm.req.private", kBytes}}},
      {"0x0013",
       "REP",
       {{"local", "cm.rep"},
        {"remote", "cm.rep.remotecommid"},
        {"qkey", "cm.rep.localqkey"},
        {"qpn", "cm.rep.localqpn"},
        {"eec", "cm.rep.localeecn"},
        {"psn", "cm.rep.startpsn"},
        {"resources", "cm.rep.respres"},
        {"depth", "cm.rep.initdepth"},
        {"ack_delay", "cm.rep.tgtackdelay"},
        {"failover", "cm.rep.failoveracc"},
        {"flow_control", "cm.rep.e2eflowctrl"},
        {"rnr", "cm.rep.rnrretrcount"},
        {"srq", "cm.rep.srq"},
        {"guid", "cm.rep.localcaguid"},
        {"private", "cm.rep.private", kBytes}}},
      {"0x0014",
       "RTU",
       {{"local", "cm.rtu.localcommid"},
        {"remote", "cm.rtu.remotecommid"},
        {"private", "cm.rtu.private", kBytes}}},
      {"0x0012",
       "REJ",
       {{"local", "cm.rej.localcommid"},
        {"remote", "cm.rej.remotecommid"},
        {"answered", "cm.rej.msgrej"},
        {"length", "cm.rej.rejinfolen"},
        {"reason", "cm.rej.reason"},
        {"information", "cm.rej.ari", kBytes},
        {"private", "cm.rej.private", kBytes}}},
      {"0x0015",
       "DREQ",
       {{"local", "cm.dreq.localcommid"},
        {"remote", "cm.dreq.remotecommid"},
        {"qpn", "cm.req.remoteqpneecn"},
        {"private", "cm.dreq.private", kBytes}}},
      {"0x0016",
       "DREP",
       {{"local", "cm.drsp.localcommid"},
        {"remote", "cm.drsp.remotecommid"},
        {"private", "cm.drsp.private", kBytes}}},
  };
  return all;
}

std::string output_of(const std::string& command) {
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  std::string output;
  std::array<char, 4096> part{};
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
  return pipe != nullptr && pclose(pipe) == 0 ? output : "";
}

/// A captured frame whose datagram is another. Over IPv4 tshark shows less than whole GIDs.
urnic::test::CapturedFrame framed(const Mad& mad) {
  static const auto capture = urnic::test::read_pcap(urnic::test::fixtures() / "rping_ipv6.pcap");
  constexpr std::size_t kHeaders = 14 + 40 + 8 + 12 + 8;
  urnic::test::CapturedFrame frame = capture.value().front();
  const auto bytes = write(mad);
  std::copy(bytes.begin(), bytes.end(), frame.bytes.begin() + kHeaders);
  return frame;
}

std::string number_text(const std::string& value) {
  std::ostringstream text;
  text << std::hex << std::stoull(value, nullptr, 0);
  return text.str();
}

std::string value_text(const Field& field, const std::string& value) {
  switch (field.kind) {
    case Field::Kind::kNumber:
      return value.empty() ? "nothing" : number_text(value);
    case Field::Kind::kBytes:
      return std::regex_replace(value, std::regex("(00)+$"), "");
    case Field::Kind::kAddress:
      return value;
  }
  return "";
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts;
  std::istringstream in(line + '|');
  std::string part;
  while (std::getline(in, part, '|')) parts.push_back(part);
  return parts;
}

/// The columns of a line: attribute, transaction ID, then the fields of all layouts in order.
std::string text_of(const std::vector<std::string>& columns) {
  std::size_t column = 2;
  for (const Layout& layout : layouts()) {
    if (columns[0] != layout.attribute) {
      column += layout.fields.size();
      continue;
    }
    std::string text = std::string(layout.message) + " tid=" + number_text(columns[1]);
    for (const Field& field : layout.fields) {
      text += ' ' + std::string(field.name) + '=' + value_text(field, columns[column++]);
    }
    return text;
  }
  return "attribute " + columns[0];
}

}  // namespace

std::vector<std::string> read_by_tshark(std::span<const Mad> mads) {
  if (output_of("tshark --version").empty()) return {};
  std::vector<urnic::test::CapturedFrame> frames;
  for (const Mad& mad : mads) frames.push_back(framed(mad));
  const auto path = std::filesystem::temp_directory_path() / ("cm_" + std::to_string(getpid()) + ".pcap");
  EXPECT_TRUE(urnic::test::write_pcap(path, frames));
  std::string command = "tshark -r '" + path.string() +
                        "' -T fields -E 'separator=|' -e infiniband.mad.attributeid"
                        " -e infiniband.mad.transactionid";
  for (const Layout& layout : layouts()) {
    for (const Field& field : layout.fields) command += " -e infiniband." + std::string(field.tshark);
  }
  std::istringstream lines(output_of(command));
  std::filesystem::remove(path);
  std::vector<std::string> texts;
  std::string line;
  while (std::getline(lines, line)) texts.push_back(text_of(split(line)));
  return texts;
}

std::string without_what_tshark_misreads(const std::string& text) {
  return std::regex_replace(text, std::regex(" (label|rate)=[0-9a-f]+"), "");
}

}  // namespace urnic::nic::cm
