#!/usr/bin/env python3
"""Pages of large runs: seconds and memory to make them, their size, and how they feel in a
browser.

    benchmarks/report_page.py build/release/kinflow --browser chromium [--rows 1000000]
                              [--variants 10000000] [--work DIR] [--page docs/benchmarks.md]

A fit of simulated rows (few epochs: its page is what is measured), and an association study
whose results are simulated in the format of `gwas`: uniform p-values and 40 loci of 60 variants.
--work keeps the inputs for another time.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from page_section import replace_section

CHECK = Path(__file__).parent.parent / "tests" / "report_page" / "check.mjs"
CHROMOSOME_LENGTHS = (
    [248, 242, 198, 190, 181, 171, 159, 145, 138, 134, 135]
    + [133, 114, 107, 102, 90, 83, 80, 59, 64, 47, 51]
)  # millions of bases
LOCI = 40
LOCUS_VARIANTS = 60
SEED = 1


def used_by(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and MiB of a program that ends well."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    seconds = used.ru_utime + used.ru_stime
    return time.monotonic() - start, seconds, used.ru_maxrss / 1024


def make_fit(kinflow: str, rows: int, folder: Path) -> Path:
    run = folder / f"fit{rows}"
    if not (run / "run.json").exists():
        data = folder / f"rows{rows}"
        command = [kinflow, "simulate", "--shape", "crescent", "--rows", str(rows)]
        subprocess.run([*command, "--out", str(data), "--overwrite"], check=True)
        small = "--epochs 1 --replicas 1 --folds 2 --layers 2 --hidden 16 --bins 8"
        small += " --batch-size 4096 --no-report --correlation per-block --overwrite"
        command = [kinflow, "fit", str(data / "train.csv"), "--group", "group"]
        subprocess.run([*command, *small.split(), "--out", str(run)], check=True)
    return run


def association_lines(variants: int, numbers: random.Random):
    """Lines of the tests, and of the loci; every locus is a peak of LOCUS_VARIANTS."""
    genome = sum(CHROMOSOME_LENGTHS)
    per_chromosome = [max(1, variants * one // genome) for one in CHROMOSOME_LENGTHS]
    number, loci = 0, []
    for chromosome, count in enumerate(per_chromosome, 1):
        step = CHROMOSOME_LENGTHS[chromosome - 1] * 1_000_000 / (count + 1)
        peaks = sorted(numbers.sample(range(count), min(count, math.ceil(LOCI / 22))))
        for i in range(count):
            number += 1
            position = int((i + 1) * step)
            log10_p = numbers.expovariate(1) / math.log(10)
            for peak in peaks:
                away = abs(i - peak)
                if away < LOCUS_VARIANTS // 2:
                    log10_p += 12 * math.exp(-away / 8)
                    if away == 0:
                        loci.append((number, chromosome, position, log10_p))
            beta = 0.01 * math.sqrt(log10_p)
            yield (
                f"{chromosome}\t{position}\trs{number}\tA\tG\t0.3127\t48211\t"
                f"{beta:.7f}\t0.0081234\t{-beta / 3:.7f}\t0.0080971\t"
                f"{4.6 * log10_p:.6f}\t{10 ** -log10_p:.6g}\t{log10_p:.6f}\n"
            ), loci


def make_study(variants: int, folder: Path) -> Path:
    prefix = folder / f"study{variants}"
    if Path(f"{prefix}.log").exists():
        return prefix
    numbers = random.Random(SEED)
    loci: list = []
    with open(f"{prefix}.assoc.tsv", "w") as tests:
        names = "CHROM POS ID A1 A2 A1_FREQ N BETA_t1 SE_t1 BETA_t2 SE_t2 CHISQ P LOG10P"
        tests.write(names.replace(" ", "\t") + "\n")
        for line, loci in association_lines(variants, numbers):
            tests.write(line)
    with open(f"{prefix}.loci.tsv", "w") as table:
        names = "LOCUS ID CHROM POS START END P LOG10P N_SNPS TOTAL MEMBERS"
        table.write(names.replace(" ", "\t") + "\n")
        for i, (number, chromosome, position, log10_p) in enumerate(
            sorted(loci, key=lambda one: -one[3]), 1
        ):
            start, end = max(1, position - 20_000), position + 20_000
            table.write(
                f"{i}\trs{number}\t{chromosome}\t{position}\t{start}\t{end}\t"
                f"{10 ** -log10_p:.6g}\t{log10_p:.6f}\t1\t{LOCUS_VARIANTS}\t\n"
            )
    Path(f"{prefix}.null.tsv").write_text(
        "LEFT_OUT\tADDED\tSET\tTRAITS\tLOG_LIKELIHOOD\tVG\tVE\tITERATIONS\tCONVERGED\n"
        "none\tnone\tflow\tt1;t2\t-1\t0.4;0.1;0.3\t0.6;0.1;0.7\t5\tyes\n"
    )
    Path(f"{prefix}.log").write_text(
        "kinflow simulated\nOptions in effect:\n  --bfile simulated\n"
    )
    return prefix


def look_at(page: Path, browser: str, folder: Path) -> dict:
    """What check.mjs measures in the page, and finds wrong with it."""
    measured = folder / "measured.json"
    command = ["node", str(CHECK), browser, str(page), "--json", str(measured)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return json.loads(measured.read_text())[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kinflow")
    parser.add_argument("--browser", help="a Chromium; without it, no page is opened")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--variants", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    kinflow = str(Path(given.kinflow).resolve())
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        cases = [
            (f"fit, {given.rows:,} rows", make_fit(kinflow, given.rows, folder)),
            (f"GWAS, {given.variants:,} variants", make_study(given.variants, folder)),
        ]
        text = (
            f"Written by `benchmarks/report_page.py`, fastest of {given.rounds} rounds, "
            f"{os.cpu_count()} cores, mean load {os.getloadavg()[2]:.1f}. In the browser "
            "(headless Chromium, without a GPU): from opening to the end of drawing, from "
            "a move of the mouse to the frame with its value (95% of moves), and from "
            "frame to frame while scrolling (95%, and the longest).\n\n"
            "| page of | wall s | processor s | MiB | page, kB | opened, ms | hover, ms | "
            "frame, ms | longest frame, ms |\n"
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        )
        problems = []
        for name, result in cases:
            page = folder / f"{result.name}.html"
            command = [kinflow, "report", str(result), "--out", str(page), "--overwrite"]
            wall, seconds, megabytes = min(used_by(command) for _ in range(given.rounds))
            row = f"| {name} | {wall:.1f} | {seconds:.1f} | {megabytes:.0f} |"
            row += f" {page.stat().st_size / 1000:.0f} |"
            if given.browser:
                seen = look_at(page, given.browser, folder)
                problems += [f"{name}: {one}" for one in seen["problems"]]
                for key in ("opened", "hover", "frame", "longest_frame"):
                    row += f" {seen[key + '_ms']:.0f} |"
            else:
                row += " | | | |"
            text += row + "\n"
        print(text)
        if given.page:
            replace_section(given.page, "pages of large runs", text)
        if problems:
            sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
