#!/usr/bin/env python3
"""Time training steps of PyTorch on the CPU: the yardstick of bench-step.

One configuration a process, so that its peak memory is its own:
    step-torch.py MODEL PRECISION MODE BATCH SIZE CLASSES THREADS STEPS
PRECISION f32 | bf16 (autocast), MODE eager | compile; always channels_last.  A step is what bench-step's
is: forward, cross-entropy, backward, SGD with Nesterov momentum.  Prints one line:
    torch-MODE MODEL PRECISION SIZE BATCH THREADS STEPS median_ms images/s best_images/s peak_MiB
"""
import resource
import statistics
import sys
import time

import torch
import torchvision
from torch import nn


class Basic(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return torch.relu(y + (x if self.down is None else self.down(x)))


def cifar_resnet(depth, classes):
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    width = 16
    for out in (16, 32, 64):
        for i in range((depth - 2) // 6):
            layers.append(Basic(width, out, 2 if i == 0 and out > 16 else 1))
            width = out
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes)]
    return nn.Sequential(*layers)


def build(name, classes):
    depth = name[6:] if name.startswith("resnet") else ""
    if depth in ("20", "32", "44", "56", "110"):
        return cifar_resnet(int(depth), classes)
    if depth in ("18", "34", "50", "101", "152"):
        return getattr(torchvision.models, name)(num_classes=classes)
    sys.exit(f"step-torch.py: no PyTorch twin of {name}")


def main():
    if len(sys.argv) != 9:
        sys.exit(__doc__)
    name, precision, mode = sys.argv[1:4]
    batch, size, classes, threads, steps = (int(a) for a in sys.argv[4:])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = build(name, classes).to(memory_format=torch.channels_last).train()
    sgd = torch.optim.SGD(model.parameters(), 0.01, 0.9, weight_decay=1e-4, nesterov=True)
    images = torch.randn(batch, 3, size, size).to(memory_format=torch.channels_last)
    labels = torch.arange(batch) % classes
    forward = torch.compile(model) if mode == "compile" else model

    def step():
        sgd.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = nn.functional.cross_entropy(forward(images), labels)
        loss.backward()
        sgd.step()
        return loss.item()

    times = []
    for i in range(-2, steps):
        start = time.perf_counter()
        step()
        if i >= 0:
            times.append(time.perf_counter() - start)
    mid = statistics.median_high(times)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"torch-{mode} {name} {precision} {size} {batch} {threads} {steps} {1e3 * mid:.2f} "
          f"{batch / mid:.2f} {batch / min(times):.2f} {peak:.0f}", flush=True)


main()
