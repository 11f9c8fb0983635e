"""The tests of penstock: a mirror of the package, and what several of them use (images.py)."""
