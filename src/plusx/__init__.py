"""Plus x: the torch code behind the book. `plusx.explore` and `plusx.book` stand apart."""
