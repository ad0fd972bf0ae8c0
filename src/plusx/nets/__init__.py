"""Nets: what `x + F(x)` is built into. Blocks and stacks, ResNets in their five orders, transformers from one line.

Here live the nets. How they are trained is in `plusx.training`, what is asked of them in `plusx.measure`.
"""

from .residual import ACTIVATIONS, INITS, NORMS, Linear, Residual, Stack, states
from .resnet import ORDERS, block, linear, resnet_images, resnet_mlp
from .transformer import POST_NORM, PRE_NORM, Attention, Transformer, layer, token_linear
