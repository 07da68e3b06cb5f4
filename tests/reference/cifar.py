#! /usr/bin/env python3
"""Train resnet20 on CIFAR-10 with PyTorch by the recipe of `tricolor-train --recipe cifar`.

cifar.py DIR [--epochs E] [--seed S] [--threads T]: DIR has train/CLASS/*.jpg and test/CLASS/*.jpg.
Same pictures (decoded by Pillow, that is by libjpeg), network, batch, rate, decay, momentum, start and
augmentation as ours; its accuracy says what this recipe gives on these files, which are JPEGs of
quality 75 with halved chroma and not the original pictures.  It prints a line an epoch.
"""
import argparse
import math
import pathlib
import time

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BATCH, RATE, START, DECAY, MOMENTUM, PAD = 128, 0.2, 0.1, 5e-4, 0.9, 4


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        nn.init.zeros_(self.bn2.weight)  # as ours: the block begins as its shortcut
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def resnet20():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    width = 16
    for outputs in (16, 32, 64):
        for i in range(3):
            layers.append(Block(width, outputs, 2 if i == 0 and outputs > 16 else 1))
            width = outputs
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
    return net


def pictures(folder):
    classes = sorted(p.name for p in folder.iterdir())
    files = [(p, i) for i, c in enumerate(classes) for p in sorted((folder / c).iterdir())]
    x = np.stack([np.asarray(Image.open(p).convert("RGB")) for p, _ in files])
    return torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(), torch.tensor([i for _, i in files])


def normal(x):
    mean, deviation = (torch.tensor(v)[None, :, None, None] for v in (MEAN, DEVIATION))
    return ((x.float() / 255 - mean) / deviation).contiguous(memory_format=torch.channels_last)


def augment(x, rng):
    """Shift by up to 4 pixels, black beyond the edge, and flip every other picture."""
    n, _, h, w = x.shape
    padded = F.pad(x, (PAD,) * 4)
    out = torch.empty_like(x)
    for i, (dy, dx, flip) in enumerate(zip(*(rng.integers(0, k, n) for k in (2 * PAD + 1, 2 * PAD + 1, 2)))):
        part = padded[i, :, dy:dy + h, dx:dx + w]
        out[i] = part.flip(2) if flip else part
    return out


def rate(step, warmup, total):
    if step < warmup:
        return START + (RATE - START) * step / warmup
    return 0.5 * RATE * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        hits = sum((net(normal(x[i:i + 500])).argmax(1) == y[i:i + 500]).sum().item() for i in range(0, len(x), 500))
    net.train()
    return hits / len(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    x, y = pictures(args.dir / "train")
    test_x, test_y = pictures(args.dir / "test")
    net = resnet20().to(memory_format=torch.channels_last)
    plain = [p for p in net.parameters() if p.dim() == 1]
    decayed = [p for p in net.parameters() if p.dim() > 1]
    sgd = torch.optim.SGD([{"params": decayed, "weight_decay": DECAY}, {"params": plain}], RATE, MOMENTUM, nesterov=True)
    per_epoch = len(x) // BATCH
    total, warmup, step = args.epochs * per_epoch, round(args.epochs / 18 * per_epoch), 0
    print(f"torch {torch.__version__}, {len(x)} and {len(test_x)} pictures, {args.epochs} epochs, seed {args.seed}")
    for epoch in range(args.epochs):
        start, hits = time.time(), 0
        order = torch.from_numpy(rng.permutation(len(x)))
        for i in range(per_epoch):
            at = order[i * BATCH:(i + 1) * BATCH]
            for group in sgd.param_groups:
                group["lr"] = rate(step, warmup, total)
            logits = net(normal(augment(x[at], rng)))
            loss = F.cross_entropy(logits, y[at])
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            hits += (logits.argmax(1) == y[at]).sum().item()
            step += 1
        print(f"epoch {epoch + 1}: train {hits / per_epoch / BATCH:.4f}, test {accuracy(net, test_x, test_y):.4f}, "
              f"{per_epoch * BATCH / (time.time() - start):.0f} images/s", flush=True)


if __name__ == "__main__":
    main()
