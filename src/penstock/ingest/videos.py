"""Video files as items: clips whose frames are made when they are read, as the recipe says.

What shapes the frames (the rate, the recipe) is part of the items' identity: a pack that was begun with one rate does
not go on with another.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from penstock.ingest.video import need_av, video_frames

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from penstock.ingest.items import Files
    from penstock.ingest.kind import Options
    from penstock.ingest.recipe import Recipe

__all__ = ["VIDEO_SUFFIXES", "Videos", "is_video", "video_named", "videos"]

VIDEO_SUFFIXES = (".mp4", ".webm", ".avi", ".mov", ".mkv", ".m4v")


@final
@dataclass(frozen=True, slots=True)
class Videos:
    """Video files of a folder."""

    files: Files
    frame_rate: float | None
    recipe: Recipe
    is_far: bool = False

    def __len__(self) -> int:
        return len(self.files)

    @property
    def suffixes(self) -> list[str]:
        """Give none: what is stored are frames, and no file of the video's format."""
        return [""] * len(self)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Give the files' sizes: what is read. The frames are larger."""
        return self.files.sizes

    def name(self, position: int) -> str:
        """Say what a file is called."""
        return self.files.name(position)

    def read(self, position: int) -> list[bytes]:
        """Decode a file."""
        return video_frames(self.files.path(position), self.frame_rate, self.recipe)

    def identity(self) -> Iterator[bytes]:
        """Give the files, and what is made of them."""
        yield repr((self.frame_rate, self.recipe)).encode()
        yield from self.files.identity()


def videos(files: Files, options: Options) -> Videos:
    """Make items of files, if there is something to decode them with."""
    need_av()
    return Videos(files, options.frame_rate, options.recipe)


def is_video(name: str) -> bool:
    """Whether a file is a video by its name."""
    return name.lower().endswith(VIDEO_SUFFIXES) and not name.rpartition("/")[2].startswith(".")


def video_named(root: str, stem: str) -> str | None:
    """Find the video of a name without suffix: <stem>.mp4 and the like, or the only one in the folder <stem>."""
    for suffix in VIDEO_SUFFIXES:
        if os.path.isfile(os.path.join(root, stem + suffix)):
            return stem + suffix
    try:
        inside = [name for name in os.listdir(os.path.join(root, stem)) if is_video(name)]
    except OSError:
        return None
    return f"{stem}/{inside[0]}" if len(inside) == 1 else None
