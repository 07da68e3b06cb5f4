#! /usr/bin/env python3
"""Weights go both ways between tricolor and torchvision, and mean the same there.

interchange.py TRAIN MAKE_SET [MODEL...]: TRAIN is tricolor-train, MAKE_SET is tests/train/make-set (of
`make check`).  For each model (resnet18, resnet50):
  1. a network trained here for some steps loads strictly into torchvision's, and gives the same loss and
     the same predictions on the validation pictures;
  2. torchvision's own start, saved with the package safetensors, evaluates here to the same loss;
  3. the same with 1000 classes starts a training run here on 4 classes (a new last layer).
The pictures are stored so that evaluation only crops them: both sides see the same pixels.  Status 1
where something differs.
"""
import csv
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torchvision
from PIL import Image
from safetensors.torch import load_file, save_file

SIZE, SIDE = 64, 73  # 73 = 64 * 256 / 224: the shorter side before the crop
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CLASSES, LOSS = 4, 1e-4  # relative


def run(*args):
    done = subprocess.run([str(a) for a in args], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}\n{done.stderr}")
    return done.stdout + done.stderr


def pictures(folder):
    """All pictures as the network sees them, with their classes, which the files' numbers carry in turn."""
    images, labels = [], []
    for path in sorted(folder.rglob("*.jpg")):
        rgb = np.asarray(Image.open(path).convert("RGB"), np.float32)
        at = round((SIDE - SIZE) / 2)
        images.append(rgb[at:at + SIZE, at:at + SIZE].transpose(2, 0, 1) / 255)
        labels.append(int(re.search(r"(\d+)\.jpg$", path.name).group(1)) % CLASSES)
    x = torch.tensor(np.stack(images))
    return (x - torch.tensor(MEAN)[:, None, None]) / torch.tensor(DEVIATION)[:, None, None], torch.tensor(labels)


def evaluate_here(train, data, name, weights, work):
    """Loss and predicted classes by picture name."""
    log, table = work / "log", work / "predictions"
    log.unlink(missing_ok=True)
    run(train, "--data", data, "--model", name, "--size", SIZE, "--evaluate", "--init", weights,
        "--batch", 8, "--log", log, "--predictions", table)
    line = [s for s in log.read_text().splitlines() if '"key":"eval_accuracy"' in s][-1]
    rows = list(csv.DictReader(open(table, encoding="utf-8"), delimiter="\t"))
    return float(re.search(r'"loss":([-0-9.e]+)', line).group(1)), [int(r["predicted"]) for r in rows]


def judge(what, ok, detail):
    print(("ok   " if ok else "FAIL ") + what + ": " + detail)
    return ok


def compare(what, train, data, name, weights, net, work):
    x, labels = pictures(data / "val" / "files")
    net.eval()
    with torch.no_grad():
        logits = net(x)
    theirs = torch.nn.functional.cross_entropy(logits, labels).item()
    ours, predicted = evaluate_here(train, data, name, weights, work)
    # The records have the order of the files' numbers, which carry the class in turn.
    hits = sorted(logits.argmax(1).tolist()) == sorted(predicted)
    error = abs(ours - theirs) / abs(theirs)
    return judge(what, error < LOSS and hits,
                 f"loss {ours:.6f} here, {theirs:.6f} there ({error:.1e}), predictions {'equal' if hits else 'differ'}")


def check(train, data, name, work):
    run(train, "--data", data, "--model", name, "--size", SIZE, "--batch", 16, "--epochs", 2, "--lr", 0.02,
        "--augment", "none", "--eval-every", -1, "--checkpoint", work / name)
    ours = next((work / name).glob("step-*/model.safetensors"))
    net = getattr(torchvision.models, name)(num_classes=CLASSES)
    net.load_state_dict(load_file(ours), strict=True)
    good = compare(f"{name}, ours there", train, data, name, ours, net, work)

    torch.manual_seed(1)
    net = getattr(torchvision.models, name)(num_classes=CLASSES)
    theirs = work / f"{name}.safetensors"
    net.train()
    with torch.no_grad():
        net(pictures(data / "train" / "files")[0][:32])  # running statistics of their own
    save_file(net.state_dict(), theirs)
    good &= compare(f"{name}, theirs here", train, data, name, theirs, net, work)

    save_file(getattr(torchvision.models, name)().state_dict(), theirs)
    said = run(train, "--data", data, "--model", name, "--size", SIZE, "--batch", 16, "--epochs", 1,
               "--max-steps", 1, "--eval-every", -1, "--init", theirs)
    return good & judge(f"{name}, 1000 classes to {CLASSES}", "made for 1000 classes, not 4" in said, "a new last layer")


def main():
    train, make_set = sys.argv[1:3]
    good = True
    print(f"torch {torch.__version__}, torchvision {torchvision.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run(make_set, work / "set", "train=64", "val=24", f"side={SIDE}", f"classes={CLASSES}")
        for name in sys.argv[3:] or ["resnet18", "resnet50"]:
            good &= check(train, work / "set", name, work)
    sys.exit(not good)


if __name__ == "__main__":
    main()
