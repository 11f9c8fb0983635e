"""What a run leaves behind: lines for people on stderr, and the same as JSON, a line each, in a file.

Only the first rank writes. Each line of the file is an object with `kind` ("options", "line", "epoch", "validation",
"end"), `seconds` since the run began, and its figures. A run that is resumed adds to its file.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, final

from penstock.errors import UsageError
from penstock.storage.local import storage_error

if TYPE_CHECKING:
    import os

    from penstock.torch.training.ranks import Ranks

__all__ = ["Journal", "read_journal"]


@final
class Journal:
    """The log of a run: `with Journal(folder, ranks) as journal`."""

    def __init__(self, folder: str | None, ranks: Ranks, *, name: str = "log.jsonl", tensorboard: bool = False) -> None:
        self._is_first = ranks.is_first
        self._began = time.monotonic()
        self._file: IO[str] | None = None
        self._board: Any = None
        if folder is not None and self._is_first:
            try:
                Path(folder).mkdir(parents=True, exist_ok=True)
                self._file = (Path(folder) / name).open("a", encoding="utf-8")
            except OSError as error:
                raise storage_error(error, folder) from error
        if tensorboard and self._is_first:
            if folder is None:
                raise UsageError("TensorBoard's files need a folder", hint="name the run: -n NAME")
            try:
                from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415  an option
            except ImportError as error:
                raise UsageError("tensorboard is not installed", hint="pip install tensorboard") from error
            self._board = SummaryWriter(folder)

    def say(self, text: str) -> None:
        """Tell people."""
        if self._is_first:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def note(self, kind: str, step: int | None = None, **figures: Any) -> None:
        """Write figures down."""
        if self._file is not None:
            line = {"kind": kind, "seconds": round(time.monotonic() - self._began, 6), **figures}
            self._file.write(json.dumps(line, default=str) + "\n")
            self._file.flush()
        if self._board is not None and step is not None:
            for name, value in figures.items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    self._board.add_scalar(f"{kind}/{name}", value, step)

    def close(self) -> None:
        """End the files."""
        for one in (self._file, self._board):
            if one is not None:
                one.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_journal(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read a log. A last line that a kill cut short is left out."""
    with Path(path).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]
