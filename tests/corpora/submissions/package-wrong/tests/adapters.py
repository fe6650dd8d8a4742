"""What the official tests call."""

from transformer_basics import functional, layers

from .helpers_rope import Rope


def _loaded(module, weights, like):
    """`module` with `weights` in it, in the dtype and on the device of a tensor."""
    module = module.to(device=like.device, dtype=like.dtype if like.is_floating_point() else None)
    module.load_state_dict(weights)
    return module


def run_linear(d_in, d_out, weights, in_features):
    return _loaded(layers.Linear(d_in, d_out), {"weight": weights}, in_features)(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return _loaded(layers.Embedding(vocab_size, d_model), {"weight": weights}, weights)(token_ids)


def run_silu(in_features):
    return functional.silu(in_features)


def run_softmax(in_features, dim):
    return functional.softmax(in_features, dim)


def run_rmsnorm(d_model, eps, weights, in_features):
    return _loaded(layers.RMSNorm(d_model, eps), {"weight": weights}, in_features)(in_features)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    weights = {"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight}
    return _loaded(layers.SwiGLU(d_model, d_ff), weights, in_features)(in_features)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return Rope(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return functional.scaled_dot_product_attention(Q, K, V, mask)


def _attention_weights(q, k, v, o):
    return {"q_proj.weight": q, "k_proj.weight": k, "v_proj.weight": v, "output_proj.weight": o}


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    layer = layers.MultiHeadSelfAttention(d_model, num_heads)
    weights = _attention_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return _loaded(layer, weights, in_features)(in_features)


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    layer = layers.MultiHeadSelfAttention(d_model, num_heads, Rope(theta, d_model // num_heads, max_seq_len))
    weights = _attention_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return _loaded(layer, weights, in_features)(in_features, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    layer = layers.TransformerBlock(d_model, num_heads, d_ff, Rope(theta, d_model // num_heads, max_seq_len))
    return _loaded(layer, weights, in_features)(in_features)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    rope = Rope(rope_theta, d_model // num_heads, context_length)
    model = layers.TransformerLM(vocab_size, d_model, num_layers, num_heads, d_ff, rope)
    return _loaded(model, weights, weights["lm_head.weight"])(in_indices)


def run_cross_entropy(inputs, targets):
    return functional.cross_entropy(inputs, targets)


def run_gradient_clipping(parameters, max_l2_norm):
    functional.clip_gradients(list(parameters), max_l2_norm)
