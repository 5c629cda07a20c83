/* code_imports.c - the imports of a module of torch's styles: of what its text names. */
#include "core/peers/torch/code_text.h"

#include <ctype.h>

/* Written where the text has the word. */
static const struct {
    const char *word, *import;
} plain[] =
    {
        {"copy.", "import copy\n"},
        {"fnmatch.", "import fnmatch\n"},
        {"functools.", "import functools\n"},
},
  torches[] = {
      {"torch.", "import torch\n"},
      {"dist.", "from torch import distributed as dist\n"},
      {"nn.", "from torch import nn\n"},
};

enum { NAMES_MAX = 9 };

static const char pipelining[] = "torch.distributed.pipelining"; /* has the schedule too */

static const struct {
    const char *module, *names[NAMES_MAX + 1];
} modules[] = {
    {"torch.distributed._composable", {"checkpoint"}},
    {"torch.distributed._composable.replicate_with_fsdp", {"replicate"}},
    {"torch.distributed.device_mesh", {"DeviceMesh", "init_device_mesh"}},
    {"torch.distributed.fsdp", {"MixedPrecisionPolicy", "fully_shard"}},
    {pipelining, {"PipelineStage"}},
    {"torch.distributed._functional_collectives", {"all_to_all_single_autograd"}},
    {"torch.distributed.tensor",
     {"DTensor", "Partial", "Replicate", "Shard", "distribute_module", "distribute_tensor"}},
    {"torch.distributed.tensor.parallel",
     {"ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput",
      "PrepareModuleOutput", "RowwiseParallel", "SequenceParallel", "parallelize_module"}},
    {"torch.distributed.tensor.placement_types", {"_StridedShard"}},
};

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether the text has the word, as a whole one. */
static bool says(Str text, const char *word)
{
    Str rest = text, whole = str_from(word);
    for (int64_t at; (at = str_find(rest, whole)) >= 0;
         rest.s += at + 1, rest.n -= (size_t)at + 1) {
        size_t end = (size_t)at + whole.n;
        bool begins = rest.s + at == text.s || !is_of_name(rest.s[at - 1]);
        if (begins && (end == rest.n || !is_of_name(rest.s[end]) || !is_of_name(word[whole.n - 1])))
            return true;
    }
    return false;
}

/* On one line, or between brackets where that is too long, on as many lines as it takes. */
static void put_import(const char *module, const char *const *names, int n, Buf *out)
{
    size_t width = strlen("from  import ") + strlen(module);
    for (int i = 0; i < n; i++)
        width += strlen(names[i]) + (i ? 2 : 0);
    bool wide = width > TORCH_COLUMNS;
    buf_printf(out, "from %s import %s", module, wide ? "(\n    " : "");
    size_t column = 4;
    for (int i = 0; i < n; i++) {
        bool folds = wide && i > 0 && column + 2 + strlen(names[i]) > TORCH_COLUMNS;
        buf_printf(out, "%s%s", folds ? ",\n    " : i ? ", " : "", names[i]);
        column = strlen(names[i]) + (folds ? 4 : column + 2);
    }
    buf_puts(out, wide ? "\n)\n" : "\n");
}

void torch_write_imports(Str body, const char *schedule, Buf *out)
{
    size_t start = out->n;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        buf_puts(out, says(body, plain[i].word) ? plain[i].import : "");
    buf_puts(out, out->n > start ? "\n" : "");
    for (size_t i = 0; i < sizeof torches / sizeof *torches; i++)
        buf_puts(out, says(body, torches[i].word) ? torches[i].import : "");
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        const char *used[NAMES_MAX];
        int n = 0;
        for (int k = 0; modules[i].names[k]; k++)
            if (says(body, modules[i].names[k]))
                used[n++] = modules[i].names[k];
        if (modules[i].module == pipelining && schedule)
            used[n++] = schedule;
        if (n > 0)
            put_import(modules[i].module, used, n, out);
    }
}
