#!/usr/bin/env python3
"""Time the input path of Pillow and torchvision on one core: the yardstick of bench/input.

    input-torch.py DIR COUNTS
DIR holds JPEGs (tricolor-pack extract); they are read into memory first.  Two ways, COUNTS passes each:
    pillow  Image.open, convert("RGB"), RandomResizedCrop(224), RandomHorizontalFlip, PILToTensor
    tensor  torchvision.io.decode_jpeg, and the same transforms (v2) on u8 tensors, antialiased
Prints a line each: torch-WAY images/s of the best and of the median pass.
"""
import io
import pathlib
import statistics
import sys
import time

import torch
from PIL import Image
from torchvision import io as vision
from torchvision import transforms
from torchvision.transforms import v2


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    jpegs = [p.read_bytes() for p in sorted(pathlib.Path(sys.argv[1]).rglob("*")) if p.is_file()]
    buffers = [torch.frombuffer(bytearray(j), dtype=torch.uint8) for j in jpegs]
    classic = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
                                  transforms.PILToTensor()])
    modern = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()])
    ways = {
        "pillow": lambda i: classic(Image.open(io.BytesIO(jpegs[i])).convert("RGB")),
        "tensor": lambda i: modern(vision.decode_jpeg(buffers[i], vision.ImageReadMode.RGB)),
    }
    for name, way in ways.items():
        rates = []
        for _ in range(int(sys.argv[2])):
            start = time.perf_counter()
            for i in range(len(jpegs)):
                out = way(i)
                assert out.shape == (3, 224, 224) and out.dtype == torch.uint8
            rates.append(len(jpegs) / (time.perf_counter() - start))
        print(f"torch-{name} {max(rates):.1f} {statistics.median(rates):.1f}", flush=True)


main()
