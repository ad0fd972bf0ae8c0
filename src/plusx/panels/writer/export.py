"""The language model as an ONNX file, which a browser runs: the weights of `plusx.nets.pretrained`, not rounded anew.

A number of that file is d q + m, with four bits q and, for each 32, a d and an m (GGUF's Q4_1); onnxruntime's
MatMulNBits computes d (q - z), so z is -m / d. Embeddings are d q, with eight bits q. The gates are inputs.
"""

from pathlib import Path

import gguf
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from plusx.nets.pretrained import NETS, pretrained
from plusx.panels.onnx import asked

LAYERS, HEADS, KEYS, HEAD, WIDTH, WORDS, BLOCK = 30, 9, 3, 64, 576, 49152, 32
PLACES = 512  # of which there are angles
OURS = "com.microsoft"  # onnxruntime's own operators
FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64


class Graph:
    """Nodes and constants as they are added; each method gives the name of what it adds."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], []

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, kind, *inputs, gives=(), **settings):
        outputs = list(gives) or [f"n{len(self.nodes)}"]
        domain = OURS if kind in ("MatMulNBits", "GroupQueryAttention") else ""
        self.nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **settings))
        return outputs[0]

    def floats(self, array):
        return self.node("Cast", self.constant(array), to=FLOAT)

    def linear(self, x, name):
        """x (1, n, inputs) times a matrix of Q4_1: (1, n, outputs)."""
        inputs, outputs = (int(size) for size in self.weights[name].shape)
        blocks = np.asarray(self.weights[name].data).reshape(outputs, inputs // BLOCK, 20)
        d, m = (blocks[..., at : at + 2].copy().view(np.float16)[..., 0] for at in (0, 2))
        if not d.all():
            raise ValueError(f"export: {name} has a block with d = 0, which MatMulNBits cannot have.")
        q = np.concatenate([blocks[..., 4:] & 15, blocks[..., 4:] >> 4], -1)
        scale = self.floats(d)
        zero = self.node("Div", self.node("Neg", self.floats(m)), scale)
        packed = self.constant(q[..., ::2] | q[..., 1::2] << 4)
        return self.node("MatMulNBits", x, packed, scale, zero, K=inputs, N=outputs, bits=4, block_size=BLOCK)

    def norm(self, x, name):
        scale = self.constant(np.asarray(self.weights[name].data))
        return self.node("SimplifiedLayerNormalization", x, scale, axis=-1, epsilon=1e-5)

    def gated(self, x, branch, at):
        """skip x + F(x), with the gates of addition `at`."""
        return self.node("Add", self.node("Mul", x, f"skip{at}"), self.node("Mul", branch, f"branch{at}"))


def graph_of(weights):
    """From ids (1, n), skip and branch (60,), past_k0, past_v0 ... (1, 3, p, 64) to scores (1, 1, 49152), k0, v0 ..."""
    g = Graph(weights)
    rows = np.asarray(weights["token_embd.weight"].data).reshape(WORDS, WIDTH // BLOCK, 34)
    scale = g.node("Unsqueeze", g.floats(rows[..., :2].copy().view(np.float16)[..., 0]), last := g.constant([-1]))
    table = g.node("Mul", g.floats(rows[..., 2:].view(np.int8)), scale)
    table = g.node("Reshape", table, g.constant([WORDS, WIDTH]))
    x = g.node("Gather", table, "ids")
    for gate in "skip", "branch":
        g.node("Split", gate, gives=[f"{gate}{at}" for at in range(2 * LAYERS)], num_outputs=2 * LAYERS)
    lengths = (g.node("Shape", "past_k0", start=2, end=3), g.node("Shape", "ids", start=1, end=2))
    total = g.node("Cast", g.node("Add", *lengths), to=INT32)
    before = g.node("Sub", total, g.constant(np.array([1], np.int32)))
    total = g.node("Squeeze", total)
    angles = np.outer(np.arange(PLACES), 100_000.0 ** -(np.arange(0, HEAD, 2) / HEAD))
    turns = [g.constant(part(angles).astype(np.float32)) for part in (np.cos, np.sin)]
    past = [f"{part}{layer}" for layer in range(LAYERS) for part in "kv"]
    for layer in range(LAYERS):
        own = f"blk.{layer}."
        read = g.norm(x, f"{own}attn_norm.weight")
        heard = g.node(
            "GroupQueryAttention",
            *(g.linear(read, f"{own}attn_{part}.weight") for part in "qkv"),
            *(f"past_{part}{layer}" for part in "kv"),
            *(before, total, *turns),
            gives=[f"heard{layer}", f"k{layer}", f"v{layer}"],
            num_heads=HEADS,
            kv_num_heads=KEYS,
            do_rotary=1,
            rotary_interleaved=1,
        )
        x = g.gated(x, g.linear(heard, f"{own}attn_output.weight"), 2 * layer)
        read = g.norm(x, f"{own}ffn_norm.weight")
        gate, up = (g.linear(read, f"{own}ffn_{part}.weight") for part in ("gate", "up"))
        up = g.node("Mul", g.node("Mul", gate, g.node("Sigmoid", gate)), up)
        x = g.gated(x, g.linear(up, f"{own}ffn_down.weight"), 2 * layer + 1)
    end = g.node("Gather", g.norm(x, "output_norm.weight"), last, axis=1)
    scores = g.node("Gemm", g.node("Reshape", end, g.constant([1, WIDTH])), table, transB=1)
    g.node("Reshape", scores, g.constant([1, 1, WORDS]), gives=["scores"])

    def value(name, kind, *shape):
        return helper.make_tensor_value_info(name, kind, shape)

    gates = [value(gate, FLOAT, 2 * LAYERS) for gate in ("skip", "branch")]
    kept = [value(f"past_{name}", FLOAT, 1, KEYS, "p", HEAD) for name in past]
    gives = [value("scores", FLOAT, 1, 1, WORDS), *(value(name, FLOAT, 1, KEYS, "t", HEAD) for name in past)]
    return helper.make_graph(g.nodes, "writer", [value("ids", INT64, 1, "n"), *gates, *kept], gives, g.constants)


def export(name, path):
    """Write the "model", 97 MB, or "words", its tokenizer, 2 MB of JSON; takes some 20 s, and gguf.

    What is raised if the weights are missing is `pretrained`'s.
    """
    model, tokenizer = pretrained()
    if name == "words":
        Path(path).write_text(tokenizer.backend_tokenizer.to_str(), encoding="utf8")
        return
    weights = {each.name: each for each in gguf.GGUFReader(Path(model.name_or_path, NETS["smollm2"].file)).tensors}
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(OURS, 1)]
    whole = helper.make_model(graph_of(weights), opset_imports=opsets, ir_version=10)
    Path(path).write_bytes(whole.SerializeToString(deterministic=True))


if __name__ == "__main__":
    asked(export)
