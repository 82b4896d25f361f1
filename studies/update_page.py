#!/usr/bin/env python3
"""Puts reports of studies into a Markdown page.

    studies/update_page.py docs/results.md results/table1/table1.md [...]

A report takes the place of what stands between its two marker comments on the page, or is
added at the end. Its pictures are copied into the folder `img` beside the page, with the ending
of the section's name where it has one (`-from-5000`).
"""
import argparse
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).parent.parent / "benchmarks"))
from page_section import replace_section  # noqa: E402


def add(page, report):
    text = report.read_text()
    marked = re.fullmatch(r"<!-- begin (\S+) -->\n(.*)<!-- end \1 -->\n", text, re.DOTALL)
    if not marked:
        sys.exit(f"{report}: expected a report between its marker comments, found none")
    section, content = marked.groups()
    ending = section.removeprefix(report.stem)

    def copied(link):
        picture = report.parent / link[1]
        copy = picture.stem + ending + picture.suffix
        images = page.parent / "img"
        images.mkdir(exist_ok=True)
        shutil.copyfile(picture, images / copy)
        return f"](img/{copy})"

    replace_section(page, section, re.sub(r"\]\(([^()/]+\.(?:png|svg))\)", copied, content))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("reports", type=pathlib.Path, nargs="+")
    given = parser.parse_args()
    for report in given.reports:
        add(given.page, report)


if __name__ == "__main__":
    main()
