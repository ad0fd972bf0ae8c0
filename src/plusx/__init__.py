"""Plus x: the torch code behind the book. `plusx.explore` and `plusx.sphinx` stand apart."""
