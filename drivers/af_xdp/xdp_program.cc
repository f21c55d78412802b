// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/af_xdp/xdp_program.h"

#include <fmt/core.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace urnic::drivers {

namespace {

constexpr std::uint32_t kQueue = 0;

/// The answer of bpf(2): a descriptor, or -1 and errno. Every descriptor of it is closed by exec().
int bpf(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

/// An error message with its reason.
Error bpf_error(const std::string& interface, const char* what, int code) {
  switch (code) {
    case EPERM:
      return interface_error(
          code, interface,
          "af_xdp needs the capabilities CAP_NET_ADMIN, CAP_BPF and CAP_NET_RAW outside of any user "
          "namespace (root has them; docker run --privileged); af_packet needs only CAP_NET_RAW");
    case ENOSYS:
      return interface_error(code, interface,
                             "this kernel has no bpf(2) (CONFIG_BPF_SYSCALL); use af_packet");
    default:
      return interface_error(code, interface, fmt::format("cannot {}: {}", what, std::strerror(code)));
  }
}

// From the queue's number to a socket.
Descriptor make_map() {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_XSKMAP;
  attributes.key_size = sizeof kQueue;
  attributes.value_size = sizeof(int);
  attributes.max_entries = kQueue + 1;
  return Descriptor(bpf(BPF_MAP_CREATE, attributes));
}

bool put_into_map(int map, int socket) {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(map);
  attributes.key = reinterpret_cast<std::uintptr_t>(&kQueue);
  attributes.value = reinterpret_cast<std::uintptr_t>(&socket);
  return bpf(BPF_MAP_UPDATE_ELEM, attributes) == 0;
}

// return bpf_redirect_map(map, context->rx_queue_index, XDP_PASS): the last is what is done where the map has
// no socket for the queue.
Descriptor load_program(int map) {
  const std::array<bpf_insn, 6> instructions{{
      {.code = BPF_LDX | BPF_MEM | BPF_W,
       .dst_reg = BPF_REG_2,
       .src_reg = BPF_REG_1,
       .off = offsetof(xdp_md, rx_queue_index),
       .imm = 0},
      {.code = BPF_LD | BPF_DW,  // and BPF_IMM, which is 0
       .dst_reg = BPF_REG_1,
       .src_reg = BPF_PSEUDO_MAP_FD,
       .off = 0,
       .imm = map},
      {.code = 0, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},  // the upper half of the one before it
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .src_reg = 0, .off = 0, .imm = XDP_PASS},
      {.code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = BPF_FUNC_redirect_map},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
  }};
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_XDP;
  attributes.expected_attach_type = BPF_XDP;
  attributes.insn_cnt = instructions.size();
  attributes.insns = reinterpret_cast<std::uintptr_t>(instructions.data());
  // The program calls no function that is only for programs under the GPL.
  attributes.license = reinterpret_cast<std::uintptr_t>("none");
  std::string_view("urnic").copy(attributes.prog_name, sizeof attributes.prog_name - 1);
  return Descriptor(bpf(BPF_PROG_LOAD, attributes));
}

Descriptor link_to(int program, int interface_index, std::uint32_t flags) {
  bpf_attr attributes{};
  attributes.link_create.prog_fd = static_cast<std::uint32_t>(program);
  attributes.link_create.target_ifindex = static_cast<std::uint32_t>(interface_index);
  attributes.link_create.attach_type = BPF_XDP;
  attributes.link_create.flags = flags;
  return Descriptor(bpf(BPF_LINK_CREATE, attributes));
}

Error link_error(const std::string& name, int code) {
  if (code == EBUSY || code == EEXIST) {
    return interface_error(EBUSY, name,
                           "another XDP program has it, perhaps another NIC's ('ip link show' names it); end "
                           "that program, or use af_packet");
  }
  if (code == EINVAL) {
    return interface_error(code, name,
                           "the kernel does not attach the XDP program; it needs Linux 5.9 or newer");
  }
  return bpf_error(name, "attach the XDP program", code);
}

}  // namespace

Result<void, Error> XdpProgram::check(const std::string& name) {
  const Descriptor map = make_map();
  if (!map) return bpf_error(name, "make a map of AF_XDP sockets", errno);
  if (!load_program(map.get())) return bpf_error(name, "load the XDP program", errno);
  return success();
}

Result<XdpProgram, Error> XdpProgram::attach(const std::string& name, const NetworkInterface& interface,
                                             int socket) {
  Descriptor map = make_map();
  if (!map) return bpf_error(name, "make a map of AF_XDP sockets", errno);
  if (!put_into_map(map.get(), socket)) return bpf_error(name, "put the socket into the map", errno);
  Descriptor program = load_program(map.get());
  if (!program) return bpf_error(name, "load the XDP program", errno);
  Descriptor link = link_to(program.get(), interface.index, /*flags=*/0);
  const bool is_for_good = errno == EPERM || errno == EBUSY || errno == EEXIST;
  // Drivers refuse for reasons of their own, such as the offloads that are on.
  if (!link && !is_for_good) link = link_to(program.get(), interface.index, XDP_FLAGS_SKB_MODE);
  if (!link) return link_error(name, errno);
  return XdpProgram(std::move(map), std::move(program), std::move(link));
}

}  // namespace urnic::drivers
