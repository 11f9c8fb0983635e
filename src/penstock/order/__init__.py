"""Which sample comes next: pure functions of (seed, epoch, number of samples). No I/O, no threads, no state."""

from penstock.order.draws import Draws
from penstock.order.permutation import Permutation
from penstock.order.sequential import Sequential

__all__ = ["Draws", "Permutation", "Sequential"]
