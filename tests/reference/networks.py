#! /usr/bin/env python3
"""Make the values that t-reference holds tricolor's networks against: PyTorch in double.

networks.py DIR [CASE…] writes DIR/CASE.txt for every case (or those named), each with this command and
PyTorch's version.  The committed ones lie in tests/reference/networks/.  `networks.py --perturb [CASE…]`
writes nothing: it shows how far pictures moved by 1e-7 move the gradient, in double, and what PyTorch's
own fp32 does: the conditioning that t-reference's bounds rest on.

Everything is made by formula, the same here and in t-reference.c: draw(KEY, n) gives n numbers of [-1, 1)
from a hash of KEY and the position.  See fill() for the weights and pictures() for the pictures.
"""
import pathlib
import sys

import numpy as np
import torch
import twins
from torch import nn

CASES = {  # name: model, classes, auxiliary head, size, batch, steps
    "resnet18-64": ("resnet18", 100, False, 64, 16, 1),
    "resnet50-64": ("resnet50", 1000, False, 64, 16, 1),
    "googlenetbn-64": ("googlenetbn", 1000, False, 64, 16, 1),
    "resnet18-224": ("resnet18", 100, False, 224, 8, 1),
    "resnet50-224": ("resnet50", 1000, False, 224, 8, 1),
    "googlenetbn-224": ("googlenetbn", 1000, False, 224, 8, 1),
    "googlenetbn-aux-224": ("googlenetbn", 1000, True, 224, 8, 1),
    "resnet18-ten": ("resnet18", 100, False, 64, 16, 10),
    "resnet50-ten": ("resnet50", 1000, False, 64, 16, 10),
    "googlenetbn-ten": ("googlenetbn", 1000, False, 64, 16, 10),
}
SAMPLES = 3
RATE, MOMENTUM, DECAY = 1e-3, 0.9, 1e-4  # Nesterov; no decay on BN
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def mix(x):
    """Wellons' lowbias32, a hash of 32 bits (github.com/skeeto/hash-prospector)."""
    x = np.asarray(x).astype(np.uint32)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def bits(key, at):
    """32 bits at every position of `at` of the stream named `key`, which is hashed by FNV-1a."""
    name = 2166136261
    for byte in key.encode():
        name = (name ^ byte) * 16777619 & 0xFFFFFFFF
    return mix(mix(at) + np.uint32(name))


def draw(key, n):
    return (bits(key, np.arange(n)) >> np.uint32(8)) * 2.0**-23 - 1


def some(key, n):
    """Where a vector of n elements is sampled."""
    return [int(b) % n for b in bits(key, np.arange(SAMPLES))]


def fill(model):
    """Weights in pairs w, -w, so that a filter sees no constant; BN and biases mostly well above 0 and
    every 16th channel near it: few ReLUs stand where rounding decides, but some do."""
    norms = {name for name, m in model.named_modules() if isinstance(m, nn.BatchNorm2d)}
    with torch.no_grad():
        for name, p in model.named_parameters():
            u = draw(name, p.numel())
            owner, kind = name.rsplit(".", 1)
            near = np.arange(p.numel()) % 16 == 15
            if p.dim() > 1:
                taps = p.numel() // p.shape[0]
                v = np.sqrt(3 / taps) * u
                if taps % 2 == 0:
                    v[1::2] = -v[0::2]
            elif owner in norms and kind == "weight":
                v = 1 + 0.25 * u
            else:
                v = np.where(near, 0.25, 3) + 0.25 * u
            p.copy_(torch.from_numpy(v.astype(np.float32).astype(np.float64)).view(p.shape))
        for name, m in model.named_modules():
            if name in norms:
                m.running_mean.copy_(torch.from_numpy(draw(name + ".running_mean", m.num_features)))
                spread = 1.5 + 0.5 * draw(name + ".running_var", m.num_features)
                m.running_var.copy_(torch.from_numpy(spread.astype(np.float32)))


def pictures(batch, size, step):
    """(N,H,W,3) u8: a level a picture and colour, cells of 8 pixels, grain."""
    n, y, x, c = np.meshgrid(np.arange(batch) + step * batch, np.arange(size), np.arange(size), np.arange(3),
                             indexing="ij")
    level = bits("level", n * 3 + c) & np.uint32(127)
    cell = bits("cell", ((n * 64 + y // 8) * 64 + x // 8) * 3 + c) & np.uint32(63)
    grain = bits("grain", ((n * size + y) * size + x) * 3 + c) & np.uint32(63)
    return level + cell + grain


def labels(batch, classes, step):
    return bits("label", np.arange(batch) + step * batch) % np.uint32(classes)


class Run:
    """A network in training; after step() loss, logits and gradients stand in it."""

    def __init__(self, case, dtype=torch.double, noise=0.0):
        self.name, self.classes, self.aux, self.size, self.batch, self.steps = CASES[case]
        self.dtype, self.noise = dtype, noise
        self.model = twins.build(self.name, self.classes, self.aux).double().train()
        fill(self.model)
        self.start = {name: p.detach().clone() for name, p in self.model.named_parameters()}
        self.model.to(dtype)
        norms = [p for m in self.model.modules() if isinstance(m, nn.BatchNorm2d) for p in m.parameters()]
        known = {id(p) for p in norms}
        rest = [p for p in self.model.parameters() if id(p) not in known]
        self.sgd = torch.optim.SGD([{"params": rest, "weight_decay": DECAY}, {"params": norms, "weight_decay": 0}],
                                   RATE, MOMENTUM, nesterov=True)

    def step(self, i):
        seen = (pictures(self.batch, self.size, i) / 255 - MEAN) / DEVIATION
        x = torch.from_numpy(seen).permute(0, 3, 1, 2).contiguous()
        x = (x * (1 + self.noise * torch.randn(x.shape, dtype=torch.double))).to(self.dtype)
        label = torch.from_numpy(labels(self.batch, self.classes, i).astype(np.int64))
        out = self.model(x)
        self.logits, side = out if isinstance(out, tuple) else (out, None)
        self.loss = total = nn.functional.cross_entropy(self.logits, label)
        if side is not None:
            total = total + 0.3 * nn.functional.cross_entropy(side, label)
        self.sgd.zero_grad()
        total.backward()


def line(kind, key, tensor):
    """KIND KEY COUNT NORM SAMPLE…"""
    flat = tensor.detach().double().reshape(-1)
    samples = " ".join(f"{flat[i].item():.12e}" for i in some(key, flat.numel()))
    return f"{kind} {key} {flat.numel()} {flat.norm().item():.12e} {samples}"


def write(case, folder):
    run = Run(case)
    out = [f"# tests/reference/networks.py DIR {case}: PyTorch {torch.__version__} in double",
           f"model {run.name} {run.classes} {'train' if run.aux else 'none'}",
           f"input {run.size} {run.batch} {run.steps}"]
    for i in range(run.steps):
        run.step(i)
        out.append(f"loss {run.loss.item():.12e}")
        if run.steps > 1:
            run.sgd.step()
    out.append(line("logits", "logits", run.logits))
    for name, m in run.model.named_modules():
        if isinstance(m, nn.BatchNorm2d):
            out.append(line("mean", name, m.running_mean))
            out.append(line("variance", name, m.running_var))
    for name, p in run.model.named_parameters():
        if run.steps > 1:
            out.append(line("weight", name, p))
            out.append(line("change", name, p - run.start[name]))
        else:
            out.append(line("gradient", name, p.grad))
    (pathlib.Path(folder) / f"{case}.txt").write_text("\n".join(out) + "\n", encoding="ascii")
    print(f"{case}: loss {run.loss.item():.6f}", flush=True)


def perturb(case):
    right = Run(case)
    right.step(0)
    total = sum(p.grad.square().sum() for p in right.model.parameters()).sqrt()
    for what, other in (("pictures + 1e-7", Run(case, noise=1e-7)), ("fp32", Run(case, torch.float))):
        other.step(0)
        diff = {n: (a.grad - b.grad.double()).norm() / max(a.grad.norm(), 1e-9 * total)
                for (n, a), b in zip(right.model.named_parameters(), other.model.parameters())}
        worst = sorted(diff, key=diff.get)[-8:]
        whole = sum((a.grad - b.grad).square().sum()
                    for a, b in zip(right.model.parameters(), other.model.parameters())).sqrt() / total
        print(f"{case} {what}: loss {right.loss.item():.5f}, logits "
              f"{((other.logits - right.logits).norm() / right.logits.norm()).item():.1e}, gradient {whole:.1e}, "
              f"median parameter {np.median([d.item() for d in diff.values()]):.1e}, worst "
              + " ".join(f"{n} {diff[n]:.1e}" for n in worst), flush=True)


def main():
    if len(sys.argv) < 2 or any(case not in CASES for case in sys.argv[2:]):
        sys.exit(__doc__ + "\nCases: " + " ".join(CASES))
    for case in sys.argv[2:] or CASES:
        if sys.argv[1] == "--perturb":
            perturb(case)
        else:
            write(case, sys.argv[1])


if __name__ == "__main__":
    main()
