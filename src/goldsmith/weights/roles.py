"""What a weight is for, by the words that people use: gate, up, down and w1, w3, w2; ln_1 and input_layernorm.

A name may say several things: `w1` is a gate, or the first of two matrices. Two names speak for each other if they have
a role in common, and against each other if both have one and share none.
"""

from __future__ import annotations

import functools
import re

from goldsmith.weights.leaves import is_class_name
from goldsmith.weights.rules import parts_named

ATTENTION, FEED = "attention", "feed"
FIRST = "first"
"""The first of two matrices; of three it may be another."""
_PLACES = {
    ATTENTION: re.compile(r"att(n|ention)?|mha|self_?att.*|.*_att(n|ention)?|attention.*|mixer"),
    FEED: re.compile(r"mlp|ff|ffn?|feed.*|moe|.*_moe|experts?|.*_mlp|.*ffn?"),
}
_IN_ATTENTION = {
    "out": re.compile(r"w?_?o|(o|out|c|output|dense|final)_?(proj.*|lin.*)?|proj(ection)?|to_out|dense|w_?out?"),
}
_IN_FEED = {
    "gate": re.compile(r"gate(_proj)?|w1|fc_?1|w_?gate|wg|gate_?lin.*"),
    "up": re.compile(r"up(_proj)?|w3|fc_?2|w_?up|wu|linear_?v"),
    "down": re.compile(
        r"down(_proj)?|w2|fc_?[23]|w_?down|wd|c_proj|proj|dense_4h_to_h|lin(ear)?_?2|w_?out|output|dense|out(_proj)?"
    ),
    FIRST: re.compile(r"c_fc|fc_?1?|dense_h_to_4h|lin(ear)?_?1|up(_proj)?|intermediate|w_?in|w1|in_proj|dense_in"),
    "gate up": re.compile(r"gate_?up(_proj)?|w_?1[23]|wi|gate_and_up.*|fc_?1[23]"),
    "router": re.compile(r"gate|router|gating(_network)?|w_?g"),
}
_NORMS = {
    "before attention": re.compile(
        r"(layer_?)?(ln|norm)_?1|input_(layer_?)?norm|(self_)?(attention|attn|sa|att)_(layer_?)?norm|(layer_?)?norm_?before"
        r"|pre_(attention|attn|att)?_?(layer_?)?norm|before.*|ln_pre"
    ),
    "after attention": re.compile(
        r"(layer_?)?(ln|norm)_?2|post_(attention|attn|att)_(layer_?)?norm|(ffn?|mlp|feed_?forward|output)_(layer_?)?norm"
        r"|(layer_?)?norm_?after|after.*|pre_?(ffn?|mlp|feed_?forward)_?(layer_?)?norm"
    ),
    "last norm": re.compile(r"(ln|norm)_?f|final_?(layer_?)?norm|norm|final_ln|ln_(post|final)|(post_)?layer_?norm"),
}
_ENDS = {
    "tokens": re.compile(r"wte|(embed|tok|token|word|input)s?_?(tok(en)?s?|emb(ed)?(ding)?s?)?|tokens?|embed_in"),
    "places": re.compile(r"wpe|(embed_)?pos(ition)?(al)?s?(_?.*)|places"),
    "head": re.compile(r"(lm_|out_|output_)?head|output|unembed.*|classifier|embed_out|fc|logits|to_logits|lm"),
}


_TOWERS = {
    "vision": re.compile("vision|visual|image|pixel"),
    "text": re.compile("text|language"),
    "encoder": re.compile("encoder"),
    "decoder": re.compile("decoder"),
}


@functools.lru_cache(maxsize=4096)
def towers_of(path: str) -> frozenset[str]:
    """Return which of a model's towers a module belongs to, if names around it say so: the first such name decides."""
    for component in path.lower().split(".")[:-1]:
        found = frozenset(tower for tower, words in _TOWERS.items() if words.search(component))
        if found:
            return found
    return frozenset()


@functools.lru_cache(maxsize=4096)
def place_of(path: str) -> str:
    """Return whether a module is part of attention or of a feed-forward network, by the names around it."""
    for component in reversed(path.lower().split(".")[:-1]):
        for place, words in _PLACES.items():
            if words.fullmatch(component):
                return place
    return ""


@functools.lru_cache(maxsize=4096)
def roles_of(path: str) -> frozenset[str]:
    """Return what a module, or a weight of its own, may be for by its name and the names around it."""
    components = path.split(".")
    last = components[-1]
    if is_class_name(last):
        return frozenset()
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", last).lower()
    parts = parts_named(last)
    if parts:
        return frozenset([parts])
    place = place_of(path)
    tables = [_IN_ATTENTION] if place == ATTENTION else [_IN_FEED] if place == FEED else [_IN_ATTENTION, _IN_FEED]
    tables += [_NORMS] if place == "" else []
    tables += [_ENDS] if not place and "*" not in components else []
    return frozenset(role for table in tables for role, words in table.items() if words.fullmatch(word))
