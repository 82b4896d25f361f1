"""Sections of a page of the documentation that programs write."""

from pathlib import Path


def replace_section(page: Path, name: str, content: str) -> None:
    """Puts the content between the two marker comments of that name, which are made at
    the end of the page where they are missing. All else stays."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
    text = page.read_text()
    if begin not in text:
        text = text.rstrip("\n") + f"\n\n{begin}{end}"
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    page.write_text(before + begin + content + end + after)
