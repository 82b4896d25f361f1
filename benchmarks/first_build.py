#!/usr/bin/env python3
"""Times `make demo` and `make test` as a new user meets them: a fresh clone, an empty ccache,
two cores.

    benchmarks/first_build.py [--cores 2] [--demo-minutes 6] [--test-minutes 25]

Clones the last commit into a temporary folder and runs the steps of `make demo` there, one
by one, and then `make test`, which finds what the demo has built. Prints the minutes of each and
the slowest compilations; ends with 1 where the demo, or all together, took longer than its
limit. Packages that are installed already take no time.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

STEPS = {
    "set-up": ["make", "setup"],
    "configure": ["make", "configure"],
    "compile": ["make", "tool"],
    "demo": ["make", "demo"],
    "test": ["make", "test"],
}


def run(command, folder, environment):
    """Seconds of a command; its output is shown only where it fails."""
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}")
    return time.monotonic() - start


def compilations(ninja_log):
    """(seconds, output) of all that was compiled, the slowest first."""
    longest = {}
    for line in ninja_log.read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output.endswith((".o", ".gch")):
            longest[output] = (int(end) - int(start)) / 1000
    return sorted(((seconds, output) for output, seconds in longest.items()), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--demo-minutes", type=float, default=6)
    parser.add_argument("--test-minutes", type=float, default=25)
    parser.add_argument("--slowest", type=int, default=12, help="compilations to list")
    parser.add_argument("--steps", default=",".join(STEPS), help="for a shorter try")
    given = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[:given.cores]
    if len(cores) < given.cores:
        sys.exit(f"expected {given.cores} cores, found {len(cores)}")
    os.sched_setaffinity(0, cores)
    repository = pathlib.Path(__file__).resolve().parent.parent

    with tempfile.TemporaryDirectory(prefix="kinflow_first_build_") as place:
        clone = pathlib.Path(place) / "kinflow"
        subprocess.run(["git", "clone", "--quiet", "--no-local", repository, clone],
                       check=True)
        commit = subprocess.check_output(["git", "describe", "--always"], cwd=clone,
                                         text=True).strip()
        print(f"kinflow {commit}, fresh clone, empty ccache, {given.cores} cores", flush=True)
        environment = os.environ | {"CCACHE_DIR": f"{place}/ccache",
                                    "JOBS": str(given.cores)}
        total = demo = 0
        for step in given.steps.split(","):
            seconds = run(STEPS[step], clone, environment)
            total += seconds
            if step != "test":
                demo = total
            print(f"{step:<12}{seconds / 60:8.2f} min", flush=True)
        print(f"{'demo, all':<12}{demo / 60:8.2f} min\n{'all':<12}{total / 60:8.2f} min")

        log = clone / "build/release/.ninja_log"
        if log.exists():
            compiled = compilations(log)
            print(f"\n{len(compiled)} compilations, "
                  f"{sum(seconds for seconds, _ in compiled):.0f} s one after the other; "
                  "the slowest:")
            for seconds, output in compiled[:given.slowest]:
                print(f"{seconds:7.1f} s  {output}")
    if demo > 60 * given.demo_minutes or total > 60 * given.test_minutes:
        sys.exit(f"expected at most {given.demo_minutes:g} minutes for the demo and "
                 f"{given.test_minutes:g} for all")


if __name__ == "__main__":
    main()
