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

#endif
