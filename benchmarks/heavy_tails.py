#!/usr/bin/env python3
"""Columns with heavy tails: test NLL of `kinflow fit --independent` with its defaults above the
entropy, one column of independent rows.

    benchmarks/heavy_tails.py build/release/kinflow --rows 500,5000 --seeds 20

Exits with 1 where a lognormal column or one of Student's t with 2 degrees of freedom is more than
0.05 nats above the truth on any seed, or a Cauchy column more than 0.3.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

TEST_ROWS = 20000
BARS = {"lognormal": 0.05, "student-2": 0.05, "cauchy": 0.3}


def draw(kind, numbers):
    normal = numbers.gauss(0, 1)
    if kind == "lognormal":
        return math.exp(normal)
    degrees = 2 if kind == "student-2" else 1
    return normal / math.sqrt(numbers.gammavariate(degrees / 2, 2) / degrees)


def nll(kind, x):
    if kind == "lognormal":
        return math.log(x) + 0.5 * math.log(2 * math.pi) + 0.5 * math.log(x) ** 2
    if kind == "student-2":
        return 1.5 * math.log(2 + x * x)
    return math.log(math.pi) + math.log1p(x * x)


def excess(kinflow, kind, rows, seed):
    numbers = random.Random(f"{kind} {rows} {seed}")
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        truth = 0
        for name, count in (("train", rows), ("test", TEST_ROWS)):
            values = [draw(kind, numbers) for _ in range(count)]
            truth = statistics.mean(nll(kind, x) for x in values)
            (folder / f"{name}.csv").write_text("x\n" + "".join(f"{x!r}\n" for x in values))
        for words in (["fit", folder / "train.csv", "--independent", "--threads", "1",
                       "--no-report", "--out", folder / "run"],
                      ["evaluate", folder / "run", folder / "test.csv", "--json"]):
            out = subprocess.run([kinflow, *map(str, words)], check=True, capture_output=True,
                                 text=True).stdout
        return json.loads(out)["mean_nll_nats"] - truth


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinflow")
    parser.add_argument("--rows", default="500,5000")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    failed = False
    print("| column | rows | mean excess | largest | bar |\n|---|---:|---:|---:|---:|")
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for kind, bar in BARS.items():
            for rows in map(int, given.rows.split(",")):
                found = list(pool.map(lambda seed: excess(given.kinflow, kind, rows, seed),
                                      seeds))
                print(f"| {kind} | {rows} | {statistics.mean(found):.4f} | {max(found):.4f} | "
                      f"{bar} |", flush=True)
                failed |= max(found) > bar
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
