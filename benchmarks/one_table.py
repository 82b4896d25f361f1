#!/usr/bin/env python3
"""Fits without a validation table: test NLL above the entropy on the paper's shapes for kinflow's
default and for an ordinary flow that holds out single rows.

    benchmarks/one_table.py build/release/kinflow --first-seed 5000 --seeds 2
    benchmarks/one_table.py build/release/kinflow --dependence relationship --seeds 1

Where the rows are related, lambda is printed beside the truth, and so is the least that a model
can be above the entropy which knows all but where the population lies: p/2 log(1 + 1/kappa), with
the kappa that kinflow finds.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

SHAPES = ["abs", "crescent", "crescent-cubed", "sign", "sine-wave"]
COLUMNS = 2
ADJUSTED = {"blocks": ["--group", "group"],
            "relationship": ["--relationship", "{data}/relationship.npy", "--id", "id"],
            "families": ["--relationship", "{data}/pedigree.tsv", "--id", "id"]}


def run(kinflow, *words):
    return subprocess.run([kinflow, *map(str, words)], check=True, capture_output=True,
                          text=True).stdout


def excess(given, shape, seed):
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "data"
        run(given.kinflow, "simulate", "--dependence", given.dependence, "--shape", shape,
            "--seed", seed, "--out", data)
        truth = json.loads((data / "truth.json").read_text())
        entropy = truth["entropy_nats"]
        adjusted = [word.format(data=data) for word in ADJUSTED[given.dependence]]
        scores, related = {}, ""
        for name, options in {"kinflow": adjusted,
                              "ordinary": ["--independent", "--columns", "x1,x2"]}.items():
            fitted = pathlib.Path(folder) / name
            run(given.kinflow, "fit", data / "train.csv", *options, "--threads", 1,
                "--no-inference", "--out", fitted)
            score = json.loads(run(given.kinflow, "evaluate", fitted, data / "test.csv", "--json"))
            record = json.loads((fitted / "run.json").read_text())
            validated = record["result"]["cross_validation"]
            scores[name] = {"excess": score["mean_nll_nats"] - entropy,
                            "cross_validated": validated["nll_nats"] - entropy,
                            "error": validated["standard_error"],
                            "floor": COLUMNS / 2 * math.log1p(1 / validated["worth_of_rows"]),
                            "seconds": record["seconds"]}
        if "lambda" in truth:
            found = json.loads(run(given.kinflow, "inspect", pathlib.Path(folder) / "kinflow",
                                   "--json"))["dependence"]
            related = (f"  lambda {found['lambda']:.3f} for {truth['lambda']:.3f}, floor "
                       f"{scores['kinflow']['floor']:.3f}")
        print(f"{shape:15s} {seed}  " + "  ".join(
            f"{name} {one['excess']:.4f} (cross-validated {one['cross_validated']:.4f} +- "
            f"{one['error']:.4f}, {one['seconds']:.0f} s)" for name, one in scores.items())
            + related, flush=True)
        return scores


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinflow")
    parser.add_argument("--dependence", choices=ADJUSTED, default="blocks")
    parser.add_argument("--first-seed", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    sets = [(shape, seed) for seed in range(given.first_seed, given.first_seed + given.seeds)
            for shape in SHAPES]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        found = list(pool.map(lambda one: excess(given, *one), sets))
    for name in ("kinflow", "ordinary"):
        print(f"{name}: mean excess {statistics.mean(one[name]['excess'] for one in found):.4f}")
    below = sum(one["kinflow"]["excess"] < one["ordinary"]["excess"] for one in found)
    print(f"kinflow below the ordinary flow in {below} of {len(found)} data sets")


if __name__ == "__main__":
    main()
