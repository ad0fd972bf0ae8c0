"""Tell index.md and chapters/teachers.md how long each chapter takes, as its notebook says: `python tools/minutes.py`.

Counted is what is read before lab notes and exercises and is not folded away: prose, open code, explorers and tables.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORDS, LINES = 200, 20  # a minute, of prose and of code
EXPLORER, TABLE = 2, 1  # minutes each
FOLDED = re.compile(r"^(:{3,}|`{3,})\{admonition\}.*?^\1\s*$", re.M | re.S)
NO_PROSE = re.compile(r"```.*?```|\$\$.*?\$\$|^\|.*?$|<[^>]+>|\]\([^)]*\)", re.M | re.S)


def minutes(chapter):
    """To read it and to turn its switches, without exercises."""
    total = 0.0
    for cell in json.loads(chapter.read_text("utf-8"))["cells"]:
        text, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
        if text.startswith(("## Lab notes", "## Exercises")):
            break
        if cell["cell_type"] == "markdown":
            total += len(re.findall(r"\S*\w\S*", NO_PROSE.sub(" ", FOLDED.sub("", text)))) / WORDS
        elif {"remove-cell", "hide-cell"}.isdisjoint(tags):
            total += 0 if "hide-input" in tags else text.count("\n") / LINES
            total += EXPLORER * ("@explore" in text) + TABLE * bool(cell["outputs"])
    return total


def rounded(value):
    return 5 * round(value / 5)


def main():
    found = {int(path.name[:2]): rounded(minutes(path)) for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))}
    index, teachers = ROOT / "index.md", ROOT / "chapters/teachers.md"
    said = f"A chapter takes {min(found.values())} to {max(found.values())} minutes"
    cards = re.sub(r"A chapter takes \d+ to \d+ minutes", said, index.read_text("utf-8"))
    card = re.compile(r"(\(chapters/(\d+)-[^)]*\) · )\d+(?= min)")
    index.write_text(card.sub(lambda match: f"{match[1]}{found[int(match[2])]}", cards), "utf-8")
    row = re.compile(r"(\| \[(\d+)\. .*?\]\(.*?\) \| )\d+")
    table = row.sub(lambda match: f"{match[1]}{found[int(match[2])]}", teachers.read_text("utf-8"))
    teachers.write_text(table, "utf-8")
    print(*(f"{number}: {each} minutes" for number, each in found.items()), sep="\n")


if __name__ == "__main__":
    main()
