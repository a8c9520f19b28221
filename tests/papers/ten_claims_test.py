"""Ten claims of the papers, computed a second time from the text of the papers alone, against `tempo-lab report`.

The rows of a report were shuffled with random.Random(1985), and the first ten taken whose prediction follows from the paper
without the timers of a run or the properties of a whole implementation. Nothing here uses the lab's classes or
formulas: probabilities are enumerated, integrated or counted as the paper defines them.
"""

import json
import math
import os
import subprocess
import tempfile
import unittest
from fractions import Fraction
from itertools import product

LAB = os.environ["TEMPO_LAB"]


# --- Gusella and Zatti 1985, appendix: N timers on [0, R] collide if the second expires within delta of the first ---

def collision(daemons, delta, width, steps=20_000):
    """Integral (1), by Simpson's rule: the first timer at x, and another one within delta of it."""
    def density(x):
        return daemons / width * ((width - x) / width) ** (daemons - 1)

    def near(x):
        if daemons == 1:
            return 0.0  # there is no other timer
        return 1.0 if width - x <= delta else 1 - ((width - x - delta) / (width - x)) ** (daemons - 1)

    def simpson(low, high):
        h = (high - low) / steps
        values = [density(low + i * h) * near(min(low + i * h, width - 1e-12)) for i in range(steps + 1)]
        return h / 3 * (values[0] + values[-1] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]))

    return simpson(0, width - delta) + simpson(width - delta, width)


# --- elections on a ring, section 2: a station stays active if its draw is at most that of its upstream neighbour ---

def survivors(stations, priorities):
    """Number of assignments by the number of stations that stay active; counted along the ring."""
    counts = {}
    for first in range(priorities):
        ways = {(first, 0): 1}  # (last draw, active stations among those after the first)
        for _ in range(stations - 1):
            following = {}
            for (last, active), number in ways.items():
                for draw in range(priorities):
                    key = (draw, active + (draw <= last))
                    following[key] = following.get(key, 0) + number
            ways = following
        for (last, active), number in ways.items():
            total = active + (first <= last)
            counts[total] = counts.get(total, 0) + number
    return counts


def rounds_mean(stations, priorities):
    """Mean of T, the rounds until one station is active."""
    mean = {1: Fraction(0)}
    for n in range(2, stations + 1):
        counts = survivors(n, priorities)
        total = priorities ** n
        others = sum(Fraction(counts[j], total) * mean[j] for j in counts if j < n)
        mean[n] = (1 + others) / (1 - Fraction(counts.get(n, 0), total))
    return mean


def rounds_exactly(stations, priorities, rounds):
    """P{T = rounds}, by enumeration of every draw."""
    reached = {stations: Fraction(1)}
    for _ in range(rounds):
        following = {}
        for n, probability in reached.items():
            if n == 1:
                continue  # the election was over
            for draws in product(range(priorities), repeat=n):
                left = sum(draws[i] <= draws[i - 1] for i in range(n))
                following[left] = following.get(left, 0) + probability / priorities ** n
        reached = following
    return reached[1]


def non_decreasing_chains(draws):
    return 1 + sum(one > other for one, other in zip(draws, draws[1:]))


def proposition_1b(n, k, m):
    """As printed, with the sign (-1)^k."""
    return sum((-1) ** k * math.comb(n + 1, i) * math.comb(m * (k - i) + n - 1, n) for i in range(k + 1))


# --- the Archimedean ring, section 4.3 and appendix A, rule 4: stages of candidates in step ---

def all_elected(candidates, stages):
    """Probability that no candidate notices another one: every choice of holding and forwarding is played."""
    undetected = total = 0
    for choices in product((True, False), repeat=candidates * (stages - 1)):
        forwards = [(True,) + choices[c * (stages - 1):(c + 1) * (stages - 1)] for c in range(candidates)]
        undetected += nobody_notices(forwards, stages)
        total += 1
    return Fraction(undetected, total)


def nobody_notices(forwards, stages):
    candidates = len(forwards)
    arriving = [True] * candidates  # the claim of the predecessor
    held = [False] * candidates
    for stage in range(stages):
        sent = [False] * candidates
        for c in range(candidates):
            if not forwards[c][stage]:
                if arriving[c]:
                    return False  # rule 4.4
                continue
            if arriving[c] and held[c]:
                return False  # rule 4.5
            if (arriving[c] or held[c]) and stage + 1 < stages:  # rule 4.6
                sent[c] = forwards[c][stage + 1]
                held[c] = not sent[c]
        arriving = [sent[c - 1] for c in range(candidates)]
    return True


# --- elections by capacity, appendix: the i-th largest of the masters continues with probability p^(i-1) ---

def rounds_of_c(candidates, loss):
    """E[N], from the distribution of the masters that continue; E[N | 1] = 1, as printed."""
    expected = {1: 1.0}
    for masters in range(2, candidates + 1):
        left = {0: 1.0}
        for rank in range(1, masters + 1):
            stays = loss ** (rank - 1)
            following = {}
            for number, probability in left.items():
                following[number + 1] = following.get(number + 1, 0) + probability * stays
                following[number] = following.get(number, 0) + probability * (1 - stays)
            left = following
        again = left[masters]
        others = sum(left[j] * (expected[j] + 1) for j in range(1, masters))
        expected[masters] = (again + others) / (1 - again)
    return expected[candidates]


class TenClaims(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as directory:
            ran = subprocess.run([LAB, "report", "--glance", "--json", "--out", directory], capture_output=True, check=False)
        cls.claims = json.loads(ran.stdout)["data"]["claims"]

    def row(self, paper, section, claim):
        rows = [r for r in self.claims if (r["paper"], r["section"], r["claim"]) == (paper, section, claim)]
        self.assertEqual(len(rows), 1, f"{paper} {section}: {claim}")
        return rows[0]

    def check(self, paper, section, claim, value, places=9):
        self.assertAlmostEqual(self.row(paper, section, claim)["predicted"], float(value), places, claim)

    def test_three_candidates_of_the_archimedean_ring(self):
        self.check("archimedean", "4.3, lemma 6", "3 candidates in step are all elected after 3 stages, simulated",
                   all_elected(3, 3))

    def test_two_candidates_of_the_archimedean_ring(self):
        self.check("archimedean", "4.3, lemma 6", "two candidates in step, 4 stages, shipped implementation",
                   all_elected(2, 4))

    def test_rounds_of_algorithm_c(self):
        self.check("capacity", "6, appendix", "E[N] for p = 0.3, a = 20, simulated", rounds_of_c(20, 0.3))

    def test_the_sign_of_proposition_1b(self):
        counted = sum(non_decreasing_chains(draws) == 1 for draws in product((1, 2), repeat=2))
        row = self.row("ring", "3, proposition 1(b)",
                       "L~(n,k) is a sum with the sign (−1)^k. Counted for n = 2, m = 2, k = 1")
        self.assertEqual(row["verdict"], "erratum")
        self.assertEqual(row["prediction"], str(proposition_1b(2, 1, 2)))
        self.assertTrue(row["measurement"].startswith(f"{counted} of the 4 assignments"), row["measurement"])

    def test_one_daemon_does_not_collide(self):
        row = self.row("tempo", "appendix, (3)", "N daemons collide with probability 1 − (1 − δ/R)^N: N = 1")
        self.assertEqual(row["verdict"], "erratum")
        self.assertEqual(collision(1, 0.01, 540), 0)
        self.assertTrue(row["measurement"].startswith("0:"), row["measurement"])

    def test_collisions_of_ten_daemons(self):
        self.check("tempo", "appendix, (3)", "collision of 10 daemons, δ = 20 s, R = 540 s", collision(10, 20, 540), 8)

    def test_collisions_of_five_daemons(self):
        self.check("tempo", "appendix, (3)", "collision of 5 daemons, δ = 10 s, R = 540 s", collision(5, 10, 540), 8)

    def test_two_rounds_of_three_stations(self):
        self.check("ring", "4, theorem 3", "the same, simulated", rounds_exactly(3, 2, 2))

    def test_the_mean_of_five_stations(self):
        self.check("ring", "4", "mean of T, shipped implementation, n = 5, m = 2", rounds_mean(5, 2)[5])

    def test_doubling_the_stations(self):
        mean = rounds_mean(64, 2)
        added = math.log(2) / math.log(4 / 3)
        error = abs(added / float(mean[64] - mean[32]) - 1)
        row = self.row("ring", "6",
                       "doubling the number of stations adds ln 2 / ln(2m/(m+1)) rounds, m = 2: relative error of the formula")
        self.assertLessEqual(error, row["predicted"])
        self.assertLessEqual(row["measured"], row["predicted"])


if __name__ == "__main__":
    unittest.main()
