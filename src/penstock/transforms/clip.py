"""ClipSample: which frames of its clip a sample shows.

A clip has as many frames as it was recorded with, and a batch has the same number of each. The rule is the one that
loaders of clips have in common:

    frames * stride frames of the clip are looked at, from `start` on, and every `stride`-th of them is shown.

Where a clip has more, `start` says where to look: at random, each place from which enough frames follow being as likely
as any other; in the middle, the odd frame being left over at the end; or from the frame with that number, or from the
last one from which enough follow. Where a clip has fewer, it is looked at from its first frame, and its last frame is
shown in the place of each that it lacks. So frame t of a sample is frame min(start + t * stride, last) of its clip.

Nothing else of a clip is read. The draw is one of the sample's own, in a stream apart from those of crops and flips,
which are the same with and without it. All clips of a sample use one draw: with as many frames, the same are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from penstock.errors import UsageError
from penstock.transforms.arguments import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.transforms.protocol import UniformDraws

__all__ = ["ClipLayout", "ClipSample"]

ClipLayout = Literal["CTHW", "TCHW"]

STREAM = 1 << 32  # beyond any transform's place among the transforms


@final
@dataclass(frozen=True)
class ClipSample:
    """`frames` frames of each clip, `stride` frames apart.

    `start`: "random", "center", or a frame's number. `pad`: what a clip shows that is too short; there is one way.
    `layout`: a batch is [B, 3, T, H, W], or [B, T, 3, H, W] with "TCHW"; with `channels_first=False` it is
    [B, T, H, W, 3] in any case.
    """

    frames: int = 18
    stride: int = 2
    start: Literal["random", "center"] | int = "random"
    pad: Literal["repeat_last"] = "repeat_last"
    layout: ClipLayout = "CTHW"

    def __post_init__(self) -> None:
        whole(self.frames, least=1, what="ClipSample: frames")
        whole(self.stride, least=1, what="ClipSample: stride")
        if self.start not in ("random", "center"):
            whole(self.start, least=0, what="ClipSample: start", otherwise='"random", "center" or ')
        for what, given, known in (("pad", self.pad, ("repeat_last",)), ("layout", self.layout, ("CTHW", "TCHW"))):
            if given not in known:
                raise UsageError(f"ClipSample: {what}", got=repr(given), expected=" or ".join(map(repr, known)))

    def choose(self, counts: NDArray[np.int64], draws: UniformDraws) -> NDArray[np.int64]:
        """Give the numbers of the frames that samples show, [samples, frames]; their clips have `counts` frames."""
        places = np.maximum(counts - self.frames * self.stride, 0)  # the last that one may start from
        if self.start == "random":
            uniform = draws.for_stream(STREAM).uniform(1)[:, 0]
            starts = np.floor(uniform * (places + 1)).astype(np.int64)
        elif self.start == "center":
            starts = places // 2
        else:
            starts = np.minimum(places, int(self.start))
        shown = starts[:, None] + np.arange(self.frames) * self.stride
        chosen: NDArray[np.int64] = np.minimum(shown, counts[:, None] - 1)
        return chosen
