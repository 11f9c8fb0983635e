"""Results of other tools, translated so that they can be looked at beside new ones.

They say what they say: what the other tool did not measure is absent, how it averaged is written into the findings, and
nothing of theirs is compared in blocks, for it had none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import FormatError, UsageError
from penstock.results.form import read
from penstock.results.imported import dlio, dllogger

if TYPE_CHECKING:
    import os

    from penstock.results.result import Result

__all__ = ["read_any", "read_foreign"]


def read_any(path: str | os.PathLike[str]) -> Result:
    """Read a result of ours, or one of theirs."""
    try:
        return read(path)
    except FormatError:
        try:
            return read_foreign(path)
        except FormatError as theirs:
            if theirs.what.startswith(("no summary", "nobody's")):  # it was meant to be ours: say what ours lacks
                read(path)
            raise


def read_foreign(path: str | os.PathLike[str]) -> Result:
    """Read (DL)²'s DLLogger stream, or the summary of DLIO or MLPerf Storage; which of them, its content tells."""
    name, source = str(path), Path(path)
    try:
        text = source.read_text("utf-8")
    except FileNotFoundError as error:
        raise UsageError("no such file", file=name) from error
    except UnicodeDecodeError as error:
        raise FormatError("not text", file=name, got=str(error)) from error
    if text.lstrip().startswith("DLLL"):
        return dllogger.result(text, source.stem, file=name)
    try:
        value = json.loads(text)
    except ValueError as error:
        expected = "lines that begin with DLLL, or a summary as JSON"
        raise FormatError("nobody's result that is known here", file=name, got=str(error), expected=expected) from error
    return dlio.result(value, source.stem, file=name)
