"""Bytes on disks and in object stores: plans of reads, writes that appear whole or not at all, a journal of writing."""
