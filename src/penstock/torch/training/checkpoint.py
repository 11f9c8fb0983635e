"""Checkpoints: a file that is there whole or not at all, and holds data, never code.

Written under another name, synced, renamed: a kill at any moment leaves the checkpoint before. Read with
`weights_only`, so a file from elsewhere cannot run anything.

The state of random generators is a part of it: with it, and the loader's own state, a run that was interrupted in the
middle of an epoch goes on bit by bit as it would have.
"""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch

from penstock.errors import FormatError, UsageError
from penstock.storage.local import storage_error, sync_folder

__all__ = ["load_checkpoint", "random_state", "restore_random_state", "save_checkpoint"]


def save_checkpoint(path: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Write a checkpoint in place of the one before."""
    final = Path(path).absolute()
    temporary = final.with_name(f"{final.name}.partial")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(final)
        sync_folder(str(final.parent))
    except OSError as error:
        raise storage_error(error, str(path)) from error


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a checkpoint, onto the CPU."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise storage_error(error, str(path)) from error
    except (RuntimeError, EOFError, pickle.UnpicklingError, ValueError, KeyError) as error:
        what = "the checkpoint cannot be read"
        raise FormatError(what, file=str(path), got=str(error).partition("\n")[0], hint="use the one before") from error
    if not isinstance(state, dict):
        raise UsageError("this is no checkpoint of a run", file=str(path), got=type(state).__name__, expected="a dict")
    return state


def random_state() -> dict[str, Any]:
    """Give the state of every generator that training may draw from."""
    version, words, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002  theirs, not ours
    assert isinstance(keys, np.ndarray)
    return {
        "python": [version, list(words), gauss],
        "numpy": [kind, torch.from_numpy(keys.astype(np.int64)), position, has_gauss, cached],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def restore_random_state(state: dict[str, Any]) -> None:
    """Put the generators where they were."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    kind, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), position, has_gauss, cached))  # noqa: NPY002
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
