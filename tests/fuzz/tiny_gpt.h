/* tiny_gpt.h - the session that inputs are tried on, as long as the program. */
#ifndef TESTS_FUZZ_TINY_GPT_H
#define TESTS_FUZZ_TINY_GPT_H

#include "scripts/hooks.h"

#include <stdio.h>
#include <stdlib.h>

static inline void wrong(const char *what)
{
    fprintf(stderr, "WRONG: %s\n", what);
    abort();
}

static inline Session *open_tiny_gpt(void)
{
    static Arena *arena;
    arena = arena_new();
    SessionHooks hooks = scripts_hooks(scripts_new(arena, "."));
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=4", .policy = "megatron"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        wrong(err.text);
    return session;
}

static inline bool round_machine(void *context, Arena *arena, const char *name, Machine *out,
                                 Error *err)
{
    (void)context, (void)arena, (void)name, (void)err;
    *out = (Machine){.name = "round", .devices_per_node = 8, .memory_bytes = 1 << 30};
    out->memory_bytes_per_s = out->flops_per_s[DT_F32] = 1e12;
    out->inside = out->between = (Link){.name = "wire", .latency_us = 1, .bytes_per_s = 1e11};
    return true;
}

/* The same without a policy, and without any script. */
static inline Session *open_plain_tiny_gpt(void)
{
    static const SessionHooks hooks = {.machine = round_machine};
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=4"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        wrong(err.text);
    return session;
}

#endif
