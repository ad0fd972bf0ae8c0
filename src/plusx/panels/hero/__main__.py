"""Write the first page's net that a reader can break, as HTML, into the file whose path is given.

Here lives what is computed, by torch and once for what it depends on, and its markup. js/page.js lets it be pressed;
without scripts it is a picture with both texts.
"""

import html
import json
import sys
from pathlib import Path

import torch

from ...explore.controls import Control
from ...explore.diagram import draw
from ...nets.switched import LAYER, encode, held_out, load, losses, trained

PROMPT = "You can use "
LENGTH = 110  # characters, less than two of the net's windows
TEMPERATURE, SEED = 0.6, 7
AROUND = ("attention", "FFN")  # the branches of a layer, in sequence


def texts() -> dict:
    """The net whole and with each of its 2 L skips cut: what it writes, and its loss on text that it never saw.

    {"written": 2 L + 1 texts, "loss": as many means in nats a character}, the whole net first.
    """
    net = load("characters")
    task, heldout = net.task, held_out(net.task)
    skips = [i for i in range(len(LAYER) * task.layers) if LAYER[i % len(LAYER)].endswith("skip")]
    whole = trained(task)
    settings = [whole] + [[*whole[:cut], 0, *whole[cut + 1 :]] for cut in skips]

    def written(switches):
        lot = torch.Generator().manual_seed(SEED)
        tokens = encode(task, PROMPT)
        for _ in range(LENGTH):
            scores = net(tokens[None, -task.places :], switches)[0, -1]
            following = torch.multinomial(torch.softmax(scores / TEMPERATURE, -1), 1, generator=lot)
            tokens = torch.cat([tokens, following])
        return "".join(task.alphabet[token] for token in tokens[len(PROMPT) :])

    with torch.no_grad():
        return {
            "written": [written(each) for each in settings],
            "loss": [losses(net, heldout, each).mean().item() for each in settings],
        }


def markup(made: dict) -> str:
    """The HTML of what `texts` gave."""
    count = len(made["written"]) - 1
    whole, cut = pieces(count, None), [pieces(count, at)[at] for at in range(count)]
    words = [f"skip around {AROUND[at % 2]} in layer {at // 2 + 1}" for at in range(count)]
    setup = {"prompt": PROMPT, "cut": cut, "names": words, **made}
    setup["written"] = [shown(each.rstrip()) for each in made["written"]]
    setup["loss"] = [f"{each:.1f}" for each in made["loss"]]
    data = json.dumps(setup, separators=(",", ":")).replace("<", "\\u003c")
    rows = "".join(
        f'<div class="hero-layer"><span class="hero-number">{number}</span>'
        f'<div class="hero-pieces">{attention}{ffn}</div></div>'
        for number, (attention, ffn) in enumerate(zip(whole[::2], whole[1::2]), 1)
    )
    first, other = (setup["written"][at] for at in (0, 3))
    return f"""<div class="plusx-hero" data-hero="whole">
<div class="px-diagram" role="group" aria-label="Six layers of a trained transformer; each skip is a switch">\
{rows}</div>
<p class="hero-text"><span class="hero-prompt">{html.escape(PROMPT)}</span>\
<span class="hero-written">{html.escape(first)}</span></p>
<noscript><p class="hero-cut">With the {words[2]} cut, the same net writes: \
<span class="hero-text">{html.escape(PROMPT + other)}</span></p></noscript>
<p class="hero-said"><button type="button" hidden>Cut one line</button> \
<span role="status">All twelve skips in place. Loss {setup["loss"][0]} nats a character.</span></p>
<script type="application/json" class="hero-setup">{data}</script>
</div>"""


def pieces(count: int, cut: int | None) -> list[str]:
    """The SVG of each branch with its skip, all whole but one; None: all whole."""
    controls = tuple(Control(f"skip_{at + 1}", "switch", ("off", "on"), (False, True), 1) for at in range(count))
    line = " ".join(f"[{AROUND[at % 2]}]:skip_{at + 1}" for at in range(count))
    drawn = [each["html"] for each in draw(line, controls, tuple(int(at != cut) for at in range(count)))]
    names = [f'data-name="skip {at + 1}"' for at in range(count)]
    told = [f'data-name="Skip around {AROUND[at % 2]}, layer {at // 2 + 1}"' for at in range(count)]
    return [each.replace(name, words) for each, name, words in zip(drawn, names, told)]


def shown(text: str) -> str:
    """The text in one line, as a picture has room for: its line breaks as signs."""
    return text.replace("\n", "↵")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markup(texts()), encoding="utf8")
