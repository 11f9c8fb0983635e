"""The command `penstock`: one verb per file, imported when it is called.

Data goes to stdout, talk (progress, warnings, errors) to stderr. Every verb that reports takes --json.

Exit codes: 0 done and sound; 1 the data, the disk or a check says no; 2 the command cannot be (wrong options,
something is in the way); 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

__all__ = ["main"]

# Verb → its module in this package; the module holds a command of the same name.
VERBS = ("pack", "index", "info", "verify", "export", "sample", "bench", "race", "compare", "report", "trace", "probe")


class _Verbs(click.Group):
    """Imports a verb's module when the verb is asked for, and turns our errors into messages and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Import a verb."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(importlib.import_module(f"penstock.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb."""
        from penstock.errors import PenstockError, UsageError

        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(130)
        except PenstockError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(2 if isinstance(error, UsageError) else 1)
        except BrokenPipeError:
            raise  # who read the output has gone: click ends without a word
        except OSError as error:  # most likely the output itself, as on a full disk
            where = f" (file {error.filename})" if error.filename else ""
            click.echo(f"error: {error.strerror or error}{where}", err=True)
            _drop_output()
            sys.exit(1)


def _drop_output() -> None:
    """Have what could not be written written nowhere, or it would fail once more at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="penstock", message="%(prog)s %(version)s")
def main() -> None:
    """Pack image datasets, and feed training from them as fast as the hardware allows."""
