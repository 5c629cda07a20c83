"""part_trees.py PLAN.py - the layers of llama-3-tiny without attention, written in Haiku (submodules made in
__init__ and in __call__, which name them otherwise) and in Flax: the plan shards their weights as it says, and
two jitted steps on four devices give the parameters of one device."""
import importlib.util
import sys

import flax.linen as nn
import haiku as hk
import jax
import numpy as np
import optax

HIDDEN, FFN, VOCABULARY, N_LAYERS = 128, 256, 512, 2
SHARDED = 2 + 3 * N_LAYERS  # leaves: the embedding, the head, three weights a layer
CLOSE = 1e-5  # a step of AdamW moves a parameter by up to 1e-3


def linear(n, name):
    return hk.Linear(n, with_bias=False, name=name)


class HaikuMlp(hk.Module):
    def __init__(self, early):
        super().__init__("mlp")
        self.made = self.make() if early else None

    def make(self):
        return linear(FFN, "gate_proj"), linear(FFN, "up_proj"), linear(HIDDEN, "down_proj")

    def __call__(self, x):
        gate, up, down = self.made or self.make()
        return down(jax.nn.silu(gate(x)) * up(x))


class HaikuLayer(hk.Module):
    def __call__(self, x):
        norm = hk.RMSNorm(-1, name="post_attention_layernorm")
        return x + HaikuMlp(early=self.name == "layers_1")(norm(x))


class HaikuModel(hk.Module):
    def __call__(self, ids):
        x = hk.Embed(VOCABULARY, HIDDEN, name="embed_tokens")(ids)
        for i in range(N_LAYERS):
            x = HaikuLayer(f"layers_{i}")(x)
        return hk.RMSNorm(-1, name="norm")(x)


class FlaxMlp(nn.Module):
    @nn.compact
    def __call__(self, x):
        gate, up = (nn.Dense(FFN, use_bias=False, name=name)(x) for name in ("gate_proj", "up_proj"))
        return nn.Dense(HIDDEN, use_bias=False, name="down_proj")(nn.silu(gate) * up)


class FlaxLayer(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x + FlaxMlp(name="mlp")(nn.RMSNorm(name="post_attention_layernorm")(x))


class FlaxModel(nn.Module):
    @nn.compact
    def __call__(self, ids):
        x = nn.Embed(VOCABULARY, HIDDEN, name="embed_tokens")(ids)
        for i in range(N_LAYERS):
            x = FlaxLayer(name=f"layers_{i}")(x)
        return nn.RMSNorm(name="norm")(x)


class FlaxDecoder(nn.Module):
    @nn.compact
    def __call__(self, ids):
        return nn.Dense(VOCABULARY, use_bias=False, name="lm_head")(FlaxModel(name="model")(ids))


def check(what, plan, init, apply):
    ids = np.random.default_rng(0).integers(0, VOCABULARY, (2, 16))
    optimizer = optax.adamw(1e-3, eps=1e-3)  # so that rounding of small gradients stays small

    def step(params, state, inputs):
        def loss_of(params):
            logits = apply(params, inputs["input_ids"])
            return optax.softmax_cross_entropy_with_integer_labels(logits, np.roll(ids, -1, 1)).mean()

        loss, gradients = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    def trained(run, params):
        state = optimizer.init(params)
        for _ in range(2):
            params, state, loss = run(params, state, {"input_ids": ids})
        return params, loss

    params, mesh = init(jax.random.key(0), ids), plan.make_mesh()
    shardings = plan.parameter_shardings(params, mesh)
    run = plan.jit_step(step, params, jax.eval_shape(optimizer.init, params), mesh)
    want, loss_of_one = trained(jax.jit(step), params)
    got, loss = trained(run, jax.device_put(params, shardings))
    n_sharded = sum("tp" in tuple(it.spec) for it in jax.tree.leaves(shardings))
    worst = max(float(abs(a - b).max()) for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want)))
    assert n_sharded == SHARDED, f"{what}: {n_sharded} leaves are sharded by tp, not {SHARDED}"
    assert abs(float(loss - loss_of_one)) < CLOSE and worst < CLOSE, f"{what}: parameters differ by {worst}"
    print(f"ok trees, {what}: two steps of {len(jax.tree.leaves(params))} parameters, {n_sharded} sharded by tp")


def main(path):
    spec = importlib.util.spec_from_file_location("plan", path)
    plan = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plan)
    haiku = hk.without_apply_rng(hk.transform(lambda ids: linear(VOCABULARY, "lm_head")(HaikuModel("model")(ids))))
    check("Haiku", plan, haiku.init, haiku.apply)
    check("Flax", plan, FlaxDecoder().init, FlaxDecoder().apply)


main(sys.argv[1])
