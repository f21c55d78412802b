// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/run_command.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "drivers/fault/fault_spec.h"
#include "nic/congestion/choice_text.h"
#include "nic/diagnostics/kernel_counters.h"
#include "nic/host/host_files.h"
#include "nic/host/port_spec.h"
#include "nic/personality/table.h"
#include "nic/recovery_text.h"
#include "tools/command/console.h"
#include "tools/command/files_choice.h"
#include "tools/command/known_programs.h"
#include "tools/command/launch.h"
#include "tools/command/path_tree.h"
#include "tools/runtime/loader/loader_environment.h"
#include "tools/runtime/loader/program_file.h"
#include "verbs_api/adversary/spec.h"
#include "verbs_api/config/environment.h"
#include "verbs_api/config/environment_values.h"
#include "verbs_api/fault/fault_list.h"
#include "verbs_api/sanitizer/settings.h"

namespace urnic::tools {
namespace {

constexpr const char* kRunFooter =
    R"(The program sees one RDMA device, urnic0, with one port, or as many devices as --devices says. Their GIDs
are RoCEv2: 0 is link-local, 1 is the IPv4 address, 2 the IPv6 address ('urnic doctor' lists the host's).
Programs under 'urnic run' meet without any option, and with the other machine's name in the place of localhost
on two:

  urnic run -- ibv_rc_pingpong -d urnic0 -g 1 &
  urnic run -- ibv_rc_pingpong -d urnic0 -g 1 localhost

Ports (--port SPEC):
  host[,each][,unsegmented]
                           the host's own network: all programs of this user share one NIC, which has the addresses of this
                           host and sends through UDP sockets, wherever the host's routes lead, to any RoCEv2 peer. No
                           privilege. Two of one host that talk get a direct link. The default, unless --ip, --ip6,
                           --mac or --vlan is given. See 'urnic host --help'. Runs of packets leave as one buffer, unless
                           'unsegmented' says that the network card cuts those otherwise than the kernel does, and peers
                           complain about the ICRC. With 'each' the program sees one device for
                           each interface that has an address, with the addresses of that alone.
  fabric[:NAME][,switched] a port of a switch that connects the programs of this user, each with addresses of its own; it is
                           started when the first one comes and ends after the last. Two that talk get a direct link
                           through shared memory, unless one of them is 'switched', which needs a NAME ('default' is
                           one). The default where --ip, --ip6, --mac or --vlan is given. See 'urnic fabric --help'.
  udp[:ADDRESS][,unsegmented]
                           as host, for one program alone, with an address of this host (without ADDRESS: the addresses of the
                           interface that the default route leads to), and without a process beside it
  vhost:PATH[,front|back]  a wire to one other program, a virtual machine or another switch, met at a socket; the
                           first to come is the front unless said otherwise
  af_packet:IFACE          a network interface; needs CAP_NET_RAW and an address (--ip) that is free there
  af_xdp:IFACE             the same with fewer copies: frames through AF_XDP. The NIC has the interface for itself
                           meanwhile: the host hears nothing there. Needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF (root), an
                           interface with one receive queue and an MTU of at most 3442
  pci:ADDRESS              a network card, driven by DPDK in the program itself, at an address as lspci writes it: e1000, e1000e,
                           igb, igc, ixgbe, i40e, vmxnet3 or virtio, bound to vfio-pci (with an IOMMU for any user that has
                           its group below /dev/vfio and may lock 64 MiB) or to uio_pci_generic (root, and 32 huge pages of
                           2 MiB). Needs --ip; --mtu, where the network carries more than 1500 bytes
  bench:PATH               an RTL test bench, or another simulator, met at a socket. Both run in one virtual
                           time, which each grants to the other. BENCH.md, below share/doc/urnic, has more
  loopback                 this program alone

Several devices (--devices N): urnic0, urnic1 and so on, up to 32, each with a port of the fabric, addresses,
GUID, counters and captures (FILE.urnic1) of its own. rdma_cm takes the device that has the source address, or
whose network the peer is on; a listener for any address listens on all. A variable of one device alone has
its number at the end: URNIC_IP_1, URNIC_FAULT_1. 'urnic fabric link ADDRESS down' pulls out a cable.

Faults (--fault SPEC): loss=P, dup=P, reorder=P, corrupt=P, truncate=P with probabilities P from 0 to 1, gap=N, seed=N
and direction=tx|rx|both, separated by commas, e.g. loss=0.01,dup=0.005,seed=7. And exact ones, ACTION:KEY=VALUE:..., of certain packets:

  drop:kind=request:psn=7            the eighth request packet of a connection, once; its repetition comes through
  drop:kind=ack:psn=7:nth=2          the second ACK with its PSN
  corrupt:kind=write:icrc=right      a WRITE, so that no NIC notices
  set:kind=ack:aeth.msn=9,ce:qp=2    fields are rewritten; packets to the second queue pair are marked (ECN)

Actions: drop, dup, reorder:by=K, corrupt, ce, set:FIELD=VALUE. Keys: kind=request|send|write|read|atomic|response|ack|nak|rnr|
read_response|atomic_response|cnp, opcode=NAME, psn=N and qp=N (as they appear, from 0 and from 1), again=yes|no, direction=tx|rx, nth=N,
times=N|all, p=P. Calls fail, and events come, by

  verb:ibv_post_send=ENOMEM:nth=5                the fifth call fails with that errno
  verb:ibv_poll_cq:status=RETRY_EXC_ERR:nth=3    the third completion has failed, and its queue pair is in ERR
  verb:ibv_modify_qp=EINVAL:to=RTR               a change to that state
  verb:rdma_resolve_addr:event=ADDR_ERROR        the call returns 0, and this event follows
  async:DEVICE_FATAL:after=100ms                 an asynchronous event, with what it means for the device
  async:QP_FATAL:qp=2:call=ibv_post_send:nth=9   the same, just before that call, of the second queue pair

with nth=N (or n=N), times=N|all and p=P for all but async. The end of the program says on stderr which fired. FAULTS.md, below
share/doc/urnic, has all words.

Mistakes (--sanitize[=SPEC]): the NIC looks for what works here and not on hardware, such as a send queue
that is never drained, or a READ whose bytes are sent on without a fence. Each is told once for each object,
with the calls that led there, and a table follows at the end. SPEC: level=error|warning|hint (the least that
is told, by default warning), exitcode=N (of a program that ends well but had errors; 1 by default),
off=NAME+NAME, suppressions=FILE, stacks=0, json=FILE (%p in it is the process), separated by commas.
SANITIZER.md, below share/doc/urnic, has all.

Another NIC (--like NAME): programs that run here may fail on hardware, which has less room, other errors
and longer timeouts. The device is then like connectx5, connectx6, e810 (Intel, irdma), rxe (Linux), or
strict, which grants only what all of these grant. What is unknown stays as it is by default, and 'urnic run'
says which. 'urnic personalities' shows all, with the sources. With NAME,identity it also says to be that
NIC (vendor_id, vendor_part_id, hw_ver, fw_ver and board_id); programs that know the NIC may then call its
own driver, which is not there. PERSONALITIES.md, below share/doc/urnic, has the rest.

Chaos (--chaos=SPEC): the NIC does what the rules allow and programs may not expect: payloads are read late,
completions of different queues change places, fields that mean nothing have random values. What it does is
drawn from the seed. SPEC: seed=N, only=NAME+NAME, off=NAME+NAME (behaviors, see 'urnic chaos --list'),
scale=X (of all pauses), log=FILE (where the last unusual acts are kept), separated by commas. 'urnic chaos'
looks for a seed with which a program fails. CHAOS.md, below share/doc/urnic, has all.

Congestion control (--cc SPEC): CONTROLLER[:[DEFAULTS,]NAME=NUMBER,...], e.g. dcqcn, dcqcn:paper,rpg_ai_rate=50, timely, swift,
fixed:rate=1000 (Mb/s), or none, the default. CONGESTION.md, below share/doc/urnic, has all names.

Recovery (--recovery MODE): go-back-n sends again everything from the first lost packet on, as every RNIC understands it.
selective-repeat offers to send again only what was lost; RC queue pairs do so where the peer offers it, too, which both learn by
ECE: librdmacm exchanges it by itself, other programs by ibv_query_ece() and ibv_set_ece(). With any other peer they go back N.

With --port host all processes share one NIC. Otherwise each process that opens the device has a NIC of its own: the first
process has the NIC that 'urnic run' made, and further processes at the same time (mpirun -np 2) get another address and port each. Where --ip, --ip6, --mac or the
number of a port is given, only one process can have the device at a time.

Addresses that are not given come from a network that the fabric draws when its first program comes, 10.64.0.0/24 to
10.127.255.0/24: port 0 has number 1. Two fabrics have different ones; on a vhost wire they are 10.77.0.1 and 10.77.0.2.

Files (--files WAY): programs find the device below /sys/class/infiniband, /sys/devices,
/sys/class/infiniband_verbs and /dev/infiniband, with its counters, as they find the kernel's devices.
  preload    the functions of the C library lead there: for all programs that use it, and what those start
  namespace  mounts in a mount namespace of the program's own: for whatever reads files, static programs and
             Go as well, and what those start. With CAP_SYS_ADMIN nothing else changes. Without, it is a user
             namespace, too: sudo does not work in it. Counters are up to a second old
  auto       namespace for a static program and one in Go, where the system allows it ('urnic doctor' says
             whether); otherwise preload. The default

Everything is done by environment variables, which can be set by hand: LD_AUDIT, LD_LIBRARY_PATH, LD_PRELOAD,
URNIC_PATHS (for what programs read below /sys/class/infiniband and /dev/infiniband), and URNIC_IP, URNIC_IP6,
URNIC_MAC, URNIC_MTU, URNIC_VLAN, URNIC_PORT, URNIC_DEVICES, URNIC_PCAP, URNIC_RECORD, URNIC_FAULT, URNIC_CC,
URNIC_RECOVERY, URNIC_LIKE, URNIC_SEED, URNIC_VERBOSE, URNIC_EXPLAIN, URNIC_SANITIZER, URNIC_CHAOS,
and without an option URNIC_PROGRESS=hybrid|thread
(who works: the program's polling too, or the NIC's own thread alone), URNIC_CPUS=LIST (the processors of the
NIC's threads, such as 0-3,8; by default those that the program was started with), URNIC_ICRC=wires|always
(which packets have an ICRC: those on wires, or also those between two NICs that share memory) and
URNIC_MW_TYPE_2=2A|2B (what memory windows of type 2 are).

Exit code: the program's; 2 for wrong usage, 127 for a program that is not there, 126 for one that cannot be
executed, 1 for anything else that went wrong before the program ran.)";

/// A CLI11 validator out of one of our parsers: an empty text means "fine".
template <typename Parser>
auto accepted_by(Parser parse) {
  return [parse](const std::string& text) {
    const auto value = parse(text);
    return value ? std::string() : value.error().message;
  };
}

/// Where the counters of that device are that all programs of the user share, with the NIC; empty: there are
/// none. Each list of counters has files of its own, because one name may mean two things.
Result<std::string, Error> shared_counters(const verbs_api::NicEnvironment& environment) {
  if (environment.port.kind != nic::PortSpec::Kind::kHost) return std::string();
  const auto files = nic::host_switch_files();
  if (!files) return files.error();
  std::string name =
      environment.port.is_each ? environment.host.interface + ".counters" : std::string("counters");
  const nic::CounterNames names = environment.device.personality->counter_names;
  if (names != nic::CounterNames::kOwn) name += fmt::format(".{}", nic::name_of(names));
  return std::filesystem::path(files.value().lock).replace_extension(name).string();
}

/// Leads the program to files that show the devices where the kernel would; the folder that has them.
Result<std::string, Error> show_device_files(const std::string& dropin,
                                             const std::vector<verbs_api::NicEnvironment>& environments) {
  const auto folder = nic::private_folder();
  if (!folder) return folder.error();
  std::vector<TreeDevice> devices;
  for (const verbs_api::NicEnvironment& each : environments) {
    auto counters = shared_counters(each);
    if (!counters) return counters.error();
    devices.push_back({.config = each.device, .shared_counters = std::move(counters.value())});
  }
  const auto tree = make_path_tree(folder.value() + "/paths", devices);
  if (!tree) return tree.error();
  setenv("URNIC_PATHS", tree.value().c_str(), 1);
  // The loader takes a space there for the end of a name; it looks for a name without folder where
  // LD_LIBRARY_PATH leads.
  const bool is_one_word = dropin.find(' ') == std::string::npos;
  put_first("LD_PRELOAD", is_one_word ? dropin + "/liburnic_paths.so" : "liburnic_paths.so");
  // A program with AddressSanitizer wants to be the first that is loaded; ours does not allocate, and may be.
  put_first("ASAN_OPTIONS", "verify_asan_link_order=0");
  return tree.value();
}

/// Without a value the defaults.
Result<verbs_api::SanitizerSettings, Error> parse_sanitizer(std::string_view text) {
  return verbs_api::SanitizerSettings::parse(text.empty() ? "1" : text);
}

/// Faults of calls, and faults of frames.
Result<verbs_api::FaultList, Error> parse_faults(std::string_view text) {
  auto list = verbs_api::FaultList::parse(text);
  if (!list || (list.value().frames.empty() && !text.empty())) return list;
  const auto frames = drivers::FaultSpec::parse(list.value().frames);
  if (!frames) {
    return Error{.code = frames.error().code,
                 .message = frames.error().message + "; faults of calls begin with verb: or async:"};
  }
  return list;
}

/// Says what keeps the program from the device, or from its files.
void complain_of_obstacle(const std::string& program, const std::optional<std::filesystem::path>& file,
                          bool has_mounts, const std::string& why_no_mounts, bool is_verbose) {
  if (!file) return;
  const std::filesystem::path loaded = script_interpreter(*file).value_or(*file);
  const Obstacle obstacle = find_obstacle(loaded);
  const bool is_go = is_go_program(loaded);
  if (is_verbose && has_mounts) complain(program + ": sees the device's files by mounts of its own");
  if (is_verbose && !why_no_mounts.empty()) {
    complain(fmt::format("{}: cannot see the device's files: {}", program, why_no_mounts));
  }
  // A Go program without the C library does not want the device, but what files say of it.
  const bool has_what_it_wants = has_mounts && is_go && obstacle == Obstacle::kStatic;
  if (obstacle != Obstacle::kNone && !has_what_it_wants) complain(describe(obstacle, program));
}

/// Says what the devices do as by default, because no source tells how the NIC does it.
void tell_what_is_unknown(const std::string& devices, nic::Column like) {
  std::vector<std::string_view> names;
  nic::for_each_row([&](const nic::Row& row) {
    const nic::Cell& cell = row.cells[static_cast<std::size_t>(like)];
    if (cell.standing == nic::Standing::kUnknown) names.push_back(row.name);
  });
  const std::string known = "nothing of the table";
  complain(fmt::format("{} like {}; unknown of it, and as by default: {}", devices, name_of(like),
                       names.empty() ? known : fmt::format("{}", fmt::join(names, ", "))));
  complain(fmt::format("'urnic personalities {}' says what the rest stands on", name_of(like)));
}

void tell_what_is_unknown(const std::vector<verbs_api::NicEnvironment>& environments) {
  std::map<nic::Column, std::vector<std::string_view>> devices;
  for (const verbs_api::NicEnvironment& each : environments) {
    if (each.like != nic::Column::kDefault) devices[each.like].push_back(each.device.name);
  }
  for (const auto& [like, names] : devices) {
    tell_what_is_unknown(fmt::format("{} {}", fmt::join(names, ", "), names.size() == 1 ? "is" : "are"),
                         like);
  }
}

void warn_of_identities(const std::vector<verbs_api::NicEnvironment>& environments) {
  for (const verbs_api::NicEnvironment& each : environments) {
    if (each.device.identity == nullptr) continue;
    complain(
        fmt::format("warning: {} has the identity of {}: programs that know it, such as UCX and NCCL, "
                    "may call its own driver, which is not there",
                    each.device.name, name_of(each.like)));
  }
}

int run(const std::vector<std::string>& program, FilesBy files_by) {
  if (program.empty()) {
    complain(fmt::format(
        "run: which program? Write it after '--', for example: urnic run -- {} (see 'urnic run --help')",
        example_command()));
    return kExitUsage;
  }
  const auto fail = [](const Error& error) {
    complain(error.message);
    return error.code == EINVAL ? kExitUsage : kExitFailure;
  };
  const auto folder = dropin_folder();
  if (!folder) return fail(folder.error());
  // Holds the leases until exec, which hands them to the program.
  const auto environments = verbs_api::read_environments();
  if (!environments) return fail(environments.error());
  for (const verbs_api::NicEnvironment& each : environments.value()) {
    if (const auto checked = check_port(each); !checked) return fail(checked.error());
  }
  if (const auto exported = export_environments(environments.value()); !exported) {
    return fail(exported.error());
  }
  lead_to_dropin(folder.value());
  const bool is_verbose = environments.value().front().verbose;
  const auto tree = show_device_files(folder.value(), environments.value());
  if (!tree) return fail(tree.error());
  const auto file = find_program(program[0]);
  std::string why_no_mounts;
  const auto has_mounts = show_files(files_by, file, tree.value(), why_no_mounts);
  if (!has_mounts) return fail(has_mounts.error());
  complain_of_obstacle(program[0], file, has_mounts.value(), why_no_mounts, is_verbose);
  tell_what_is_unknown(environments.value());
  warn_of_identities(environments.value());
  if (is_verbose) {
    for (const verbs_api::NicEnvironment& each : environments.value()) complain(describe(each.device));
  }
  return execute(program);
}

}  // namespace

void add_run_command(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand(
      "run", "Run a program with an RDMA NIC: urnic run [OPTIONS] -- PROGRAM ARGUMENTS...");
  command->footer(kRunFooter);

  // Inside another `urnic run` the variables are not this user's wishes. The options below set them again.
  command->preparse_callback([](std::size_t) { forget_outer_nic(); });
  const auto add_variable = [command](const char* option, const char* variable, const char* help) {
    return command->add_option_function<std::string>(
        option, [variable](const std::string& text) { setenv(variable, text.c_str(), 1); }, help);
  };
  add_variable("--devices", "URNIC_DEVICES",
               "How many RDMA devices the program sees, see below; 1 by default")
      ->check(accepted_by(verbs_api::parse_devices))
      ->type_name("N");
  add_variable("--ip", "URNIC_IP", "IPv4 address of the NIC, e.g. 10.0.0.1/24")
      ->check(accepted_by(verbs_api::parse_ipv4_interface))
      ->type_name("A/LEN");
  add_variable("--ip6", "URNIC_IP6", "IPv6 address of the NIC, e.g. fd00::1/64")
      ->check(accepted_by(verbs_api::parse_ipv6_interface))
      ->type_name("A/LEN");
  add_variable("--mac", "URNIC_MAC", "Hardware address; made from the address by default")
      ->check(accepted_by(verbs_api::parse_mac))
      ->type_name("M");
  add_variable("--mtu", "URNIC_MTU", "Largest IP packet in bytes; 4200 carries an RDMA MTU of 4096 (default)")
      ->check(accepted_by(verbs_api::parse_link_mtu))
      ->type_name("N");
  add_variable("--vlan", "URNIC_VLAN",
               "VLAN of the NIC, 1 to 4094: its frames have that tag, with the service level as priority, "
               "and it hears no others. By default they have no tag")
      ->check(accepted_by(verbs_api::parse_vlan))
      ->type_name("N");
  add_variable("--port", "URNIC_PORT", "Where the frames go, see below")
      ->check(accepted_by(nic::PortSpec::parse))
      ->type_name("SPEC");
  add_variable("--pcap", "URNIC_PCAP", "Record every frame in this file; further processes in FILE.PROCESS")
      ->type_name("FILE");
  add_variable(
      "--record", "URNIC_RECORD",
      "Record every frame in this file, as pcapng, with what the NIC knows beside: posts, completions, "
      "states, timers, why it sends again and what it drops; further processes in FILE.PROCESS")
      ->type_name("FILE");
  add_variable("--fault", "URNIC_FAULT",
               "Lose, repeat, reorder or damage frames, and let calls fail, see below")
      ->check(accepted_by(parse_faults))
      ->type_name("SPEC");
  add_variable("--cc", "URNIC_CC", "How queue pairs slow down when the network is congested, see below")
      ->check(accepted_by(nic::parse_congestion))
      ->type_name("SPEC");
  add_variable("--recovery", "URNIC_RECOVERY",
               "How reliable connections send again what was lost, see below; go-back-n by default")
      ->check(accepted_by(nic::parse_recovery))
      ->type_name("go-back-n|selective-repeat");
  add_variable("--like", "URNIC_LIKE", "Behave as another NIC where programs can tell, see below")
      ->check(accepted_by(verbs_api::parse_like))
      ->type_name("default|connectx5|connectx6|e810|rxe|strict[,identity]");
  add_variable(
      "--seed", "URNIC_SEED",
      "Seed of everything that is drawn; random by default. A NIC that starts again with the seed it had "
      "uses the same communication IDs, and peers by rdma_cm may take its requests for old ones")
      ->check(accepted_by(verbs_api::parse_seed))
      ->type_name("N");
  command
      ->add_option_function<std::vector<std::string>>(
          "--sanitize",
          [](const std::vector<std::string>& text) {
            setenv("URNIC_SANITIZER", text.empty() || text[0].empty() ? "1" : text[0].c_str(), 1);
          },
          "Look for mistakes that would show on hardware, see below")
      ->expected(0, 1)
      ->check(accepted_by(parse_sanitizer))
      ->type_name("[=SPEC]");
  add_variable("--chaos", "URNIC_CHAOS", "Do what the rules allow and programs may not expect, see below")
      ->check(accepted_by(verbs_api::parse_adversary))
      ->type_name("SPEC");
  command->add_flag_callback(
      "--explain", [] { setenv("URNIC_EXPLAIN", "1", 1); },
      "Say on stderr why a work request failed or was refused");
  command->add_flag_callback(
      "-v,--verbose", [] { setenv("URNIC_VERBOSE", "1", 1); }, "Say on stderr what happens");
  const auto files = std::make_shared<std::string>("auto");
  command
      ->add_option("--files", *files,
                   "How the program sees the device's files below /sys and /dev: see below; auto by default")
      ->check(CLI::IsMember({"auto", "preload", "namespace"}))
      ->type_name("auto|preload|namespace");
  command->callback([&invocation, files] {
    invocation.exit_code = run(invocation.program, parse_files_by(*files).value_or(FilesBy::kAuto));
  });
}

}  // namespace urnic::tools
