"""Make the photographs of the published runs from Debian's wallpaper packages (apt-get download, no root needed).

    python benchmarks/photographs.py photos OUT      4,000 of about 500x375, mean about 80 KB, 100 classes
    python benchmarks/photographs.py large OUT       400 of 2048x1536
    python benchmarks/photographs.py others OUT      2,000 of about 500x375 from other packages, without added noise

`photos` and `large` are cut at random, downscaled, and given a camera's noise: a downscaled wallpaper alone is smoother
than a photograph of that size, and decoding time follows entropy. `others` is the counter-check: other subjects, other
cameras, no noise, one quality (90), hence smaller files. The same packages give the same bytes for the same Pillow.

Needs NumPy and Pillow, apt-get and dpkg.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import numpy as np
from PIL import Image

SIZES = [(500, 375)] * 5 + [(375, 500)] * 2 + [(500, 333)] * 3
SIZES += [(500, 500), (640, 480), (400, 300), (800, 600), (333, 500), (500, 400), (1024, 768)]
WALLPAPERS = ("mate-backgrounds", "ukui-wallpapers", "lomiri-wallpapers-16.04", "lomiri-wallpapers-20.04")
OTHER_PACKAGES = ("lxqt-themes", "plasma-workspace-wallpapers", "opencv-doc", "stellarium-data")
# These packages hold drawings and test charts too: the photographs among them, by the end of their path.
OTHER_PHOTOGRAPHS = (
    *(f"lxqt/wallpapers/{name}" for name in ("Valendas.png", "after-the-rain.jpg", "appleflower.png", "beam.png")),
    *(f"lxqt/wallpapers/{name}" for name in ("butterfly.png", "cloud.png", "drop.png", "flowers.png", "fog.jpg")),
    "lxqt/wallpapers/this-is-not-windows.jpg",
    *(
        f"wallpapers/{name}/contents/images/2560x1600.jpg"
        for name in ("BytheWater", "ColdRipple", "ColorfulCups", "DarkestHour", "EveningGlow", "FallenLeaf", "Grey")
    ),
    *(f"wallpapers/{name}/contents/images/2560x1600.jpg" for name in ("Kite", "OneStandsOut", "Path", "summer_1am")),
    "wallpapers/Volna/contents/images/5120x2880.jpg",
    *(f"examples/data/{name}.jpg" for name in ("aero1", "aero3", "aloeL", "board", "building", "leuvenA")),
    "examples/data/graf1.png",
    *(f"landscapes/garching/garching-gl{k}.png" for k in (1, 2, 3, 4)),
)


def unpacked(packages: tuple[str, ...], debs: Path) -> list[Path]:
    """Fetch and unpack packages once; every picture file in them, sorted."""
    if not (debs / "unpacked").is_dir():
        debs.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-qq", *packages], cwd=debs, check=True)
        for deb in sorted(debs.glob("*.deb")):
            subprocess.run(["dpkg", "-x", deb.name, "unpacked"], cwd=debs, check=True)
    return sorted(path for path in debs.glob("unpacked/**/*") if path.suffix in {".jpg", ".png"} and path.is_file())


class Cutter:
    """Cuts random pieces out of photographs; one random stream drives everything, so a seed names the whole set."""

    def __init__(self, paths: list[Path], seed: int) -> None:
        self.paths = paths
        self.random = np.random.default_rng(seed)
        self._open: dict[Path, Image.Image] = {}

    def photograph(self) -> Image.Image:
        """Draw one photograph, opened once and kept."""
        path = self.paths[self.random.integers(len(self.paths))]
        if path not in self._open:
            image = Image.open(path).convert("RGB")
            image.thumbnail((3000, 3000), Image.Resampling.LANCZOS)
            self._open[path] = image
        return self._open[path]

    def piece(self, width: int, height: int) -> Image.Image:
        """Draw one piece at a random zoom of 1 to 2.2, less where the photograph is too small for that."""
        low, high = 1.0, 2.2
        while True:
            photo, zoom = self.photograph(), self.random.uniform(low, high)
            w, h = int(width * zoom), int(height * zoom)
            if w <= photo.width and h <= photo.height:
                break
            low, high = low * 0.9, high * 0.9
        x, y = int(self.random.integers(photo.width - w + 1)), int(self.random.integers(photo.height - h + 1))
        return photo.resize((width, height), Image.Resampling.LANCZOS, box=(x, y, x + w, y + h))

    def noisy(self, image: Image.Image) -> Image.Image:
        """Add Gaussian noise of 3 to 9 levels, as a camera at a middling sensitivity gives."""
        pixels = np.asarray(image, np.float32)
        pixels = pixels + self.random.normal(0, self.random.uniform(3, 9), pixels.shape).astype(np.float32)
        return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def write(out: Path, cutter: Cutter, count: int, sizes: list[tuple[int, int]], *, noise: bool) -> None:
    """Write `count` JPEGs (4:2:0) into 100 class folders."""
    for i in range(count):
        width, height = sizes[cutter.random.integers(len(sizes))]
        image = cutter.piece(width, height)
        if noise:
            image = cutter.noisy(image)
        folder = out / f"n{i % 100:08d}"
        folder.mkdir(parents=True, exist_ok=True)
        quality = int(cutter.random.integers(85, 97)) if noise else 90
        image.save(folder / f"img_{i:06d}.JPEG", quality=quality, subsampling=2)


def main() -> None:
    """Make one of the three sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=["photos", "large", "others"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--debs", type=Path, help="where packages are kept (default: beside OUT)")
    args = parser.parse_args()
    if args.set == "others":
        found = unpacked(OTHER_PACKAGES, args.debs or args.out.parent / "debs-others")
        paths = [path for path in found if path.as_posix().endswith(OTHER_PHOTOGRAPHS)]
    else:
        found = unpacked(WALLPAPERS, args.debs or args.out.parent / "debs")
        jpegs = (path for path in found if path.suffix == ".jpg" and "/desktop/" not in path.as_posix())
        paths = [path for path in jpegs if path.stat().st_size > 250_000]
    count = args.count or {"photos": 4000, "large": 400, "others": 2000}[args.set]
    sizes = [(2048, 1536)] if args.set == "large" else SIZES
    write(args.out, Cutter(paths, args.seed), count, sizes, noise=args.set != "others")


if __name__ == "__main__":
    main()
