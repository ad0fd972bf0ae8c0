"""The playground: trained nets of `plusx.nets.switched` behind a diagram of switches.

Here lives `playground`, the one name a chapter imports. In the book's page onnxruntime-web computes,
in a live notebook torch does; what draws, js/playground.js, is the same. A notebook's file keeps a table beside it.
"""

from typing import NamedTuple

from ..live import open_door
from .live import Live
from .page import START, fragment, markup


class Challenge(NamedTuple):
    """A question that some settings of the switches answer.

    net: which net it is about. ask: what to find. accepted: each setting that is right.
    told: what to tell who has found one.
    """

    net: str
    ask: str
    accepted: list
    told: str


def playground(nets, presets, challenges, known=None):
    """Show nets with a switch on every skip, branch, norm and activation.

    nets: "characters", "sorting", or both, to a trained `Switched`. presets: name to a setting
        of the switches, a list of numbers (see `plusx.nets.switched.VALUES`). challenges: of `Challenge`.
    known: for each net, held-out losses by settings: what a page tells of these before its nets are loaded.

    ValueError: a net of another name, a setting that no net has, or nets with different switches.
    """
    if strange := sorted(set(nets) - set(START)):
        raise ValueError(f"playground: no start input for {', '.join(strange)}; nets are {' and '.join(START)}.")
    lengths = {len(net.layers) for net in nets.values()}
    if len(lengths) != 1:
        raise ValueError(f"playground: the nets have {sorted(lengths)} layers; give nets of one depth.")
    for name, switches in [*presets.items(), *((c.ask, s) for c in challenges for s in c.accepted)]:
        next(iter(nets.values())).check(switches, name)
    given = nets, presets, challenges, known
    open_door(lambda: fragment(*given), lambda: Live(nets, markup(*given), presets))
