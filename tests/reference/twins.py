"""PyTorch twins of tricolor's networks, with the same names of parameters (src/nn/model.h).

Used by networks.py here, which makes the values that t-reference holds tricolor against, and by
bench/step-torch.py.
"""
import torch
import torchvision
from torch import nn
from torch.nn import functional

CIFAR = ("resnet20", "resnet32", "resnet44", "resnet56", "resnet110")
IMAGENET = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152")


class CifarBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.downsample = None
        if stride != 1 or cin != cout:
            self.downsample = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class CifarResNet(nn.Module):
    """6n+2 layers with projection shortcuts."""

    def __init__(self, depth, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        width = 16
        for stage, out in enumerate((16, 32, 64)):
            layer = nn.Sequential()
            for i in range((depth - 2) // 6):
                layer.append(CifarBlock(width, out, 2 if i == 0 and stage > 0 else 1))
                width = out
            setattr(self, f"layer{stage + 1}", layer)
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


class Unit(nn.Module):
    """conv, BN, ReLU; inside the blocks a ReLU stands before the BN, too."""

    def __init__(self, cin, cout, kernel, stride=1, inner=False):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, kernel, stride, kernel // 2 if kernel % 2 else 0)
        self.bn = nn.BatchNorm2d(cout, eps=1e-3)
        self.inner = inner

    def forward(self, x):
        x = self.conv(x)
        if self.inner:
            x = functional.relu(x)
        return functional.relu(self.bn(x))


class Inception(nn.Module):
    def __init__(self, cin, point, single, twice, pool, projection):
        super().__init__()
        self.branch1 = Unit(cin, point, 1, inner=True) if point else None
        self.branch2 = nn.Sequential(Unit(cin, single[0], 1, inner=True), Unit(single[0], single[1], 3, inner=True))
        self.branch3 = nn.Sequential(Unit(cin, twice[0], 1, inner=True), Unit(twice[0], twice[1], 3, inner=True),
                                     Unit(twice[1], twice[1], 3, inner=True))
        self.branch4 = nn.Sequential((nn.AvgPool2d if pool == "avg" else nn.MaxPool2d)(3, 1, 1))
        if projection:
            self.branch4.append(Unit(cin, projection, 1, inner=True))
        self.out = point + single[1] + twice[1] + (projection or cin)

    def forward(self, x):
        branches = (self.branch1, self.branch2, self.branch3, self.branch4)
        return torch.cat([branch(x) for branch in branches if branch is not None], 1)


class Auxiliary(nn.Module):
    def __init__(self, cin, places, classes):
        super().__init__()
        self.conv = Unit(cin, 128, 1)
        self.fc1 = nn.Linear(128 * places, 768)
        self.fc2 = nn.Linear(768, classes)

    def forward(self, x):
        x = self.conv(functional.avg_pool2d(x, 5, 3, ceil_mode=True))
        return self.fc2(functional.relu(self.fc1(x.flatten(1))))


class GoogLeNetBN(nn.Module):
    """soumith/imagenet-multiGPU.torch models/googlenetbn.lua; forward gives (logits, aux logits or None)."""

    BLOCKS = (  # name, 1x1, 3x3, double 3x3, pool, its 1x1, width of a 2x2 stride 2 behind
        ("3a", 64, (64, 64), (64, 96), "avg", 32, 0), ("3b", 64, (64, 96), (64, 96), "avg", 64, 0),
        ("3c", 0, (128, 160), (64, 96), "max", 0, 576),
        ("4a", 224, (64, 96), (96, 128), "avg", 128, 0), ("4b", 192, (96, 128), (96, 128), "avg", 128, 0),
        ("4c", 160, (128, 160), (128, 160), "avg", 96, 0), ("4d", 96, (128, 192), (160, 192), "avg", 96, 0),
        ("4e", 0, (128, 192), (192, 256), "max", 0, 1024),
        ("5a", 352, (192, 320), (160, 224), "avg", 128, 0), ("5b", 352, (192, 320), (192, 224), "max", 128, 0))

    def __init__(self, classes, aux=False):
        super().__init__()
        self.conv1 = Unit(3, 64, 7, 2)
        self.conv2 = Unit(64, 64, 1)
        self.conv3 = Unit(64, 192, 3)
        width = 192
        for name, point, single, twice, pool, projection, reduction in self.BLOCKS:
            block = Inception(width, point, single, twice, pool, projection)
            setattr(self, "inception" + name, block)
            width = block.out
            if reduction:
                setattr(self, "reduce" + name[0], Unit(width, reduction, 2, 2))
        self.fc = nn.Linear(width, classes)
        self.aux = Auxiliary(576, 16, classes) if aux else None  # 4x4 places at 224

    def forward(self, x):
        x = functional.max_pool2d(self.conv1(x), 3, 2, ceil_mode=True)
        x = functional.max_pool2d(self.conv3(self.conv2(x)), 3, 2, ceil_mode=True)
        side = None
        for name, *_, reduction in self.BLOCKS:
            x = getattr(self, "inception" + name)(x)
            if name == "4d" and self.aux is not None:
                side = self.aux(x)
            if reduction:
                x = getattr(self, "reduce" + name[0])(x)
        return self.fc(x.mean((2, 3))), side


def build(name, classes, aux=False):
    """The network, or None for a name that has no twin."""
    if name in CIFAR:
        return CifarResNet(int(name[6:]), classes)
    if name in IMAGENET:
        return getattr(torchvision.models, name)(num_classes=classes)
    return GoogLeNetBN(classes, aux) if name == "googlenetbn" else None
