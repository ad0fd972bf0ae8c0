"""The first page's net that a reader can break: what the trained text net writes, whole and with each skip cut."""
