"""Each sentence that a page wants to be taken along rests on a checked cell, and was read beside what it prints now."""

import json

import pytest
from headlines import FILE, RESTS_ON, seen, sentences


@pytest.mark.parametrize("stem", RESTS_ON)
def test_each_sentence_to_take_along_was_read_beside_its_cells(stem):
    said = sentences(stem)
    assert len(said) == len(RESTS_ON[stem]) > 0, "a sentence more or less: say in headlines.py on what each rests"
    known = json.loads(FILE.read_text())[stem]
    unread = [each for each, then, now in zip(said, known, seen(stem)) if then != now]
    assert not unread, f"read these beside their cells, mend them, then run tests/headlines.py: {unread}"
