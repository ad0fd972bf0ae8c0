"""Sphinx: the extension for any book with explorers, and the tags by which pages know them.

Here lives the name that a book's `_config.yml` gives. `markup` needs nothing of Sphinx, so that what writes a page's
tags need not have it installed.
"""


def setup(app):
    from .extension import setup

    return setup(app)
