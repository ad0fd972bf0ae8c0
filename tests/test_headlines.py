"""Each headline of the book rests on a checked cell, and was read beside what that prints now."""

import json

import pytest
from headlines import FILE, RESTS_ON, seen, sentences


@pytest.mark.parametrize("name", RESTS_ON)
def test_each_sentence_was_read_beside_its_cells(name):
    said = sentences(name)
    assert len(said) == len(RESTS_ON[name]) > 0, "a sentence more or less: say in headlines.py on what each rests"
    known = json.loads(FILE.read_text())[name]
    unread = [each for each, then, now in zip(said, known, seen(name)) if then != now]
    assert not unread, f"read these beside their cells, mend them, then run tests/headlines.py: {unread}"
