#include "core/code/code.h"

#include "core/base/peer.h"

#include <stdarg.h>
#include <stdio.h>

void export_note(ExportNotes *notes, const char *format, ...)
{
    char text[1000];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    vec_push(notes->arena, &notes->at, arena_str(notes->arena, str_from(text)));
}

static const ExportFormat own[] = {
    {"jax", "JAX: a Mesh and NamedShardings", EXPORT_CODE, false, "py", code_jax, NULL,
     code_jax_step},
    {"lua", "a dimscope policy that pins the whole plan", EXPORT_CODE, false, "lua", code_lua, NULL,
     NULL},
    {"megatron", "Megatron-LM: the flags that come nearest", EXPORT_CODE, false, "args",
     code_megatron, NULL, NULL},
    {"deepspeed", "DeepSpeed: the configuration that comes nearest", EXPORT_CODE, false, "json",
     code_deepspeed, NULL, NULL},
    {"torchtitan", "torchtitan: a ParallelismConfig and what goes with it", EXPORT_CODE, false,
     "py", code_torchtitan, NULL, NULL},
};
enum { N_OWN = sizeof own / sizeof *own };

const ExportFormat *code_format_at(int i)
{
    if (i < N_OWN)
        return &own[i];
    i -= N_OWN;
    for (const Peer *const *peer = built_peers; *peer; peer++)
        for (const ExportFormat *it = (*peer)->code; it && it->name; it++)
            if (i-- == 0)
                return it;
    return NULL;
}
