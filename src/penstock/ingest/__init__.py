"""Foreign data on its way in: what a source holds, and what its files become when they are stored."""
