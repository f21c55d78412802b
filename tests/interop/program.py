# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What is known of a program that is tried, and what programs are tried with."""
import dataclasses

ROLES = ("serves", "asks")  # what urnic does; the guest does the other
GIDS = ("ipv4", "ipv6", "linklocal")
MTUS = (1024, 4096)  # of the path, in bytes: what interfaces of 1500 and 4200 bytes carry
LINK_MTU = {1024: 1500, 4096: 4200}

# What the network does to the packets, in both directions: `netem` changes the guest's packets, a fault
# injector changes ours. "mute" is for the server alone: all its packets are lost.
FAULTS = {
    "clean": ("", ""),
    "loss1": ("loss 1%", "loss=0.01"),
    "loss5": ("loss 5%", "loss=0.05"),
    "jumble": ("delay 1ms reorder 10% duplicate 5%", "dup=0.05,reorder=0.05"),
    "loss20": ("loss 20%", "loss=0.2"),
    "mute": ("loss 100%", "loss=1"),
    # What the guest sends comes through congestion: we answer with CNPs, and rdma_rxe has to live with those.
    "marked": ("", "ce:direction=rx:times=all:p=0.2"),
}
WEATHER = {
    "clean": "fair",
    "loss1": "foul",
    "loss5": "foul",
    "jumble": "foul",
    "loss20": "dreadful",
    "mute": "dreadful",
    "marked": "fair",
}

# Lengths of messages, in words that do not depend on the MTU.
SIZES = {
    "tiny": lambda mtu: 1,
    "below": lambda mtu: mtu - 1,
    "equal": lambda mtu: mtu,
    "above": lambda mtu: mtu + 1,
    "many": lambda mtu: 9 * mtu + 5,
}
ONE_PACKET = ("tiny", "below", "equal")
ANY_SIZE = tuple(SIZES)
FIXED = ("fixed",)

QUIET_FAULTS = ("clean",)
# What a connection recovers from.
MENDED_FAULTS = ("clean", "loss1", "loss5", "jumble")
ANY_LOSS = (*MENDED_FAULTS, "loss20")


@dataclasses.dataclass(frozen=True)
class Program:
    """`words` with the options that all cases share. `family` says how the others are written."""

    name: str
    words: tuple
    family: str
    sizes: tuple = ANY_SIZE
    faults: tuple = QUIET_FAULTS
    roles: tuple = ROLES
    quiet_roles: tuple = ()  # of ours: the guest cannot do it where packets are lost
    gids: tuple = GIDS
    seconds: int = 60  # that a case may take
    least_kernel: tuple = ()  # the first version of Linux whose rdma_rxe can do it
    drops: tuple = ()  # for these roles of ours the guest has to drop packets of ours
    kills_server: bool = False  # in the middle; then the client has to give up
    leaves: bool = False  # it may end while its last acknowledgement, or the other's, is on its way or lost
    restarts: str = ""  # who is killed in the middle and started again: "server" or "client"

    # Of programs that connect by rdma_cm, which have no common words.
    server_words: tuple = ()
    client_words: tuple = ()
    port: int = 0  # that cannot be chosen
    server_stays: bool = False  # it is ended when the client has
    overwrites: bool = False  # what it sends, before that is acknowledged: sent again it is something else
    listens_anew: bool = False  # its server does, for a second connection, which its client requests at once: the slow guest needs more time
    client_says: str = ""  # a pattern; the client has to fail, and to say this
    meets: bool = True  # otherwise no packet of RoCE is expected
