#include "core/run/native.h"

#include "core/run/dimscope_kernel.h"

#include <dlfcn.h>

enum { ERROR_ROOM = 200 };

typedef struct {
    DimscopeKernel *run;
    const char *symbol;
} Native;

/* ---- a call ---- */

static const DimscopeTensor *tensor_of(Arena *arena, const Local *local)
{
    DimscopeTensor *out = arena_make(arena, DimscopeTensor);
    const int64_t **global = arena_array(arena, const int64_t *, local->shape.n_dims);
    for (int64_t d = 0; d < local->shape.n_dims; d++)
        global[d] = kernel_globals(arena, &local->runs[d]);
    *out = (DimscopeTensor){.dtype = dtype_name(local->dtype),
                            .n_dims = (int)local->shape.n_dims,
                            .shape = local->shape.dim,
                            .whole = local->whole.dim,
                            .global = global,
                            .data = local->data};
    return out;
}

static DimscopeArg arg_of(Arena *arena, const Kwarg *kwarg)
{
    const Attr *value = &kwarg->value;
    DimscopeArg out = {.name = kwarg->name, .n = 1};
    switch ((AttrType)value->type) {
    case ATTR_INT:
        out.i = value->i;
        break;
    case ATTR_FLOAT:
        out.type = DIMSCOPE_FLOAT;
        out.f = value->f;
        break;
    case ATTR_STRING:
        out.type = DIMSCOPE_TEXT;
        out.text = arena_str(arena, value->s);
        break;
    case ATTR_INTS:
        out.type = DIMSCOPE_INTS;
        out.n = value->n;
        out.ints = value->ints;
        break;
    case ATTR_FLOATS:
        out.type = DIMSCOPE_FLOATS;
        out.n = value->n;
        out.floats = value->floats;
        break;
    case ATTR_STRINGS:
    case ATTR_TENSOR:
    case ATTR_GRAPH:
        out.name = NULL;
        break;
    }
    return out;
}

/* The arguments as the C struct; lists of strings, tensors and graphs are left out. */
static const DimscopeArg *args_of(Arena *arena, const Kwargs *kwargs, int *n)
{
    DimscopeArg *args = arena_array(arena, DimscopeArg, kwargs->n);
    *n = 0;
    for (int i = 0; i < kwargs->n; i++) {
        args[*n] = arg_of(arena, &kwargs->at[i]);
        *n += args[*n].name != NULL;
    }
    return args;
}

/* An output that updates an input starts as a copy of it. */
static void begin_updates(const KernelCall *call)
{
    const OpSpace *space = program_space(call->inferred, call->op);
    for (int o = 0; o < call->n_outputs; o++) {
        int input = opspace_output(space, o)->updates - 1;
        const Local *from = input >= 0 ? call->input[input] : NULL;
        if (from && call->output[o] && local_bytes(from) == local_bytes(call->output[o]))
            elements_copy(from->dtype, call->output[o]->data, from->data, 1,
                          shape_elements(&from->shape));
    }
}

/* KernelFn */
static bool run_native(const KernelCall *call, Error *err)
{
    const Native *native = call->kernel->row;
    Arena *arena = call->scratch;
    Kwargs kwargs;
    if (!kernel_kwargs(call, &kwargs, err))
        return false;
    const DimscopeTensor **input = arena_array(arena, const DimscopeTensor *, call->n_inputs);
    const DimscopeTensor **output = arena_array(arena, const DimscopeTensor *, call->n_outputs);
    begin_updates(call);
    for (int i = 0; i < call->n_inputs; i++)
        input[i] = call->input[i] ? tensor_of(arena, call->input[i]) : NULL;
    for (int o = 0; o < call->n_outputs; o++)
        output[o] = call->output[o] ? tensor_of(arena, call->output[o]) : NULL;
    char error[ERROR_ROOM] = "";
    DimscopeCall native_call = {.n_inputs = call->n_inputs,
                                .n_outputs = call->n_outputs,
                                .input = input,
                                .output = output,
                                .first = call->first,
                                .reduce_cut = call->reduce_cut,
                                .error = error,
                                .error_size = sizeof error};
    native_call.arg = args_of(arena, &kwargs, &native_call.n_args);
    int code = native->run(&native_call);
    error[ERROR_ROOM - 1] = '\0';
    return code == 0 || error_kind(err, ERROR_RUN, "%s failed with %d%s%s", native->symbol, code,
                                   error[0] ? ": " : "", error);
}

/* ---- loading ---- */

static bool check_version(void *library, const char *path, Error *err)
{
    const int *version = dlsym(library, "dimscope_plugin_version");
    if (!version) {
        error_set(err, "'%s' is not a plugin of kernels: it has no version", path);
        error_hint(err, "put DIMSCOPE_PLUGIN of dimscope_kernel.h into it");
        return false;
    }
    return *version == DIMSCOPE_KERNEL_VERSION ||
           error_set(err, "'%s' is built for version %d of dimscope_kernel.h, this is %d", path,
                     *version, DIMSCOPE_KERNEL_VERSION);
}

/* Converts a data pointer to a function pointer, which POSIX allows and C does not. */
static DimscopeKernel *function_at(void *symbol)
{
    DimscopeKernel *function;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

const Kernel *native_kernel(Arena *arena, const char *path, const char *symbol, Error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        error_kind(err, ERROR_UNREADABLE, "the plugin cannot be loaded: %s", dlerror());
        return NULL;
    }
    void *found = dlsym(library, symbol);
    bool fits = check_version(library, path, err) &&
                (found || error_set(err, "'%s' has no function '%s'", path, symbol));
    dlclose(library); /* it stays mapped */
    if (!fits)
        return NULL;
    Native *native = arena_make(arena, Native);
    Kernel *kernel = arena_make(arena, Kernel);
    *native = (Native){function_at(found), arena_str(arena, str_from(symbol))};
    *kernel = (Kernel){.name = native->symbol, .run = run_native, .row = native};
    return kernel;
}

/* KernelFn */
static bool run_refused(const KernelCall *call, Error *err)
{
    return native_allowed(call->kernel, err);
}

const Kernel *native_refused(Arena *arena, const char *plugin)
{
    Kernel *kernel = arena_make(arena, Kernel);
    *kernel = (Kernel){.name = "native", .run = run_refused, .row = plugin};
    return kernel;
}

bool native_allowed(const Kernel *kernel, Error *err)
{
    if (kernel->run != run_refused)
        return true;
    error_kind(err, ERROR_USAGE, "its kernel is native code in '%s', which is not loaded",
               (const char *)kernel->row);
    error_hint(err, "--allow-native loads it: it runs with all your rights");
    return false;
}
