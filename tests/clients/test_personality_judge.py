# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic run --like CARD`: whether the NIC does what is known of that card.

A program of ours observes, and the expectations in `personality` judge. They were written from what is known
of the cards, and not from this project's code.
"""
import json
import pathlib
import subprocess

import harness
from personality import rules
from personality.connectx import CONNECTX5, CONNECTX6, CONNECTX6_SLOW
from personality.e810 import E810
from personality.every_card import EVERY_CARD, NOWHERE_KNOWN
from personality.not_imitated import NOT_IMITATED, is_less_here, not_imitated_of
from personality.rxe import RXE

CARDS = {"connectx5": CONNECTX5, "connectx6": CONNECTX6, "e810": E810, "rxe": RXE}
# What a NIC says of itself; by names of observations.
IDENTITY = ("attr.vendor_id", "attr.vendor_part_id", "attr.fw_ver", "attr.hw_ver")
SECTIONS = ("attributes", "sizes", "room", "posting", "completions", "failures", "memory", "timing")


def with_every_card(card):
    """A card's expectations; where it has none of its own, every card's."""
    own = {expectation.name for expectation in card}
    return [*card, *(other for other in EVERY_CARD if other.name not in own)]


def report(title, differences):
    return "\n".join([title, *(f"  {difference}" for difference in differences)])


class PersonalityJudge(harness.ClientTest):
    def observe(self, like=None, *options):
        """The observations of a NIC of its own."""
        file = pathlib.Path(self.runtime, f"{like}.json")
        program = harness.STAGE.program("personality_probe")
        nic = ["--port", "loopback", *(["--like", like] if like else [])]
        process = self.start(f"like {like}", [program, "--output", file, *options], nic)
        self.expect_end(process)
        return json.loads(file.read_text())

    def judge(self, card):
        expectations = with_every_card(CARDS[card])
        differences = rules.differences(expectations, self.observe(card))
        self.judge_differences(card, expectations, differences)
        differing = {difference.expectation.name for difference in differences}
        self.assertEqual(not_imitated_of(card) - differing, set(), "these are imitated now")

    def judge_differences(self, card, expectations, differences):
        told = next(each for each in self.told()["personalities"] if each["name"] == card)
        rows = {row["name"]: row for row in told["rows"]}
        wrong = [
            difference
            for difference in differences
            if difference.expectation.judges
            and difference.expectation.name not in not_imitated_of(card)
            and not is_less_here(difference, rows)
        ]
        others = [difference for difference in differences if not difference.expectation.judges]
        if others:
            print(report(f"{card} differs from what is not sure enough to judge by:", others))
        if wrong:
            counted = sum(expectation.judges for expectation in expectations)
            self.fail(report(f"{card}: {len(wrong)} of {counted} observations are not as expected", wrong))

    @staticmethod
    def told():
        """What the product says of all personalities."""
        words = [harness.STAGE.urnic, "personalities", "--json"]
        return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)

    def test_what_is_not_imitated_is_told(self):
        told = {each["name"] for each in self.told()["not_imitated"]}
        for card, names in NOT_IMITATED.items():
            self.assertEqual(set(names) - told, set(), card)

    def test_like_connectx5(self):
        self.judge("connectx5")

    def test_like_connectx6(self):
        self.judge("connectx6")

    def test_like_connectx6_when_timers_are_long(self):
        seen = self.observe("connectx6", "--only", "timing", "--slow", 1)
        self.judge_differences("connectx6", CONNECTX6_SLOW, rules.differences(CONNECTX6_SLOW, seen))

    def test_like_e810(self):
        self.judge("e810")

    def test_like_rxe(self):
        self.judge("rxe")

    def test_each_card_has_its_identity_on_request(self):
        for card in CARDS:
            with self.subTest(card=card):
                expected = [each for each in with_every_card(CARDS[card]) if each.name in IDENTITY]
                self.assertGreaterEqual(len(expected), 3)
                seen = self.observe(f"{card},identity", "--only", "attributes")
                differences = rules.differences(expected, seen)
                if differences:
                    self.fail(report(f"{card},identity", differences))

    def test_a_plain_nic_does_what_every_card_does(self):
        differences = rules.differences(EVERY_CARD, self.observe())
        if differences:
            self.fail(report("a NIC like no card in particular", differences))

    def test_each_section_runs_alone(self):
        for section in SECTIONS:
            with self.subTest(section=section):
                self.assertTrue(self.observe(None, "--only", section))

    def test_what_is_judged_is_observed(self):
        """A misspelled name would judge nothing."""
        names = set(self.observe(None, "--slow", 1))
        for card, expectations in (*CARDS.items(), ("slow", CONNECTX6_SLOW), ("none", NOWHERE_KNOWN)):
            with self.subTest(card=card):
                self.assertEqual({expectation.name for expectation in expectations} - names, set())

    def test_cards_do_not_agree_with_each_other(self):
        """What one card must do, another must not: a judge that accepted all would be none."""
        for card in CARDS:
            for other in set(CARDS) - {card}:
                rules_of_other = {
                    expectation.name: expectation.rule for expectation in CARDS[other] if expectation.judges
                }
                exact = {
                    expectation.name: expectation.rule.value
                    for expectation in CARDS[card]
                    if expectation.judges and isinstance(expectation.rule, rules.Exactly)
                }
                refused = [
                    name
                    for name, value in exact.items()
                    if name in rules_of_other and not rules_of_other[name].holds(value)
                ]
                self.assertGreaterEqual(len(refused), 1, f"{card} passes as {other}")
