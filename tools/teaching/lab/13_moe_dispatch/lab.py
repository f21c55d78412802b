# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 13: tokens to their experts and back: padded, and exactly; and what a favourite expert costs."""
import functools
import re
import struct

from runner.lab import Exercise, Expect, Experiment, Lab, Question, Say, ranks
from runner.messages import writes

RANKS, EXPERTS, TOKENS, CHOICES = 4, 8, 64, 2  # as in moe.h
COUNTS, DISPATCH, COMBINE = 1, 16, 32
CAPACITY, WORK_MS = 24, 1  # as in moe.c
TOKEN, ROW = 256, 4 * EXPERTS
IN = RANKS * ROW + RANKS * EXPERTS // RANKS * TOKENS * TOKEN  # offsets in the memory of a rank
BACK = IN + (IN - RANKS * ROW)
NAMES = [f"rank{rank}" for rank in range(RANKS)]
WAITS = re.compile(r"expert (\d+) waits for (\d+) WRITEs")
# Indented as the text around it is.
TABLE = """\
              expert   0   1   2   3   4   5   6   7
              of rank    0       1       2       3
              rank 0  18   7  15  13  20  37  16   2
              rank 1  15  12  19   9  17  42  14   0
              rank 2  20  10  12   9  18  40  18   1
              rank 3  15   9  19   8  16  41  18   2"""


# --- what the router of moe.c does ---


def expert_by(value):
    return 7 if value % 128 == 0 else (5, 5, 5, 5, 5, 5, 0, 0, 1, 2, 2, 3, 4, 4, 6, 6)[value // 128 % 16]


@functools.cache
def routed(rank, expert):
    """Numbers of the tokens that a rank has for an expert."""
    numbers = []
    for number in range(TOKENS):
        value = (rank * TOKENS + number + 1) * 2654435761 & 0xFFFFFFFF
        first = second = expert_by(value >> 8)
        while second == first:
            value = (value * 1664525 + 1013904223) & 0xFFFFFFFF
            second = expert_by(value >> 8)
        if expert in (first, second):
            numbers.append(number)
    return numbers


def tokens_of(rank, expert, worked=0):
    """Their bytes. `worked`: what an expert has added to each byte of the data."""
    return b"".join(
        struct.pack("III", rank, number, expert)
        + bytes((rank * 101 + number * 31 + i + worked) & 0xFF for i in range(TOKEN - 12))
        for number in routed(rank, expert)
    )


def rank_of(expert):
    return expert // (EXPERTS // RANKS)


def place_in_out(rank, expert):
    return sum(len(routed(rank, before)) for before in range(expert))


def place_in_in(rank, expert):
    first = rank_of(expert) * EXPERTS // RANKS
    return sum(
        len(routed(source, before)) for before in range(first, expert) for source in range(RANKS)
    ) + sum(len(routed(source, expert)) for source in range(rank))


REMOTE = [
    (rank, expert)
    for rank in range(RANKS)
    for expert in range(EXPERTS)
    if rank_of(expert) != rank and routed(rank, expert)
]


# --- what the packets say ---


def of_kind(seen, kind):
    """{(rank of the sender, rank of the receiver, expert): write}"""
    found = {}
    for write in writes(seen.trace):
        if kind <= write.immediate < kind + EXPERTS:
            found[NAMES.index(write.sender), NAMES.index(write.receiver), write.immediate - kind] = write
    return found


def dispatched(seen):
    """{(rank, expert): write}"""
    return {(rank, expert): write for (rank, _, expert), write in of_kind(seen, DISPATCH).items()}


def bytes_from_rank_0(seen):
    return sum(len(write.payload) for (rank, _), write in dispatched(seen).items() if rank == 0)


def missing_at_expert_5(seen):
    """Tokens that other ranks have for it, and that did not come."""
    came = sum(
        struct.unpack_from("III", write.payload, at)[2] == 5
        for (_, expert), write in dispatched(seen).items()
        if expert == 5
        for at in range(0, len(write.payload), TOKEN)
    )
    return sum(len(routed(rank, 5)) for rank in range(RANKS) if rank != rank_of(5)) - came


def rows(seen):
    """What the ranks told each other of their counts."""
    return {
        NAMES.index(write.sender): struct.unpack(f"{EXPERTS}I", write.payload)
        for write in writes(seen.trace)
        if write.immediate == COUNTS
    }


def loads(seen):
    """Tokens that come to each rank's experts."""
    return [
        sum(
            row[expert] for row in rows(seen).values() for expert in range(EXPERTS) if rank_of(expert) == rank
        )
        for rank in range(RANKS)
    ]


def memory_of(seen, rank):
    """The address of a rank's memory: the counts are its beginning."""
    write = next(
        write for write in writes(seen.trace) if write.immediate == COUNTS and write.receiver == NAMES[rank]
    )
    return write.address - NAMES.index(write.sender) * ROW


def dispatch_complaint(seen):
    """Empty when every token came to its expert exactly once, to the byte and to its place."""
    found = dispatched(seen)
    if sorted(found) != REMOTE:
        return f"There are {len(found)} WRITEs with tokens; there should be {len(REMOTE)}."
    for (rank, expert), write in found.items():
        if write.payload != tokens_of(rank, expert):
            return f"places.c, GAP 1: what rank {rank} writes to expert {expert} are not its {len(routed(rank, expert))} tokens for this expert. Do tokens for several experts stand in the same place of 'out'?"
    for (rank, expert), write in found.items():
        place = (write.address - memory_of(seen, rank_of(expert)) - IN) / TOKEN
        if place != place_in_in(rank, expert):
            return f"places.c, GAP 2: rank {rank} puts its tokens for expert {expert} at place {place:g} of 'in' of rank {rank_of(expert)}; they belong at place {place_in_in(rank, expert)}."
    return ""


def waiting_complaint(seen):
    """Empty when each expert waited for as many WRITEs as came for it."""
    said = dict(tuple(map(int, words)) for name in NAMES for words in WAITS.findall(seen.output(name)))
    for expert in range(EXPERTS):
        came = sum(of_write == expert for _, of_write in dispatched(seen))
        if said.get(expert) != came:
            return f"places.c, GAP 3: expert {expert} waits for {said.get(expert)} WRITEs; {came} came."
    return ""


def combine_complaint(seen):
    """Empty when all results came back, to the byte and to their place."""
    found = {(receiver, expert): write for (_, receiver, expert), write in of_kind(seen, COMBINE).items()}
    if sorted(found) != REMOTE:
        return f"places.c, GAP 4: {len(found)} WRITEs with results came back; there should be {len(REMOTE)}."
    for (rank, expert), write in found.items():
        if write.payload != tokens_of(rank, expert, worked=expert + 1):
            return f"places.c, GAP 4: what expert {expert} sends back to rank {rank}, {len(write.payload)} bytes, are not its results for the {len(routed(rank, expert))} tokens of this rank."
        place = (write.address - memory_of(seen, rank) - BACK) / TOKEN
        if place != place_in_out(rank, expert):
            return f"places.c, GAP 4: expert {expert} puts its results at place {place:g} of 'back' of rank {rank}; they belong at place {place_in_out(rank, expert)}."
    return ""


def work_ms(seen):
    """Of each rank: from the last token that came to the first result that left."""
    result = []
    for rank in range(RANKS):
        came = max(
            write.came for (_, receiver, _), write in of_kind(seen, DISPATCH).items() if receiver == rank
        )
        left = min(write.sent for (sender, _, _), write in of_kind(seen, COMBINE).items() if sender == rank)
        result.append((left - came) / 1e6)
    return result


def last_to_send_back(seen):
    """The letter of the rank."""
    sender, _, _ = max(of_kind(seen, COMBINE).items(), key=lambda item: item[1].sent)[0]
    return "abcd"[sender]


LAB = Lab(
    title="MoE dispatch",
    minutes=55,
    understand=(
        "how tokens get to their experts: padded, in one step; or exactly, after the ranks have exchanged counts",
        "how offsets follow from counts, so that all ranks write into one memory at the same time, and no byte is written twice",
        "why the busiest rank decides how long a layer takes",
    ),
    picture="dispatch",
    steps=(
        Say(
            "Tokens and experts",
            f"""
            In a mixture of experts (MoE) a layer has many experts, and each token needs only a few of them. The experts are spread over the ranks.
            A router decides, for each token, which experts it goes to (dispatch); their results go back (combine). This is an all-to-all, and an
            uneven one: only the router's decision says how many bytes go from one rank to another.

            Here four ranks have two experts each, and 64 tokens each. A token has 256 bytes and goes to two different experts. Expert 5 is a
            favourite. This is how many tokens each rank has for each expert:

{TABLE}

            Tokens for a rank's own experts are copied, and cause no packets.
            """,
        ),
        Experiment(
            name="padded",
            title="Padded",
            text="""
            Every rank has room for 24 tokens at each expert, and always writes 24: if it has fewer, the rest is padding; if it has more, they are dropped. (16 would be
            the average, so the capacity factor is 1.5.) No rank needs to know anything about another rank.
            """,
            programs=ranks("moe", RANKS, "padded"),
            questions=(
                Question(
                    "How many bytes of tokens and padding does rank 0's NIC send?",
                    truth=bytes_from_rank_0,
                    expected=(EXPERTS - EXPERTS // RANKS) * CAPACITY * TOKEN,
                    why="Six experts of other ranks x 24 x 256. It is the same for each rank, and for whatever the router decides.",
                    unit="bytes",
                ),
                Question(
                    "How many tokens of the ranks 0, 1 and 3 for expert 5 do not get there?",
                    truth=missing_at_expert_5,
                    expected=48,
                    why="13 + 18 + 17. The model goes on without them, and is a little worse. Room for all, 42 tokens, would be 64512 bytes from each rank, most of them padding.",
                    unit="tokens",
                ),
            ),
            expects=(
                Expect(
                    "each rank wrote the same number of bytes to each expert of the others.",
                    lambda seen: {len(write.payload) for write in dispatched(seen).values()}
                    == {CAPACITY * TOKEN}
                    and len(dispatched(seen)) == RANKS * 6,
                    "moe.c was changed: all should write 24 tokens.",
                ),
            ),
        ),
        Exercise(
            "Places",
            "places.c",
            """
            Now exactly: first each rank tells its row of the table to each other rank. Then all know the whole table, and each rank computes the
            places of its tokens by itself. moe.h describes the memory of a rank.

            GAP 1, place_in_out(): where in 'out' of a rank do its tokens for an expert begin?
            GAP 2, place_in_in(): where in 'in' of the expert's rank do the tokens of a rank for it begin?
            GAP 3, writes_to(): for how many WRITEs of other ranks must an expert wait? A rank that has no token for it sends none.
            """,
        ),
        Experiment(
            name="dispatch",
            title="Exactly",
            text="First the counts, then only the real tokens: one WRITE with immediate for each expert that a rank has tokens for.",
            programs=ranks("moe", RANKS, "dispatch"),
            hint="Edit places.c. A rank that waits without end expects WRITEs that no rank sends: GAP 3.",
            questions=(
                Question(
                    "How many bytes of tokens does rank 0's NIC send now?",
                    truth=bytes_from_rank_0,
                    expected=103 * TOKEN,
                    why="128 minus its 25 tokens for the experts 0 and 1, which are its own: 103 x 256. The counts are 32 bytes more for each peer. Nothing is dropped.",
                    unit="bytes",
                ),
                Question(
                    "How many WRITEs with tokens does expert 7 wait for?",
                    truth=lambda seen: sum(expert == 7 for _, expert in dispatched(seen)),
                    expected=2,
                    why="Two: the ranks 0 and 2 send one each. Rank 1 has no token for it, and rank 3 is its own rank. If it waited for three, the layer would never end.",
                    unit="WRITEs",
                ),
            ),
            expects=(
                Expect(
                    "every token came to its expert, exactly once, to the byte and to its place.",
                    lambda seen: not dispatch_complaint(seen),
                    dispatch_complaint,
                ),
                Expect(
                    "each expert waited for as many WRITEs as came for it.",
                    lambda seen: not waiting_complaint(seen),
                    waiting_complaint,
                ),
            ),
            after="""
            Three ranks write into the memory of the fourth at the same time, without a lock: the counts have given each rank a range of its own.
            This costs one message more before the first token can leave. When tokens are few and time matters, a program can leave the counts
            out: each rank has a fixed place with room for all its tokens, writes only the tokens that it has, and the immediate says how many.
            This costs memory instead of time.
            """,
        ),
        Exercise(
            "The way back",
            "places.c",
            "GAP 4, send_back(): the results of an expert for the tokens of a rank. From where in 'in', how many bytes, to where in 'back' of that rank? Use the functions of gaps 1 and 2.",
        ),
        Experiment(
            name="layer",
            title="A whole layer",
            text=f"""
            Dispatch, then the experts work, then combine. An expert takes a millisecond for each token; the two experts of a rank work one after the other.

{TABLE}
            """,
            programs=ranks("moe", RANKS, "layer"),
            hint="Edit places.c.",
            questions=(
                Question(
                    "Which rank sends its results last?",
                    choices=tuple(NAMES),
                    truth=last_to_send_back,
                    expected="c",
                    why="rank2: its experts 4 and 5 have 71 + 160 tokens, and take 231 ms; the others take 106, 104 and 71 ms, and then wait, because no token can go on before both of its results have come.",
                ),
                Question(
                    "If all ranks had equally many tokens: how many times as fast would the work of this layer be done?",
                    truth=lambda seen: max(loads(seen)) * RANKS / sum(loads(seen)),
                    expected=lambda truth: abs(truth - 231 / 128) < 0.001,
                    tolerance=0.03,
                    why="231 / 128 = 1.8 times. The network is not the reason, and a faster one would not help. So a favourite expert gets a copy at a second rank, or the router is trained to spread the tokens.",
                    unit="times",
                ),
            ),
            expects=(
                Expect(
                    "all results came back, to the byte and to their place.",
                    lambda seen: not combine_complaint(seen),
                    combine_complaint,
                ),
                Expect(
                    "every token came to its expert, exactly once, to the byte and to its place.",
                    lambda seen: not dispatch_complaint(seen),
                    dispatch_complaint,
                ),
                Expect(
                    "no rank sent a result before it had worked a millisecond on each of its tokens.",
                    lambda seen: all(ms >= load * WORK_MS for ms, load in zip(work_ms(seen), loads(seen))),
                    lambda seen: f"The ranks worked {', '.join(f'{ms:.0f}' for ms in work_ms(seen))} ms; they have {', '.join(map(str, loads(seen)))} tokens. Does an expert begin before all its tokens have come (GAP 3)?",
                ),
            ),
        ),
    ),
)
