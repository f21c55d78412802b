#!/usr/bin/env python3
"""How many packets go-back-N sends, by formula: python3 formula.py prints a table for some loss rates.

What is assumed: a message of some packets is posted alone, and has left as a whole before the first NAK
comes. Packets of the requester get lost, each with the same probability and on its own; answers do not.
"""
SIZES = (1, 4, 16, 32)  # packets of a message
RATES = (0.00, 0.01, 0.02, 0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.40)


def losses(rate):
    """How often, on average, a packet gets lost before it arrives, if each transmission is lost with
    probability `rate`."""
    return rate / (1 - rate)  # the geometric series


def cost(position, packets):
    """How many packets are sent again when packet `position`, from 1 to `packets`, of a message is lost."""
    # The NAK names the packet that is missing. Without a NAK the requester knows only what was acknowledged,
    # nothing of this message: it sends the first packet, and the ACK of that says that only the last one is
    # missing. In a message of one packet these two are the same.
    return min(packets, 2) if position == packets else packets - position + 1


def amplification(rate, packets):
    """Packets on the wire for each packet of payload, for messages of so many packets."""
    costs = [cost(position, packets) for position in range(1, packets + 1)]
    return 1 + losses(rate) * sum(costs) / packets


def main():
    for position, packets in ((6, 16), (16, 16), (1, 1)):
        print(f"packet {position} of {packets} is lost, packets sent again: {cost(position, packets)}")
    print(
        "\npackets on the wire for each packet of payload\nrate   losses  messages of"
        + "".join(f" {size:>6}" for size in SIZES)
    )
    for rate in RATES:
        print(
            f"{rate:.2f}  {losses(rate):7.4f}             "
            + "".join(f" {amplification(rate, size):6.2f}" for size in SIZES)
        )


if __name__ == "__main__":
    main()
