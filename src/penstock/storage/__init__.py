"""Bytes on local disks: plans of reads, writes that appear whole or not at all, the journal of unfinished work."""
