#!/usr/bin/env python3
"""Small and wide tables without a validation table: the default fit beside fits of one kind of
flow and beside the normal distribution, as test NLL above the truth, rows in groups of 4.

    benchmarks/small_tables.py build/release/kinflow --first-seed 5000 --seeds 1
"""
import argparse
import concurrent.futures
import csv
import json
import math
import pathlib
import random
import subprocess
import tempfile

TEST_ROWS = 4000
RHO = 0.5
KINDS = {
    "default": [],
    "spline 3 x 64-64": ["--flow", "spline", "--replicas", 4],
    "spline 4 x 16-16": ["--layers", 4, "--hidden", "16,16", "--bins", 6, "--replicas", 4],
    "spline 2 x 8-8": ["--layers", 2, "--hidden", "8,8", "--bins", 4, "--replicas", 4],
    "affine 8 x 32-32": ["--flow", "affine", "--hidden", "32,32", "--replicas", 4],
    "affine 4 x 8": ["--flow", "affine", "--layers", 4, "--hidden", "8", "--replicas", 4],
}


def curved(latents):
    """Each column bends with the one before, and so does its spread."""
    row, log_det = [], 0.0
    for j, z in enumerate(latents):
        before = row[-1] if j else 0.0
        scale = math.exp(0.4 * math.tanh(before)) / (1.5 if j else 1)
        bend = 0.5 * (before * before - 1) if abs(before) < 3 else 4.0
        row.append(z * scale + bend / (1.5 if j else 1))
        log_det -= math.log(scale)
    return row, log_det


def normal(latents):
    row = []
    for j, z in enumerate(latents):
        row.append(z + (0.8 * row[-1] if j else 0.0))
    return row, 0.0


def skewed(latents):
    row, _ = normal(latents)
    return [math.exp(0.5 * x) for x in row], -sum(0.5 * x + math.log(0.5) for x in row)


SHAPES = {"curved": curved, "normal": normal, "skewed": skewed}


def draw(shape, rows, columns, in_groups, numbers):
    """Rows and their mean NLL under the truth."""
    table, nll, shared = [], 0.0, []
    for i in range(rows):
        if in_groups and i % 4 == 0:
            shared = [numbers.gauss(0, 1) for _ in range(columns)]
        own = [numbers.gauss(0, 1) for _ in range(columns)]
        if in_groups:
            own = [math.sqrt(RHO) * s + math.sqrt(1 - RHO) * z for s, z in zip(shared, own)]
        row, log_det = SHAPES[shape](own)
        table.append(row)
        nll += sum(0.5 * z * z + 0.5 * math.log(2 * math.pi) for z in own) - log_det
    return table, nll / rows


def normal_nll(train, test):
    """Of the normal distribution with the mean and covariance of the training rows."""
    n, p = len(train), len(train[0])
    mean = [sum(row[j] for row in train) / n for j in range(p)]
    lower = [[0.0] * p for _ in range(p)]
    for i in range(p):
        for j in range(i + 1):
            total = sum((r[i] - mean[i]) * (r[j] - mean[j]) for r in train) / (n - 1)
            total -= sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = math.sqrt(total) if i == j else total / lower[j][j]
    nll = sum(math.log(lower[j][j]) for j in range(p)) + 0.5 * p * math.log(2 * math.pi)
    squares = 0.0
    for row in test:
        solved = []
        for i in range(p):
            rest = row[i] - mean[i] - sum(lower[i][k] * solved[k] for k in range(i))
            solved.append(rest / lower[i][i])
        squares += 0.5 * sum(z * z for z in solved)
    return nll + squares / len(test)


def write(path, table, in_groups):
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow([f"x{j + 1}" for j in range(len(table[0]))] + ["group"] * in_groups)
        for i, row in enumerate(table):
            out.writerow([repr(x) for x in row] + [f"g{i // 4}"] * in_groups)


def run(kinflow, *words):
    return subprocess.run([kinflow, *map(str, words)], check=True, capture_output=True,
                          text=True).stdout


def compare(kinflow, shape, rows, columns, seed):
    numbers = random.Random(f"{shape} {rows} {columns} {seed}")
    train, _ = draw(shape, rows, columns, True, numbers)
    test, truth = draw(shape, TEST_ROWS, columns, False, numbers)
    scores = {"normal": normal_nll(train, test) - truth}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        write(folder / "train.csv", train, True)
        write(folder / "test.csv", test, False)
        for number, (name, options) in enumerate(KINDS.items()):
            fitted = folder / str(number)
            run(kinflow, "fit", folder / "train.csv", "--group", "group", *options, "--threads", 1,
                "--no-inference", "--out", fitted)
            score = json.loads(run(kinflow, "evaluate", fitted, folder / "test.csv", "--json"))
            scores[name] = score["mean_nll_nats"] - truth
    best = min(scores[name] for name in KINDS if name != "default")
    print(f"{shape} {rows} x {columns}, seed {seed}: "
          + ", ".join(f"{name} {score:.3f}" for name, score in scores.items()), flush=True)
    return {"above_best": (scores["default"] - best) / columns,
            "above_normal": scores["default"] - scores["normal"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinflow")
    parser.add_argument("--first-seed", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    tables = [(shape, rows, columns, seed)
              for seed in range(given.first_seed, given.first_seed + given.seeds)
              for shape in SHAPES for rows in (200, 500, 2000) for columns in (2, 5, 15)]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        found = list(pool.map(lambda one: compare(given.kinflow, *one), tables))
    largest = max(one["above_best"] for one in found)
    print(f"default: at most {largest:.4f} nats a column above the best kind, "
          f"mean {sum(one['above_best'] for one in found) / len(found):.4f}")
    above = sum(one["above_normal"] > 0 for one in found)
    print(f"above the normal distribution on {above} of {len(found)} tables, by at most "
          f"{max(one['above_normal'] for one in found):.4f}")


if __name__ == "__main__":
    main()
