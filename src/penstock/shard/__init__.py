"""What is inside a packed dataset: keys, tar members, index, manifest, checks. Bytes in, values out, no I/O."""
