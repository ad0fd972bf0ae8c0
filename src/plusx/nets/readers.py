"""What the bytes of a pretrained net's file mean: the net in float32, and what makes its input.

Here lives one function for each form of file, and the two nets of pictures as we wrote them down; where files come
from is the business of `plusx.nets.pretrained`.
"""

import math
import re
import tempfile
import zipfile

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def decoder(file):
    """A language model out of a GGUF file, as transformers reads it: (model, tokenizer)."""
    import accelerate  # noqa: F401, which transformers asks for while it reads
    import gguf  # noqa: F401
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, name = file.parent, file.name
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(folder, gguf_file=name)


def encoder(file):
    """An encoder of sentences out of a zip, as transformers reads it: (model, tokenizer).

    A sentence's vector is the mean of what the model gives for its tokens.
    """
    from transformers import AutoTokenizer, BertModel

    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(file).extractall(folder)
        model = BertModel.from_pretrained(folder, dtype=torch.float32)
        return model.eval(), AutoTokenizer.from_pretrained(folder)


def _conv(wide, out, size, stride=1, groups=1):
    """Without a bias, with a norm; a stride looks a pixel further to the right and below, as TensorFlow does."""
    less = (size - stride) // 2
    return nn.Sequential(
        nn.ZeroPad2d((less, size - stride - less) * 2),
        nn.Conv2d(wide, out, size, stride, groups=groups, bias=False),
        nn.BatchNorm2d(out, eps=1e-3),
    )


class Inverted(nn.Module):
    """Wider, each channel by itself, and back; a skip where the shape stays, and nothing after the sum."""

    def __init__(self, wide, out, size, stride, times):
        super().__init__()
        self.wider = nn.Sequential(_conv(wide, times * wide, 1), nn.ReLU6()) if times > 1 else nn.Identity()
        self.alone = nn.Sequential(_conv(times * wide, times * wide, size, stride, times * wide), nn.ReLU6())
        self.back = _conv(times * wide, out, 1)
        self.skip = stride == 1 and wide == out

    def forward(self, x):
        y = self.back(self.alone(self.wider(x)))
        return x + y if self.skip else y


class EfficientNetLite0(nn.Module):
    """Pictures (n, 3, 224, 224) -> scores of ImageNet's thousand classes."""

    # for each stage: size of its kernels, stride of its first block, times wider inside, channels, blocks
    STAGES = [(3, 1, 1, 16, 1), (3, 2, 6, 24, 2), (5, 2, 6, 40, 2), (3, 2, 6, 80, 3), (5, 1, 6, 112, 3)]
    STAGES += [(5, 2, 6, 192, 4), (3, 1, 6, 320, 1)]

    def __init__(self):
        super().__init__()
        self.stem, blocks, wide = _conv(3, 32, 3, 2), [], 32
        for size, stride, times, out, count in self.STAGES:
            for at in range(count):
                blocks.append(Inverted(wide, out, size, stride if at == 0 else 1, times))
                wide = out
        self.blocks, self.head, self.last = nn.Sequential(*blocks), _conv(wide, 1280, 1), nn.Linear(1280, 1000)

    def forward(self, x):
        x = self.blocks(F.relu6(self.stem(x)))
        return self.last(F.relu6(self.head(x)).mean((2, 3)))


def images(file):
    """EfficientNet-Lite0 and how it is shown a picture: the weights of its authors' names, in the same order."""
    net, given = EfficientNetLite0(), torch.load(file, weights_only=True)
    net.load_state_dict(dict(zip(net.state_dict(), given.values(), strict=True)))
    return net.float().eval(), _shown


def _shown(picture):
    """Seven eighths of its shorter side, in the middle: (1, 3, 224, 224), about -1 to 1."""
    from PIL import Image

    picture = Image.fromarray(np.asarray(picture))
    half = min(picture.size) * 7 / 16
    across, down = (side / 2 for side in picture.size)
    box = (across - half, down - half, across + half, down + half)
    small = np.array(picture.resize((224, 224), Image.BICUBIC, box=box), dtype=np.float32)
    return (torch.from_numpy(small).permute(2, 0, 1)[None] - 127) / 128


class Gains(nn.Module):
    """A gain and a bias for each channel: what is left of a BatchNorm after training."""

    def __init__(self, wide):
        super().__init__()
        self.numbers = nn.Parameter(torch.empty(2, wide, 1, 1))

    def forward(self, x):
        return self.numbers[0] * x + self.numbers[1]


class Face(nn.Module):
    """A block of dlib's net. Its skip has no weights: where the shape changes it is a mean, and zeros fill up."""

    def __init__(self, wide, out, stride):
        super().__init__()
        self.first, self.gains = nn.Conv2d(wide, out, 3, stride, 0 if stride > 1 else 1), Gains(out)
        self.second, self.more_gains = nn.Conv2d(out, out, 3, padding=1), Gains(out)

    def forward(self, x):
        y = self.more_gains(self.second(F.relu(self.gains(self.first(x)))))
        if self.first.stride[0] > 1:
            x = F.avg_pool2d(x, 2)
            high, across = (max(a, b) for a, b in zip(x.shape[2:], y.shape[2:]))
            x, y = (
                F.pad(z, (0, across - z.shape[3], 0, high - z.shape[2], 0, y.shape[1] - z.shape[1])) for z in (x, y)
            )
        return F.relu(x + y)


class DlibFaces(nn.Module):
    """Faces (n, 3, 150, 150), 0 to 255 -> vectors (n, 128); two of one person lie within 0.6."""

    WIDTHS = [32] * 3 + [64] * 4 + [128] * 3 + [256] * 4
    SMALLER = [3, 7, 10, 13]  # blocks

    def __init__(self):
        super().__init__()
        self.first, self.gains = nn.Conv2d(3, 32, 7, 2), Gains(32)
        into = [32, *self.WIDTHS]
        self.blocks = nn.Sequential(
            *(Face(a, b, 2 if at in self.SMALLER else 1) for at, (a, b) in enumerate(zip(into, self.WIDTHS)))
        )
        self.last = nn.Linear(256, 128, bias=False)
        self.register_buffer("middle", torch.tensor([122.782, 117.001, 104.298])[:, None, None], persistent=False)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.gains(self.first((x - self.middle) / 256))), 3, 2)
        return self.last(self.blocks(x).mean((2, 3)))


def faces(file):
    """dlib's net and how it is shown a face, cut out to 150 x 150: its numbers as they come in the file, layer by
    layer from the input on."""
    net, raw = DlibFaces(), file.read_bytes()
    found = [_numbers(raw, tag.end(), tag[0] == b"fc_2") for tag in re.finditer(rb"con_4|affine_|fc_2", raw)]
    parts = [part for part in net.modules() if isinstance(part, nn.Conv2d | Gains | nn.Linear)]
    with torch.no_grad():
        for part, numbers in zip(parts, found, strict=True):
            if isinstance(part, nn.Linear):
                part.weight.copy_(numbers.view(256, 128).T)
            else:
                wanted = list(part.parameters())  # a convolution's weights come before its biases
                for p, given in zip(wanted, numbers.split([p.numel() for p in wanted])):
                    p.copy_(given.view_as(p))
    return net.float().eval(), lambda face: torch.from_numpy(np.array(face, dtype=np.float32)).permute(2, 0, 1)[None]


def _numbers(raw, at, sized):
    """The tensor that begins at a byte, behind two sizes where it is `sized`: a version, four sizes, float32."""

    def whole(at):  # an integer is as many bytes as the byte before it says
        return int.from_bytes(raw[at + 1 : at + 1 + raw[at]], "little"), at + 1 + raw[at]

    sizes = []
    for _ in range(7 if sized else 5):
        number, at = whole(at)
        sizes.append(number)
    return torch.from_numpy(np.frombuffer(raw, "<f4", math.prod(sizes[-4:]), at).copy())
