# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 11: all-reduce: by a ring of WRITEs, and by READs; the order in which floats are added; bytes, steps
and time."""
import collections
import functools
import struct

from runner.lab import Exercise, Expect, Experiment, Lab, Question, Say, ranks
from runner.messages import receiver_of, writes

RANKS, VECTOR = 4, 16 << 10  # as in lab.py's experiments and all_reduce.c
READY, DIGEST = 100, 101  # immediates, as in all_reduce.h; 0 and so on are the steps of the ring
NAMES = [f"rank{rank}" for rank in range(RANKS)]
FLOATS = VECTOR // 4
PIECE = FLOATS // RANKS
SIZES, REPETITIONS = (256, 4 << 10, 64 << 10), 5  # as in all_reduce.c
POSTS = (2 * (RANKS - 1), 4 * (RANKS - 1))  # work requests of one rank: of the ring, and of the direct way
# A network with 5 us for a message and 50 bytes for a nanosecond: 400 Gbit/s.
MESSAGE_NS, BYTES_PER_NS = 5000, 50


# --- what the ranks should have: the vectors of all_reduce.c, added in a known order ---


def to_float32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def element(rank, index):
    value = ((rank << 20 | index) * 2654435761) & 0xFFFFFFFF
    value = (value ^ value >> 15) * 2246822519 & 0xFFFFFFFF
    value ^= value >> 13
    return (-1.0 if value & 8 else 1.0) * (value >> 8) / (1 << value % 8)


@functools.cache
def piece_sum(number, order):
    """Piece `number` of the vectors of the ranks in `order`, added in this order, as bytes."""
    sums = []
    for index in range(number * PIECE, (number + 1) * PIECE):
        total = element(order[0], index)
        for rank in order[1:]:
            total = to_float32(total + element(rank, index))
        sums.append(total)
    return struct.pack(f"{PIECE}f", *sums)


def from_rank(first, count=RANKS):
    """`count` ranks to the right, from this one on."""
    return tuple((first + n) % RANKS for n in range(count))


@functools.cache
def digest(orders):
    """Of the whole sum, where piece p is added in the order `orders[p]`."""
    value = 2166136261
    for number, order in enumerate(orders):
        for (word,) in struct.iter_unpack("I", piece_sum(number, order)):
            value = (value ^ word) * 16777619 & 0xFFFFFFFF
    return value


RING_ORDER = tuple(from_rank(number) for number in range(RANKS))


# --- what the packets say ---


def digests(seen):
    """What each rank wrote as the digest of its result, by rank."""
    shown = {
        write.sender: struct.unpack("I", write.payload)[0]
        for write in writes(seen.trace)
        if write.immediate == DIGEST
    }
    return [shown[name] for name in NAMES]


def are_equal(seen):
    return "a" if len(set(digests(seen))) == 1 else "b"


def one_of(numbers):
    """The number that is the same for all ranks."""
    (number,) = set(numbers)
    return number


def bytes_read(seen):
    """Bytes that each rank's NIC sent in responses to READs."""
    return one_of(
        sum(packet.payload for packet in seen.trace.sent(name, "response", again=False)) for name in NAMES
    )


def steps(seen):
    """The WRITEs of the ring, {(rank, step): write}."""
    return {
        (NAMES.index(write.sender), write.immediate): write
        for write in writes(seen.trace)
        if write.immediate < READY
    }


def bytes_written(seen):
    """Bytes that each rank's NIC sent in WRITEs of the ring."""
    return one_of(
        sum(len(write.payload) for (sender, _), write in steps(seen).items() if sender == rank)
        for rank in range(RANKS)
    )


def steps_of_a_rank(seen):
    return one_of(sum(sender == rank for sender, _ in steps(seen)) for rank in range(RANKS))


def place_in_result(seen, write):
    """Which piece of the receiver's result it goes to. The digest shows where the inbox is; the result stands
    before it."""
    inbox = next(
        other.address
        for other in writes(seen.trace)
        if other.immediate == DIGEST and other.receiver == write.receiver
    )
    return (write.address - (inbox - SIZES[-1])) / (4 * PIECE)


def ring_complaint(seen):
    """Empty when each rank has sent the right pieces at the right time. A wrong gap can spoil the sums of
    others, so what is certain comes first."""
    ring, half = steps(seen), RANKS - 1
    if len(ring) != RANKS * 2 * half:
        return f"ways.c: the ranks sent {len(ring)} pieces; there should be {RANKS * 2 * half}."
    for rank in range(RANKS):
        if ring[rank, 0].payload in [piece_sum(number, (rank,)) for number in range(RANKS) if number != rank]:
            return f"ways.c, GAP 1: in step 0 rank {rank} does not send piece {rank} of its vector, but another one."
    for (rank, step), write in ring.items():
        if step >= half and place_in_result(seen, write) != (rank + 1 - (step - half)) % RANKS:
            return f"ways.c, GAP 2: in step {step} rank {rank} sends piece {place_in_result(seen, write):g}; it should send piece {(rank + 1 - (step - half)) % RANKS}."
    for (rank, step), write in ring.items():
        if step > 0 and write.sent < ring[(rank - 1) % RANKS, step - 1].came:
            return f"ways.c, GAP 3: rank {rank} sent its piece of step {step} before the piece of step {step - 1} had come from the left."
    for (rank, step), write in sorted(ring.items(), key=lambda item: item[0][1]):
        number = (rank - step if step < half else rank + 1 - (step - half)) % RANKS
        if write.payload != piece_sum(number, from_rank(number, min(step + 1, RANKS))):
            return f"ways.c, GAP 1: in step {step} rank {rank} should send piece {number}, with the sum of {min(step + 1, RANKS)} ranks."
    return ""


def direct_complaint(seen):
    """Empty when each rank has read the result of a peer after this peer had said that it is there."""
    ready = collections.defaultdict(list)
    for write in writes(seen.trace):
        if write.immediate == READY:
            ready[write.sender, write.receiver].append(write.came)
    for name in NAMES:
        reads = collections.defaultdict(list)
        for packet in seen.trace.requests(name, again=False):
            if packet.label == "READ":
                reads[receiver_of(seen.trace, packet)].append(packet.time)
        for peer, times in reads.items():
            if len(ready[peer, name]) < 2 or times[1] < ready[peer, name][1]:
                return (
                    f"ways.c, GAP 5: {name} read the sum of {peer} before {peer} had said that it is there."
                )
    return ""


def order_complaint(seen):
    if are_equal(seen) == "b":
        return "The ranks have different results."
    return "ways.c, GAP 4: all ranks have the same bits, but not the ring's: add in the order in which the ring does."


def durations(seen):
    """{(size, way): shortest time in ms} at rank 0, way 0 is the ring: from the first post to the last
    completion."""
    posts = [note.time for note in seen.trace.told("post_send", "rank0")]
    ends = [note.time for note in seen.trace.completions("rank0")]
    result = {}
    for _ in range(REPETITIONS):
        for size in SIZES:
            for way, count in enumerate(POSTS):
                begin, posts = posts[0], posts[count:]
                end = max(time for time in ends if begin <= time and not (posts and time >= posts[0]))
                result[size, way] = min(result.get((size, way), 1e9), (end - begin) / 1e6)
    return result


def growth(seen):
    """The letter: how the ring's time grows with 16 times the bytes."""
    times = durations(seen)
    return "a" if times[SIZES[1], 0] < 4 * times[SIZES[0], 0] else "b"


def crossing_kilobytes(seen):
    """The vector whose bytes take as long as its steps, on the network of the question. From the ring's
    packets: the shortest vectors come first."""
    first = [write for write in writes(seen.trace) if write.sender == "rank0" and write.immediate < READY][
        : POSTS[0]
    ]
    share = sum(len(write.payload) for write in first) / SIZES[0]
    return len(first) * MESSAGE_NS * BYTES_PER_NS / share / 1000


LAB = Lab(
    title="All-reduce",
    minutes=55,
    understand=(
        "what an all-reduce costs each rank in bytes and in steps: by a ring of WRITEs, and by READs",
        "why the order in which floats are added matters, and how all ranks get the same bits",
        "when the number of steps decides how long it takes, and when the number of bytes",
    ),
    picture="ring",
    steps=(
        Say(
            "A sum that all need",
            """
            A large model does not fit into one GPU. In tensor parallelism each GPU (rank) has a part of every layer, so it computes only a part
            of a sum; all ranks need the whole sum before the next layer. This is an all-reduce: each rank has a vector, and all get the sum of the
            vectors. It happens twice in each layer of a transformer.

            Here four programs are the ranks, and the vector has 4096 float32: 16384 bytes, four pieces of 4096 bytes. Each rank has a queue pair to
            each other rank (common files: ranks.h and ranks.c). At the end each rank writes 4 bytes to its right: a digest of its result, so that
            the packets show whether all have the same bits.
            """,
        ),
        Experiment(
            name="own-first",
            title="Each rank reads all",
            text="""
            The shortest way: each rank reads the whole vectors of the three others, and adds them to its own one. It begins with its own vector,
            then adds the vector of the rank at its right, and so on around.
            """,
            programs=ranks("all_reduce", RANKS, "own-first"),
            questions=(
                Question(
                    "How many bytes of vectors does each rank's NIC send?",
                    truth=bytes_read,
                    expected=(RANKS - 1) * VECTOR,
                    why="Its whole vector to three peers: 3 x 16384, in n ranks (n-1) times the vector.",
                    unit="bytes",
                ),
                Question(
                    "Do all ranks have the same result, to the bit?",
                    choices=("yes: a sum does not depend on the order", "no"),
                    truth=are_equal,
                    expected="b",
                    why="No. After each addition a float is rounded, and what is lost depends on what was added before: (a + b) + c is not a + (b + c). Here a third of the elements differ between any two ranks, in their last bits. In a model such differences can grow from layer to layer, until one rank chooses another token than the others.",
                ),
            ),
            expects=(
                Expect(
                    "each digest is right for the sum in the order in which this rank has added.",
                    lambda seen: digests(seen)
                    == [digest((from_rank(rank),) * RANKS) for rank in range(RANKS)],
                    "all_reduce.c was changed: each rank should begin with its own vector.",
                ),
            ),
            after="""
            A fixed order, say 0, 1, 2, 3 at every rank, would give all ranks the same bits. But it would not save bytes: each rank adds all
            vectors, and that is n times the same work. The ways that follow add each piece at one rank only; then all ranks get the same bits
            without a fixed order.
            """,
        ),
        Exercise(
            "The ring",
            "ways.c",
            """
            ring() in ways.c goes around in six steps. In each, all ranks write one piece to their right.

              steps 0 to 2 (reduce-scatter): piece p begins at rank p. Each rank that it comes to adds its
                own piece, and passes the sum on in the next step.
              steps 3 to 5 (all-gather): the whole sums go around, and are put where they belong.

              GAP 1  which piece does a rank send in step 0, 1, 2?
              GAP 2  and in the second half, where piece_to_gather() counts the steps from 0 again?
              GAP 3  when may it use the piece that comes from the left? WRITEs with immediate tell: the
                     immediate is the number of the step.
            """,
        ),
        Experiment(
            name="ring",
            title="The ring",
            text="The same vectors, around the ring.",
            programs=ranks("all_reduce", RANKS, "ring"),
            hint="Edit ways.c.",
            questions=(
                Question(
                    "How many bytes of pieces does each rank's NIC send?",
                    truth=bytes_written,
                    expected=2 * (RANKS - 1) * VECTOR // RANKS,
                    why="Six pieces of 4096 bytes. With n ranks 2 (n-1)/n times the vector: never more than twice, however many ranks there are.",
                    unit="bytes",
                ),
                Question(
                    "How many WRITEs does each rank send, each of which has to wait for the one before?",
                    truth=steps_of_a_rank,
                    expected=2 * (RANKS - 1),
                    why="2 (n-1). This is the price of the ring: with many ranks and short vectors it waits most of the time.",
                    unit="WRITEs",
                ),
            ),
            expects=(
                Expect(
                    "in each step each rank sent the right piece, with the right sum, after the piece of the step before had come.",
                    lambda seen: not ring_complaint(seen),
                    ring_complaint,
                ),
                Expect(
                    "all ranks have the same bits: the bits of the sum in the order of the ring.",
                    lambda seen: set(digests(seen)) == {digest(RING_ORDER)},
                    "The results differ from the sum in the order of the ring.",
                ),
            ),
            after="""
            Each piece is added in one order, once, and then copied. Piece 1 is ((x1 + x2) + x3) + x0 everywhere. Another number of ranks, or another ring, gives
            other bits: this is why results of a model can differ in their last bits between two clusters.
            """,
        ),
        Exercise(
            "The direct way",
            "ways.c",
            """
            direct() has two rounds instead of six steps. Each rank reads its piece (rank r: piece r) from the three others, and sums it; then each
            rank reads the three sums of the others. The peers' programs take no part in a READ. So they must say before it that the data are
            there: all_are_ready() does this, by an empty WRITE with immediate to each peer.

              GAP 4  in which order must a rank add the vectors to piece p, so that the result has the bits of the ring?
              GAP 5  what must happen between the sum and the second round of READs?
            """,
        ),
        Experiment(
            name="direct",
            title="The direct way",
            text="The same vectors, by READs.",
            programs=ranks("all_reduce", RANKS, "direct"),
            hint="Edit ways.c.",
            questions=(
                Question(
                    "How many bytes of pieces does each rank's NIC send?",
                    truth=bytes_read,
                    expected=2 * (RANKS - 1) * VECTOR // RANKS,
                    why="As in the ring, 2 (n-1)/n times the vector: three times its piece of the vector, and three times its sum. Now they are responses to READs.",
                    unit="bytes",
                ),
            ),
            expects=(
                Expect(
                    "each rank read the sums of the others after these had said that they are there.",
                    lambda seen: not direct_complaint(seen),
                    direct_complaint,
                ),
                Expect(
                    "all ranks have the same bits as after the ring.",
                    lambda seen: set(digests(seen)) == {digest(RING_ORDER)},
                    order_complaint,
                ),
            ),
            after="""
            The direct way has as many bytes as the ring, but its messages need not go around: it has two rounds with any number of ranks. Its
            price: all ranks talk to all others at once. On a network where only neighbours have fast links, the ring is faster.
            """,
        ),
        Experiment(
            name="sizes",
            title="Steps or bytes",
            text="""
            Both ways, with vectors of 256, 4096 and 65536 bytes, five times each. A simple model for the time: steps x (time of a short message) + bytes / bandwidth.
            """,
            programs=ranks("all_reduce", RANKS, "sizes"),
            questions=(
                Question(
                    "From 256 to 4096 bytes, 16 times as many: how does the shortest time of the ring grow?",
                    choices=("less than four times", "about 16 times"),
                    truth=growth,
                    expected="a",
                    why="Less than four times, and often not at all: with such short vectors the steps decide. In urnic, with four programs on one host, a step is mostly the time until the next program gets a processor.",
                ),
                Question(
                    "Take a network with 5 us for a short message, and 50 GB/s (400 Gbit/s). With which vector does the ring of four ranks spend as much time on its steps as on its bytes?",
                    truth=crossing_kilobytes,
                    expected=lambda truth: abs(truth - 1000) < 1,
                    tolerance=0.1,
                    why="6 x 5 us = 30 us, in which 50 GB/s are 1.5 MB; each rank sends 1.5 times the vector: 1 MB. An all-reduce of one token (8192 values of 2 bytes: 16 KB) is far below that: only the number of steps matters. One of a long prompt is far above.",
                    unit="KB",
                ),
            ),
            expects=(
                Expect(
                    "with 65536 bytes each rank gets at least four times as many bytes through in a second as with 256.",
                    lambda seen: durations(seen)[SIZES[2], 0]
                    < SIZES[2] / SIZES[0] / 4 * durations(seen)[SIZES[0], 0],
                    "The longest vectors took unusually long: is the machine busy? Try again.",
                ),
            ),
        ),
    ),
)
