// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the connection managers of others said to each other: each message of the captures, as tshark 4.0
// shows it.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <string_view>

namespace urnic::nic::cm {

/// "CAPTURE FRAME: MESSAGE FIELD=VALUE...": hexadecimal numbers; private data without the zeros at its end.
/// tshark does not take SIDR apart, and reads a REQ's flow label and rate in wrong places: these values were
/// read from the bytes, by the offsets of CM.md 2. Each flow label is as fact 8 says.
inline constexpr std::string_view kCapturedMessages = R"(
rping_ipv6 1: REQ tid=22b3706d9 local=d906372b guid=505498fffeaf40cf qpn=1b resources=1 depth=1
    remote_timeout=14 type=0 flow_control=0 psn=45a74d local_timeout=14 retries=7 pkey=ffff mtu=3 rnr=7
    cm_retries=f srq=0 extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0
    ack_timeout=13 label=19c40 rate=0 service=1061c06 from=fd77::2 to=fd77::3
    private=00609086fd770000000000000000000000000002fd770000000000000000000000000003
rping_ipv6 2: REP tid=22b3706d9 local=e3a4ee0a remote=d906372b qkey=0 qpn=1b eec=0 psn=19824e resources=1
    depth=1 ack_delay=f failover=0 flow_control=0 rnr=7 srq=0 guid=505401fffea61175 private=
rping_ipv6 3: RTU tid=22b3706d9 local=d906372b remote=e3a4ee0a private=
rping_ipv6 40: DREQ tid=22b3706d9 local=d906372b remote=e3a4ee0a qpn=1b private=
rping_ipv6 41: DREP tid=22b3706d9 local=e3a4ee0a remote=d906372b private=
cm_reject 1: REQ tid=22b3706db local=db06372b guid=505498fffeaf40cf qpn=1d resources=1 depth=1
    remote_timeout=14 type=0 flow_control=0 psn=bdc471 local_timeout=14 retries=7 pkey=ffff mtu=3 rnr=7
    cm_retries=f srq=0 extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0
    ack_timeout=13 label=f2f rate=0 service=1061c06 from=::ffff:10.77.0.2 to=::ffff:10.77.0.3
    private=004083b70000000000000000000000000a4d00020000000000000000000000000a4d0003
cm_reject 2: REJ tid=22b3706db local=0 remote=db06372b answered=0 length=0 reason=8 information= private=
udaddy 1: SIDR_REQ tid=22b3706df local=df06372b pkey=ffff service=1111c06
    private=004097650000000000000000000000000a4d00020000000000000000000000000a4d0003
udaddy 2: SIDR_REP tid=22b3706df local=df06372b status=0 length=0 qpn=20 service=1111c06 qkey=1234567
    private=
rping 1: REQ tid=22b3706d8 local=d806372b guid=505498fffeaf40cf qpn=1a resources=1 depth=1 remote_timeout=14
    type=0 flow_control=0 psn=f12ffa local_timeout=14 retries=7 pkey=ffff mtu=3 rnr=7 cm_retries=f srq=0
    extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0 ack_timeout=13 label=99641
    rate=0 service=1061c06 from=::ffff:10.77.0.2 to=::ffff:10.77.0.3
    private=0040d2650000000000000000000000000a4d00020000000000000000000000000a4d0003
rping 2: REP tid=22b3706d8 local=e1a4ee0a remote=d806372b qkey=0 qpn=1a eec=0 psn=db11fe resources=1 depth=1
    ack_delay=f failover=0 flow_control=0 rnr=7 srq=0 guid=505401fffea61175 private=
rping 3: RTU tid=22b3706d8 local=d806372b remote=e1a4ee0a private=
rping 84: DREQ tid=22b3706d8 local=d806372b remote=e1a4ee0a qpn=1a private=
rping 85: DREP tid=22b3706d8 local=e1a4ee0a remote=d806372b private=
connectx_vlan_cm_send_ack 1: REQ tid=357feb735 local=35b7fe57 guid=b8599f0300077e2a qpn=144 resources=10
    depth=10 remote_timeout=16 type=0 flow_control=0 psn=cf7bf6 local_timeout=16 retries=7 pkey=ffff mtu=3
    rnr=7 cm_retries=f srq=0 extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0
    ack_timeout=12 label=5ba59 rate=0 service=1066b13 from=::ffff:192.170.1.2 to=::ffff:192.170.1.50
    private=0040affa000000000000000000000000c0aa0102000000000000000000000000c0aa0132
connectx_vlan_cm_send_ack 2: RTU tid=357feb735 local=35b7fe57 remote=fedcabed private=
rxe_l5_rping 1: REQ tid=26dc5c06e local=6ec0c56d guid=25056fffea77d03 qpn=2c resources=1 depth=1
    remote_timeout=14 type=0 flow_control=0 psn=3da6 local_timeout=14 retries=7 pkey=ffff mtu=3 rnr=7
    cm_retries=f srq=0 extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0
    ack_timeout=11 label=70bbd rate=0 service=1061c06 from=::ffff:10.1.16.62 to=::ffff:10.1.16.61
    private=0040bd690000000000000000000000000a01103e0000000000000000000000000a01103d
rxe_l5_rping 2: REP tid=26dc5c06e local=9d88f456 remote=6ec0c56d qkey=0 qpn=2b eec=0 psn=febd3d resources=1
    depth=1 ack_delay=f failover=0 flow_control=0 rnr=7 srq=0 guid=25056fffea7129f private=
rxe_l5_rping 3: RTU tid=26dc5c06e local=6ec0c56d remote=9d88f456 private=
rxe_l5_rping 64: DREQ tid=26dc5c06e local=6ec0c56d remote=9d88f456 qpn=2b private=
rxe_l5_rping 65: DREP tid=26dc5c06e local=9d88f456 remote=6ec0c56d private=
rxe_liteeth_cm_send 2: REQ tid=2f2c97e40 local=407ec9f2 guid=227bd2fffe93899a qpn=15 resources=1 depth=10
    remote_timeout=14 type=0 flow_control=0 psn=4b1dd4 local_timeout=14 retries=7 pkey=ffff mtu=3 rnr=7
    cm_retries=f srq=0 extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0
    ack_timeout=11 label=4d8c6 rate=0 service=1061c06 from=::ffff:192.170.1.2 to=::ffff:192.170.1.50
    private=0040ab40000000000000000000000000c0aa0102000000000000000000000000c0aa0132
rxe_liteeth_cm_send 3: RTU tid=2f2c97e40 local=407ec9f2 remote=fedcabed private=
rxe_liteeth_cm_send 4: DREQ tid=2f2c97e40 local=407ec9f2 remote=fedcabed qpn=deaded private=
rxe_mb_write_read_cm 1: REQ tid=252b5cf34 local=34cfb552 guid=505400fffe0aaaba qpn=11 resources=1 depth=1
    remote_timeout=14 type=0 flow_control=0 psn=e1a47d local_timeout=14 retries=7 pkey=ffff mtu=3 rnr=7
    cm_retries=f srq=0 extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0
    ack_timeout=13 label=20438 rate=0 service=1061d2f from=::ffff:192.168.65.5 to=::ffff:192.168.65.4
    private=004093d7000000000000000000000000c0a84105000000000000000000000000c0a84104
rxe_mb_write_read_cm 2: REP tid=252b5cf34 local=a980e2d3 remote=34cfb552 qkey=0 qpn=11 eec=0 psn=8c84dd
    resources=1 depth=1 ack_delay=f failover=0 flow_control=0 rnr=7 srq=0 guid=505400fffebf4369
    private=0000aaab09dd5000000002d5
rxe_mb_write_read_cm 3: RTU tid=252b5cf34 local=34cfb552 remote=a980e2d3 private=
rxe_mb_write_read_cm 11: DREQ tid=252b5cf34 local=34cfb552 remote=a980e2d3 qpn=11 private=
rxe_mb_write_read_cm 12: DREP tid=252b5cf34 local=a980e2d3 remote=34cfb552 private=
rxe_sw_rping_x1 1: REQ tid=2d5672a51 local=512a67d5 guid=2155dfffe01020d qpn=11 resources=1 depth=1
    remote_timeout=14 type=0 flow_control=0 psn=d63675 local_timeout=14 retries=7 pkey=ffff mtu=3 rnr=7
    cm_retries=f srq=0 extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0
    ack_timeout=13 label=14a64 rate=0 service=1061c06 from=::ffff:192.168.1.102 to=::ffff:192.168.1.101
    private=00408de2000000000000000000000000c0a80166000000000000000000000000c0a80165
rxe_sw_rping_x1 2: REP tid=2d5672a51 local=6ffd3b6 remote=512a67d5 qkey=0 qpn=11 eec=0 psn=a59809
    resources=1 depth=1 ack_delay=f failover=0 flow_control=0 rnr=7 srq=0 guid=2155dfffe240104 private=
rxe_sw_rping_x1 3: RTU tid=2d5672a51 local=512a67d5 remote=6ffd3b6 private=
rxe_sw_rping_x1 16: DREQ tid=2d5672a51 local=512a67d5 remote=6ffd3b6 qpn=11 private=
rxe_sw_rping_x1 17: DREP tid=2d5672a51 local=6ffd3b6 remote=512a67d5 private=
rxe_sw_write_1329 1: REQ tid=225cf7c24 local=247ccf25 guid=3648edfffe662da8 qpn=1e resources=3 depth=3
    remote_timeout=14 type=0 flow_control=0 psn=999e6e local_timeout=14 retries=3 pkey=ffff mtu=3 rnr=0
    cm_retries=f srq=0 extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0
    ack_timeout=13 label=ff3b rate=0 service=1065196 from=::ffff:192.168.37.175 to=::ffff:192.168.37.174
    private=004089bb000000000000000000000000c0a825af000000000000000000000000c0a825ae
rxe_sw_write_1329 2: REP tid=225cf7c24 local=2cd3b5a6 remote=247ccf25 qkey=0 qpn=11 eec=0 psn=d3ad2b
    resources=3 depth=3 ack_delay=f failover=0 flow_control=0 rnr=0 srq=0 guid=7686e2fffe3b91dc private=
rxe_sw_write_1329 3: RTU tid=225cf7c24 local=247ccf25 remote=2cd3b5a6 private=
rxe_sw_write_1329 9: DREQ tid=225cf7c24 local=247ccf25 remote=2cd3b5a6 qpn=11 private=
rxe_sw_write_1329 10: DREP tid=225cf7c24 local=2cd3b5a6 remote=247ccf25 private=
rxe_sw_rping_1400_user_stack 1: REQ tid=2faa065a1 local=a165a0fa guid=2ef05dfffe7ca1c0 qpn=18 resources=1
    depth=1 remote_timeout=14 type=0 flow_control=0 psn=f21ad9 local_timeout=14 retries=7 pkey=ffff mtu=3
    rnr=7 cm_retries=f srq=0 extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0
    ack_timeout=13 label=9be37 rate=0 service=1061c06 from=::ffff:192.168.178.23 to=::ffff:192.168.178.25
    private=0040d3af000000000000000000000000c0a8b217000000000000000000000000c0a8b219
rxe_sw_rping_1400_user_stack 2: REP tid=2faa065a1 local=1234 remote=a165a0fa qkey=0 qpn=18 eec=0 psn=f0000
    resources=1 depth=1 ack_delay=f failover=0 flow_control=0 rnr=7 srq=0 guid=40124feff5d1502 private=
rxe_sw_rping_1400_user_stack 4: RTU tid=2faa065a1 local=a165a0fa remote=1234 private=
rxe_sw_rping_1400_user_stack 18: DREQ tid=2faa065a1 local=a165a0fa remote=1234 qpn=18 private=
rxe_sw_rping_1400_user_stack 19: DREP tid=2faa065a1 local=1234 remote=a165a0fa
    private=0000000000000000000000000f000000010178e0040124feff5d1502
rxe_sw_rping_user_stack 1: REQ tid=240d490a6 local=a690d440 guid=2ef05dfffe7ca1c0 qpn=28 resources=1 depth=1
    remote_timeout=14 type=0 flow_control=0 psn=5b2070 local_timeout=14 retries=7 pkey=ffff mtu=3 rnr=7
    cm_retries=f srq=0 extended=0 local_lid=ffff remote_lid=ffff class=0 hops=40 sl=0 subnet_local=0
    ack_timeout=13 label=93ed3 rate=0 service=1061c06 from=::ffff:192.168.178.23 to=::ffff:192.168.178.13
    private=0040cf93000000000000000000000000c0a8b217000000000000000000000000c0a8b20d
rxe_sw_rping_user_stack 2: REP tid=240d490a6 local=1234 remote=a690d440 qkey=0 qpn=28 eec=0 psn=f0000
    resources=1 depth=1 ack_delay=f failover=0 flow_control=0 rnr=7 srq=0 guid=40124feff5d1502 private=
rxe_sw_rping_user_stack 3: RTU tid=240d490a6 local=a690d440 remote=1234 private=
rxe_sw_rping_user_stack 16: DREQ tid=240d490a6 local=a690d440 remote=1234 qpn=28 private=
rxe_sw_rping_user_stack 17: DREP tid=240d490a6 local=1234 remote=a690d440
    private=0000000000000000000000000f000000010178e0040124feff5d1502
)";

/// The same by "CAPTURE FRAME": "MESSAGE FIELD=VALUE..." in one line.
inline std::map<std::string, std::string> captured_messages() {
  std::map<std::string, std::string> rows;
  std::istringstream lines{std::string(kCapturedMessages)};
  std::string line;
  std::string* row = nullptr;
  while (std::getline(lines, line)) {
    if (line.empty()) continue;
    if (line[0] == ' ') {
      *row += line.substr(3);
      continue;
    }
    const std::size_t colon = line.find(": ");
    row = &rows[line.substr(0, colon)];
    *row = line.substr(colon + 2);
  }
  return rows;
}

}  // namespace urnic::nic::cm
