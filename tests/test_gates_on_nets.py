"""plusx.measure.gates on nets of many fields: the additions of their source, and gates at 0 beside nets cut by hand.

The cuts by hand are hooks: what a module writes is zeroed, or is less by the stream that will be added to it.
"""

import contextlib
import warnings
from functools import partial

import pytest
import torch
import transformers
from test_gates import named, spelled
from torch import nn

from plusx.measure.gates import switches

IDS = torch.tensor([[5, 1, 4, 1, 3, 9], [2, 7, 1, 8, 2, 6]])
DRAWN = torch.Generator().manual_seed(0)
IMAGES = torch.randn(2, 3, 32, 32, generator=DRAWN).double()
SOUND = torch.randn(2, 500, generator=DRAWN).double()
SERIES = torch.randn(2, 32, 2, generator=DRAWN).double()
WORDS = torch.randn(2, 6, 32, generator=DRAWN).double()
EDGES = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
ENDS = dict(bos_token_id=0, eos_token_id=0, pad_token_id=0)
WIDE = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2)
TEXT = dict(vocab_size=50, **WIDE)
LLAMA = TEXT | ENDS | dict(num_key_value_heads=1)
LONG_HEADS = LLAMA | dict(head_dim=16)
HEARD = WIDE | dict(
    conv_dim=(16, 16),
    conv_kernel=(10, 3),
    conv_stride=(5, 2),
    num_conv_pos_embeddings=4,
    num_conv_pos_embedding_groups=2,
)
BOTH = dict(vocab_size=50, d_model=32, decoder_start_token_id=0, **ENDS)
BOTH |= {f"{part}_{name}": 2 for part in ("encoder", "decoder") for name in ("layers", "attention_heads")}
BOTH |= dict(encoder_ffn_dim=64, decoder_ffn_dim=64)
RESNET = dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", out_features=["stage2"])
OWN_EYES = dict(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None)
LAYER, BLOCK = "model.layers.1", "transformer.h.1"


def made(make):
    with torch.random.fork_rng([]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        model = make().double().eval()
        for name, weights in model.named_parameters():
            if "bias" in name or "gamma" in name or "scale" in name:
                nn.init.normal_(weights, std=0.5)  # what is zeroed in the wrong place shows
    return model


def kind(name, config=None, **settings):
    config = getattr(transformers, config or name.removesuffix("Model").partition("For")[0] + "Config")
    return partial(lambda name, settings: getattr(transformers, name)(config(**settings)), name, settings)


def writer(path, stream=None, times=1):
    """The module that writes, the one whose input is the stream, and by what the source multiplies what is written."""
    return path, stream, times


class Forecast(nn.Module):
    """Blocks as in N-BEATS: each takes off its input what it has told, and adds to the forecast what comes next."""

    def __init__(self):
        super().__init__()
        self.bodies = nn.ModuleList(nn.Sequential(nn.Linear(32, 16), nn.ReLU()) for _ in range(3))
        self.told = nn.ModuleList(nn.Linear(16, 32) for _ in range(3))
        self.next = nn.ModuleList(nn.Linear(16, 4) for _ in range(3))

    def forward(self, x):
        forecast = torch.zeros(len(x), 4, dtype=x.dtype)
        for body, told, following in zip(self.bodies, self.told, self.next):
            h = body(x)
            x = x - told(h)
            forecast = forecast + following(h)
        return torch.cat([forecast, x], 1)


class Bottleneck(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(*[nn.Conv2d(4, 4, 3, padding=1), nn.SiLU()] * 2)

    def forward(self, x):
        return x + self.convs(x)


class Partial(nn.Module):
    """A stage as in YOLO: half of the channels go by blocks, and what each gives is laid beside the others."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 8, 1), nn.Conv2d(16, 8, 1)
        self.blocks = nn.ModuleList(Bottleneck() for _ in range(2))

    def forward(self, x):
        parts = [*self.first(x).chunk(2, 1)]
        for block in self.blocks:
            parts.append(block(parts[-1]))
        return self.last(torch.cat(parts, 1))


# The net, its inputs, the additions in its source as `named` has them, and of some who writes there and to what.
TESTED = {
    "N-BEATS, two streams": (
        Forecast,
        (SERIES[:, :, 0],),
        "told.0 told.1 next.1 told.2 next.2",  # the first forecast has no stream yet
        {1: writer("told.1"), 2: writer("next.1")},
    ),
    "YOLO's blocks in half of the channels": (
        Partial,
        (IMAGES,),
        "blocks.{0,1}.convs",
        {0: writer("blocks.0.convs", "blocks.0"), 1: writer("blocks.1.convs", "blocks.1")},
    ),
    "BLOOM adds inside its modules": (
        kind("BloomForCausalLM", vocab_size=50, hidden_size=32, n_layer=2, n_head=2, **ENDS),
        (IDS,),
        "transformer.h.{0,1}.{self_attention.dense,mlp.dense_4h_to_h}",
        {2: writer(f"{BLOCK}.self_attention.dense", BLOCK), 3: writer(f"{BLOCK}.mlp.dense_4h_to_h")},
    ),
    "OLMo 2, a norm behind the branch": (
        kind("Olmo2ForCausalLM", **LLAMA),
        (IDS,),
        "model.layers.{0,1}.post_{attention,feedforward}_layernorm",
        {2: writer(f"{LAYER}.post_attention_layernorm", LAYER), 3: writer(f"{LAYER}.post_feedforward_layernorm")},
    ),
    "Granite, a factor before the sum": (
        kind("GraniteForCausalLM", **LLAMA, residual_multiplier=0.5),
        (IDS,),
        "model.layers.{0,1}.{self_attn,mlp}",
        {2: writer(f"{LAYER}.self_attn", LAYER, 0.5), 3: writer(f"{LAYER}.mlp")},
    ),
    "GPT-NeoX in sequence": (
        kind("GPTNeoXForCausalLM", **TEXT, **ENDS, use_parallel_residual=False),
        (IDS,),
        "gpt_neox.layers.{0,1}.post_{attention,mlp}_dropout",
        {2: writer("gpt_neox.layers.1.attention", "gpt_neox.layers.1"), 3: writer("gpt_neox.layers.1.mlp")},
    ),
    "Cohere, two branches beside one stream": (
        kind("CohereForCausalLM", **LLAMA),
        (IDS,),
        "model.layers.{0,1}.mlp{,#2}",
        {2: writer(f"{LAYER}.self_attn", LAYER), 3: writer(f"{LAYER}.mlp")},
    ),
    "StableLM, the same": (
        kind("StableLmForCausalLM", **LLAMA, use_parallel_residual=True),
        (IDS,),
        "model.layers.{0,1}.dropout{,#2}",
        {2: writer(f"{LAYER}.self_attn", LAYER), 3: writer(f"{LAYER}.mlp")},
    ),
    "Apertus, sums in its activation": (
        kind("ApertusForCausalLM", **LLAMA),
        (IDS,),
        "model.layers.{0,1}.{self_attn,mlp}",
        {2: writer(f"{LAYER}.self_attn", LAYER), 3: writer(f"{LAYER}.mlp")},
    ),
    "BERT with two losses": (
        kind("BertForPreTraining", "BertConfig", **TEXT),
        (IDS,),
        "bert.encoder.layer.{0,1}.{attention.output,output}.dropout",
        {2: writer("bert.encoder.layer.1.attention.output.dense", "bert.encoder.layer.1")},
    ),
    "FNet, Fourier transforms": (
        kind("FNetModel", vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=2),
        (IDS,),
        "encoder.layer.{0,1}.{fourier.output:,output.dropout}",
        {2: writer("encoder.layer.1.fourier.self", "encoder.layer.1"), 3: writer("encoder.layer.1.output.dense")},
    ),
    "T5, encoder and decoder": (
        kind("T5Model", vocab_size=50, d_model=32, d_ff=64, num_layers=2, num_heads=2, d_kv=16, **ENDS),
        (IDS, None, IDS),
        "encoder.block.{0,1}.layer.{0,1}.dropout decoder.block.{0,1}.layer.{0,1,2}.dropout",
        {
            2: writer("encoder.block.1.layer.0.SelfAttention", "encoder.block.1"),
            8: writer("decoder.block.1.layer.1.EncDecAttention", "decoder.block.1.layer.1"),
        },
    ),
    "wav2vec 2": (
        kind("Wav2Vec2Model", **HEARD),
        (SOUND,),
        "encoder.pos_conv_embed encoder.layers.{0,1}.{dropout,feed_forward}",
        {3: writer("encoder.layers.1.attention", "encoder.layers.1")},
    ),
    "DETR, whose second stream begins as zeros": (
        kind(
            "DetrModel",
            **OWN_EYES,
            backbone_config=transformers.ResNetConfig(**RESNET),
            num_queries=5,
            **{
                name: value
                for name, value in BOTH.items()
                if name not in ("vocab_size", "decoder_start_token_id", *ENDS)
            },
        ),
        (IMAGES,),
        "backbone.model.encoder.stages.{0,1}.layers.0.shortcut encoder.layers.{0,1}.{self_attn,mlp} "
        "decoder.layers.{0,1}.{self_attn,encoder_attn,mlp}",
        {6: writer("decoder.layers.0.self_attn"), 9: writer("decoder.layers.1.self_attn", "decoder.layers.1")},
    ),
    "PatchTST": (
        kind(
            "PatchTSTModel",
            num_input_channels=2,
            context_length=32,
            patch_length=4,
            patch_stride=4,
            d_model=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            ffn_dim=32,
        ),
        (SERIES,),
        "encoder.layers.{0,1}.{dropout_path1,dropout_path3}",
        {2: writer("encoder.layers.1.self_attn")},
    ),
    "Mamba 2": (
        kind(
            "Mamba2ForCausalLM",
            vocab_size=50,
            hidden_size=32,
            num_hidden_layers=2,
            num_heads=4,
            head_dim=16,
            state_size=8,
            n_groups=1,
            residual_in_fp32=False,
            **ENDS,
        ),
        (IDS,),
        "backbone.layers.{0,1}.mixer",
        {1: writer("backbone.layers.1.mixer", "backbone.layers.1")},
    ),
}
TESTED |= {
    "RWKV 4, sums in its state": (
        kind("RwkvForCausalLM", vocab_size=50, hidden_size=32, num_hidden_layers=2, context_length=16),
        (IDS,),
        "rwkv.blocks.{0,1}.{attention,feed_forward}",
        {2: writer("rwkv.blocks.1.attention"), 3: writer("rwkv.blocks.1.feed_forward")},
    ),
    **{
        f"LongT5, {name}, one bias for all layers": (
            kind(
                "LongT5EncoderModel",
                "LongT5Config",
                vocab_size=50,
                d_model=32,
                d_ff=64,
                num_layers=2,
                num_heads=2,
                d_kv=16,
                local_radius=2,
                global_block_size=2,
                encoder_attention_type=name,
                **ENDS,
            ),
            (IDS,),
            "encoder.block.{0,1}.layer.{0,1}.dropout",
            {
                2 * at: writer(f"encoder.block.{at}.layer.0.{part}SelfAttention", f"encoder.block.{at}")
                for at in range(2)
            },
        )
        for name, part in (("local", "Local"), ("transient-global", "TransientGlobal"))
    },
}
DECODER = "model.layers.{0,1}.{self_attn,mlp}", {2: writer(f"{LAYER}.self_attn", LAYER), 3: writer(f"{LAYER}.mlp")}
AUDITED = {
    "Jamba, a state space, then attention": (
        kind(
            "JambaModel",
            **LLAMA,
            attn_layer_period=2,
            attn_layer_offset=1,
            num_experts=1,
            use_mamba_kernels=False,
            mamba_d_state=4,
            mamba_dt_rank=4,
        ),
        (IDS,),
        "layers.0.{mamba,feed_forward} layers.1.{self_attn,feed_forward}",
        {0: writer("layers.0.mamba"), 2: writer("layers.1.self_attn", "layers.1"), 3: writer("layers.1.feed_forward")},
    ),
    "Funnel, whose decoder adds what its first block gave": (
        kind(
            "FunnelModel",
            vocab_size=50,
            block_sizes=[1, 1],
            num_decoder_layers=2,
            d_model=32,
            n_head=2,
            d_head=16,
            d_inner=64,
        ),
        (IDS,),
        "encoder.blocks.{0,1}.0.{attention.hidden_,ffn.}dropout decoder: "
        "decoder.layers.{0,1}.{attention.hidden_,ffn.}dropout",
        {2: writer("encoder.blocks.1.0.attention.post_proj"), 7: writer("decoder.layers.1.attention.post_proj")},
    ),
    "OLMo 3": (kind("Olmo3ForCausalLM", **LLAMA), (IDS,), *TESTED["OLMo 2, a norm behind the branch"][2:]),
    "Cohere 2": (kind("Cohere2ForCausalLM", **LLAMA), (IDS,), "model.layers.{0,1}.mlp{,#2}", DECODER[1]),
    "Gemma 2": (
        kind("Gemma2ForCausalLM", **LONG_HEADS),
        (IDS,),
        "model.layers.{0,1}.post_{attention,feedforward}_layernorm",
        {2: writer(f"{LAYER}.post_attention_layernorm")},
    ),
    "Phi": (kind("PhiForCausalLM", **TEXT, **ENDS), (IDS,), "model.layers.{0,1}.resid_dropout#2", {}),
    "Phi 3": (kind("Phi3ForCausalLM", **LLAMA), (IDS,), "model.layers.{0,1}.resid_{attn,mlp}_dropout", DECODER[1]),
    "Nemotron": (kind("NemotronForCausalLM", **LLAMA), (IDS,), *DECODER),
    "Qwen 3": (kind("Qwen3ForCausalLM", **LONG_HEADS), (IDS,), *DECODER),
    "Starcoder 2": (kind("Starcoder2ForCausalLM", **LLAMA), (IDS,), *DECODER),
    "Falcon, parallel": (
        kind("FalconForCausalLM", **TEXT, **ENDS),
        (IDS,),
        "transformer.h.{0,1}.mlp#2",
        {},
    ),
    "GPT-J": (
        kind("GPTJForCausalLM", vocab_size=50, n_embd=32, n_layer=2, n_head=2, rotary_dim=8, **ENDS),
        (IDS,),
        "transformer.h.{0,1}.mlp#2",
        {},
    ),
    "XLNet": (
        kind("XLNetModel", vocab_size=50, d_model=32, n_layer=2, n_head=2, d_inner=64),
        (IDS,),
        "layer.{0,1}.{rel_attn,ff}.dropout",
        {},
    ),
    "ESM": (
        kind("EsmModel", **TEXT, pad_token_id=0, mask_token_id=1, position_embedding_type="rotary"),
        (IDS,),
        "encoder.layer.{0,1}.{attention.output,output}.dropout",
        {2: writer("encoder.layer.1.attention.output.dense", "encoder.layer.1")},
    ),
    "BART": (
        kind("BartModel", **BOTH),
        (IDS, None, IDS),
        "encoder.layers.{0,1}.{self_attn,fc2} decoder.layers.{0,1}.{self_attn,encoder_attn,fc2}",
        {2: writer("encoder.layers.1.self_attn", "encoder.layers.1")},
    ),
    "Whisper": (
        kind("WhisperModel", **BOTH, num_mel_bins=8, max_source_positions=10, max_target_positions=20),
        (torch.ones(2, 8, 20).double(), None, IDS),
        "encoder.layers.{0,1}.{self_attn,fc2} decoder.layers.{0,1}.{self_attn,encoder_attn,fc2}",
        {2: writer("encoder.layers.1.self_attn", "encoder.layers.1")},
    ),
    "HuBERT": (
        kind("HubertModel", **HEARD),
        (SOUND,),
        "encoder.pos_conv_embed encoder.layers.{0,1}.{dropout,feed_forward}",
        {3: writer("encoder.layers.1.attention", "encoder.layers.1")},
    ),
    "WavLM": (
        kind("WavLMModel", **HEARD),
        (SOUND,),
        "encoder.pos_conv_embed encoder.layers.{0,1}.{dropout,feed_forward}",
        {},
    ),
    "a conformer": (
        kind("Wav2Vec2ConformerModel", **HEARD, position_embeddings_type="relative"),
        (SOUND,),
        "encoder.layers.{0,1}.{ffn1,self_attn_dropout,conv_module,ffn2}",
        {},
    ),
    "an audio transformer": (
        kind("ASTModel", **WIDE, num_mel_bins=16, max_length=32, patch_size=8),
        (SERIES.expand(2, 32, 2).repeat(1, 1, 8),),
        "layers.{0,1}.dropout{,#2}",
        {},
    ),
    "PatchTSMixer": (
        kind(
            "PatchTSMixerModel",
            context_length=32,
            patch_length=4,
            patch_stride=4,
            num_input_channels=2,
            d_model=8,
            num_layers=2,
            mode="mix_channel",
        ),
        (SERIES,),
        "encoder.mlp_mixer_encoder.mixers.{0,1}."
        "{channel_feature_mixer.mlp,patch_mixer.gating_block,feature_mixer.gating_block}",
        {},
    ),
    "YOLOS": (
        kind("YolosModel", **WIDE, image_size=[32, 32], patch_size=8, num_detection_tokens=5),
        (IMAGES,),
        "encoder.layer.{0,1}.{attention,output.dropout}",
        {},
    ),
    "DINOv2": (
        kind("Dinov2Model", hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=8),
        (IMAGES,),
        "encoder.layer.{0,1}.drop_path{,#2}",
        {},
    ),
    "ConvNeXt 2": (
        kind("ConvNextV2Model", hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 2, 1]),
        (IMAGES,),
        "encoder.stages.{0.layers.0,1.layers.0,2.layers.0,2.layers.1,3.layers.0}.drop_path",
        {},
    ),
    "Swin 2": (
        kind("Swinv2Model", image_size=32, patch_size=4, embed_dim=8, depths=[2, 2], num_heads=[2, 2], window_size=4),
        (IMAGES,),
        "encoder.layers.{0,1}.blocks.{0,1}.drop_path{,#2}",
        {},
    ),
    "Perceiver": (
        kind(
            "PerceiverModel",
            num_latents=4,
            d_latents=16,
            d_model=8,
            num_blocks=1,
            num_self_attends_per_block=2,
            num_self_attention_heads=2,
            num_cross_attention_heads=2,
            qk_channels=16,
            v_channels=16,
        ),
        (torch.ones(2, 10, 8).double(),),
        "encoder.{cross_attention,self_attends.0,self_attends.1}.{attention.output,mlp}",
        {},
    ),
    "CLIP": (
        kind(
            "CLIPModel",
            text_config=dict(TEXT, max_position_embeddings=16, **ENDS),
            vision_config=dict(WIDE, image_size=32, patch_size=8),
        ),
        (IDS, IMAGES),
        "{vision,text}_model.encoder.layers.{0,1}.{self_attn,mlp}",
        {2: writer("vision_model.encoder.layers.1.self_attn", "vision_model.encoder.layers.1")},
    ),
}


def streams_of(name):
    """A net of three blocks with four streams, of `hyper_connections`."""
    from hyper_connections import HyperConnections
    from hyper_connections.manifold_constrained_hyper_connections import ManifoldConstrainedHyperConnections

    of = {"plain": HyperConnections, "constrained": ManifoldConstrainedHyperConnections}[name]
    begin, expand, reduce = of.get_init_and_expand_reduce_stream_functions(4, dim=32)
    branches = [nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)) for _ in range(3)]
    return nn.Sequential(expand, *[begin(branch=branch) for branch in branches], reduce)


class Graphs(nn.Module):
    """Layers of torch_geometric, one behind the other. initial: each is given what the first was given, too."""

    def __init__(self, make, initial=False):
        super().__init__()
        self.first, self.initial = nn.Linear(32, 16), initial
        self.layers = nn.ModuleList([make(__import__("torch_geometric.nn").nn) for _ in range(2)])

    def forward(self, x, edges):
        x = first = self.first(x).relu()
        for layer in self.layers:
            x = layer(x, first, edges).relu() if self.initial else layer(x, edges)
        return x


def of(library, name, *given, **settings):
    """A net of a library that only the audit installs."""

    def make():
        module = __import__(library, fromlist=[name])
        return getattr(module, name)(*given, **settings)

    return make


LIBRARIES = {
    "four streams": (partial(streams_of, "plain"), (WORDS,), "{1,2,3}.merge_fracs", {1: writer("2.branch")}),
    "four streams, constrained": (
        partial(streams_of, "constrained"),
        (WORDS,),
        "{1,2,3}.merge_fracs",
        {1: writer("2.branch")},
    ),
    "a local transformer, four streams by default": (
        of(
            "local_attention",
            "LocalTransformer",
            num_tokens=50,
            dim=32,
            depth=2,
            heads=2,
            dim_head=16,
            local_attn_window_size=4,
            max_seq_len=8,
        ),
        (IDS[:, :4],),
        "layers.{0,1}.{0,1}.merge_fracs",
        {},
    ),
    "SD3, two streams": (
        of(
            "diffusers",
            "SD3Transformer2DModel",
            sample_size=8,
            patch_size=2,
            in_channels=4,
            num_layers=2,
            attention_head_dim=8,
            num_attention_heads=2,
            caption_projection_dim=16,
            joint_attention_dim=16,
            pooled_projection_dim=16,
            out_channels=4,
            pos_embed_max_size=8,
        ),
        (
            torch.ones(2, 4, 8, 8).double(),
            torch.ones(2, 5, 16).double(),
            torch.ones(2, 16).double(),
            torch.tensor([1, 2]),
        ),
        "transformer_blocks.0.{attn,ff,ff#2,ff_context} transformer_blocks.1.{attn,ff}",
        {},
    ),
    "a ResNet for tables": (
        of(
            "rtdl_revisiting_models",
            "ResNet",
            d_in=8,
            d_out=1,
            n_blocks=3,
            d_block=16,
            d_hidden_multiplier=2.0,
            dropout1=0.0,
            dropout2=0.0,
        ),
        (WORDS[0, :, :8],),
        "blocks.{0,1,2}",
        {},
    ),
    "an FT-Transformer, for tables": (
        of(
            "rtdl_revisiting_models",
            "FTTransformer",
            n_cont_features=3,
            cat_cardinalities=[4, 5],
            d_out=1,
            n_blocks=2,
            d_block=16,
            attention_n_heads=2,
            attention_dropout=0.0,
            ffn_d_hidden=None,
            ffn_d_hidden_multiplier=2.0,
            ffn_dropout=0.0,
            residual_dropout=0.0,
        ),
        (SERIES[:, 0, :1].expand(2, 3).clone(), torch.tensor([[1, 2], [0, 3]])),
        "backbone.blocks.{0,1}.{attention,ffn}_residual_dropout",
        {2: writer("backbone.blocks.1.attention"), 3: writer("backbone.blocks.1.ffn")},
    ),
    "DiT": (
        of(
            "diffusers",
            "DiTTransformer2DModel",
            num_attention_heads=2,
            attention_head_dim=8,
            in_channels=3,
            num_layers=2,
            sample_size=8,
            patch_size=2,
            norm_num_groups=2,
            num_embeds_ada_norm=5,
        ),
        (IMAGES[:, :, :8, :8], torch.tensor([1, 2]), torch.tensor([2, 3])),
        "transformer_blocks.{0,1}.{attn1,ff}",
        {2: writer("transformer_blocks.1.attn1"), 3: writer("transformer_blocks.1.ff")},
    ),
    "a conformer for speech": (
        of("conformer", "Conformer", dim=32, depth=2, dim_head=8, heads=2, ff_mult=2, conv_kernel_size=3),
        (WORDS,),
        "layers.{0,1}.{ff1,attn,conv,ff2}",
        {
            4: writer("layers.1.ff1", "layers.1"),
            5: writer("layers.1.attn", "layers.1.attn"),
            6: writer("layers.1.conv", "layers.1.conv"),
        },
    ),
    "GCNII, what it began with and an identity": (
        partial(Graphs, lambda nn: nn.GCN2Conv(16, 0.1, 0.5, 1), initial=True),
        (WORDS[0, :5], EDGES),
        "layers.{0,1}.aggr_module{,#2}",
        {},
    ),
    "GCNII, its two matrices apart": (
        partial(Graphs, lambda nn: nn.GCN2Conv(16, 0.1, 0.5, 1, shared_weights=False), initial=True),
        (WORDS[0, :5], EDGES),
        "layers.{0,1}.aggr_module{,#2,#3}",
        {},
    ),
    "TabTransformer, four streams by default": (
        of(
            "tab_transformer_pytorch",
            "TabTransformer",
            categories=(3, 4, 5),
            num_continuous=2,
            dim=16,
            depth=2,
            heads=2,
            dim_head=8,
            mlp_act=nn.ReLU(),
        ),
        (torch.tensor([[0, 1, 2], [2, 3, 4]]), SERIES[:, 0]),
        "transformer.layers.{0,1}.{0,1}.merge_fracs",
        {3: writer("transformer.layers.1.1.branch")},
    ),
    "GraphGPS, whose sum of two streams has none": (
        partial(Graphs, lambda nn: nn.GPSConv(16, nn.GCNConv(16, 16), heads=2)),
        (WORDS[0, :5], EDGES),
        "layers.{0,1}.{conv,attn,mlp}",
        {3: writer("layers.1.conv"), 4: writer("layers.1.attn"), 5: writer("layers.1.mlp")},
    ),
    "graph attention without a skip": (
        of("torch_geometric.nn", "GAT", 8, 8, 2, 4),
        (WORDS[0, :5, :8], EDGES),
        "",
        {},
    ),
    **{
        f"x-transformers, {name}": (
            of("x_transformers", "Decoder", dim=32, depth=2, heads=2, **({name: value} if value else {})),
            (WORDS,),
            names,
            {},
        )
        for name, value, names in (
            ("as it is", None, "layers.{0,1,2,3}.2:"),
            ("reinject_input", True, "layers.{0,1,2,3}.2:"),
            ("mv_split_residual", True, "layers.{0,1,2,3}.2:#2"),
            ("num_residual_streams", 4, "layers.{0,1,2,3}.2:"),
            ("residual_attn", True, "layers.{0.2,1.2,2.1.attend,2.2,3.2}:"),
            ("scale_residual", True, "layers.{0,1,2,3}.2:"),
            ("gate_residual", True, ""),
        )
    },
}


@contextlib.contextmanager
def by_hand(model, path, stream=None, times=1):
    """While this lasts a module writes nothing; or, told whose input the stream is, less by the stream."""
    given = {}

    def keep(module, inputs, named):
        given["stream"] = inputs[0] if inputs else next(iter(named.values()))

    def less(module, inputs, output):
        first = output[0] if isinstance(output, tuple) else output
        changed = 0 * first if stream is None else first - given["stream"] / times
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    hooks = [model.get_submodule(path).register_forward_hook(less)]
    if stream is not None:
        hooks.append(model.get_submodule(stream).register_forward_pre_hook(keep, with_kwargs=True))
    yield
    for hook in hooks:
        hook.remove()


@torch.no_grad()
def answer(model, inputs):
    out = model(*inputs)
    return out if isinstance(out, torch.Tensor) else out[0]


def compared(make, inputs, names, cuts):
    model = made(make)
    if not names:
        with pytest.raises(ValueError, match="no residual addition"):
            switches(model, *inputs)
        return
    gates = switches(model, *inputs)
    assert named(gates) == spelled(names), gates
    plain = answer(model, inputs)
    with gates:
        torch.testing.assert_close(answer(model, inputs), plain, rtol=1e-12, atol=1e-12)
    for at, (path, stream, times) in cuts.items():
        for name, whose in [("branch", None)] + [("skip", stream)] * bool(stream):
            getattr(gates, name)[at] = 0
            with gates:
                gated = answer(model, inputs)
            getattr(gates, name)[at] = 1
            with by_hand(model, path, whose, times):
                torch.testing.assert_close(gated, answer(model, inputs), rtol=1e-9, atol=1e-9, msg=f"{name} {at}")
            assert not torch.allclose(gated, plain), (name, at)


@pytest.mark.parametrize("name", TESTED)
def test_nets_of_many_fields(name):
    compared(*TESTED[name])


@pytest.mark.audit
@pytest.mark.parametrize("name", AUDITED)
def test_more_nets_of_many_fields(name):
    compared(*AUDITED[name])


@pytest.mark.audit
@pytest.mark.parametrize("name", LIBRARIES)
def test_nets_of_other_libraries(name):
    compared(*LIBRARIES[name])
