#! /usr/bin/env python3
"""Hold the loader's pictures against Pillow and torchvision, on the same crop boxes.

resize.py AUGMENTED DIR [N]: AUGMENTED is tests/reference/augmented (of `make check`), DIR was written by
tricolor-pack, N records of it (200) are compared.  Both decode the same JPEG.  Training: torchvision's
resized_crop() of the drawn box to 224 x 224, bilinear and antialiased, and hflip(); evaluation: resize to a
shorter side of 256, center_crop() of 224.  Both on PIL pictures; the same on tensors is printed beside.
Status 1 where the mean absolute difference over all pictures, or that of one picture, is above the limit.
"""
import io
import struct
import subprocess
import sys

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

MEAN = 0.5  # grey levels; rounding alone, as Pillow rounds between its passes, too
SIZE, SHORTER, BILINEAR = 224, 256, InterpolationMode.BILINEAR


def records(augmented, folder, n):
    with subprocess.Popen([augmented, folder, str(n)], stdout=subprocess.PIPE) as run:
        while head := run.stdout.read(64):
            size, *rest = struct.unpack("8q", head)
            jpeg = run.stdout.read(size)
            ours = [np.frombuffer(run.stdout.read(SIZE * SIZE * 3), np.uint8).reshape(SIZE, SIZE, 3)
                    for _ in range(2)]
            yield jpeg, rest, ours
    if run.returncode != 0:
        sys.exit(f"resize.py: {augmented} failed")


def train(picture, rest):
    _, _, x, y, w, h, flip = rest
    out = F.resized_crop(picture, y, x, h, w, [SIZE, SIZE], BILINEAR, antialias=True)
    return F.hflip(out) if flip else out


def evaluate(picture, _):
    return F.center_crop(F.resize(picture, SHORTER, BILINEAR, antialias=True), [SIZE, SIZE])


def array(picture):
    return np.asarray(picture if isinstance(picture, Image.Image) else picture.permute(1, 2, 0), int)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    found = {}
    count = 0
    for jpeg, rest, ours in records(sys.argv[1], sys.argv[2], n):
        picture = Image.open(io.BytesIO(jpeg)).convert("RGB")
        tensor = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
        assert list(picture.size) == rest[:2]
        count += 1
        for kind, source in (("pil", picture), ("tensor", tensor)):
            for path, theirs, mine in (("train", train, ours[0]), ("eval", evaluate, ours[1])):
                d = np.abs(array(theirs(source, rest)) - mine)
                found.setdefault((path, kind), []).append((d.mean(), d.max(), (d > 1).mean()))
    print(f"# Pillow {PIL.__version__}, torchvision {torchvision.__version__}; {count} pictures of {sys.argv[2]}")
    print("#path  against   mean  worst_mean  max  share_above_1")
    bad = count == 0
    for (path, kind), rows in found.items():
        mean, worst = np.mean([r[0] for r in rows]), max(r[0] for r in rows)
        print(f"{path:6} {kind:8} {mean:6.3f} {worst:8.3f} {max(r[1] for r in rows):6d} "
              f"{np.mean([r[2] for r in rows]):10.4f}")
        bad = bad or not (mean < MEAN and worst < MEAN)
    sys.exit(1 if bad else 0)


main()
