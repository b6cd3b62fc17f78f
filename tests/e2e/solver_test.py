"""The placement solver on instances that `bench/roadef generate` draws: whole ones, and such that leave little room on the way."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import harness

# Nodes are nearly full, and what moves is counted on its first node as well.
TIGHT = ("3", "6")
STEPS = "5000000"


class SolverTest(unittest.TestCase):
    def generate(self, *seeds):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        subprocess.run([sys.executable, str(harness.ROOT / "bench/roadef"), "generate", str(folder), *seeds], check=True, capture_output=True)
        return folder

    def solve(self, folder, seed, *arguments):
        files = ["-p", f"{folder}/model_g{seed}.txt", "-i", f"{folder}/assignment_g{seed}.txt"]
        done = subprocess.run([harness.EVENKEEL, "solve", "roadef", *files, *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_same_seed_draws_the_same_instance(self):
        first, second = self.generate("14"), self.generate("14", "15")
        for name in ("model_g14.txt", "assignment_g14.txt"):
            self.assertEqual((first / name).read_text(), (second / name).read_text())
        self.assertNotEqual((second / "model_g14.txt").read_text(), (second / "model_g15.txt").read_text())

    def test_drawn_assignments_keep_all_rules(self):
        folder = self.generate("1-6", "14")
        for seed in (*range(1, 7), 14):
            checked = self.solve(folder, seed, "--check", f"{folder}/assignment_g{seed}.txt")
            self.assertTrue(checked["valid"])
            self.assertEqual(checked["cost"], checked["initialCost"])

    def test_little_room_is_used(self):
        folder = self.generate(*TIGHT)
        for seed in TIGHT:
            found = self.solve(folder, seed, "-o", f"{folder}/solution.txt", "--evaluations", STEPS)
            self.assertLess(found["cost"], 0.9 * found["initialCost"])
            self.assertFalse(found["cutByClock"])
            checked = self.solve(folder, seed, "--check", f"{folder}/solution.txt")
            self.assertEqual(checked["cost"], found["cost"])

    def test_steps_fix_the_answer_and_the_clock_says_that_it_cut_it(self):
        folder = self.generate("14")
        first, second = (self.solve(folder, 14, "--evaluations", "300000", "-s", "4") for _ in range(2))
        self.assertEqual((first["cost"], first["evaluations"]), (second["cost"], second["evaluations"]))
        self.assertTrue(self.solve(folder, 14, "-t", "1")["cutByClock"])


if __name__ == "__main__":
    harness.main()
