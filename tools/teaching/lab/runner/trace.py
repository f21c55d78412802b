# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What the packets and the NICs say: `urnic view --json` of an experiment's recordings, in words that labs
use."""
import json
import subprocess

from runner.pcapng import frames_of


class Packet:
    """One packet, with the members that tools/inspection/view/DATA.md lists as attributes, and its headers'
    fields by name."""

    def __init__(self, trace, index, members):
        self._trace, self._members = trace, members
        self.index = index
        self.side = trace.side_of(members.get("connection"), members.get("from"))  # of the sender
        self.label, self.kind = members["label"], members["kind"]
        self.psn, self.payload, self.msn = members.get("psn"), members.get("payload", 0), members.get("msn")
        self.connection = members.get("connection")
        self.time = members["seen"][0]["time"]  # ns, of the first recording that has it: the sender's
        self.comments = {
            trace.names[seen["file"]]: seen["comment"] for seen in members["seen"] if "comment" in seen
        }
        self.times = {trace.names[seen["file"]]: seen["time"] for seen in members["seen"]}
        self.frames = {trace.names[seen["file"]]: seen["frame"] for seen in members["seen"]}
        self.icrc = members.get("icrc")
        self.header_bytes = bytes.fromhex(members["bytes"])
        self.repeats = members.get("repeats")
        self.answers = members.get("answers", [])
        self.request = members.get("request")
        self.is_repeated, self.is_lost, self.is_dropped, self.bad_icrc = (
            bool(members.get(name)) for name in ("is_repeated", "is_lost", "is_dropped", "bad_icrc")
        )

    def headers(self):
        """Names: IPv4, UDP, BTH, RETH, ..."""
        return [header["name"] for header in self._trace.layouts[self._members["layout"]]]

    def field(self, name):
        """A number: field("BTH.PSN"). None when the packet has no such field."""
        for header in self._trace.layouts[self._members["layout"]]:
            for title, first, bits, _ in header["fields"]:
                if f"{header['name']}.{title}" == name:
                    number = int.from_bytes(self.header_bytes, "big")
                    return number >> (8 * len(self.header_bytes) - first - bits) & ((1 << bits) - 1)
        return None

    def payload_bytes(self):
        """As the recording has them that `times` and `frames` name first."""
        (name, number), *_ = self.frames.items()
        begin = len(self.header_bytes)
        return self._trace.frames(name)[number - 1][begin : begin + self.payload]

    def __str__(self):
        return f"{self.side or '?'}: {self.label} PSN {self.psn}, {self.payload} bytes"


class Note:
    """What a NIC told: members as in drivers/pcap/RECORDING.md are attributes, and None where a note lacks
    one."""

    def __init__(self, trace, note):
        self.side, self.what, self.time, self.packet = (
            trace.names[note["file"]],
            note["what"],
            note["time"],
            note.get("packet"),
        )
        self._members = note["members"]

    def __getattr__(self, name):
        return self._members.get(name)

    @property
    def id(self):
        """The work request's number."""
        return int(self.wr_id, 16)


def _view(urnic, paths):
    result = subprocess.run([urnic, "view", "--json", *paths], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"urnic view failed: {result.stderr.strip()}")
    return json.loads(result.stdout)


class Trace:
    def __init__(self, urnic, recordings):
        """`recordings`: paths by the name of the program; none where no program of an experiment had a NIC."""
        self.names = list(recordings)
        self._recordings, self._frames = recordings, {}
        data = _view(urnic, recordings.values()) if recordings else {}
        self.layouts, self.connections = data.get("layouts", []), data.get("connections", [])
        self.packets = [Packet(self, index, members) for index, members in enumerate(data.get("packets", []))]
        self.notes = [Note(self, note) for note in data.get("notes", [])]
        self.findings = data.get("findings", [])

    def frames(self, name):
        """Bytes of all frames of this program's recording."""
        if name not in self._frames:
            self._frames[name] = frames_of(self._recordings[name])
        return self._frames[name]

    def side_of(self, connection, end):
        """The program whose NIC is this end, or None."""
        if connection is None or end is None:
            return None
        file = self.connections[connection]["ends"][end].get("file")
        return None if file is None else self.names[file]

    def sent(self, side, kind=None, again=None):
        """Packets that this program's NIC sent. `again`: only those that were sent before, or only those that
        were not."""
        return [
            packet
            for packet in self.packets
            if packet.side == side and kind in (None, packet.kind) and again in (None, packet.is_repeated)
        ]

    def requests(self, side, again=None):
        return self.sent(side, "request", again)

    def told(self, what, side=None):
        return [note for note in self.notes if note.what == what and side in (None, note.side)]

    def completions(self, side, queue=None, status=None):
        return [
            note
            for note in self.told("completion", side)
            if queue in (None, note.queue) and status in (None, note.status)
        ]

    def violations(self):
        """What `urnic check` holds against the packets."""
        return [finding for finding in self.findings if finding["severity"] == "violation"]
