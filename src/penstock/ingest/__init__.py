"""Foreign data on its way in: what a source holds, and what its items become when they are stored."""
