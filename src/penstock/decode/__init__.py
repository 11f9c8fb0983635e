"""Encoded bytes become pixels.

jpeg.py and batch.py are the doors to the native core, image.py is Pillow, array.py reads `.npy`.
"""
