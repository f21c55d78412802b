# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs that connect by rdma_cm. Neither side is told anything of the other but its address."""
from program import FIXED, GIDS, ROLES, Program

# A link-local address would need the name of a network device besides, which is another one on either side.
_ADDRESSES = tuple(gid for gid in GIDS if gid != "linklocal")
# A lost message of the connection manager costs 4.3 s, and a connection takes five of them.
_LOSSY = ("clean", "loss5")
_CLEAN = ("clean",)
_LONG = 120  # seconds; only under loss a case takes half of it
# 15 repetitions of a message take 70 s, and the guest's are slower.
_UNTIL_UNREACHABLE = 150


def _cm(name, server, client, *, faults=_LOSSY, gids=_ADDRESSES, seconds=_LONG, **more):
    """Words in braces are filled in for each case, see Session."""
    words = {"server_words": tuple(server.split()), "client_words": tuple(client.split())}
    return Program(
        name, (), "rdma_cm", sizes=FIXED, faults=faults, gids=gids, seconds=seconds, **(words | more)
    )


def _perftest(name):
    """Without IPv6, which perftest does not know here. It sends its first messages from the buffer that it
    receives into. Its server ends a first connection and listens again for the measured one; its client
    requests that connection at once."""
    both = f"{name} -R -F -n 100 -s 4096 -d {{device}} -p {{port}}"
    return _cm(f"{name}_by_cm", both, f"{both} {{server}}", gids=("ipv4",), listens_anew=True, overwrites=True,
               leaves=True)  # fmt: skip


def _rpings(name, rounds, script, **more):
    """Eight clients that a shell starts, of one server that stays. Each of our NICs draws something else."""
    rping = f"URNIC_SEED=$((URNIC_SEED + i)) rping -c -C {rounds} {_RPING}"
    script = "for i in 1 2 3 4 5 6 7 8; do " + script.replace("RPING", rping)
    return _cm(
        name,
        _STAYING_RPING,
        "",
        client_words=("sh", "-c", script),
        server_stays=True,
        overwrites=True,
        **more,
    )


# It writes its next message into the buffer of the last one, although that may have to be sent again.
_RPING = "-V -S 1000 -p {port} -a {server}"
_MCKEY = "mckey -m {group} -C 20"
_STAYING_RPING = f"rping -s -P {_RPING}"

CM_PROGRAMS = (
    _cm("rping", f"rping -s -C 20 {_RPING}", f"rping -c -C 20 -I {{client}} {_RPING}", overwrites=True),
    _cm("rping_own_queue_pairs", f"rping -s -q -C 20 {_RPING}", f"rping -c -q -C 20 {_RPING}", overwrites=True),
    # A lost packet costs 2 s, the kernel's ACK timeout: fewer of them, for eight fit into the time.
    _rpings("rping_eight_in_turn", 5, "RPING || exit 1; done"),
    # Ours would need eight NICs with an address each. rping's server mixes up two clients that come at the
    # same moment.
    _rpings("rping_eight_at_once", 20, 'RPING & all="$all $!"; sleep 0.1; done; for i in $all; do wait $i || exit 1; done', roles=("serves",)),
    _cm("ucmatose", "ucmatose -c 16 -b {server} -p {port}", "ucmatose -c 16 -s {server} -p {port}"),
    _cm("udaddy", "udaddy -c 4 -b {server}", "udaddy -c 4 -s {server}", faults=_CLEAN, port=7174),
    _cm("mckey", f"{_MCKEY} -b {{server}}", f"{_MCKEY} -s -b {{client}}", faults=_CLEAN, gids=("ipv4",)),
    _cm("rdma_server", "rdma_server -s {server} -p {port}", "rdma_client -s {server} -p {port}", leaves=True),
    _cm("rdma_xserver", "rdma_xserver -p {port}", "rdma_xclient -s {server} -p {port}", gids=("ipv4",),
        leaves=True),
    _cm("rstream", "rstream -b {server} -p {port} -S 20000 -I 2 -C 10", "rstream -s {server} -p {port} -S 20000 -I 2 -C 10",
        leaves=True),
    _perftest("ib_write_bw"),
    _perftest("ib_send_lat"),
    _perftest("ib_read_bw"),
    _cm("wrong_port", _STAYING_RPING, "rping -c -C 1 -a {server} -p {other_port}", server_stays=True,
        client_says=r"REJECTED, error 8\b"),
    _cm("nobody", _STAYING_RPING, "rping -c -C 1 -a {nobody}", faults=_CLEAN, server_stays=True,
        client_says="ADDR_ERROR", meets=False),
    _cm("mute_server", f"rping -s -C 10 {_RPING}", f"rping -c -C 10 {_RPING}", faults=("mute",), seconds=_UNTIL_UNREACHABLE,
        server_stays=True, client_says="UNREACHABLE, error -110"),
    *(
        _cm(f"{who}_restarts", _STAYING_RPING, f"rping -c -C {{rounds}} {_RPING}", faults=_CLEAN, server_stays=True,
            restarts=who, drops=ROLES)
        for who in ("server", "client")
    ),
)  # fmt: skip
