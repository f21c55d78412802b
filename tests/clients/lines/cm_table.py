# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Every command line that must hold over two NICs whose programs connect by rdma_cm, over the distribution's
own librdmacm.

The NICs are 10.99.0.1 and 10.99.0.2. What a program refuses by itself, whatever the device, stands here with
the words of its refusal, and is run like the rest.
"""
from cm_pair import CLIENT, SERVER
from lines import verbs_table
from lines.cm_line import CmLine, Scenario

# Option, and what perftest says to it with -R.
PERFTEST_REFUSES = (
    ("-c UC", "UC is not supported in librdmacm"),
    ("-c XRC", "XRC does not support RDMA_CM"),
)

RPING = f"rping -s -a {SERVER}"
RPING_CLIENT = f"rping -c -a {SERVER}"
RDMACM_UTILS = (
    CmLine(f"{RPING} -V -C 100 -S 4096", f"{RPING_CLIENT} -I {CLIENT} -V -C 100 -S 4096", cover=True),
    # One byte more than its text.
    CmLine(f"{RPING} -V -C 30 -S 100", f"{RPING_CLIENT} -V -C 30 -S 100", cover=True),
    # With queue pairs of its own.
    CmLine(f"{RPING} -q -V -C 100 -S 4096", f"{RPING_CLIENT} -q -V -C 100 -S 4096", cover=True),
    CmLine("rping -s -a fd99::1 -V -C 30 -S 4096", "rping -c -a fd99::1 -V -C 30 -S 4096", cover=True),
    CmLine(f"ucmatose -b {SERVER} -c 16 -C 100", f"ucmatose -s {SERVER} -c 16 -C 100", cover=True),
    # It migrates ids to another channel.
    CmLine(f"ucmatose -b {SERVER} -c 16 -C 100 -m", f"ucmatose -s {SERVER} -c 16 -C 100 -m", cover=True),
    # A type of service.
    CmLine(f"ucmatose -b {SERVER} -c 4 -C 100 -t 32", f"ucmatose -s {SERVER} -c 4 -C 100 -t 32", cover=True),
    CmLine(f"udaddy -b {SERVER} -c 4 -C 100", f"udaddy -s {SERVER} -c 4 -C 100", cover=True),
    CmLine("rdma_server -p 7471", f"rdma_client -s {SERVER} -p 7471", cover=True),
    CmLine("rdma_xserver -p 7472 -c r", f"rdma_xclient -s {SERVER} -p 7472 -c r", cover=True),
    CmLine("rdma_xserver -p 7473 -c x", f"rdma_xclient -s {SERVER} -p 7473 -c x", cover=True),
    CmLine(
        f"cmtime -b {SERVER} -c 100",
        f"cmtime -s {SERVER} -b {CLIENT} -c 100",
        says=r"^connect +:",
        server_ends=False,
    ),
    CmLine(
        f"cmtime -b {SERVER} -c 1000",
        f"cmtime -s {SERVER} -b {CLIENT} -c 1000",
        says=r"^connect +:",
        server_ends=False,
    ),
    Scenario(
        f"mckey -m 239.1.1.1 -b {SERVER} -C 100",
        f"mckey -m 239.1.1.1 -b {CLIENT} -s -C 100",
        "test_rdma_cm.Groups.test_mckey",
    ),
    Scenario(
        f"rping -s -P -a {SERVER}",
        f"rping -c -a {SERVER} -C 2000 (eight at once, two of them killed)",
        "test_rdma_cm.Failures.test_a_server_serves_eight_clients_at_once_and_survives_the_death_of_some",
    ),
)


def _rsockets(options, program="rstream", timeout=300, **more):
    """Without a length, for each of some thirty lengths a hundred thousand messages that both sides spin for."""
    words = lambda role: f"{program} {role} {SERVER} {options}".strip()
    return CmLine(words("-b"), words("-s"), timeout=timeout, **more)


# Without -T a: its client takes the server's end for an error when both it and the last data have come before
# it looks (do_poll() in rdma-core's librdmacm/examples/common.c).
RSOCKETS = (
    _rsockets(""),
    _rsockets("-S all", timeout=600),
    _rsockets("-S 4096 -I 20", cover=True),
    _rsockets("-T b -S 4096 -I 20"),
    _rsockets("-T n -S 65536 -I 5", cover=True),
    _rsockets("-T r -S 4096 -I 20"),
    _rsockets("-S 1000000 -I 20 -C 10"),
    _rsockets("", program="riostream"),
    _rsockets("-S 4096 -I 20", program="riostream", cover=True),
    _rsockets("-T b -S 4096 -I 20", program="riostream"),
    _rsockets("-T n -S 4096 -I 20", program="riostream"),
    Scenario("rcopy", f"rcopy FILE {SERVER}:COPY (200 MB)", "test_rdma_cm.Storage.test_rcopy"),
    Scenario(
        f"LD_PRELOAD=librspreload.so iperf -s -P 1 -B {SERVER}",
        f"LD_PRELOAD=librspreload.so iperf -c {SERVER} -t 2",
        "test_rdma_cm.Sockets.test_iperf_over_rsockets",
    ),
)

FIO = "fio --ioengine=rdma --port=18000 --bs=64k --thread"


def _fio(verb, size, server_depth, both="", client="", **how):
    """To fio's engine, "read" means to serve and "write" to ask, whatever the verb does."""
    return CmLine(
        f"{FIO} --size={size} --name=s --rw=read --iodepth={server_depth} {both}".strip(),
        f"{FIO} --size={size} --name=c --rw=write --iodepth=16 --hostname={SERVER} --verb={verb} {both} {client}".strip(),
        says=r"^ +write: .*\((1024|64\.0|32\.0)MiB/",
        **how,
    )


# The client of SENDs allows no RNR retry, so that a server that verifies needs receives in reserve: as many
# as there are blocks, or a client that takes its time. Only SENDs come to fio's server as blocks with an
# offset, which it can verify: a server that is read or written waits for the client's last word.
VERIFY = "--verify=crc32c --do_verify=0"
STORAGE = (
    _fio("write", "64m", 16, cover=True),
    _fio("read", "64m", 16, cover=True),
    _fio("send", "32m", 512, VERIFY, cover=True),
    _fio("write", "1g", 16),
    _fio("read", "1g", 16),
    _fio("send", "1g", 512, VERIFY, "--rate=200m"),
)

TARGET = "tgtd -f --iser pool_sz_mb=128"
DISK = f"iser://{SERVER}:3260/IQN/1"
ISER = tuple(
    Scenario(TARGET, client, f"lines.iser.Iser.{case}")
    for client, case in (
        ("qemu-img convert, there and back, 100 MiB compared", "test_image_by_qemu_img"),
        (f"qemu-img dd bs=256k if=FILE of={DISK}, and back", "test_image_by_qemu_img_dd"),
        ("qemu-img convert over IPv6", "test_image_over_ipv6"),
        ("qemu-img convert, 1 % of its frames lost", "test_image_over_a_wire_that_loses_frames"),
        ("qemu-io, requests of many sizes", "test_requests_of_many_sizes_by_qemu_io"),
        (f"iscsi-inq {DISK}, iscsi-readcapacity16 {DISK}", "test_inquiry_by_libiscsi"),
        (f"iscsi-perf -m 32 -b 128 {DISK}", "test_many_reads_at_once_by_iscsi_perf"),
        ("qemu-img convert, two at once", "test_two_initiators_at_once"),
        (
            f"iscsi-perf {DISK}, killed; then qemu-img convert",
            "test_an_initiator_that_is_killed_leaves_the_target_to_others",
        ),
        (
            f"iscsi-inq {DISK}, three times; then the target ends",
            "test_a_target_forgets_its_initiators_and_ends",
        ),
    )
)

DESTINATION = f"qemu-system-x86_64 -incoming rdma:{SERVER}:4444"
MIGRATE = f"qemu-system-x86_64, migrate -d rdma:{SERVER}:4444"
MIGRATION = tuple(
    Scenario(DESTINATION, f"{MIGRATE}{more}", f"lines.migration.Migration.{case}")
    for more, case in (
        ("", "test_a_guest_that_writes"),
        (" (rdma-pin-all)", "test_with_all_ram_registered_at_the_start"),
        (" (frames lost and reordered)", "test_over_a_wire_that_loses_and_reorders"),
        (" (before the destination is there)", "test_a_destination_that_comes_later"),
        (" (cancelled)", "test_a_migration_that_is_cancelled"),
        (" (destination killed)", "test_a_destination_that_is_killed"),
    )
)

UCX = (("UCX_TLS", "rc_verbs,ud_verbs"), ("UCX_SOCKADDR_TLS_PRIORITY", "rdmacm"))
MIDDLEWARE = (
    # Its server serves without end, and both sides compare data.
    CmLine(
        "io_demo",
        f"io_demo -i 100 {SERVER}",
        says="Client exit with status 'OK'",
        server_ends=False,
        environment=UCX,
        cover=True,
    ),
    Scenario(
        "fi_pingpong -p verbs -e msg -d urnic0 -c",
        "fi_pingpong -p verbs -e msg -d urnic0 -c 127.0.0.1",
        "test_rdma_cm.Libfabric.test_connections",
    ),
    Scenario(
        "fi_pingpong -p 'verbs;ofi_rxm' -e rdm -d urnic0 -c",
        "fi_pingpong -p 'verbs;ofi_rxm' -e rdm -d urnic0 -c 127.0.0.1",
        "test_rdma_cm.Libfabric.test_reliable_datagrams_over_connections",
    ),
)


def _perftest():
    """What perftest takes without rdma_cm, connected by it."""
    for line in verbs_table.LINES:
        if line.is_pingpong() or line.refused or "-g" in line.options:
            continue
        command = " ".join([line.program, "-d urnic0 -F -R", *line.options])
        refusal = next((words for option, words in PERFTEST_REFUSES if option in command), None)
        if refusal:
            yield CmLine(command, refused=refusal, reason="rdma_cm has no port space for it")
        else:
            yield CmLine(command, rows=line.rows, timeout=line.timeout, cover=line.words() in PERFTEST_COVER)
        if not line.options:
            # Queue pairs of its own, which it tells the other side of over a connection by rdma_cm.
            yield CmLine(f"{line.program} -d urnic0 -x 1 -F -z", rows=line.rows)


PERFTEST_COVER = {
    "ib_write_bw",
    "ib_write_lat",
    "ib_read_bw",
    "ib_read_lat",
    "ib_send_bw",
    "ib_send_bw -c UD -n 500 -r 512",
    "ib_send_lat -e",
    "ib_atomic_bw",
    "ib_write_bw -q 8",
    "ib_send_bw -b",
}

LINES = (*RDMACM_UTILS, *RSOCKETS, *STORAGE, *ISER, *MIGRATION, *MIDDLEWARE, *_perftest())
