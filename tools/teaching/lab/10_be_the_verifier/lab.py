# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 10: captures with a broken rule, and a verifier for responders that the student writes."""
import re

from runner.lab import Exercise, Expect, Experiment, Lab, Program, Question, Say, pair

MESSAGES = 24  # as in traffic.c
FAULT = "--fault loss=0.08,seed=3,direction=tx"

# What can be broken: the name that `urnic check` has for it, and words.
RULES = {
    "ack-unsent": "only what was sent is acknowledged",
    "ack-over-gap": "what is missing is not acknowledged",
    "msn": "the MSN counts the messages that are complete",
    "nak-psn": "a NAK names the PSN that is expected next",
    "read-response-opcode": "a READ is answered by First, Middle and Last, or by Only",
    "duplicate-differs": "a repeated packet is what it was the first time",
    "psn-skipped": "no PSN is left out",
    "pad-count": "padding fills up to the next multiple of 4 bytes, and no further",
}
SIDES = ("the requester", "the responder", "the network")

# The rules of verify.py: the gap, by the rule that a broken responder breaks, and by what verify.py says.
GAP_OF_RULE = {"ack-unsent": 1, "ack-over-gap": 1, "msn": 2, "nak-psn": 3}
GAP_OF_WORDS = {"acknowledges": 1, "MSN": 2, "refuses": 3}
TRIALS = (
    "traffic-client.pcapng",
    "traffic-server.pcapng",
    "right.pcap",
    "odd-1.pcap",
    "odd-2.pcap",
    "odd-3.pcap",
    "odd-5.pcap",
    *(f"trial-{number}.pcap" for number in range(1, 9)),
)
BROKEN = {
    "odd-1.pcap",
    "odd-2.pcap",
    "odd-5.pcap",
    "trial-1.pcap",
    "trial-3.pcap",
    "trial-5.pcap",
    "trial-6.pcap",
    "trial-8.pcap",
}


def letter(names, name):
    return "abcdefgh"[list(names).index(name)]


def broken_rule(capture):
    """The letter of the one rule that `urnic check` finds broken."""

    def truth(seen):
        (rule,) = {finding["rule"] for finding in seen.captures[capture].violations()}
        return letter(RULES, rule)

    return truth


def broken_by(capture):
    """The letter of the side that sent the last packet of what was found."""

    def truth(seen):
        trace = seen.captures[capture]
        last = trace.packets[trace.violations()[0]["packets"][-1]]
        return letter(SIDES, "the requester" if last.kind == "request" else "the responder")

    return truth


def odd(number, title, text, rule, side, what, who):
    """An experiment about a capture with one broken rule."""
    capture = f"odd-{number}.pcap"
    return Experiment(
        name=f"odd-{number}",
        title=title,
        text=f"{text} Look at it first: python3 roce.py {capture}, or Wireshark.",
        programs=(Program("verdict", f"urnic check {capture}", is_plain=True, may_fail=True),),
        captures=(capture,),
        broken_rules=(rule,),
        questions=(
            Question(
                "Which rule is broken?",
                choices=tuple(RULES.values()),
                truth=broken_rule(capture),
                expected=letter(RULES, rule),
                why=what,
            ),
            Question(
                "Which side has broken it?",
                choices=SIDES,
                truth=broken_by(capture),
                expected=letter(SIDES, side),
                why=who,
            ),
        ),
        expects=(
            Expect(
                "'urnic check' finds no other rule broken, and all ICRCs right.",
                lambda seen: {finding["rule"] for finding in seen.captures[capture].violations()} == {rule},
                f"{capture} is not what it was: copy it from the lab's folder again.",
            ),
        ),
    )


# --- The student's verifier ---


def rules_broken_by_responder(seen, name):
    trace = seen.captures[name]
    return [
        finding["rule"]
        for finding in trace.violations()
        if any(trace.packets[index].kind != "request" for index in finding["packets"])
    ]


def is_broken(seen, name):
    return bool(rules_broken_by_responder(seen, name))


def verdicts(seen):
    """(exit code, words) of verify.py, by capture."""
    found = re.findall(r"^(\S+): exit code (-?\d+), (.*)$", seen.output("trial"), re.M)
    return {name: (int(code), words) for name, code, words in found}


def missed(seen):
    """(gap, capture, rule) of each broken responder that verify.py takes for a right one."""
    names = [name for name in TRIALS if is_broken(seen, name) and verdicts(seen)[name][0] == 0]
    rules = {name: rules_broken_by_responder(seen, name)[0] for name in names}
    return sorted((GAP_OF_RULE[rule], name, rule) for name, rule in rules.items())


def false_alarms(seen):
    return [name for name in TRIALS if not is_broken(seen, name) and verdicts(seen)[name][0] != 0]


def wrong_alarm(seen):
    name = false_alarms(seen)[0]
    words = verdicts(seen)[name][1]
    rule = re.match(r"frame \d+ (\w+)", words)
    gap = f"GAP {GAP_OF_WORDS[rule[1]]}" if rule else "it fails"
    return f"verify.py, {gap}: the responder in {name} is right, and it says: {words}"


def missed_one(seen):
    gap, name, rule = missed(seen)[0]
    return f"verify.py, GAP {gap}: it takes {name} for right. 'urnic check' says that this rule is broken: {RULES[rule]}."


LAB = Lab(
    title="Be the verifier",
    minutes=55,
    understand=(
        "which rules a responder's answers must keep, and how to see in a capture that a rule is broken",
        "what a capture can prove, and what it cannot",
        "how to write a verifier that fails on broken responders, and on no others",
    ),
    picture="traffic",
    steps=(
        Say(
            "Five captures",
            """
            Five captures are in your folder: odd-1.pcap to odd-5.pcap. In each of them one side breaks one rule of the transport, once or more.
            All ICRCs are right. The packets came from Linux (rdma_rxe), and were changed for this lab.

            'python3 roce.py FILE' lists a capture's packets: --> is a packet of the requester, <-- one of the responder. Wireshark shows all
            fields. Do not ask 'urnic check' yet: say first what is wrong, and which side is wrong. The rules are facts 19 to 29 of
            transport/FACTS.md.
            """,
        ),
        odd(
            1,
            "The first capture",
            "Ten SENDs of different lengths.",
            "msn",
            "the responder",
            "The MSN, in each ACK, counts messages that are complete (fact 20). This responder counts packets. As long as each message is one packet, it does not show.",
            "The responder: the MSN is in its ACKs. The requests are as they should be.",
        ),
        odd(
            2,
            "The second capture",
            "A WRITE of 9000 bytes among others.",
            "ack-over-gap",
            "the responder",
            "The WRITE needs nine packets, and eight are there: PSN 584d11 is missing. The ACK of 584d14 says that all of them arrived. The responder should have sent a NAK. The program now believes that all bytes are in memory, but 1024 bytes are missing.",
            "The responder. The network may lose packets; that breaks no rule. (If only the capture had lost the packet, nothing would be wrong. The capture cannot show which of the two it was; 'urnic check --lossy' assumes that the capture lost it.)",
        ),
        odd(
            3,
            "The third capture",
            "A SEND and a WRITE with lost packets, NAKs, and repetitions.",
            "duplicate-differs",
            "the requester",
            "Frame 12 repeats frame 6 with another payload: the checksums in the list differ. Repetitions in themselves are right, and so are the NAKs.",
            "The requester. Perhaps its program has written into a buffer that was still in use (lab 7).",
        ),
        odd(
            4,
            "The fourth capture",
            "A READ of 9000 bytes, and an atomic operation.",
            "read-response-opcode",
            "the responder",
            "The answer to the READ begins with First, and ends with a Middle. The length is right; but a receiver that goes by the opcodes waits for a Last.",
            "The responder sends the answers to a READ.",
        ),
        odd(
            5,
            "The fifth capture",
            "The SENDs of the first capture again.",
            "nak-psn",
            "the responder",
            "Frame 14 is a NAK for PSN 476ed9, which frame 10 had acknowledged, and 476eda as well. A responder must not take an acknowledgement back.",
            "The responder. The requester does right when it goes on as if nothing had happened.",
        ),
        Experiment(
            name="traffic",
            title="Packets of your own",
            text="""
            traffic sends 24 messages, SENDs, WRITEs and READs of 1 to 5000 bytes. Some of the client's packets get lost. Its first PSN is
            0xffffe8: PSNs have 24 bits, and 0 comes after 0xffffff (fact 39). Your verifier must cope with both, the losses and the wrap.
            """,
            programs=pair("traffic", client_nic=FAULT),
            questions=(
                Question(
                    "Which MSN does the last answer of the server carry?",
                    truth=lambda seen: [
                        packet.msn for packet in seen.trace.sent("server") if packet.msn is not None
                    ][-1],
                    expected=MESSAGES,
                    why="24: all messages are complete, however many packets they were and however often those were sent. READs count, too.",
                ),
            ),
            expects=(
                Expect(
                    "packets got lost, and the server sent NAKs.",
                    lambda seen: any(packet.is_lost for packet in seen.trace.requests("client"))
                    and seen.trace.sent("server", "nak"),
                    "No packet got lost: is --fault in the command?",
                ),
                Expect(
                    "the PSNs went beyond 0xffffff.",
                    lambda seen: {packet.psn >> 23 for packet in seen.trace.requests("client")} == {0, 1},
                    "traffic.c was changed: its first PSN should be 0xffffe8.",
                ),
            ),
        ),
        Exercise(
            "The verifier",
            "verify.py",
            """
            'python3 verify.py FILE' must end with 1 when the responder in a capture is broken, and with 0 when it is right. Write three rules, of
            one line each. The class Sent, above them, keeps what the requester has sent.

              GAP 1, acknowledges_too_much(): an answer acknowledges all up to a PSN. The responder cannot have a packet that is not in the capture.
              GAP 2, counts_wrong(): the least and the largest MSN that an ACK may carry. Think of a READ that was carried out, and whose answer got
                     lost: an ACK for an earlier PSN counts it already.
              GAP 3, takes_back(): a NAK for a packet that was acknowledged.

            'python3 trial.py' runs verify.py on all captures of the next experiment. A verifier that complains when nothing is wrong is useless:
            seven of the fifteen captures are right.
            """,
        ),
        Experiment(
            name="trial",
            title="The trial",
            text="""
            trial.py runs your verify.py on fifteen captures: both recordings of your own traffic, one of Linux with lost packets, four of the five
            odd ones, and eight that it makes itself from right packets. It breaks a rule in some of these; in others only packets are lost.
            'urnic check' says which is which.
            """,
            programs=(Program("trial", "python3 trial.py", is_plain=True),),
            recordings_of="traffic",
            captures=TRIALS,
            broken_rules=tuple(RULES),
            hint="Edit verify.py.",
            questions=(
                Question(
                    "odd-3.pcap has a broken rule. With which exit code shall verify.py end?",
                    choices=("0", "1"),
                    truth=lambda seen: "b" if is_broken(seen, "odd-3.pcap") else "a",
                    expected="a",
                    why="0: the requester has broken the rule, and verify.py judges responders. This responder answers as it should.",
                ),
            ),
            expects=(
                Expect(
                    "by 'urnic check', the responder is broken in eight of the fifteen captures.",
                    lambda seen: {name for name in TRIALS if is_broken(seen, name)} == BROKEN,
                    lambda seen: f"By 'urnic check' it is broken in {', '.join(sorted(name for name in TRIALS if is_broken(seen, name)))}. Record traffic again.",
                ),
                Expect(
                    "your verifier ends with 1 for each of these eight.",
                    lambda seen: not missed(seen),
                    missed_one,
                ),
                Expect(
                    "it ends with 0 for the seven others.", lambda seen: not false_alarms(seen), wrong_alarm
                ),
            ),
            after="""
            Your program is the beginning of a conformance test. It works with captures of any NIC: record one, as in README.md, and try. But a NIC
            that passes is not proved right: a capture shows what happened, not what could have happened.
            """,
        ),
    ),
)
