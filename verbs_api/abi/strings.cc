// Words for people.
#include <array>
#include <cstddef>

#include "verbs_api/abi/libibverbs.h"

namespace {

template <std::size_t Size>
const char* word(const std::array<const char*, Size>& words, long index) {
  const bool is_known = index >= 0 && static_cast<std::size_t>(index) < Size;
  return is_known ? words[static_cast<std::size_t>(index)] : "unknown";
}

constexpr std::array kWcStatus = std::to_array<const char*>({
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "work request flushed",
    "memory window bind error",
    "bad response",
    "local access error",
    "remote invalid request",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation",
    "remote invalid RD request",
    "remote aborted",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout",
    "general error",
    "tag matching error",
    "tag matching rendezvous incomplete",
});
static_assert(kWcStatus.size() == IBV_WC_TM_RNDV_INCOMPLETE + 1);

constexpr std::array kEvents = std::to_array<const char*>({
    "CQ error",
    "QP fatal error",
    "QP invalid request error",
    "QP access error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration error",
    "device fatal error",
    "port active",
    "port error",
    "LID change",
    "P_Key table change",
    "SM change",
    "SRQ error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration asked for",
    "GID table change",
    "WQ fatal error",
});
static_assert(kEvents.size() == IBV_EVENT_WQ_FATAL + 1);

constexpr std::array kNodeTypes = std::to_array<const char*>({
    "unknown",
    "InfiniBand channel adapter",
    "InfiniBand switch",
    "InfiniBand router",
    "iWARP NIC",
    "usNIC",
    "usNIC UDP",
    "unspecified",
});
static_assert(kNodeTypes.size() == IBV_NODE_UNSPECIFIED + 1);

constexpr std::array kPortStates = std::to_array<const char*>({
    "no state change",
    "down",
    "init",
    "armed",
    "active",
    "active, deferred",
});
static_assert(kPortStates.size() == IBV_PORT_ACTIVE_DEFER + 1);

constexpr std::array kWrOpcodes = std::to_array<const char*>({
    "RDMA_WRITE",
    "RDMA_WRITE_WITH_IMM",
    "SEND",
    "SEND_WITH_IMM",
    "RDMA_READ",
    "ATOMIC_CMP_AND_SWP",
    "ATOMIC_FETCH_AND_ADD",
    "LOCAL_INV",
    "BIND_MW",
    "SEND_WITH_INV",
    "TSO",
    "DRIVER1",
    "unknown",
    "unknown",
    "FLUSH",
    "ATOMIC_WRITE",
});
static_assert(kWrOpcodes.size() == IBV_WR_ATOMIC_WRITE + 1);

}  // namespace

extern "C" {

const char* ibv_wc_status_str(ibv_wc_status status) {
  return word(kWcStatus, status);
}
const char* ibv_event_type_str(ibv_event_type event) {
  return word(kEvents, event);
}
const char* ibv_node_type_str(ibv_node_type node_type) {
  return word(kNodeTypes, node_type);
}
const char* ibv_port_state_str(ibv_port_state port_state) {
  return word(kPortStates, port_state);
}
// Of the private node, from version 44.1 on; no installed header declares it.
[[gnu::visibility("default")]] const char* ibv_wr_opcode_str(ibv_wr_opcode opcode);
const char* ibv_wr_opcode_str(ibv_wr_opcode opcode) {
  return word(kWrOpcodes, opcode);
}

}  // extern "C"
