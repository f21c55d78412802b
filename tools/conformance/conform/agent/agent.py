# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""agent.py: does on the machine of a NIC under test what a conformance tester says, by pyverbs alone.

    CONFORM_TOKEN=... python3 agent.py ADDRESS PORT

It does the same as agent.c, for machines that have no compiler; there the package python3-pyverbs is needed.
It listens at ADDRESS only, serves one client at a time, and only one that says the token. What a client has
made goes when the client goes. It writes no file, and reads only the counters of the device and the list of
its own descriptors. PROTOCOL.md describes the lines.
"""
import contextlib
import ctypes
import enum
import hmac
import ipaddress
import mmap
import os
import re
import secrets
import select
import signal
import socket
import sys
import time
import types

from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr, SrqInitAttrEx
from pyverbs.wr import SGE, RecvWR, SendWR
from pyverbs.xrcd import XRCD, XRCDInitAttr

try:
    import pyverbs.enums as enumerations
except ImportError:  # the name since rdma-core 59
    import pyverbs.libibverbs_enums as enumerations


def constants():
    """What C calls by names of their own. Newer ones of pyverbs have them within their enumerations only."""
    found = dict(vars(enumerations))
    for each in vars(enumerations).values():
        if isinstance(each, type) and issubclass(each, enum.Enum):
            found.update(each.__members__)
    return types.SimpleNamespace(**found)


e = constants()

VERSION = 3
MOST_LINE = 16384
MOST_WORDS = 64
MOST_OBJECTS = 32  # of each kind
MOST_REGION = 1 << 20
MOST_MEM = 4096  # that one line reads or writes
MOST_SGES = 16
MOST_DEPTH = 1024
MOST_INLINE = 256
MOST_WAIT_MS = 1000
MOST_EVENTS = 16  # that one line reads
MOST_COUNTERS = 256
HELLO_SECONDS = 5
IDLE_SECONDS = 600
SEND_SECONDS = 5
U8, U16, U24, U32, U64 = (2**bits - 1 for bits in (8, 16, 24, 32, 64))

# Of each kind of queue pair: its number, and whether it has queues to send and to receive.
SERVICES = {
    "rc": (e.IBV_QPT_RC, True, True),
    "uc": (e.IBV_QPT_UC, True, True),
    "ud": (e.IBV_QPT_UD, True, True),
    "xrc-send": (e.IBV_QPT_XRC_SEND, True, False),
    "xrc-recv": (e.IBV_QPT_XRC_RECV, False, False),
}
STATES = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"]  # as libibverbs counts
# The numbers of `modify`: the most that each may be, its bit in the mask, and its name in pyverbs.
ATTRIBUTES = {
    "access": (U16, e.IBV_QP_ACCESS_FLAGS, "qp_access_flags"),
    "mtu": (5, e.IBV_QP_PATH_MTU, "path_mtu"),
    "receive-psn": (U24, e.IBV_QP_RQ_PSN, "rq_psn"),
    "send-psn": (U24, e.IBV_QP_SQ_PSN, "sq_psn"),
    "resources": (U8, e.IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic"),
    "reads": (U8, e.IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic"),
    "rnr-timer": (31, e.IBV_QP_MIN_RNR_TIMER, "min_rnr_timer"),
    "timeout": (31, e.IBV_QP_TIMEOUT, "timeout"),
    "retry": (7, e.IBV_QP_RETRY_CNT, "retry_cnt"),
    "rnr-retry": (7, e.IBV_QP_RNR_RETRY, "rnr_retry"),
    "notify": (1, e.IBV_QP_EN_SQD_ASYNC_NOTIFY, "en_sqd_async_notify"),
    "qkey": (U32, e.IBV_QP_QKEY, "qkey"),
}
OPERATIONS = {
    "send": e.IBV_WR_SEND,
    "send-imm": e.IBV_WR_SEND_WITH_IMM,
    "write": e.IBV_WR_RDMA_WRITE,
    "write-imm": e.IBV_WR_RDMA_WRITE_WITH_IMM,
    "read": e.IBV_WR_RDMA_READ,
    "cas": e.IBV_WR_ATOMIC_CMP_AND_SWP,
    "add": e.IBV_WR_ATOMIC_FETCH_AND_ADD,
    "send-inv": e.IBV_WR_SEND_WITH_INV,
    "local-inv": e.IBV_WR_LOCAL_INV,
}
SEND_FLAGS = int(e.IBV_SEND_FENCE | e.IBV_SEND_SIGNALED | e.IBV_SEND_SOLICITED | e.IBV_SEND_INLINE)
# The numbers of `post`, and the most that each may be.
POST_NUMBERS = {
    "va": [U64],
    "rkey": [U32],
    "compare-add": [U64],
    "swap": [U64],
    "imm": [U32],
    "inv": [U32],
    "srqn": [U24],
}
# The same of a datagram alone: where it goes.
DESTINATION = {"ah": [U32], "dst": [U24], "qkey": [U32]}

# What `fill` writes to 256 bytes, by what all of them have in common.
FILLINGS = [bytes((low * 7 + common) & U8 for low in range(256)) for common in range(256)]


class Refusal(Exception):
    """Its text is what the reply says after `error`."""


def must(is_so, otherwise):
    if not is_so:
        raise Refusal(otherwise)


# --- Words ---


def read_number(text, most=U64):
    """None: that is no number, or a larger one."""
    if not re.fullmatch("0x[0-9a-fA-F]{1,16}|[0-9]{1,20}", text):
        return None
    number = int(text, 16 if text.startswith("0x") else 10)
    return number if number <= most else None


def read_hex(text):
    """None: these are no digits of bytes."""
    return bytes.fromhex(text) if re.fullmatch("(?:[0-9a-f]{2})*", text) else None


def named_numbers(words, table):
    """By name, the numbers of those words NAME=NUMBER that the table has. The first one of a name counts."""
    numbers = {}
    for name, is_named, text in (word.partition("=") for word in words):
        if is_named and name in table:
            numbers.setdefault(name, read_number(text, table[name][0]))
    must(None not in numbers.values(), "a number is none, or too large")
    return numbers


# --- What a client makes ---


class Region:
    """Memory of our own, as it stays when the region is deregistered; pyverbs would free its own."""

    def __init__(self, pd, length, access):
        self.bytes = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.bytes.write(bytes(length))  # so that no page becomes another one after the NIC has been told it
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))
        self.pd, self.mr = pd, MR(pd, length=length, access=access, address=self.address)
        self.lkey, self.rkey = self.mr.lkey, self.mr.rkey  # which pyverbs cannot tell once it is deregistered

    def has(self, offset, length):
        return offset + length <= len(self.bytes)


class Shared:
    """A shared receive queue, and if it is for XRC, its completion queue."""

    def __init__(self, srq, cq=None):
        self.srq, self.cq = srq, cq


class Pair:
    """A queue pair with completion queues of its own. `srq`: where its receives come from."""

    def __init__(self, device, pd, service, depth, srq, xrc_domain):
        self.peer = None  # its GID and the number of its queue pair
        self.type, sends, receives = service
        self.srq, has_own_receives = srq, receives and not srq
        self.send_cq = CQ(device, MOST_DEPTH) if sends else None
        self.receive_cq = CQ(device, MOST_DEPTH) if receives else None
        room = QPCap(
            max_send_wr=depth if sends else 0,
            max_recv_wr=depth if has_own_receives else 0,
            max_send_sge=MOST_SGES if sends else 0,
            max_recv_sge=MOST_SGES if has_own_receives else 0,
            max_inline_data=MOST_INLINE if sends else 0,
        )
        how = {"qp_type": self.type, "scq": self.send_cq, "rcq": self.receive_cq, "cap": room}
        if self.type == e.IBV_QPT_XRC_RECV:
            of = {"comp_mask": e.IBV_QP_INIT_ATTR_XRCD, "xrcd": xrc_domain}
        else:
            of = {"comp_mask": e.IBV_QP_INIT_ATTR_PD, "pd": pd, "srq": srq}
        self.qp = QP(device, QPInitAttrEx(sq_sig_all=0, **how, **of))


def descriptors():
    """What each of ours is."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the one that has listed them is closed
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


def open_device(name):
    """The device, and the descriptor of its events, if that is found: pyverbs does not tell it. It is new
    when the device is opened; when that is done for the first time, others may be."""
    with Context(name=name):
        before = descriptors()
        device = Context(name=name)
    new = {number: kind for number, kind in descriptors().items() if number not in before}
    found = [number for number in new if new[number].startswith("anon_inode:") and number != device.cmd_fd]
    if len(found) != 1:
        return device, None
    os.set_blocking(found[0], False)
    return device, found[0]


@contextlib.contextmanager
def work_request(kind, elements, **options):
    """pyverbs frees none by itself, and makes none without an element."""
    with contextlib.ExitStack() as made:
        sges = [made.enter_context(SGE(*element)) for element in elements or [(0, 0, 0)]]
        request = made.enter_context(kind(num_sge=len(sges), sg=sges, **options))
        request.num_sge = len(elements)
        yield request


class Client:
    """What a client has made, and its commands, each of which returns what the reply says after `ok`. The
    client's number of a thing is its place in the list."""

    def __init__(self):
        self.device = self.events_descriptor = None
        self.name, self.port, self.gid_index = "", 0, 0
        self.forget()

    def forget(self):
        self.pds, self.regions, self.windows, self.handles, self.shareds, self.pairs = [], [], [], [], [], []
        self.xrc_domain = None  # of all shared queues for XRC, once the first one is made

    def reset(self):
        queues = [part for pair in self.pairs for part in (pair.qp, pair.send_cq, pair.receive_cq)]
        queues += [part for shared in self.shareds for part in (shared.srq, shared.cq)]
        memory = [region.mr for region in self.regions]
        domains = [self.xrc_domain, *self.handles, *memory, *self.pds]
        # A window of type 2 first: with rdma_rxe the end of a queue pair waits for as long as one is bound.
        for thing in filter(None, [*self.windows, *queues, *domains, self.device]):
            with contextlib.suppress(PyverbsError):
                thing.close()
        self.device = self.events_descriptor = None
        self.forget()

    def obey(self, words):
        """The reply."""
        try:
            must(words and words[0] in COMMANDS, "there is no such command")
            must(self.device or words[0] == "open", "open comes first")
            form, verbs, run = COMMANDS[words[0]]
            return f"ok {run(self, *self.values(form, words[1:])) or ''}".rstrip()
        except Refusal as refusal:
            return f"error {refusal}"
        except PyverbsRDMAError as problem:
            return f"error {verbs}: {os.strerror(problem.error_code)} (errno {problem.error_code})"
        except Exception as problem:  # whatever else pyverbs does not take, or cannot do
            return " ".join(f"error pyverbs: {type(problem).__name__}: {problem}".split())

    def values(self, form, words):
        """What the words after a command are, by its form."""
        things = {"m": self.regions, "v": self.windows, "s": self.shareds, "q": self.pairs}
        fixed = form.rstrip("*")
        must(len(words) >= len(fixed), MISSING)
        for kind, word in zip(fixed, words):
            number = None if kind == "w" else read_number(word)
            must(kind == "w" or number is not None, MISSING)
            must(kind not in things or number < len(things[kind]), MISSING)
            yield things[kind][number] if kind in things else word if kind == "w" else number
        if fixed != form:
            yield words[len(fixed) :]

    def open(self, wanted, port, gid):
        self.reset()
        must(port <= U8, "there is no such port")
        for name in [device.name.decode() for device in get_device_list()]:
            if not self.device and wanted in ("-", name):
                with contextlib.suppress(PyverbsError):
                    self.device, self.events_descriptor = open_device(name)
        must(self.device, "there is no such device, or it cannot be opened")
        self.name, self.port = self.device.name, port
        attr, mtu = self.device.query_device(), self.device.query_port(port).active_mtu
        atomics = int(attr.atomic_caps != e.IBV_ATOMIC_NONE)
        digits = self.choose_gid(gid)
        numbers = f"mtu={int(mtu)} reads={attr.max_qp_rd_atom} atomics={atomics}"
        return f"device={self.name} gid-index={self.gid_index} {numbers} gid={digits}"

    def choose_gid(self, text):
        """The digits of a GID that is named by its index, or of RoCEv2's that has these 32 digits."""
        chosen = read_number(text, U8)
        has_digits = len(text) == 32
        indexes = range(U8 + 1) if has_digits else [] if chosen is None else [chosen]
        for self.gid_index in indexes:
            with contextlib.suppress(PyverbsError):
                entry = self.device.query_gid_ex(self.port, self.gid_index)
                digits = entry.gid_str().replace(":", "")
                if not has_digits or (entry.gid_type == e.IBV_GID_TYPE_ROCE_V2 and digits == text):
                    return digits
        raise Refusal("there is no such GID: --gid N chooses another")

    def pd(self):
        must(len(self.pds) < MOST_OBJECTS, "too many")
        self.pds.append(PD(self.device))
        return f"{len(self.pds) - 1}"

    def mr(self, pd, length, access):
        must(pd < len(self.pds), "there is no such protection domain")
        must(len(self.regions) < MOST_OBJECTS and 0 < length <= MOST_REGION, "too many, or too long")
        made = Region(self.pds[pd], length, access & U16)
        self.regions.append(made)
        return f"{len(self.regions) - 1} address={made.address} lkey={made.lkey} rkey={made.rkey}"

    def dereg(self, region):
        must(region.mr, "it is deregistered already")
        region.mr.close()
        region.mr = None

    def rights(self, region, access):
        must(region.mr, "it is deregistered already")
        region.mr.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, pd=region.pd, access=access & U16)
        region.lkey, region.rkey = region.mr.lkey, region.mr.rkey
        return f"lkey={region.lkey} rkey={region.rkey}"

    def mw(self, pd, kind):
        must(pd < len(self.pds), "there is no such protection domain")
        must(kind in (1, 2), "a window is of type 1 or 2")
        must(len(self.windows) < MOST_OBJECTS, "too many")
        self.windows.append(MW(self.pds[pd], e.IBV_MW_TYPE_1 if kind == 1 else e.IBV_MW_TYPE_2))
        return f"{len(self.windows) - 1} rkey={self.windows[-1].rkey}"

    def mem(self, region, offset, length):
        must(length <= MOST_MEM and region.has(offset, length), "no such bytes, or too many")
        return region.bytes[offset : offset + length].hex()

    def store(self, region, offset, digits):
        data = read_hex(digits)
        is_possible = data is not None and len(data) <= MOST_MEM and region.has(offset, len(data))
        must(is_possible, "no hexadecimal digits, or no such bytes")
        region.bytes[offset : offset + len(data)] = data

    def fill(self, region, offset, length, at):
        """Each byte tells its address, counted from the given one on."""
        must(region.has(offset, length), "the region ends before")
        places = range(at >> 8, ((at + length) >> 8) + 1)
        data = b"".join(FILLINGS[(place * 29 + (place >> 8) * 101) & U8] for place in places)
        region.bytes[offset : offset + length] = data[at & U8 :][:length]

    def srq(self, pd, depth):
        must(pd < len(self.pds), "there is no such protection domain")
        must(len(self.shareds) < MOST_OBJECTS and depth <= MOST_DEPTH, "too many, or too deep")
        self.shareds.append(Shared(SRQ(self.pds[pd], SrqInitAttr(SrqAttr(depth, MOST_SGES)))))
        return f"{len(self.shareds) - 1}"

    def make_xrc_domain(self):
        if not self.xrc_domain:
            mask = e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS
            self.xrc_domain = XRCD(self.device, XRCDInitAttr(int(mask), os.O_CREAT, -1))

    def xrc_srq(self, pd, depth):
        must(pd < len(self.pds), "there is no such protection domain")
        must(len(self.shareds) < MOST_OBJECTS and depth <= MOST_DEPTH, "too many, or too deep")
        self.make_xrc_domain()
        cq, how = CQ(self.device, MOST_DEPTH), SrqInitAttrEx(depth, MOST_SGES)
        how.srq_type, how.pd, how.xrcd, how.cq = e.IBV_SRQT_XRC, self.pds[pd], self.xrc_domain, cq
        told = e.IBV_SRQ_INIT_ATTR_TYPE | e.IBV_SRQ_INIT_ATTR_PD
        how.comp_mask = int(told | e.IBV_SRQ_INIT_ATTR_XRCD | e.IBV_SRQ_INIT_ATTR_CQ)
        made = Shared(SRQ(self.device, how), cq)
        number = made.srq.get_srq_num()
        self.shareds.append(made)
        return f"{len(self.shareds) - 1} srqn={number}"

    def arm(self, shared, limit):
        must(limit <= MOST_DEPTH, "it is not so deep")
        shared.srq.modify(SrqAttr(srq_limit=limit), e.IBV_SRQ_LIMIT)

    def qp(self, service, pd, depth, words):
        must(service in SERVICES, "a service is rc, uc, ud, xrc-send or xrc-recv")
        must(pd < len(self.pds), "there is no such protection domain")
        must(len(self.pairs) < MOST_OBJECTS and depth <= MOST_DEPTH, "too many, or too deep")
        kind, srq = SERVICES[service], None
        named = [word.partition("=")[2] for word in words if word.startswith("srq=")]
        if named:
            number = read_number(named[0], U32)
            shared = self.shareds[number] if number is not None and number < len(self.shareds) else None
            receives = kind[2]
            must(shared and not shared.cq and receives, "there is no such shared queue for this service")
            srq = shared.srq
        if kind[0] == e.IBV_QPT_XRC_RECV:
            self.make_xrc_domain()
        self.pairs.append(Pair(self.device, self.pds[pd], kind, depth, srq, self.xrc_domain))
        return f"{len(self.pairs) - 1} qpn={self.pairs[-1].qp.qp_num}"

    def way_to(self, gid):
        """What an address handle is made of, from the digits of a GID."""
        must(len(read_hex(gid) or b"") == 16, "a GID has 32 digits")
        place = GID(":".join(re.findall("....", gid)))
        route = GlobalRoute(dgid=place, sgid_index=self.gid_index, hop_limit=64)
        return AHAttr(is_global=1, port_num=self.port, gr=route)

    def ah(self, pd, gid):
        must(pd < len(self.pds), "there is no such protection domain")
        way = self.way_to(gid)
        must(len(self.handles) < MOST_OBJECTS, "too many")
        self.handles.append(AH(self.pds[pd], attr=way))
        return f"{len(self.handles) - 1}"

    def connect(self, pair, qpn, gid):
        must(qpn <= U24, "there is no such queue pair number")
        pair.peer = self.way_to(gid), qpn

    def modify(self, pair, state, words):
        must(state in STATES, "there is no such state")
        attributes, mask = QPAttr(qp_state=STATES.index(state), port_num=self.port), e.IBV_QP_STATE
        for name, number in named_numbers(words, ATTRIBUTES).items():
            _, bit, attribute = ATTRIBUTES[name]
            setattr(attributes, attribute, number)
            mask |= bit
        if state == "INIT":
            mask |= e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT
        if state == "RTR" and pair.peer:
            attributes.ah_attr, attributes.dest_qp_num = pair.peer
            mask |= e.IBV_QP_AV | e.IBV_QP_DEST_QPN
        pair.qp.modify(attributes, int(mask))

    def query(self, pair):
        told, _ = pair.qp.query(int(e.IBV_QP_STATE | e.IBV_QP_SQ_PSN | e.IBV_QP_RQ_PSN))
        state = STATES[told.qp_state] if told.qp_state < len(STATES) else "?"
        return f"state={state} send-psn={told.sq_psn & U24} receive-psn={told.rq_psn & U24}"

    def elements(self, words, is_inline):
        """Address, length and key of each sge=MR:OFFSET:LENGTH. One may lie outside of its region, so that
        the NIC has to say something; except where the processor copies the bytes."""
        found = []
        for text in (word[4:] for word in words if word.startswith("sge=")):
            parts = [read_number(part, U32) for part in text.split(":")]
            is_region = len(parts) == 3 and None not in parts and parts[0] < len(self.regions)
            must(is_region and len(found) < MOST_SGES, "an element is wrong")
            region, (_, offset, length) = self.regions[parts[0]], parts
            must(region.has(offset, length) or not is_inline, "an element is wrong")
            found.append((region.address + offset, length, region.lkey))
        return found

    def post(self, pair, operation, number, flags, words):
        must(operation in OPERATIONS, "there is no such operation")
        must(pair.send_cq, "this queue pair sends nothing")
        flags &= SEND_FLAGS
        elements = self.elements(words, flags & e.IBV_SEND_INLINE)
        told = {**dict.fromkeys(POST_NUMBERS, 0), **named_numbers(words, POST_NUMBERS)}
        # ibv_send_wr has one place for both.
        imm = told["inv"] if operation in ("send-inv", "local-inv") else socket.htonl(told["imm"])
        how = {"wr_id": number, "opcode": OPERATIONS[operation], "send_flags": int(flags), "imm_data": imm}
        with work_request(SendWR, elements, **how) as request:
            if operation in ("cas", "add"):
                request.set_wr_atomic(told["rkey"], told["va"], told["compare-add"], told["swap"])
            else:
                request.set_wr_rdma(told["rkey"], told["va"])
            if pair.type == e.IBV_QPT_UD:
                request.set_wr_ud(*self.destination(words))
            if pair.type == e.IBV_QPT_XRC_SEND:
                request.set_qp_type_xrc(told["srqn"])
            pair.qp.post_send(request)

    def destination(self, words):
        """Of a datagram. It stands in the place of what other services say of memory."""
        told = {"dst": 0, "qkey": 0, **named_numbers(words, DESTINATION)}
        is_known = "ah" in told and told["ah"] < len(self.handles)
        must(is_known, "a datagram needs the number of an address handle")
        return self.handles[told["ah"]], told["dst"], told["qkey"]

    def bind(self, pair, window, number, flags, region, offset, length, access):
        """A window of type 1 is bound by a verb, one of type 2 by a work request. Both get their next key."""
        is_region = region < len(self.regions) and offset <= U32 and length <= U32
        must(is_region, "there is no such region, or it is not so long")
        memory = self.regions[region]
        must(memory.mr, "the region is deregistered")
        must(pair.send_cq, "this queue pair sends nothing")
        info = MWBindInfo(memory.mr, memory.address + offset, length, access & U16)
        if int(window.type) == e.IBV_MW_TYPE_1:
            pair.qp.bind_mw(window, MWBind(info, flags & SEND_FLAGS, number))
            return f"rkey={window.rkey}"
        how = {"wr_id": number, "opcode": e.IBV_WR_BIND_MW, "send_flags": flags & SEND_FLAGS}
        with work_request(SendWR, [], **how) as request:
            request.set_bind_wr(window, info)
            pair.qp.post_send(request)
            return f"rkey={request.rkey}"

    def recv(self, pair, number, words):
        elements = self.elements(words, False)
        must(pair.receive_cq and not pair.srq, "this queue pair has no receives of its own")
        with work_request(RecvWR, elements, wr_id=number) as request:
            pair.qp.post_recv(request)

    def srq_recv(self, shared, number, words):
        with work_request(RecvWR, self.elements(words, False), wr_id=number) as request:
            shared.srq.post_recv(request)

    def poll(self, pair, queue, wait_ms):
        cq = pair.send_cq if queue == "send" else pair.receive_cq
        return self.take_completion(cq, wait_ms, pair.type == e.IBV_QPT_UD)

    def srq_poll(self, shared, wait_ms):
        return self.take_completion(shared.cq, wait_ms, False)

    def take_completion(self, cq, wait_ms, is_of_datagrams):
        must(cq, "it has no completions of its own")
        must(wait_ms <= MOST_WAIT_MS, "that is too long")
        until = time.monotonic() + wait_ms / 1000
        _, found = cq.poll()
        while not found and time.monotonic() < until:
            time.sleep(0.0001)
            _, found = cq.poll()
        told = ""
        for done in found:  # one at most
            told = f"id={done.wr_id} status={int(done.status)} vendor={done.vendor_err}"
            if done.status == e.IBV_WC_SUCCESS:
                told += f" opcode={int(done.opcode)} length={done.byte_len}"
                told += f" imm={socket.ntohl(done.imm_data)}" if done.wc_flags & e.IBV_WC_WITH_IMM else ""
                told += f" inv={done.imm_data}" if done.wc_flags & e.IBV_WC_WITH_INV else ""
                if is_of_datagrams and done.opcode == e.IBV_WC_RECV:
                    told += f" src={done.src_qp} grh={int(done.wc_flags & e.IBV_WC_GRH)}"
        return told

    def events(self):
        must(self.events_descriptor, "pyverbs does not tell by which descriptor events come")
        told = []
        with contextlib.suppress(PyverbsError):  # there are no more
            while len(told) < MOST_EVENTS:
                event = self.device.get_async_event()
                event.ack()
                told.append(f"{int(event.event_type)}")
        return " ".join(told)

    def counters(self):
        folder = f"/sys/class/infiniband/{self.name}/ports/{self.port}/hw_counters"
        told = []
        for name in os.listdir(folder)[:MOST_COUNTERS] if os.path.isdir(folder) else []:
            with contextlib.suppress(OSError, ValueError), open(f"{folder}/{name}", encoding="ascii") as file:
                text = file.read(32).strip()
                told += [] if read_number(text) is None else [f"{name}={text}"]
        return " ".join(told)


# Of each command: what follows it, w a word, n a number, m a region, v a window, s a shared queue, q a queue
# pair, * any words NAME=VALUE; and which calls may fail. All except `open` want a device.
COMMANDS = {
    "open": ("wnw", "ibv_query_device, ibv_query_port", Client.open),
    "pd": ("", "ibv_alloc_pd", Client.pd),
    "mr": ("nnn", "ibv_reg_mr", Client.mr),
    "dereg": ("m", "ibv_dereg_mr", Client.dereg),
    "rights": ("mn", "ibv_rereg_mr", Client.rights),
    "mem": ("mnn", "", Client.mem),
    "store": ("mnw", "", Client.store),
    "fill": ("mnnn", "", Client.fill),
    "mw": ("nn", "ibv_alloc_mw", Client.mw),
    "srq": ("nn", "ibv_create_srq", Client.srq),
    "xrc-srq": ("nn", "ibv_open_xrcd, ibv_create_cq, ibv_create_srq_ex", Client.xrc_srq),
    "arm": ("sn", "ibv_modify_srq", Client.arm),
    "qp": ("wnn*", "ibv_open_xrcd, ibv_create_cq, ibv_create_qp_ex", Client.qp),
    "ah": ("nw", "ibv_create_ah", Client.ah),
    "connect": ("qnw", "", Client.connect),
    "modify": ("qw*", "ibv_modify_qp", Client.modify),
    "query": ("q", "ibv_query_qp", Client.query),
    "post": ("qwnn*", "ibv_post_send", Client.post),
    "bind": ("qvnnnnnn", "ibv_bind_mw, ibv_post_send", Client.bind),
    "recv": ("qn*", "ibv_post_recv", Client.recv),
    "srq-recv": ("sn*", "ibv_post_srq_recv", Client.srq_recv),
    "poll": ("qwn", "ibv_poll_cq", Client.poll),
    "srq-poll": ("sn", "ibv_poll_cq", Client.srq_poll),
    "events": ("", "", Client.events),
    "counters": ("", "", Client.counters),
}
MISSING = "a word is missing, or is no number, or the number of nothing"


# --- Lines ---


def greet(words, token):
    """The reply to the first line. Unless it is ok, the client has to go."""
    if len(words) != 3 or words[0] != "urnic-conform":
        return "error say: urnic-conform VERSION TOKEN"
    if read_number(words[1]) != VERSION:
        return f"error version: this agent speaks {VERSION}"
    if not hmac.compare_digest(words[2].encode("latin-1"), token):
        return "error token: it is another"
    return f"ok urnic-conform {VERSION}"


def send_line(to, text):
    to.sendall(text.encode("ascii", "replace") + b"\n")


def wait_for(client, listener, seconds):
    """Whether the client says something in time. Others are sent away; but this one comes first: when it has
    gone, the one that waits is the next."""
    both = select.poll()
    both.register(client, select.POLLIN)
    both.register(listener, select.POLLIN)
    until = time.monotonic() + seconds
    while ready := dict(both.poll(max(0, until - time.monotonic()) * 1000)):
        if client.fileno() in ready:
            return True
        with contextlib.suppress(OSError), listener.accept()[0] as other:
            send_line(other, "error busy: this agent has a client already")
    return False


def serve(connection, listener, client, token):
    unread, is_greeted = b"", False
    greeted_by = time.monotonic() + HELLO_SECONDS
    while len(unread) < MOST_LINE:
        if not wait_for(connection, listener, IDLE_SECONDS if is_greeted else greeted_by - time.monotonic()):
            return
        said = connection.recv(MOST_LINE - len(unread))
        if not said:
            return
        *lines, unread = (unread + said).split(b"\n")
        for line in lines:
            words = [word for word in re.split("[ \r]+", line.decode("latin-1")) if word][:MOST_WORDS]
            reply = client.obey(words) if is_greeted else greet(words, token)
            send_line(connection, reply)
            is_greeted = is_greeted or reply.startswith("ok")
            if not is_greeted:
                return
    send_line(connection, "error that line is too long")


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if len(sys.argv) != 3:
        print(f"usage: CONFORM_TOKEN=... {sys.argv[0]} ADDRESS PORT", file=sys.stderr)
        sys.exit(2)
    address, port = sys.argv[1:]
    given = os.environb.get(b"CONFORM_TOKEN")
    token = given or secrets.token_hex(16).encode()
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
        listener = socket.create_server((address, int(port)), family=family, backlog=8)
    except (OSError, OverflowError, ValueError) as problem:
        sys.exit(f"{address}, port {port}: {problem}")
    told = "" if given else f"; the token is {token.decode()}"
    print(f"agent {VERSION} listens at {address}, port {listener.getsockname()[1]}{told}", flush=True)
    while True:
        with contextlib.suppress(OSError), listener.accept()[0] as connection:
            connection.settimeout(SEND_SECONDS)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client = Client()
            try:
                serve(connection, listener, client, token)
            finally:
                client.reset()


if __name__ == "__main__":
    main()
