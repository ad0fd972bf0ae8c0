"""Plus x: the torch code behind the book. `plusx.explore`, `plusx.sphinx` and `plusx.book` stand apart."""
