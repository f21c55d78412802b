# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 12: the pages of a KV cache, from prefill to decode: gathered, counted, and pulled instead of pushed.
"""
import struct

from runner.lab import Exercise, Expect, Experiment, Lab, Program, Question, Say
from runner.messages import writes

LAYERS, PAGES, PIECE = 8, 32, 512  # as in kv.h
PAGE, LAST = LAYERS * PIECE, PAGES - 1


def programs(case):
    return Program("decode", f"./kv {case}"), Program("prefill", f"./kv localhost {case}")


def the_cache():
    """As it must be at decode: page by page, the layers of each in their order. The words are as in kv.c."""
    words = (
        (layer << 24 | page << 16 | i) * 2654435761 & 0xFFFFFFFF
        for page in range(PAGES)
        for layer in range(LAYERS)
        for i in range(PIECE // 4)
    )
    return struct.pack(f"{PAGES * PAGE // 4}I", *words)


def checksum(data):
    value = 2166136261
    for (word,) in struct.iter_unpack("I", data):
        value = (value ^ word) * 16777619 & 0xFFFFFFFF
    return value


def page_writes(seen):
    """WRITEs of the cache, without the WRITE of another prompt."""
    return [write for write in writes(seen.trace) if len(write.payload) <= PAGE]


def requests_of_the_cache(seen):
    """Packets."""
    return sum(write.packets for write in page_writes(seen))


def written(seen):
    """What the WRITEs have put into decode's memory."""
    begin = min(write.address for write in page_writes(seen))
    memory = bytearray(PAGES * PAGE)
    for write in page_writes(seen):
        memory[write.address - begin : write.address - begin + len(write.payload)] = write.payload
    return bytes(memory)


def token(seen):
    """What decode sent: the checksum of the cache as it saw it, and how many pages it knew to be there."""
    (packet,) = [
        packet for packet in seen.trace.requests("decode", again=False) if packet.label == "SEND Only"
    ]
    return struct.unpack("II", packet.payload_bytes())


def completions_at_decode(seen):
    return len(seen.trace.completions("decode", "receive", "SUCCESS"))


def order_of_arrival(seen):
    """Pages."""
    return [write.immediate for write in sorted(page_writes(seen), key=lambda write: write.came)]


def is_all_there(seen):
    """The letter: whether the other pages have come when the last one does."""
    return "a" if order_of_arrival(seen)[-1] == LAST else "b"


def gather_complaint(seen):
    """Empty when each page went by one WRITE, to its place."""
    for write in page_writes(seen):
        if len(write.payload) != PAGE:
            return f"pages.c, GAP 1: page {write.immediate} has {len(write.payload)} bytes; it should have its {LAYERS} pieces, {PAGE} bytes."
    if written(seen) != the_cache():
        return "pages.c, GAP 1: the pages have other bytes than prefill's pieces, or in another order: layer 0 comes first."
    return ""


def counting_complaint(seen):
    return f"pages.c, GAP 2: decode began with {token(seen)[1]} of {PAGES} pages."


def reads(seen):
    return [packet for packet in seen.trace.requests("decode", again=False) if packet.label == "READ"]


def packets_before_the_first_byte(seen):
    """Requests of both that were sent before the first byte of the cache came."""
    first = min(
        packet.times["decode"]
        for packet in seen.trace.sent("prefill", "response")
        if "decode" in packet.times
    )
    asked = reads(seen)[0]
    before = [packet for packet in seen.trace.requests("prefill", again=False) if packet.time < first]
    return len(before) + (asked.time < first)


def pulled(seen):
    """What the responses to READs carried, in the order in which decode asked."""
    return b"".join(packet.payload_bytes() for packet in seen.trace.sent("prefill", "response", again=False))


def pull_complaint(seen):
    was, expected = pulled(seen), the_cache()
    wrong = sum(was[at : at + PIECE] != expected[at : at + PIECE] for at in range(0, len(expected), PIECE))
    return f"pages.c, GAP 3: {wrong} of {PAGES * LAYERS} pieces that decode read are not from the cache: prefill used the memory again too early."


LAB = Lab(
    title="KV-cache push",
    minutes=50,
    understand=(
        "how scattered pieces become one WRITE, and what that saves",
        "why a receiver counts the pages that have come, and does not wait for the page that was sent last",
        "what push and pull cost, and what each side must know",
    ),
    picture="counted",
    steps=(
        Say(
            "Prefill and decode",
            """
            A large model answers in two phases. Prefill computes, for all tokens of the prompt at once, keys and values in each layer: the KV
            cache. Decode then makes one token after the other, and needs the whole cache for each token. The two phases need different machines, so
            the cache must get from one to the other, quickly.

            The cache is kept in pages of 16 tokens. Here a page has 8 layers of 512 bytes, and the prompt has 32 pages: 128 KiB. Prefill works
            layer by layer, so there the pieces of a layer lie together; decode needs whole pages. When decode has the cache, it sends its first
            token back. Here the token is a checksum of the cache, and the number of pages of which decode knows that they have come.
            """,
        ),
        Experiment(
            name="pieces",
            title="Piece by piece",
            text="""
            Prefill writes each piece of 512 bytes by a WRITE of its own, to its place in the page at decode. The WRITE of the last layer has an immediate, the number of
            the page. The path MTU is 1024.
            """,
            programs=programs("pieces"),
            questions=(
                Question(
                    "How many packets with data does prefill's NIC send?",
                    truth=requests_of_the_cache,
                    expected=PAGES * LAYERS,
                    why="32 pages x 8 pieces. Each packet is half full, and each WRITE is a work request that the program posts.",
                    unit="packets",
                ),
            ),
            expects=(
                Expect(
                    "the whole cache came, each piece to its place.",
                    lambda seen: written(seen) == the_cache(),
                    "kv.c was changed: the cache at decode is not the one of prefill.",
                ),
            ),
        ),
        Exercise(
            "Gather",
            "pages.c",
            """
            A work request has a list of places in the program's own memory: the scatter/gather list. The NIC reads them one after the other, and
            writes them to one range at the peer. GAP 1, gather(): make the list of the 8 pieces of a page. end_part() makes one element.
            """,
        ),
        Experiment(
            name="gathered",
            title="Page by page",
            text="Each page by one WRITE with immediate, of 8 pieces.",
            programs=programs("gathered"),
            hint="Edit pages.c.",
            questions=(
                Question(
                    "How many packets with data now?",
                    truth=requests_of_the_cache,
                    expected=PAGES * PAGE // 1024,
                    why="A page of 4096 bytes takes 4 full packets. And prefill posts 32 work requests instead of 256.",
                    unit="packets",
                ),
                Question(
                    "How many completions of receives has decode?",
                    truth=completions_at_decode,
                    expected=PAGES,
                    why="One for each page: a WRITE with immediate takes a receive, however many packets it has. The experiment before had 32, too: WRITEs without immediate complete nothing at the peer.",
                    unit="completions",
                ),
            ),
            expects=(
                Expect(
                    "each page went by one WRITE, and has the bytes of its 8 pieces.",
                    lambda seen: not gather_complaint(seen),
                    gather_complaint,
                ),
            ),
            after="""
            The list names only places in the program's own memory: a WRITE gathers, a READ scatters. At the peer it is always one range, because the
            RETH has one address. README.md asks what this means for pull.
            """,
        ),
        Experiment(
            name="last",
            title="Racy: when the last page is there",
            text="""
            Prefill has two queue pairs to decode, and spreads the pages: even ones over the first, odd ones over the second. The first has 2 MiB of another prompt's
            cache to carry before. Decode begins when page 31 has come, the last one.
            """,
            programs=programs("last"),
            questions=(
                Question(
                    "When page 31 comes at decode: are the other pages there?",
                    choices=("yes, as it was posted last", "no"),
                    truth=is_all_there,
                    expected="b",
                    why="No. Page 31 went over the second queue pair, and the first one is still busy with the other prompt. A queue pair keeps its own order; between two there is none. The picture shows the even pages, which come later.",
                ),
            ),
            expects=(
                Expect(
                    "decode began with fewer pages than 32.",
                    lambda seen: token(seen)[1] < PAGES,
                    "All pages were there this time: this is a race. Try again.",
                ),
                Expect(
                    "in the end all pages came, each once.",
                    lambda seen: sorted(order_of_arrival(seen)) == list(range(PAGES)),
                    "A page is missing.",
                ),
            ),
            after="""
            No NIC saw an error. The model goes on with a cache that has holes. Its answer is a little wrong, or very wrong, and differs each time.
            With one queue pair this program is right. It breaks when a second queue pair, or a second network card, is added for speed.
            """,
        ),
        Exercise(
            "Count",
            "pages.c",
            "GAP 2, may_decode(): kv.c calls it for each page that comes, with the page's number and the number of pages that have come. When may decode begin?",
        ),
        Experiment(
            name="counted",
            title="Mended: when all pages are there",
            text="The same with your decision.",
            programs=programs("counted"),
            hint="Edit pages.c.",
            expects=(
                Expect(
                    "decode began with all 32 pages.",
                    lambda seen: token(seen)[1] == PAGES,
                    counting_complaint,
                ),
                Expect(
                    "its token is the checksum of the whole cache.",
                    lambda seen: token(seen)[0] == checksum(the_cache()),
                    counting_complaint,
                ),
                Expect(
                    "the pages came in another order than they were posted.",
                    lambda seen: order_of_arrival(seen) != list(range(PAGES)),
                    "The pages came in order this time, so this run shows nothing. Try again.",
                ),
            ),
            after="""
            A count is right in any order, over any number of queue pairs: RC delivers each page exactly once. But decode must know one thing more
            than with waiting for the last page: how many pages will come.
            """,
        ),
        Exercise(
            "Pull",
            "pages.c",
            """
            Decode can also fetch the cache itself, by READs: prefill sends an empty message, "the pages are there", and decode reads all pieces.
            The READs do not tell prefill when they are done. Prefill wants to use the memory for the next prompt as soon as possible (kv.c fills it
            with zeros then).

            GAP 3, wait_until_memory_is_free(): what can prefill wait for? It has posted one receive, for decode's token.
            """,
        ),
        Experiment(
            name="pull",
            title="Pull",
            text="One queue pair. Prefill says that the pages are there, decode reads them, piece by piece.",
            programs=programs("pull"),
            hint="Edit pages.c.",
            questions=(
                Question(
                    "How many READs does decode need for the cache?",
                    truth=lambda seen: len(reads(seen)),
                    expected=PAGES * LAYERS,
                    why="One for each piece: a READ names one range of the peer's memory. Each is a packet to prefill, and its response one packet back: 512 instead of 128.",
                    unit="READs",
                ),
                Question(
                    "How many packets must pass, one after the other, before the packet with the first byte of the cache? (With push: none.)",
                    truth=packets_before_the_first_byte,
                    expected=2,
                    why="Two: prefill's message, and the first READ. A pull begins a round trip later. Then several READs are on their way at a time (max_rd_atomic, here 4), and each goes there and back.",
                    unit="packets",
                ),
            ),
            expects=(
                Expect(
                    "decode read the cache as it was, to the last piece.",
                    lambda seen: pulled(seen) == the_cache(),
                    pull_complaint,
                ),
                Expect(
                    "its token is the checksum of the whole cache.",
                    lambda seen: token(seen)[0] == checksum(the_cache()),
                    pull_complaint,
                ),
                Expect(
                    "the READs completed nothing at prefill: decode's token is its only completion.",
                    lambda seen: len(seen.trace.completions("prefill")) == 1,
                    "Prefill should have one completion, of its receive.",
                ),
            ),
            after="""
            Push: prefill must know decode's addresses before it begins, so decode must have chosen its pages. Prefill knows by its own completions
            when its memory is free.

            Pull: decode must know prefill's addresses. It may choose its pages at any time, or choose another prefill if one is slow. Prefill must
            keep its pages until decode says that it is done, and needs a rule for a decode that never says so.
            """,
        ),
    ),
)
