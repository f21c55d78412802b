// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/fabric_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "drivers/fabric/control.h"
#include "nic/host/fabric_folder.h"
#include "nic/host/fabric_slots.h"
#include "nic/host/port_spec.h"
#include "tools/command/commands/fabric_link.h"
#include "tools/command/commands/fabric_network.h"
#include "tools/command/console.h"
#include "tools/command/launch.h"
#include "verbs_api/config/environment_values.h"

namespace urnic::tools {
namespace {

using nlohmann::json;

constexpr const char* kFabricFooter =
    R"(A fabric is a switch that connects the programs of one user; frames are learnt and forwarded as any Ethernet switch
does it. 'urnic run' starts it when the first program comes with --port fabric, and it ends five seconds
after the last one has left. It has {} ports; more programs get further switches, each connected to the first one,
up to {} programs. You need this command only

  urnic fabric status                        to see who is on it, with addresses and counts
  urnic fabric --uplink af_packet:eth1       to connect it to a network as well: needs CAP_NET_RAW; programs then
                                             want addresses that are free there (urnic run --ip)
  urnic fabric --uplink vhost:/tmp/a.sock    to connect it to a virtual machine, or to another fabric that has the
                                             other end of this wire
  urnic fabric --topology FILE               to put a network between its programs: links with a rate and a delay,
                                             switches with queues that drop, mark and pause (TOPOLOGY.md). The program
                                             on port N (urnic run --port fabric:default,N; otherwise the first one
                                             that is free) is the N-th host of the file, from 0; an uplink the last
  urnic fabric link 10.64.0.2 down           to pull out the cable of the NIC with that address while its
                                             program runs: it gets PORT_ERR, and work requests time out;
                                             'up' plugs it in again
  urnic fabric stop                          to end it; its programs go on and find no peers

In the foreground it runs until Ctrl-C. Several fabrics are told apart by --name; a program asks for one by
'urnic run --port fabric:NAME'.

Exit code: 0, 2 for wrong usage, 1 for anything else, such as a fabric that is not there.)";

int fail(const Error& error) {
  complain(error.message);
  return error.code == EINVAL ? kExitUsage : kExitFailure;
}

/// Asks all switches of a fabric, the first one last, as the others start it again when it is missing. Their
/// answers are in that order. ENOENT: there is none.
Result<std::vector<std::string>, Error> ask(const std::string& name, std::string_view request) {
  const auto folder = nic::FabricFolder::open(name);
  if (!folder) return folder.error();
  std::vector<std::string> answers;
  for (unsigned number = nic::kFabricSwitches; number-- > 0;) {
    auto answer = drivers::ask_switch(folder.value().files_of_switch(number), request);
    if (!answer && answer.error().code != ENOENT) return answer.error();
    if (answer) answers.push_back(std::move(answer.value()));
  }
  if (answers.empty()) {
    return Error{.code = ENOENT,
                 .message = fmt::format("no program is on fabric {}: it has no switch; the first "
                                        "'urnic run --port fabric{} -- PROGRAM' starts it",
                                        name, name == nic::kDefaultFabric ? "" : ":" + name)};
  }
  return answers;
}

/// The status of a fabric: its first switch's status, with the ports of the other switches. "switches" lists
/// these with the counts of their trunks. Throws json::exception when one of them is of another version.
json put_together(const std::vector<std::string>& answers) {
  json whole = json::parse(answers.back());
  json& ports = whole.at("ports");
  json switches = json::array();
  // From the first switch's end of the list on, which is the order of their ports.
  for (auto answer = std::next(answers.rbegin()); answer != answers.rend(); ++answer) {
    json other = json::parse(*answer);
    for (json& port : other.at("ports")) ports.push_back(std::move(port));
    switches.push_back(
        {{"switch", other.at("switch")}, {"process", other.at("process")}, {"trunk", other.at("uplink")}});
  }
  if (!whole.at("network").is_null()) {
    for (json& port : ports) {
      port["host"] = host_name(whole.at("network"), port.at("slot").get<std::size_t>());
    }
  }
  whole.erase("switch");
  whole["switches"] = std::move(switches);
  return whole;
}

/// Completes "network" of the status, if it has one. Throws likewise.
Result<void, Error> add_network_ports(const std::string& name, json& status) {
  if (status.at("network").is_null()) return success();
  const auto folder = nic::FabricFolder::open(name);
  if (!folder) return folder.error();
  auto ports = ask_network_ports(folder.value().files_of_switch(0));
  if (!ports) return ports.error();
  status["network"]["ports"] = std::move(ports.value());
  return success();
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : "-";
}

std::string joined(const json& words) {
  std::string text;
  for (const json& word : words) text += (text.empty() ? "" : " ") + text_of(word);
  return text.empty() ? "-" : text;
}

/// A row of the table: its first columns, and then the counts that all ports have.
void print_row(const std::string& port, const std::string& process, const std::string& address,
               const std::string& macs, const json& it) {
  fmt::print("{:<9}{:<24}{:<17}{:<19}{:>12}{:>12}{:>10}\n", port, process, address, macs,
             it.at("received_frames").get<std::uint64_t>(), it.at("sent_frames").get<std::uint64_t>(),
             it.at("dropped_frames").get<std::uint64_t>());
}

/// "3", or with a network "3 receiver".
std::string port_text(const json& port) {
  const unsigned slot = port.at("slot").get<unsigned>();
  return port.contains("host") ? fmt::format("{} {} ", slot, port.at("host").get<std::string>())
                               : std::to_string(slot);
}

void print_table(const json& status) {
  const json& ports = status.at("ports");
  const json& network = status.at("network");
  fmt::print("fabric {}: process {}, up {} s, packets of up to {} bytes, {} of {} ports taken\n",
             text_of(status.at("fabric")), status.at("process").get<int>(),
             status.at("uptime_seconds").get<std::uint64_t>(), status.at("link_mtu").get<unsigned>(),
             ports.size(), network.is_null() ? nic::kFabricPorts : network.at("hosts").size());
  fmt::print("{:<9}{:<24}{:<17}{:<19}{:>12}{:>12}{:>10}\n", "port", "program", "address", "MAC", "frames in",
             "frames out", "dropped");
  for (const json& port : ports) {
    print_row(port_text(port),
              fmt::format("{} ({})", text_of(port.at("program")), port.at("process").get<int>()),
              text_of(port.at(port.at("ipv4").is_null() ? "ipv6" : "ipv4")), joined(port.at("macs")), port);
  }
  for (const json& other : status.at("switches")) {
    print_row(fmt::format("switch {}", other.at("switch").get<unsigned>()),
              fmt::format("urnic_switch ({})", other.at("process").get<int>()), "-", "-", other.at("trunk"));
  }
  if (const json& uplink = status.at("uplink"); !uplink.is_null()) {
    print_row("uplink", text_of(uplink.at("port")), "-", joined(uplink.at("macs")), uplink);
  }
  if (!network.is_null()) print_network(network, ports);
}

}  // namespace

FabricCommand::FabricCommand(CLI::App& app, Invocation& invocation) : name_(nic::kDefaultFabric) {
  CLI::App* const command = app.add_subcommand(
      "fabric", "The switch between programs: urnic fabric [OPTIONS], urnic fabric status, link, stop");
  command->footer(fmt::format(kFabricFooter, nic::kFirstSwitchPorts, nic::kFabricPorts));
  command->fallthrough();  // `urnic fabric status --name N` is as good as `urnic fabric --name N status`
  command->add_option("--name", name_, "Which fabric")
      ->check([](const std::string& text) {
        const auto fine = nic::check_fabric_name(text);
        return fine ? std::string() : fine.error().message;
      })
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--uplink", uplink_, "A port to the world: af_packet:IFACE or vhost:PATH[,front|back]")
      ->check([](const std::string& text) {
        const auto spec = nic::PortSpec::parse(text);
        if (!spec) return spec.error().message;
        const bool leads_out =
            spec.value().kind == nic::PortSpec::Kind::kAfPacket ||
            (spec.value().kind == nic::PortSpec::Kind::kVhost && !spec.value().target.empty());
        return std::string(leads_out ? "" : "an uplink is af_packet:IFACE or vhost:PATH");
      })
      ->type_name("SPEC");
  command->add_option("--topology", topology_, "The file of a network between its programs (TOPOLOGY.md)")
      ->type_name("FILE");
  command->add_option("--mtu", link_mtu_, "Largest IP packet in bytes that it carries; 4200 by default")
      ->check(CLI::Range(1280, 9600))
      ->type_name("N");
  CLI::App* const status = command->add_subcommand("status", "Who is on it: ports, addresses, packets");
  status->add_flag("--json", json_, "One JSON object");
  CLI::App* const link =
      command->add_subcommand("link", "Take the link of a program's NIC down, or up again, while it runs");
  link->add_option("address", link_address_, "The NIC's address")->required()->type_name("ADDRESS");
  link->add_option("state", link_state_, "down or up")->required()->check(CLI::IsMember({"down", "up"}));
  CLI::App* const stop = command->add_subcommand("stop", "End the switch");
  command->require_subcommand(0, 1);
  command->callback([this, &invocation, status, link, stop] {
    if (status->parsed()) {
      invocation.exit_code = this->status();
    } else if (link->parsed()) {
      invocation.exit_code = set_link();
    } else {
      invocation.exit_code = stop->parsed() ? this->stop() : serve();
    }
  });
}

int FabricCommand::serve() const {
  const auto folder = dropin_folder();
  if (!folder) return fail(folder.error());
  std::vector<std::string> words{folder.value() + "/urnic_switch", "--name", name_};
  if (link_mtu_ != 0) words.insert(words.end(), {"--mtu", std::to_string(link_mtu_)});
  if (!uplink_.empty()) words.insert(words.end(), {"--uplink", uplink_});
  if (!topology_.empty()) words.insert(words.end(), {"--topology", topology_});
  return execute(words);
}

int FabricCommand::status() const {
  const auto answers = ask(name_, "status");
  if (!answers) return fail(answers.error());
  try {
    json status = put_together(answers.value());
    if (const auto known = add_network_ports(name_, status); !known) return fail(known.error());
    if (json_) {
      std::puts(status.dump().c_str());
    } else {
      print_table(status);
    }
  } catch (const json::exception&) {
    complain("the switch is of another version: it answers what this tool does not understand");
    return kExitFailure;
  }
  return 0;
}

int FabricCommand::set_link() const {
  const auto done = set_fabric_link(name_, link_address_, link_state_ == "up");
  return done ? 0 : fail(done.error());
}

int FabricCommand::stop() const {
  const auto answers = ask(name_, "stop");
  return answers ? 0 : fail(answers.error());
}

}  // namespace urnic::tools
