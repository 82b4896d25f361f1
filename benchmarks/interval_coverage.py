#!/usr/bin/env python3
"""How often the 95% intervals of a correlation, or of lambda, hold the truth in whole fits, and
how often the test of independence rejects independent rows.

Every data set has 150 groups of 4 rows, or with --lambda some 120 families of 3 to 10 people,
of the shape crescent. `kinflow fit --correlation shared`, or with the pedigree, sees nothing
else. Exits with 1 where coverage of either interval is below 90 or above 99%, or with --rho 0
or --lambda 1 where more than 9% are rejected.

    benchmarks/interval_coverage.py build/release/kinflow --rho 0.6 --sets 100 --first-seed 1000
    benchmarks/interval_coverage.py build/release/kinflow --lambda 0.4
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

GROUPS, ROWS_OF_GROUP = 150, 4
PEOPLE_OF_FAMILIES = 780  # 3 to 10 a family, all numbers alike: 120 families


def write_table(path, rho, seed):
    numbers = random.Random(seed)
    lines = ["x1,x2,group"]
    for group in range(GROUPS):
        shared = [numbers.gauss(0, 1) for _ in range(2)]
        for _ in range(ROWS_OF_GROUP):
            a, b = (math.sqrt(rho) * part + math.sqrt(1 - rho) * numbers.gauss(0, 1)
                    for part in shared)
            lines.append(f"{a},{a * a / 2 - 1 + math.exp(-1) * b},{group}")
    path.write_text("\n".join(lines) + "\n")


def fit_groups(kinflow, folder, rho, seed):
    table = folder / "table.csv"
    write_table(table, rho, seed)
    return [table, "--group", "group", "--correlation", "shared"]


def fit_families(kinflow, folder, share, seed):
    data = folder / "data"
    subprocess.run([kinflow, "simulate", "--dependence", "families", "--shape", "crescent",
                    "--rows", str(PEOPLE_OF_FAMILIES), "--lambda", str(share),
                    "--seed", str(seed), "--out", data], check=True, capture_output=True)
    return [data / "train.csv", "--relationship", data / "pedigree.tsv", "--id", "id"]


def inference(kinflow, prepare, truth, seed, options):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        words = prepare(kinflow, folder, truth, seed)
        subprocess.run([kinflow, "fit", *words, "--threads", "1", "--out", folder / "run",
                        *options], check=True, capture_output=True)
        return json.loads((folder / "run" / "run.json").read_text())["result"]["inference"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinflow")
    truth = parser.add_mutually_exclusive_group()
    truth.add_argument("--rho", type=float, default=0.6)
    truth.add_argument("--lambda", type=float, dest="share")
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    given, options = parser.parse_known_args()
    seeds = range(given.first_seed, given.first_seed + given.sets)
    of_families = given.share is not None
    name, truth, independent = ("lambda", given.share, 1) if of_families else ("rho", given.rho, 0)
    prepare = fit_families if of_families else fit_groups
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        found = list(pool.map(
            lambda seed: inference(given.kinflow, prepare, truth, seed, options), seeds))
    if truth == independent:
        rejected = sum(one["independence_test"]["p_value"] < 0.05 for one in found)
        print(f"independent rows, {name}: p < 0.05 in {rejected} of {given.sets}")
        return rejected > 0.09 * given.sets
    estimates = [one["estimates"][0] for one in found]
    profiles = [one["profile_interval"] for one in found]
    held = {"standard error": sum(e["low"] <= truth <= e["high"] for e in estimates),
            "profile": sum(p["low"] <= truth <= p["high"] for p in profiles)}
    values = [e["estimate"] for e in estimates]
    print(f"{name} {truth}: intervals by standard error hold it in {held['standard error']} "
          f"of {given.sets}, profile intervals in {held['profile']}; mean estimate "
          f"{statistics.mean(values):.4f}, deviation {statistics.stdev(values):.4f}, mean "
          f"standard error {statistics.mean(e['standard_error'] for e in estimates):.4f}")
    return any(not 0.9 <= count / given.sets <= 0.99 for count in held.values())


if __name__ == "__main__":
    sys.exit(main())
