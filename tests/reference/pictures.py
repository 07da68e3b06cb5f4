#! /usr/bin/env python3
"""Hold what tricolor-pack makes of every crafted sound picture against Pillow.

pictures.py PACK TOOL [DIR]: PACK is tricolor-pack, TOOL is tests/pack/tool (of `make check`), DIR a
folder of one's own pictures, which are compared, too.  Both sides decode the same file to RGB: Pillow
by open() and convert("RGB"), tricolor by create at full size and quality 100, so that a little of the
difference is that encoding's.  With --exif apply, Pillow's exif_transpose() is added.  Status 1 where a
picture differs by more than the limits and is not in KNOWN.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import PIL
from PIL import Image, ImageOps

MEAN, MIDDLE = 2.5, 3  # grey levels: of all pixels (4:2:0 at hard edges); in the middle of the quarters
KNOWN = {
    "cmyk": "no Adobe marker: Pillow takes every CMYK as inverted, we only marked ones",
    "png_gray16": "Pillow cuts 16-bit gray off at 255, we take the upper 8 bits",
    "png_text": "Pillow refuses a comment of 20 MB",
    "no_end": "Pillow refuses a missing end", "no_end_progressive": "Pillow refuses a missing end",
}


def run(*args):
    return subprocess.run([str(a) for a in args], check=False, capture_output=True, text=True)


def by_pillow(path, turn):
    try:
        with Image.open(path) as picture:
            picture.load()
            return np.asarray((ImageOps.exif_transpose(picture) if turn else picture).convert("RGB"), int)
    except (OSError, SyntaxError, ValueError) as error:
        return str(error)


def by_tricolor(pack, source, work, turn):
    out = work / ("turned" if turn else "plain")
    made = run(pack, "create", source, "-o", out, "--split", "train", "--shards", 1, "--quality", 100,
               "--shorter", 65500, "--exif", "apply" if turn else "ignore")
    if made.returncode != 0:
        sys.exit(made.stderr)
    made = run(pack, "extract", out, "--split", "train", "-o", work / (out.name + "-out"))
    if made.returncode != 0:
        sys.exit(made.stderr)
    return work / (out.name + "-out")


def middle(a, b):
    h, w = a.shape[:2]
    at = [(h * (1 + 2 * q) // 4, w * (1 + 2 * p) // 4) for q in (0, 1) for p in (0, 1)]
    return max(int(np.abs(a[y, x] - b[y, x]).max()) for y, x in at)


def compare(name, a, b, turn):
    """Print a line; whether it agrees or is known."""
    way = "turned" if turn else ""
    if isinstance(a, str):
        verdict, numbers = False, f"Pillow: {a}"
    elif a.shape != b.shape:
        verdict, numbers = False, f"{a.shape} here, {b.shape} there"
    else:
        mean, worst = float(np.abs(a - b).mean()), middle(a, b)
        thin = min(a.shape[:2]) < 8  # less than a block: its quarters blur into each other
        verdict, numbers = mean <= MEAN and (worst <= MIDDLE or thin), f"mean {mean:.2f}, middle {worst}"
    known = "" if verdict else KNOWN.get(name, "DIFFERS")
    print(f"{name:24} {way:7} {numbers:28} {known}")
    return verdict or known != "DIFFERS"


def main():
    pack, tool = sys.argv[1:3]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        source = work / "source" / "all"
        source.mkdir(parents=True)
        for line in run(tool, "craft").stdout.splitlines():
            kind, name = line.split()
            if kind == "sound":
                run(tool, "craft", name, source / f"{name}.JPEG")
        for number in range(1, 9):
            for kind in ("", "png_"):
                run(tool, "craft", f"oriented_{kind}{number}", source / f"oriented_{kind}{number}.JPEG")
        for path in pathlib.Path(sys.argv[3]).rglob("*") if len(sys.argv) > 3 else []:
            if path.is_file():
                (source / f"own-{path.name}").write_bytes(path.read_bytes())
        print(f"Pillow {PIL.__version__}, libjpeg-turbo {PIL.features.version('libjpeg_turbo')}")
        for turn in (False, True):
            out = by_tricolor(pack, work / "source", work, turn)
            for path in sorted(source.iterdir()):
                if turn and "exif" not in path.name and "orient" not in path.name and "own" not in path.name:
                    continue
                made = sorted(out.rglob(path.name))
                ours = by_pillow(made[0], False) if made else "not extracted"
                if isinstance(ours, str):
                    sys.exit(f"{path.name}: {ours}")
                good = compare(path.stem, by_pillow(path, turn), ours, turn) and good
    return 0 if good else 1


if __name__ == "__main__":
    from PIL import features  # noqa: F401  (PIL.features)
    Image.MAX_IMAGE_PIXELS = None
    sys.exit(main())
