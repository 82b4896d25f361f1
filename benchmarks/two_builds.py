#!/usr/bin/env python3
"""Times two builds of kinflow in turns on the same work, and prints ratios.

    benchmarks/two_builds.py OLD/kinflow NEW/kinflow [--rounds 3] [--quick]

Each job runs once with either build in every round; the ratio is that of the best processor
times, and of the best times by the clock in brackets. Ends with 1 where the new build takes more
than --limit (1.05) times the processor time of the old one.
"""
import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time


def run(command):
    """Seconds by the clock, and of all processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def jobs(kinflow, data, out, quick):
    """Name and command of every job; results go below `out`."""
    part = 10 if quick else 1
    fit = [kinflow, "fit", "--no-report", "--overwrite"]
    return {
        "start (--version)": [kinflow, "--version"],
        "start (inspect a run)": [kinflow, "inspect", data / "model"],
        f"fit of 10,000 rows in blocks, {100 // part} epochs, a table to validate": fit + [
            data / "blocks/train.csv", "--group", "group", "--valid", data / "blocks/valid.csv",
            "--epochs", 100 // part, "--patience", 1000, "--correlation", "per-block",
            "--out", out / "blocks"],
        f"fit of 5,000 rows with a relationship, {20 // part} epochs": fit + [
            data / "related/train.csv", "--relationship", data / "related/relationship.npy",
            "--id", "id", "--valid", data / "related/valid.csv", "--epochs",
            20 // part, "--patience", 1000, "--cache", data / "cache",
            "--out", out / "related"],
        f"fit of 10,000 rows in blocks, 5 folds, {20 // part} epochs": fit + [
            data / "blocks/train.csv", "--group", "group", "--epochs", 20 // part,
            "--out", out / "folds"],
        f"evaluate {1_000_000 // part:,} rows": [
            kinflow, "evaluate", data / "model", data / "many.csv", "--out", out / "scores.csv",
            "--overwrite"],
        "fit of 400 images, 2 epochs": fit + [
            data / "images/train", "--images", "--group-by-folder", "--flow", "glow",
            "--epochs", 2, "--steps", 4, "--dense-channels", 32, "--dense-growth", 32,
            "--dense-layers", 4, "--threads", 1, "--out", out / "images"],
    }


def prepare(kinflow, data, quick):
    def simulate(*words):
        run([kinflow, "simulate", *words])

    simulate("--seed", 1, "--out", data / "blocks")
    simulate("--dependence", "relationship", "--seed", 1, "--out", data / "related")
    simulate("--images", "--rows", 400, "--side", 16, "--out", data / "images")
    run([kinflow, "fit", data / "blocks/train.csv", "--group", "group", "--valid",
         data / "blocks/valid.csv", "--epochs", 2, "--no-report", "--out", data / "model"])
    lines = (data / "blocks/test.csv").read_text().splitlines()
    copies = (100_000 if quick else 1_000_000) // (len(lines) - 1)
    (data / "cache").mkdir()
    (data / "many.csv").write_text("\n".join(lines[:1] + lines[1:] * copies) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--limit", type=float, default=1.05)
    given = parser.parse_args()
    builds = {"old": given.old.resolve(), "new": given.new.resolve()}
    best = {}
    with tempfile.TemporaryDirectory(prefix="kinflow_two_builds_") as place:
        data = pathlib.Path(place)
        prepare(builds["old"], data, given.quick)
        for name, build in builds.items():
            (data / name).mkdir()
        for _ in range(given.rounds):
            works = {name: jobs(build, data, data / name, given.quick)
                     for name, build in builds.items()}
            for job in works["old"]:
                for name in builds:
                    seconds = run(works[name][job])
                    known = best.setdefault((job, name), seconds)
                    best[job, name] = tuple(map(min, known, seconds))
                print(".", end="", flush=True, file=sys.stderr)
    print(f"\n{given.rounds} rounds on {len(os.sched_getaffinity(0))} cores\n")
    print("| work | old, processor s | new | ratio | old, clock s | new |")
    print("|---|---|---|---|---|---|")
    slower = False
    for job in dict.fromkeys(job for job, _ in best):
        (old_wall, old), (new_wall, new) = best[job, "old"], best[job, "new"]
        slower |= new > given.limit * old
        print(f"| {job} | {old:.2f} | {new:.2f} | {new / old:.2f} | {old_wall:.2f} | "
              f"{new_wall:.2f} |")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
