"""Colours: the palette, by the names that figures use."""

# As they are on a light page; explore.css has those of a dark one. In each, every pair is 12 apart or more in
# CAM02-UCS, also to eyes without one kind of cone.
COLOURS = {
    "C0": "#1b5693",
    "C1": "#bb4e09",
    "C2": "#0c8149",
    "C3": "#af708a",
    "C4": "#605e5e",
    "C5": "#6a5ddd",
}
