#include "core/session/training_json.h"

static Json *memory_json(const StepMemory *memory)
{
    Json *out = json_object();
    json_set_int(out, "parameter", memory->parameter);
    json_set_int(out, "gradient", memory->gradient);
    json_set_int(out, "optimizer", memory->optimizer);
    json_set_int(out, "activation", memory->activation);
    json_set_int(out, "gathered", memory->gathered);
    json_set_int(out, "input", memory->input);
    json_set_int(out, "buffer", memory->buffer);
    json_set_int(out, "peak", memory->peak);
    return out;
}

static Json *layer_json(const TrainingCost *cost)
{
    if (!cost->layer.path)
        return json_null();
    Json *out = json_object();
    json_set_str(out, "path", cost->layer.path);
    json_set_int(out, "n", cost->layer.n);
    json_set_int(out, "activation_bytes", cost->layer.activation_bytes);
    json_set_real(out, "forward_us", cost->layer.forward_us);
    json_set_real(out, "backward_us", cost->layer.backward_us);
    return out;
}

static Json *notes_json(const TrainingCost *cost)
{
    const struct {
        const char *name, *why;
    } notes[] = {
        {"bubble", cost->why.bubble},
        {"tokens_per_s_device", cost->why.tokens_per_s_device},
        {"layer", cost->layer.path ? NULL : "the model has no repeated layers"},
    };
    Json *out = json_object();
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].why)
            json_set_str(out, notes[i].name, notes[i].why);
    return out;
}

Json *training_json(const TrainingCost *cost)
{
    Json *out = json_object(), *memory = json_object();
    json_set_int(out, "parameters", cost->parameters);
    json_set_int(out, "micro_batches", cost->micro_batches);
    json_set_real(out, "model_flops", cost->model_flops);
    json_set_real(out, "hardware_flops", cost->hardware_flops);
    json_set_real(out, "step_us", cost->step_us);
    json_set_real(out, "forward_us", cost->forward_us);
    json_set_real(out, "backward_us", cost->backward_us);
    json_set_real(out, "update_us", cost->update_us);
    json_set_real(out, "bubble", cost->bubble);
    json_set_real(out, "mfu", cost->mfu);
    json_set_real(out, "hfu", cost->hfu);
    json_set_real(out, "tokens_per_s_device", cost->tokens_per_s_device);
    json_set_real(out, "exposed_comm_us", cost->exposed_comm_us);
    json_set_int(out, "gradient_reductions", cost->gradient_reductions);
    json_set(memory, "rank0", memory_json(&cost->rank0));
    json_set(memory, "last", memory_json(&cost->last));
    json_set(memory, "most", memory_json(&cost->most));
    json_set(out, "memory", memory);
    json_set(out, "layer", layer_json(cost));
    json_set(out, "notes", notes_json(cost));
    return out;
}
