"""penstock packs image datasets and feeds training from them as fast as the hardware allows."""
