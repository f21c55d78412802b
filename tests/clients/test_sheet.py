# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What `urnic sheet` prints, against what others say: Wireshark's tables and dissections, recordings of
rdma_rxe and ConnectX, <infiniband/verbs.h>, and the manual page of ibv_modify_qp.

No source outside is here for XRCETH, FETH, the opcodes of FLUSH and ATOMIC WRITE, optional attributes and
credits. For optional attributes, tests/unit/nic/queues/queue_pair_state_test.cc has the kernel's table."""
import functools
import gzip
import html.parser
import itertools
import json
import pathlib
import re
import struct
import subprocess
import xml.etree.ElementTree
import zlib

import dissection
import harness
import icrc
from harness import ClientTest

FIXTURES = harness.PROJECT / "pcap_fixtures"
CNP = harness.JUDGES / "captures/public/connectx4lx_cnp.pcap"
VERBS_H = pathlib.Path("/usr/include/infiniband/verbs.h")

# --- Wireshark ---

# Of RC, UC, UD; every header that an installed Wireshark knows; IPv4 and IPv6.
DISSECTED = (
    "mckey",
    "vs_atomics",
    "vs_imm_inv",
    "vs_sizes",
    "vs_rnr",
    "vs_uc_mtu4096",
    "vs_ud",
    "vs_ud_ipv6",
    "vs_write_badkey",
)

WIRESHARKS_SERVICES = {
    "RC": "Reliable Connection (RC)",
    "UC": "Unreliable Connection (UC)",
    "UD": "Unreliable Datagram (UD)",
    "XRC": "Extended Reliable Connection (XRC)",
}
# Its 4.0 lacks the operations of 2021, has the number of the service for a CNP, and writes "SEND only" for
# datagrams.
WIRESHARK_LACKS = {0x1C, 0x1D, 0xBC, 0xBD}
CNP_OPCODE, WIRESHARKS_CNP = 0x81, 0x80
# What the sheet does not have: reliable datagrams, and numbers without an operation.
NOT_OURS = ("Reliable Datagram (RD)", "Reserved")

# Wireshark's names for the headers and their fields. It shows FECN, BECN and the six bits after them as one
# reserved byte.
WIRESHARKS_FIELDS = {
    "IPv4": (
        "ip",
        {
            "Version": "ip.version",
            "Header length": "ip.hdr_len",
            "DSCP": "ip.dsfield.dscp",
            "ECN": "ip.dsfield.ecn",
            "Total length": "ip.len",
            "Identification": "ip.id",
            "Flags": "ip.flags",
            "Fragment offset": "ip.frag_offset",
            "Time to live": "ip.ttl",
            "Protocol": "ip.proto",
            "Header checksum": "ip.checksum",
            "Source": "ip.src",
            "Destination": "ip.dst",
        },
    ),
    "IPv6": (
        "ipv6",
        {
            "Version": "ipv6.version",
            "DSCP": "ipv6.tclass.dscp",
            "ECN": "ipv6.tclass.ecn",
            "Flow label": "ipv6.flow",
            "Payload length": "ipv6.plen",
            "Next header": "ipv6.nxt",
            "Hop limit": "ipv6.hlim",
            "Source": "ipv6.src",
            "Destination": "ipv6.dst",
        },
    ),
    "UDP": (
        "udp",
        {
            "Source port": "udp.srcport",
            "Destination port": "udp.dstport",
            "Length": "udp.length",
            "Checksum": "udp.checksum",
        },
    ),
    "BTH": (
        "infiniband.bth",
        {
            "Opcode": "infiniband.bth.opcode",
            "Solicited event": "infiniband.bth.se",
            "MigReq": "infiniband.bth.m",
            "Pad count": "infiniband.bth.padcnt",
            "Transport version": "infiniband.bth.tver",
            "P_Key": "infiniband.bth.p_key",
            "Destination QP": "infiniband.bth.destqp",
            "AckReq": "infiniband.bth.a",
            "Reserved 2": "infiniband.bth.reserved7",
            "PSN": "infiniband.bth.psn",
        },
    ),
    "DETH": (
        "infiniband.deth",
        {
            "Q_Key": "infiniband.deth.q_key",
            "Reserved": "infiniband.reserved",
            "Source QP": "infiniband.deth.srcqp",
        },
    ),
    "RETH": (
        "infiniband.reth",
        {
            "Virtual address": "infiniband.reth.va",
            "R_Key": "infiniband.reth.r_key",
            "DMA length": "infiniband.reth.dmalen",
        },
    ),
    "AETH": ("infiniband.aeth", {"Syndrome": "infiniband.aeth.syndrome", "MSN": "infiniband.aeth.msn"}),
    "AtomicETH": (
        "infiniband.atomiceth",
        {
            "Virtual address": "infiniband.reth.va",
            "R_Key": "infiniband.reth.r_key",
            "Swap or add": "infiniband.atomiceth.swapdt",
            "Compare": "infiniband.atomiceth.cmpdt",
        },
    ),
    "AtomicAckETH": ("infiniband.atomicacketh", {"Original data": "infiniband.atomicacketh.origremdt"}),
    "ImmDt": ("infiniband.immdt", {"Immediate data": "infiniband.immdt"}),
    "IETH": ("infiniband.ieth", {"R_Key": "infiniband.ieth"}),
}
EXTENDED = {
    name: header
    for header, (name, _) in WIRESHARKS_FIELDS.items()
    if name.startswith("infiniband.") and header != "BTH"
}


@functools.cache
def wiresharks_values():
    """{field: {number: words}} of all fields of InfiniBand that have words for numbers."""
    values = {}
    lines = subprocess.run(
        ["tshark", "-G", "values"], capture_output=True, text=True, timeout=120, check=True
    ).stdout.splitlines()
    for kind, field, *rest in (line.split("\t") for line in lines if "\tinfiniband." in line):
        if kind == "V":
            values.setdefault(field, {})[int(rest[0], 0)] = rest[1]
    return values


@functools.cache
def dissected(path):
    """The headers of each packet: a list of (name, first byte, bytes, {field: (first bit, bits)}), bits
    counted from the header's first."""
    text = subprocess.run(
        ["tshark", "-r", path, "-Y", "infiniband.bth", "-T", "pdml"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    packets = []
    for packet in xml.etree.ElementTree.fromstring(text).iter("packet"):
        protocols = [proto for proto in packet.iter("proto") if proto.get("name") in ("ip", "ipv6", "udp")]
        headers = [
            field
            for proto in packet.iter("proto")
            if proto.get("name") == "infiniband"
            for field in proto
            if field.get("name") in ("infiniband.bth", *EXTENDED)
        ]
        packets.append([header_of(element) for element in (*protocols, *headers)])
    return packets


def header_of(element):
    first = int(element.get("pos"))
    fields = {}
    for field in element.iter("field"):
        if field is not element and field.get("size") != "0":
            fields.setdefault(field.get("name"), place_of(field, first))
    return element.get("name"), first, int(element.get("size")), fields


def place_of(field, header):
    """(first bit, bits). A field of some bits is shown as in '.00. .... = OpCode', with a dot for each bit
    that is another field's."""
    at = 8 * (int(field.get("pos")) - header)
    mask = re.match(r"([.01 ]+) = ", field.get("showname"))
    if mask is None:
        return at, 8 * int(field.get("size"))
    bits = mask[1].replace(" ", "")
    return at + len(bits) - len(bits.lstrip(".")), len(bits.strip("."))


# --- libibverbs ---


def numbers_of(enum):
    """{name: number} of an enum in <infiniband/verbs.h>. It must be an enum that gives no number to a name."""
    names = re.search(rf"enum {enum} {{(.*?)}}", VERBS_H.read_text(), re.S)[1]
    return {name: number for number, name in enumerate(re.findall(r"\w+", names))}


def required_attributes():
    """{(type, next state): attributes} out of the manual page of ibv_modify_qp; None where it is not
    installed."""
    found = subprocess.run(
        ["man", "-w", "ibv_modify_qp"], capture_output=True, text=True, timeout=60, check=False
    ).stdout.split()
    if not found:
        return None
    page = pathlib.Path(found[0]).read_bytes()
    text = (gzip.decompress(page) if found[0].endswith(".gz") else page).decode()
    required = {}
    for service, table in re.findall(r"IBV_QPT_(\w+)\\fR:(.*?)\.fi", text, re.S):
        for state, attributes in re.findall(r"^(Init|RTR|RTS) (.*?)(?=^(?:RTR|RTS) |\Z)", table, re.S | re.M):
            required[service, state.upper()] = set(re.findall(r"IBV_QP_(\w+)", attributes))
    return required


# --- The page ---


class Page(html.parser.HTMLParser):
    """Its tables, each with a caption and rows of (text, columns, rows) for each cell. Complains of elements
    that do not end."""

    WITHOUT_END = {"meta"}

    def __init__(self, text):
        super().__init__()
        self.tables = {}
        self.complaints = []
        self.loads = []
        self.text = ""
        self._open = []
        self._rows = None
        self._caption = ""
        self.feed(text)
        self.close()
        self.complaints += [f"{name} does not end" for name in self._open]

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.loads += [
            f"{tag} {name}={value}"
            for name, value in attrs
            if name in ("src", "href", "data", "srcset", "action")
        ]
        if tag in ("script", "link", "iframe", "object", "img"):
            self.loads.append(tag)
        if tag not in self.WITHOUT_END:
            self._open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append(["", int(attributes.get("colspan", 1)), int(attributes.get("rowspan", 1))])
            if tag == "th" and attributes.get("scope") not in ("row", "col"):
                self.complaints.append("th without a scope")

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.complaints.append(f"{tag} ends where it is not the innermost")
        if tag == "table":
            if not self._caption or self._caption in self.tables:
                self.complaints.append(f"a table has no caption of its own: {self._caption!r}")
            self.tables[self._caption] = [[tuple(cell) for cell in row] for row in self._rows]
            self._rows = None

    def handle_data(self, data):
        if "style" in self._open:
            self.loads += re.findall(r"@import|url\(|https?:", data)
            return
        self.text += data
        if "caption" in self._open:
            self._caption += data
        elif "td" in self._open or "th" in self._open:
            self._rows[-1][-1][0] += data

    def rows_of(self, caption):
        """The texts of the cells, without the head."""
        return [[text for text, _, _ in row] for row in self.tables[caption][1:]]


class Sheet(ClientTest):
    def urnic_sheet(self, *options, code=0):
        result = subprocess.run(
            [harness.STAGE.urnic, "sheet", *options], capture_output=True, text=True, timeout=60, check=False
        )
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def data(self):
        return json.loads(self.urnic_sheet("--json").stdout)

    def headers(self):
        return {header["name"]: header for header in self.data()["headers"]}

    def require_tshark(self):
        if not dissection.is_available():
            self.skipTest("tshark is not installed (tools/install-packages clients)")

    def require_verbs_h(self):
        if not VERBS_H.exists():
            self.skipTest(f"{VERBS_H} is not installed")

    # --- Opcodes ---

    def test_has_the_opcodes_of_wireshark(self):
        self.require_tshark()
        theirs = {
            number: name
            for number, name in wiresharks_values()["infiniband.bth.opcode"].items()
            if not any(word in name for word in NOT_OURS)
        }
        if WIRESHARKS_CNP in theirs:
            theirs[CNP_OPCODE] = theirs.pop(WIRESHARKS_CNP)
        ours = {row["opcode"]: row for row in self.data()["opcodes"]}
        self.assertEqual(set(ours) - set(theirs) - WIRESHARK_LACKS, set())
        self.assertEqual(set(theirs) - set(ours), set())
        for number, name in theirs.items():
            service, ours_is = ours[number]["service"], ours[number]["name"]
            if service in WIRESHARKS_SERVICES:
                ours_is = ours_is.replace(f"{service} ", f"{WIRESHARKS_SERVICES[service]} - ", 1)
            self.assertEqual(ours_is.lower(), name.lower(), f"{number:#04x}")

    def test_has_the_opcode_of_a_captured_cnp(self):
        self.require_tshark()
        if not CNP.exists():
            self.skipTest("the capture of a ConnectX is not here")
        row = {row["opcode"]: row for row in self.data()["opcodes"]}[CNP_OPCODE]
        frames = [icrc.split_frame(frame) for frame in icrc.read_pcap(CNP)]
        packets = [packet for _, _, packet in filter(None, frames) if packet[0] >> 5 == 4]
        self.assertTrue(packets)
        for packet in packets:
            self.assertEqual(packet[0], row["opcode"])
            self.assertEqual(len(packet), icrc.BTH_BYTES + row["header_bytes"] + icrc.ICRC_BYTES)
            bits = {field["name"]: self.bits_of(packet, field) for field in self.headers()["BTH"]["fields"]}
            self.assertEqual((bits["FECN"], bits["BECN"], bits["Reserved"]), (0, 1, 0))

    def bits_of(self, data, field):
        return int.from_bytes(data, "big") >> (8 * len(data) - field["bit"] - field["bits"]) & (
            (1 << field["bits"]) - 1
        )

    def test_says_which_headers_follow_as_wireshark_finds_them(self):
        self.require_tshark()
        sheet = self.data()
        sizes = {header["name"]: header["bytes"] for header in sheet["headers"]}
        rows = {row["opcode"]: row for row in sheet["opcodes"]}
        seen = set()
        for capture in DISSECTED:
            path = FIXTURES / f"{capture}.pcap"
            opcodes = self.opcodes_in(path)
            for headers, opcode in zip(dissected(path), opcodes, strict=True):
                found = [EXTENDED[name] for name, _, _, _ in headers if name in EXTENDED]
                self.assertEqual(rows[opcode]["headers"], found, f"{capture}: {rows[opcode]['name']}")
                self.assertEqual(rows[opcode]["header_bytes"], sum(sizes[name] for name in found))
                seen.add(opcode)
        self.assertGreater(len(seen), 25)
        for row in rows.values():
            if row["service"] != "CNP":
                self.assertEqual(row["header_bytes"], sum(sizes[name] for name in row["headers"]))

    def opcodes_in(self, path):
        return [parts[2][0] for parts in map(icrc.split_frame, icrc.read_pcap(path)) if parts is not None]

    def test_says_what_has_a_payload_as_recordings_do(self):
        rows = {row["opcode"]: row for row in self.data()["opcodes"]}
        with_payload, without = set(), set()
        for path in sorted(FIXTURES.glob("*.pcap")):
            for parts in map(icrc.split_frame, icrc.read_pcap(path)):
                if parts is not None:
                    packet = parts[2]
                    payload = len(packet) - icrc.BTH_BYTES - rows[packet[0]]["header_bytes"] - icrc.ICRC_BYTES
                    (with_payload if payload > 0 else without).add(packet[0])
                    self.assertGreaterEqual(payload, 0)
        self.assertEqual({opcode for opcode in with_payload if not rows[opcode]["payload"]}, set())
        silent = {opcode for opcode in with_payload | without if not rows[opcode]["payload"]}
        self.assertEqual(silent - without, set())
        self.assertGreater(len(silent), 4)

    # --- Headers ---

    def test_has_fields_where_wireshark_finds_them(self):
        self.require_tshark()
        ours = self.headers()
        checked = set()
        for capture in DISSECTED:
            for name, _, size, theirs in (
                header for packet in dissected(FIXTURES / f"{capture}.pcap") for header in packet
            ):
                header, fields = next(
                    (header, fields) for header, (title, fields) in WIRESHARKS_FIELDS.items() if title == name
                )
                self.assertEqual(ours[header]["bytes"], size, header)
                for field in ours[header]["fields"]:
                    if field["name"] in fields:
                        self.assertEqual(
                            (field["bit"], field["bits"]),
                            theirs[fields[field["name"]]],
                            f"{header}: {field['name']}",
                        )
                        checked.add((header, field["name"]))
        self.assertEqual(
            checked,
            {(header, field) for header, (_, fields) in WIRESHARKS_FIELDS.items() for field in fields},
        )

    def test_has_fields_that_fill_their_headers(self):
        for header in self.headers().values():
            end = 0
            for field in header["fields"]:
                self.assertEqual(field["bit"], end, f"{header['name']}: {field['name']}")
                end += field["bits"]
                within = field["bit"] % 32 + field["bits"] <= 32
                self.assertTrue(
                    within or (field["bit"] % 32 == 0 and field["bits"] % 32 == 0), "a diagram has whole rows"
                )
            self.assertEqual(end, 8 * header["bytes"])

    def test_marks_what_the_icrc_of_recordings_takes_for_ones(self):
        """The ICRC of rdma_rxe's packets is right with ones for what is marked, and with nothing less and
        nothing more."""
        headers = self.headers()
        for capture, ip in (("vs_tos", "IPv4"), ("vs_ud_ipv6", "IPv6")):
            marked = [
                (name, field)
                for name in (ip, "UDP", "BTH")
                for field in headers[name]["fields"]
                if field["taken_for_ones"]
            ]
            others = [
                (name, field)
                for name in (ip, "UDP", "BTH")
                for field in headers[name]["fields"]
                if not field["taken_for_ones"]
            ]
            frames = [frame[14:] for frame in icrc.read_pcap(FIXTURES / f"{capture}.pcap")]
            self.assertTrue(frames)
            masked = [self.with_ones(frame, headers, ip, marked) for frame in frames]
            for frame, right in zip(frames, masked):
                self.assertEqual(self.icrc_of(right), frame[-4:], capture)
                for i, one in enumerate(marked):
                    self.assertNotEqual(
                        self.icrc_of(self.with_ones(frame, headers, ip, marked[:i] + marked[i + 1 :])),
                        frame[-4:],
                        f"{capture} without {one}",
                    )
                for one in others:
                    spoilt = self.with_ones(right, headers, ip, [one])
                    self.assertEqual(
                        self.icrc_of(spoilt) == frame[-4:], spoilt == right, f"{capture} with {one}"
                    )

    def with_ones(self, datagram, headers, ip, fields):
        begin = {ip: 0, "UDP": headers[ip]["bytes"], "BTH": headers[ip]["bytes"] + headers["UDP"]["bytes"]}
        number = int.from_bytes(datagram, "big")
        for name, field in fields:
            first = 8 * begin[name] + field["bit"]
            number |= ((1 << field["bits"]) - 1) << (8 * len(datagram) - first - field["bits"])
        return number.to_bytes(len(datagram), "big")

    def icrc_of(self, datagram):
        return struct.pack("<I", zlib.crc32(b"\xff" * 8 + datagram[:-4]))

    # --- Answers ---

    def test_has_the_syndromes_of_wireshark(self):
        self.require_tshark()
        kinds = wiresharks_values()["infiniband.aeth.syndrome.opcode"]
        reasons = wiresharks_values()["infiniband.aeth.syndrome.error_code"]
        rows = self.data()["syndromes"]
        self.assertEqual(
            [number for row in rows for number in range(row["first"], row["last"] + 1)], list(range(256))
        )
        for row in rows:
            for syndrome in range(row["first"], min(row["last"] + 1, 0x80)):
                kind, code = kinds[syndrome >> 5], syndrome & 0x1F
                theirs = kind if kind != "Nak" else f"Nak {reasons[code]}" if code in reasons else "Reserved"
                self.assertEqual(row["name"].lower(), theirs.lower(), f"{syndrome:#04x}")

    def test_has_the_rnr_timers_of_wireshark(self):
        self.require_tshark()
        theirs = {
            code: float(words.removesuffix(" ms"))
            for code, words in wiresharks_values()["infiniband.aeth.syndrome.timer"].items()
        }
        self.assertEqual({row["code"]: row["rnr_timer_ms"] for row in self.data()["codes"]}, theirs)

    def test_has_the_ack_timeout_of_a_recording(self):
        """rdma_rxe with the timeout 14 repeats a packet that no peer answers."""
        codes = {row["code"]: row["ack_timeout_ms"] for row in self.data()["codes"]}
        data = (FIXTURES / "vs_peer_dead.pcap").read_bytes()
        times, at = [], 24
        nanoseconds = struct.unpack_from("<I", data)[0] == 0xA1B23C4D
        while at < len(data):
            seconds, fraction, captured = struct.unpack_from("<III", data, at)
            times.append(1e3 * seconds + fraction / (1e6 if nanoseconds else 1e3))
            at += 16 + captured
        self.assertEqual(len(times), 4)
        for earlier, later in zip(times, times[1:]):
            # Its timers count jiffies.
            self.assertAlmostEqual(later - earlier, codes[14], delta=0.05 * codes[14])
        self.assertIsNone(codes[0])
        for code in range(2, 32):
            self.assertAlmostEqual(codes[code] / codes[code - 1], 2)

    # --- Queue pairs and completions ---

    def test_has_the_states_and_statuses_of_verbs_h(self):
        self.require_verbs_h()
        sheet = self.data()
        states = {
            name.removeprefix("IBV_QPS_"): number for name, number in numbers_of("ibv_qp_state").items()
        }
        del states["UNKNOWN"]
        self.assertEqual({row["name"]: row["number"] for row in sheet["states"]}, states)
        statuses = numbers_of("ibv_wc_status")
        self.assertEqual(
            [row["number"] for row in sheet["statuses"]], [statuses[row["name"]] for row in sheet["statuses"]]
        )
        self.assertEqual(len(sheet["statuses"]), 13)
        for row in sheet["syndromes"]:
            if row["status"]:
                self.assertIn(row["status"], statuses)

    def test_has_attributes_of_verbs_h(self):
        self.require_verbs_h()
        known = set(re.findall(r"\bIBV_QP_(\w+)\s*= 1 <<", VERBS_H.read_text()))
        rows = self.data()["transitions"]
        self.assertEqual({name for row in rows for name in row["required"] + row["optional"]} - known, set())

    def test_has_the_required_attributes_of_the_manual_page(self):
        self.require("man")
        theirs = required_attributes()
        if theirs is None:
            self.skipTest("the manual page of ibv_modify_qp is not installed")
        before = {"INIT": "RESET", "RTR": "INIT", "RTS": "RTR"}
        rows = self.data()["transitions"]
        for service in ("RC", "UC", "UD"):
            for state, earlier in before.items():
                (row,) = [
                    row
                    for row in rows
                    if (row["service"], row["to"]) == (service, state) and earlier in row["from"]
                ]
                self.assertEqual(
                    {"STATE", *row["required"]}, theirs[service, state], f"{service}: {earlier} to {state}"
                )

    # --- The page ---

    def page(self):
        page = Page(self.urnic_sheet("-o", "-").stdout)
        self.assertEqual(page.complaints, [])
        return page

    def test_is_a_page_that_needs_nothing_else(self):
        page = self.page()
        self.assertEqual(page.loads, [])
        self.assertIn("IBV_WC_RNR_RETRY_EXC_ERR", page.text)

    def test_has_every_row_of_the_json_on_the_page(self):
        page, sheet = self.page(), self.data()
        self.check_headers(page, sheet)
        yes = {True: "yes", False: "–"}
        for service in dict.fromkeys(row["service"] for row in sheet["opcodes"]):
            rows = [row for row in sheet["opcodes"] if row["service"] == service]
            shown = [
                [
                    f"0x{row['opcode']:02x}",
                    row["name"].removeprefix(f"{service} "),
                    ", ".join(row["headers"]),
                    yes[row["payload"]],
                    row["way"],
                ]
                for row in rows
            ]
            self.assertEqual(page.rows_of(f"Opcodes of {service}"), shown)
        for service in ("RC", "UC", "UD"):
            rows = [row for row in sheet["transitions"] if row["service"] == service]
            shown = [
                [", ".join(row["from"]), row["to"], ", ".join(row["required"]), ", ".join(row["optional"])]
                for row in rows
            ]
            self.assertEqual(page.rows_of(f"Transitions of {service}"), shown)
        ranges = [
            f"0x{row['first']:02x}" + (f"–0x{row['last']:02x}" if row["last"] > row["first"] else "")
            for row in sheet["syndromes"]
        ]
        self.assertEqual(
            page.rows_of("Syndromes of the AETH"),
            [
                [words, row["name"], row["meaning"], row["requester"], row["status"]]
                for words, row in zip(ranges, sheet["syndromes"])
            ],
        )
        states = [
            [
                str(row["number"]),
                row["name"],
                *(yes[row[member]] for member in ("post_receive", "post_send", "receives", "sends")),
                row["meaning"],
            ]
            for row in sheet["states"]
        ]
        self.assertEqual(page.rows_of("States of a queue pair"), states)
        self.assertEqual(
            page.rows_of("Statuses of completions"),
            [[str(row["number"]), row["name"], row["meaning"], row["look_at"]] for row in sheet["statuses"]],
        )
        codes = [
            row for caption in page.tables if caption.startswith("Codes ") for row in page.rows_of(caption)
        ]
        self.assertEqual(codes, [self.shown_code(row) for row in sheet["codes"]])

    def shown_code(self, row):
        timeout = "never" if row["ack_timeout_ms"] is None else f"{row['ack_timeout_ms']:.3f}"
        return [
            str(row["code"]),
            f"{row['rnr_timer_ms']:.2f}",
            timeout,
            "not said" if row["credits"] is None else str(row["credits"]),
        ]

    def check_headers(self, page, sheet):
        for header in sheet["headers"]:
            names = [field["name"] + ("*" if field["taken_for_ones"] else "") for field in header["fields"]]
            bits = [
                f"{field['bit']}" + (f"–{field['bit'] + field['bits'] - 1}" if field["bits"] > 1 else "")
                for field in header["fields"]
            ]
            shown = [
                [name, place, field["meaning"]] for name, place, field in zip(names, bits, header["fields"])
            ]
            self.assertEqual(page.rows_of(f"Fields of {header['name']}"), shown)
            diagram = self.bits_shown(page.tables[f"{header['name']}, {header['bytes']} bytes"])
            self.assertEqual(diagram, [(name, field["bits"]) for name, field in zip(names, header["fields"])])

    def bits_shown(self, table):
        """(name, bits) of each field of a diagram, in order."""
        scale, *rows = table
        self.assertEqual([text for text, _, _ in scale], ["Byte", *map(str, range(32))])
        grid = {}
        for y, (offset, *cells) in enumerate(rows):
            self.assertEqual(offset, (str(4 * y), 1, 1))
            x = 0
            for text, columns, height in cells:
                while (y, x) in grid:
                    x += 1
                grid.update(
                    {(y + down, x + right): text for down in range(height) for right in range(columns)}
                )
        self.assertEqual(set(grid), {(y, x) for y in range(len(rows)) for x in range(32)})
        return [
            (name, len(list(bits))) for name, bits in itertools.groupby(grid[place] for place in sorted(grid))
        ]

    def test_writes_a_file_or_says_why_not(self):
        file = self.runtime / "sheet.html"
        said = self.urnic_sheet("-o", file)
        self.assertIn(str(file), said.stdout)
        self.assertEqual(file.read_text(), self.urnic_sheet("-o", "-").stdout)
        missing = self.runtime / "missing" / "sheet.html"
        self.assertIn(str(missing), self.urnic_sheet("-o", missing, code=2).stderr)
