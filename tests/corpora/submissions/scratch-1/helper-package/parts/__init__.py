from parts.attention import CausalSelfAttention
from parts.block import FeedForward, TransformerBlock
from parts.norm import RMSNorm
from parts.rope import RotaryEmbedding

__all__ = ["CausalSelfAttention", "FeedForward", "RMSNorm", "RotaryEmbedding", "TransformerBlock"]
