# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Every perftest program with every size, transport and option, and the cells that are out of line with their
neighbors."""
import dataclasses
import re
import statistics

import harness
from benchmarks.programs import CLIENT, SERVER, Failed

BANDWIDTHS = ("ib_write_bw", "ib_read_bw", "ib_send_bw")
LATENCIES = ("ib_write_lat", "ib_read_lat", "ib_send_lat")
ATOMICS = ("ib_atomic_bw", "ib_atomic_lat")
# What a transport can do; an atomic is of RC and XRC.
TRANSPORTS = {
    "RC": ("write", "read", "send", "atomic"),
    "UC": ("write", "send"),
    "UD": ("send",),
    "XRC": ("write", "read", "send", "atomic"),
}
# Option as it is shown: words, and the programs that take it. A WRITE makes no event at the receiver.
OPTIONS = {
    "": ((), (*BANDWIDTHS, *LATENCIES, *ATOMICS)),
    "-b": (("-b",), (*BANDWIDTHS, "ib_atomic_bw")),
    "-e": (("-e",), (*BANDWIDTHS, "ib_atomic_bw", "ib_read_lat", "ib_send_lat", "ib_atomic_lat")),
    "-q 8": (("-q", 8), (*BANDWIDTHS, "ib_atomic_bw")),
    "-R": (("-R",), (*BANDWIDTHS, *LATENCIES)),
    "-m 1024": (("-m", 1024), (*BANDWIDTHS, *LATENCIES)),
}
ITERATIONS = 300  # of each size: more than the depth of the queues, and 8 MiB take long enough with that
ATOMICS_ITERATIONS = 20000  # there is one size
TURNS_OF_SUSPECTS = 2  # more, before a cell is named

# The first rows of a bandwidth program have the first contact of two NICs in them, a link that is made: some
# milliseconds, where the messages take a tenth of one. They are shown, and not judged.
FIRST_CONTACT_BYTES = 4

# A cell is out of line if, as a median of all turns,
SLOWER_THAN_LARGER = 1.25  # a message takes so much longer than one of the next larger size
SLOWER_THAN_KIND = 3  # or so much longer than the median of its kind: programs of bandwidth or of latency, at the same size over the same port
LONGER_TAIL = 1.3  # or its average is so much longer than its typical time
TCP_MESSAGE = 65536  # or, from this size on, it carries less than TCP does


@dataclasses.dataclass(frozen=True)
class Line:
    """One run of a program over all sizes."""

    port: str
    program: str
    transport: str
    option: str

    @property
    def is_latency(self):
        return self.program.endswith("_lat")

    @property
    def words(self):
        sizes = ["-n", ATOMICS_ITERATIONS] if self.program in ATOMICS else ["-a", "-n", ITERATIONS]
        return [self.program, "-c", self.transport, *sizes, *OPTIONS[self.option][0]]

    def __str__(self):
        option = f" {self.option}" if self.option else ""
        return f"{self.program} -c {self.transport}{option}, {self.port}"


@dataclasses.dataclass
class Cell:
    """`time_us` is typical; of bandwidth programs, what a message takes in the stream. `average_us` and
    `gbits` are of one kind each."""

    time_us: float
    average_us: float = None
    gbits: float = None


def lines_of(port):
    for transport, verbs in TRANSPORTS.items():
        for option, (_, programs) in OPTIONS.items():
            for program in programs:
                if program.split("_")[1] in verbs:
                    yield Line(port, program, transport, option)


NUMBER = re.compile(r"\d+(\.\d+)?")


def cells_in(output, is_latency):
    """{size: Cell} of what a client printed."""
    cells = {}
    for row in output.splitlines():
        columns = row.split()
        if len(columns) != (9 if is_latency else 5) or not all(map(NUMBER.fullmatch, columns)):
            continue
        size, _, *figures = map(float, columns)
        if is_latency:
            _, _, typical, average, *_ = figures
            cells[int(size)] = Cell(time_us=typical, average_us=average)
        else:
            _, gbits, messages = figures  # peak, average, millions a second
            if messages > 0:
                cells[int(size)] = Cell(time_us=1 / messages, gbits=gbits)
    return cells


def median_of(turns):
    """The cells of several turns as one, for the sizes that all turns have."""
    sizes = set.intersection(*map(set, turns)) if turns else set()
    return {size: _middle([turn[size] for turn in turns]) for size in sorted(sizes)}


def _middle(cells):
    columns = zip(*map(dataclasses.astuple, cells))
    return Cell(*(None if None in column else statistics.median(column) for column in columns))


def faults_in(table, tcp_gbits):
    """{(line, size): what is out of line}, of {line: {size: Cell}} and what TCP carries."""
    faults = {}
    kinds = {}
    for line, cells in table.items():
        for size, cell in cells.items():
            kinds.setdefault((line.port, line.is_latency, size), []).append(cell.time_us)
    for line, cells in table.items():
        sizes = sorted(cells)
        for size, larger in zip(sizes, [*sizes[1:], None]):
            if not line.is_latency and size <= FIRST_CONTACT_BYTES:
                continue
            cell, said = cells[size], []
            if larger and cell.time_us > SLOWER_THAN_LARGER * cells[larger].time_us:
                said.append(f"slower than {larger} B")
            usual = statistics.median(kinds[line.port, line.is_latency, size])
            if cell.time_us > SLOWER_THAN_KIND * usual:
                said.append(f"{cell.time_us / usual:.1f} x its kind")
            if cell.average_us and cell.average_us > LONGER_TAIL * cell.time_us:
                said.append(f"average {cell.average_us / cell.time_us:.1f} x typical")
            if cell.gbits and size >= TCP_MESSAGE and cell.gbits < tcp_gbits:
                said.append(f"{cell.gbits / tcp_gbits:.2f} x TCP")
            if said:
                faults[line, size] = "; ".join(said)
    return faults


class Sweep:
    """Runs lines over one port after the other. All programs of a port share a runtime folder, so that they
    meet on one switch."""

    def __init__(self, programs, say):
        self.programs, self.say = programs, say
        self.failures = {}  # {line: the last words of its client}

    def run(self, ports, is_chosen, tcp_gbits):
        """{line: {size: Cell}} and faults_in() it."""
        turns = {line: [] for port in ports for line in lines_of(port) if is_chosen(str(line))}
        self._take_turn(turns, list(turns))
        table = {line: median_of(found) for line, found in turns.items()}
        for turn in range(TURNS_OF_SUSPECTS):
            suspects = list(dict.fromkeys(line for line, _ in faults_in(table, tcp_gbits)))
            self._take_turn(turns, suspects, f"once more ({turn + 1}/{TURNS_OF_SUSPECTS}): ")
            table.update({line: median_of(turns[line]) for line in suspects})
        return table, faults_in(table, tcp_gbits)

    def _take_turn(self, turns, lines, why=""):
        folders = {}
        for number, line in enumerate(lines, 1):
            self.say(f"{why}{number}/{len(lines)} {line}")
            if line.port not in folders:
                if harness.has_host_addresses(line.port):
                    self.programs.await_roce_port()
                folders = {line.port: self.programs.stage.folder()}
            try:
                turns[line].append(cells_in(self._run(line, folders[line.port]), line.is_latency))
            except Failed as failure:
                self.failures[line] = str(failure).strip().splitlines()[-1]
            self.programs.end_all()
        self.say("")

    def _run(self, line, runtime):
        tcp_port = harness.free_port()
        words = [
            *line.words,
            "-d",
            "urnic0",
            "-x",
            1,
            "-F",
            "-p",
            tcp_port,
            *([] if line.is_latency else ["--report_gbits"]),
        ]
        by_address = line.option == "-R" and not harness.has_host_addresses(line.port)
        server, client = (
            self.programs.with_nic(line.port, words, address if by_address else None)
            for address in (SERVER, CLIENT)
        )
        server_address = SERVER if by_address else self.programs.server_address
        return self.programs.pair(
            server, [*client, server_address], tcp_port, runtime=runtime, by_rdma_cm=line.option == "-R"
        )
