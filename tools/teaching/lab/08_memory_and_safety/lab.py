# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 8: what a peer can do to memory: keys, rights, windows, invalidation."""
from runner.lab import Exercise, Expect, Experiment, Lab, Question, Say, pair

REMOTE_ACCESS_ERROR = 0x62
# As in thief.c: what is tried, whether it should succeed, and the gap of vault.c that decides it.
ATTEMPTS = (
    ("read page 0", True, 1),
    ("write page 0", False, 1),
    ("read the secret", False, 2),
    ("write a letter", True, 3),
    ("write over the end of the letter", False, 3),
    ("read the letterbox", False, 3),
    ("read page 0 by a key that is one more", False, 1),
    ("write a letter when the window is closed", False, 4),
)
REFUSED = sum(not should_succeed for _, should_succeed, _ in ATTEMPTS)


def tried(seen):
    """For each connection in its order: the client's first request."""
    firsts = {}
    for packet in seen.trace.requests("client", again=False):
        firsts.setdefault(packet.connection, packet)
    return list(firsts.values())


def naks(seen):
    return seen.trace.sent("server", "nak")


def outcomes(seen):
    """Whether each attempt succeeded: no NAK came on its connection."""
    refused = {packet.connection for packet in naks(seen)}
    return [packet.connection not in refused for packet in tried(seen)]


def wrong_outcome(seen):
    for (what, should_succeed, gap), succeeded in zip(ATTEMPTS, outcomes(seen)):
        if succeeded != should_succeed:
            return f"vault.c, GAP {gap}: '{what}' {'succeeded; the rights are too large' if succeeded else 'was refused; the rights are too small'}."
    return f"{len(outcomes(seen))} attempts were made; there should be {len(ATTEMPTS)}."


def packets_of_closing(seen):
    """Packets between the post that closes the window and its completion."""
    (post,) = [note for note in seen.trace.told("post_send", "server") if note.id == 2]
    (end,) = [note for note in seen.trace.completions("server", "send") if note.id == 2]
    return len([packet for packet in seen.trace.packets if post.time <= packet.time <= end.time])


def requests_behind_the_nak(seen):
    """The most requests that one connection carried after its NAK."""
    return max(
        len(
            [
                packet
                for packet in seen.trace.requests("client")
                if packet.connection == nak.connection and packet.time > nak.time
            ]
        )
        for nak in naks(seen)
    )


LAB = Lab(
    title="Memory and safety",
    minutes=50,
    understand=(
        "what protects your memory from a peer: protection domain, key, bounds, rights",
        "how to give a peer as little as it needs: rights, windows, invalidation",
        "what a guessed key costs, and what keys do not protect from",
    ),
    picture="attempts",
    steps=(
        Say(
            "A peer with a key",
            """
            With one-sided access, a peer that has an R_Key and an address can use the memory. It does not ask your program, and your program does
            not notice. The NIC checks each request (fact 30 of transport/FACTS.md). May the peer use this queue pair for READs or WRITEs at all
            (qp_access_flags)? Is the key known, and does it belong to the queue pair's protection domain? Are all bytes within the region? Does
            the region allow it? If not, the NIC answers with a NAK, and the connection ends.
            """,
        ),
        Experiment(
            name="guess",
            title="Guess a key",
            text="""
            The client has an address in the server's memory, and no key. It tries 32 keys. For this experiment, the server connects a new queue
            pair after each failure.
            """,
            programs=pair("thief", "guess"),
            questions=(
                Question(
                    "How many guesses can a client make on one connection, if they are wrong?",
                    truth=lambda seen: 1 + requests_behind_the_nak(seen),
                    expected=1,
                    why="One. The NAK takes both queue pairs to ERR. The next guess needs a new connection, and the server's program must agree to connect.",
                    unit="guesses",
                ),
                Question(
                    "How many of the 32 guesses are refused by a NAK 0x62, remote access error?",
                    truth=lambda seen: len(
                        [
                            packet
                            for packet in naks(seen)
                            if packet.field("AETH.Syndrome") == REMOTE_ACCESS_ERROR
                        ]
                    ),
                    expected=32,
                    why="All, unless you were extremely lucky (one in millions). The program says how long all 2^32 keys would take. But keys are not as random as passwords: README.md asks what you know if you know one key.",
                    unit="guesses",
                ),
            ),
            expects=(
                Expect(
                    "each guess had a connection of its own.",
                    lambda seen: len(tried(seen)) == 32,
                    lambda seen: f"{len(tried(seen))} guesses were made.",
                ),
            ),
        ),
        Exercise(
            "As little as possible",
            "vault.c",
            """
            The server has three pages of memory. Page 0 is public: the peer may read it. Page 1 is a letterbox: the peer may write its first 64
            bytes, once. Page 2 is secret. As vault.c is now, the peer can do everything everywhere. Mend it:

              GAP 1  rights of the region of page 0
              GAP 2  rights of the region of page 2
              GAP 3  the memory window on page 1: which bytes, for what. A window is a smaller opening in a region, with a key of its own,
                     and is opened and closed by work requests.
              GAP 4  close the window: a work request that invalidates its key
            """,
        ),
        Experiment(
            name="attempts",
            title="Eight attempts",
            text="""
            The server tells the client all keys, also those that it should keep for itself. On eight connections the client tries: to read page 0,
            write page 0, read the secret, write a letter, write 8 bytes of which the last 4 are beyond the end of the letter, read the
            letterbox, read page 0 by a key that is one more, and write a letter when the window is closed.
            """,
            programs=pair("thief", "attempts"),
            hint="Edit vault.c.",
            questions=(
                Question(
                    "With the rights as they should be: how many of the eight attempts are refused?",
                    truth=lambda seen: outcomes(seen).count(False),
                    expected=REFUSED,
                    why="Six: only reading page 0 and writing the letter are allowed.",
                    unit="attempts",
                ),
                Question(
                    "How many packets does it take to close the window?",
                    truth=packets_of_closing,
                    expected=0,
                    why='None: LOCAL_INV is a work request that the server\'s own NIC carries out. (A peer can do it, too, by SEND with invalidate: one packet that says "I am done with this key".)',
                    unit="packets",
                ),
            ),
            expects=(
                Expect(
                    "the two attempts that are allowed succeeded, and the six others were refused.",
                    lambda seen: outcomes(seen) == [should_succeed for _, should_succeed, _ in ATTEMPTS],
                    wrong_outcome,
                ),
                Expect(
                    "each refusal was a NAK remote access error, 0x62.",
                    lambda seen: {packet.field("AETH.Syndrome") for packet in naks(seen)}
                    == {REMOTE_ACCESS_ERROR},
                    "All NAKs should have the syndrome 0x62.",
                ),
                Expect(
                    "the server's program had no completion of any attempt.",
                    lambda seen: not seen.trace.completions("server", "receive"),
                    "READs and WRITEs should complete nothing at the server.",
                ),
            ),
            after="""
            The NIC tells the peer only that it refuses, not why. 'urnic run --explain' tells the owner of the memory why: which key, which
            bounds, which right. Try it with the server.
            """,
        ),
    ),
)
