#!/usr/bin/env python3
"""Times whole runs of `kinflow gwas` and of GEMMA's score test, in turns, on the same files.

    gwas_speed.py KINFLOW [--bfile PREFIX --pheno TABLE --pheno-name a,b,...] [--rounds 3]
                  [--page docs/benchmarks.md]
    gwas_speed.py KINFLOW --large BFILE --pheno TABLE [--chr 1] [--threads 2] [--grm PREFIX]

Each tool reads genotypes from bed files, the relationship in its own format (.grm.bin, or
text for GEMMA) and phenotypes (a table, or the .fam for GEMMA), and uses one thread. Without
files a cohort of 1,416 people, 10,000 SNPs and 12 traits is simulated. `--large` is one run
of kinflow alone, with its peak memory; the relationship is made from the same variants
unless --grm names one. Needs gemma and the Python standard library.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from page_section import replace_section

TRAIT_COUNTS = (1, 6, 12)


class Usage:
    """What a finished program took."""

    def __init__(self, processor: float, wall: float, megabytes: float):
        self.processor, self.wall, self.megabytes = processor, wall, megabytes


def run(command: list[str], folder: Path) -> Usage:
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    start = time.monotonic()
    with open(folder / "output.txt", "w") as output:
        child = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=output
        )
        _, status, used = os.wait4(child.pid, 0)
    if status != 0 and "--help" not in command:
        sys.exit(f"{' '.join(command)} failed: {(folder / 'output.txt').read_text()}")
    return Usage(
        used.ru_utime + used.ru_stime, time.monotonic() - start, used.ru_maxrss / 1024
    )


def read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    rows = [line.rstrip("\n").split("\t") for line in open(path)]
    return rows[0], rows[1:]


def write_gemma_files(bfile: str, pheno: Path, traits: list[str], folder: Path) -> None:
    """gemma.bed, .bim and a .fam with all traits; people without one have NA."""
    header, rows = read_table(pheno)
    columns = [header.index(trait) for trait in traits]
    of_person = {row[header.index("IID")]: row for row in rows}
    for ending in ("bed", "bim"):
        (folder / f"gemma.{ending}").symlink_to(Path(f"{bfile}.{ending}").resolve())
    with open(folder / "gemma.fam", "w") as fam:
        for line in open(f"{bfile}.fam"):
            cells = line.split()
            row = of_person.get(cells[1])
            values = [row[column] if row else "NA" for column in columns]
            fam.write(" ".join(cells[:5] + values) + "\n")


def gemma_tests_seconds(folder: Path) -> float:
    log = (folder / "output" / "gemma.log.txt").read_text()
    return 60 * float(re.search(r"time on optimization = ([0-9.e+-]+)", log)[1])


def count_lines(path: str) -> int:
    with open(path) as file:
        return sum(1 for _ in file)


def compare(kinflow: str, given: argparse.Namespace, folder: Path) -> str:
    bfile, pheno, traits = given.bfile, given.pheno, given.pheno_name
    origin = f"`{Path(bfile).name}`" if bfile else "a simulated cohort"
    if not bfile:
        run([kinflow, "simulate", "--cohort", "--people", "1416", "--snps", "10000",
             "--traits", "12", "--missing-calls", "0", "--missing-values", "0", "--out", "cohort"], folder)
        bfile, pheno = str(folder / "cohort/cohort"), folder / "cohort/pheno.tsv"
    header = read_table(pheno)[0]
    traits = traits.split(",") if traits else header[2:]
    shared = ["--bfile", bfile, "--chr-set", given.chr_set]
    for kind in ([], ["--gemma"]):
        run([kinflow, "grm", *shared, "--kind", "centered", "--threads", "1", "--out", "k",
             *kind], folder)
    write_gemma_files(bfile, Path(pheno), traits, folder)

    starts = {
        "kinflow": [kinflow, "gwas", "--transform", "none", "--help"],
        "GEMMA": ["gemma", "-h"],
    }
    start = {name: statistics.median(run(command, folder).processor for _ in range(5))
             for name, command in starts.items()}
    lines = [
        "| traits | kinflow, processor s | wall s | GEMMA, processor s | wall s "
        "| ratio of processor s | of wall s | GEMMA's tests alone, s |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    people = None
    for count in TRAIT_COUNTS:
        if count > len(traits):
            continue
        ours = [kinflow, "gwas", *shared, "--pheno", str(pheno), "--pheno-name",
                ",".join(traits[:count]), "--transform", "none", "--grm", "k",
                "--threads", "1", "--out", "kinflow", "--overwrite"]
        theirs = ["gemma", "-bfile", "gemma", "-k", "k.cXX.txt", "-lmm", "3", "-maf", "0",
                  "-miss", "1", "-n", *map(str, range(1, count + 1)), "-o", "gemma"]
        used: dict[str, list[Usage]] = {"kinflow": [], "GEMMA": []}
        tests = []
        for _ in range(given.rounds):
            used["kinflow"].append(run(ours, folder))
            used["GEMMA"].append(run(theirs, folder))
            tests.append(gemma_tests_seconds(folder))
        people = count_lines(folder / "kinflow.id")
        processor = {name: statistics.median(u.processor for u in runs)
                     for name, runs in used.items()}
        wall = {name: statistics.median(u.wall for u in runs) for name, runs in used.items()}
        lines.append(
            f"| {count} | {processor['kinflow']:.2f} | {wall['kinflow']:.2f} "
            f"| {processor['GEMMA']:.2f} | {wall['GEMMA']:.2f} "
            f"| {processor['GEMMA'] / processor['kinflow']:.1f} "
            f"| {wall['GEMMA'] / wall['kinflow']:.1f} | {statistics.median(tests):.2f} |"
        )
        print(lines[-1], flush=True)
    load = os.getloadavg()[1]
    return (
        f"Written by `benchmarks/gwas_speed.py` with {origin}: {people} people in the last row, "
        f"{count_lines(bfile + '.bim')} SNPs, medians of {given.rounds} runs in turns, one thread "
        f"each, from bed files and a relationship on the disk to the finished tables (kinflow: "
        f"and pictures). The start of the program is in it: {start['kinflow']:.2f} processor "
        f"seconds for kinflow, {start['GEMMA']:.2f} for GEMMA. {os.cpu_count()} cores, mean load "
        f"{load:.1f}: where it is above 1, only processor seconds can be compared.\n\n"
        + "\n".join(lines) + "\n"
    )


def large(kinflow: str, given: argparse.Namespace, folder: Path) -> str:
    chromosomes = ["--chr", given.chr] if given.chr else []
    grm = given.grm
    if not grm:
        run([kinflow, "grm", "--bfile", given.large, *chromosomes, "--kind", "standardized",
             "--threads", str(given.threads), "--out", "k"], folder)
        grm = "k"
    used = run([kinflow, "gwas", "--bfile", given.large, *chromosomes, "--pheno", given.pheno,
                *(["--pheno-name", given.pheno_name] if given.pheno_name else []),
                "--transform", "none", "--grm", grm, "--threads", str(given.threads),
                "--out", "kinflow"], folder)
    variants = count_lines(folder / "kinflow.assoc.tsv") - 1
    people = count_lines(folder / "kinflow.id")
    matrix = 8 * people**2 / 2**20
    return (
        f"{people} people, {variants} SNPs, {given.threads} threads: {used.processor:.0f} processor "
        f"seconds, {used.wall:.0f} s, peak memory {used.megabytes:.0f} MB, of which the "
        f"decomposition needs {3 * matrix:.0f} MB (three matrices).\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinflow")
    parser.add_argument("--bfile")
    parser.add_argument("--pheno")
    parser.add_argument("--pheno-name")
    parser.add_argument("--chr-set", default="22")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--large")
    parser.add_argument("--chr")
    parser.add_argument("--grm")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    for name in ("bfile", "pheno", "large", "grm"):
        if getattr(given, name):
            setattr(given, name, str(Path(getattr(given, name)).resolve()))
    kinflow = str(Path(given.kinflow).resolve())
    with tempfile.TemporaryDirectory() as folder:
        work = large if given.large else compare
        text = work(kinflow, given, Path(folder))
    if given.page:
        name = "large association run" if given.large else "association runs"
        if given.bfile:
            name += f", {Path(given.bfile).name}"
        replace_section(given.page, name, text)
    print(text)


if __name__ == "__main__":
    main()
