/* on_device.h - work for a device, done by the CPU: texts are compiled as C, products are loops.
 *
 * on_device() does a call's work beside its host kernel and compares. What lies on the device is
 * poisoned before, so that what nobody writes is seen, and has a border that must stay as it is;
 * the addresses that device_work() sees are no addresses.
 */
#ifndef TESTS_UNIT_ON_DEVICE_H
#define TESTS_UNIT_ON_DEVICE_H

#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/run/cuda/device_work.h"
#include "core/run/verify/compare.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXTS_MAX = 4096, BORDER = 64, POISON = 0xfb };

typedef void EntryFn(void **args);
typedef void RunFn(EntryFn *entry, void **args, const int64_t grid[3], int n_threads,
                   int64_t shared_bytes);

static struct {
    Arena *arena;
    DeviceTexts *texts;
    char folder[64];
    const char *cache; /* folder of compiled texts */
    uint64_t hash;     /* of what they all depend on */
    EntryFn *entry[TEXTS_MAX];
    RunFn *run[TEXTS_MAX];
    const char *name[TEXTS_MAX];
    int threads[TEXTS_MAX]; /* the most a block was launched with */
    int n_done, n_items;    /* calls that were done; items of the last */
    Buf without;            /* operators without device work */
} device;

static inline void must_run(const char *command)
{
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

static inline void device_close(void)
{
    if (!getenv("KEEP_TEXTS"))
        must_run(arena_printf(device.arena, "rm -r %s", device.folder));
    arena_free(device.arena);
}

static inline void write_text(int32_t id, const char *path)
{
    Str text = device_text(device.texts, id);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fwrite(text.s, 1, text.n, file);
    fclose(file);
}

/* What compiled texts depend on beside themselves. */
static const char *const text_flags = "-std=gnu11 -w -fPIC -shared -Itests/fakecuda"
                                      " -fsanitize=alignment,shift"
                                      " -fsanitize-undefined-trap-on-error";
static const char *const text_sources[] = {"tests/fakecuda/device_prelude.h",
                                           "tests/unit/device_threads.c"};

static inline uint64_t hash_on(uint64_t h, Str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        h = (h ^ (unsigned char)bytes.s[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* build/device-cache/HASH.so, above the folder of this build: a text that was compiled before, by
 * whichever build, is not again. */
static inline void open_cache(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(n > 0);
    path[n] = '\0';
    for (int up = 0; up < 3; up++) /* MODE/tests/test_name */
        *strrchr(path, '/') = '\0';
    device.cache = arena_printf(device.arena, "%s/device-cache", path);
    mkdir(device.cache, 0777);
    device.hash = hash_on(UINT64_C(0xcbf29ce484222325), str_from(text_flags));
    for (size_t i = 0; i < COUNT_OF(text_sources); i++) {
        Source text;
        assert_true(file_read(device.arena, text_sources[i], 1 << 20, &text, NULL));
        device.hash = hash_on(device.hash, text.text);
    }
}

/* Two tests that do so at once write the same. */
static inline void compile_library(int32_t id, const char *name, const char *library)
{
    const char *base = arena_printf(device.arena, "%s/%d_%s", device.folder, (int)id, name);
    write_text(id, arena_printf(device.arena, "%s.c", base));
    must_run(arena_printf(device.arena, "cc %s %s.c %s/threads.o -o %s.%d -lm && mv %s.%d %s",
                          text_flags, base, device.folder, library, (int)getpid(), library,
                          (int)getpid(), library));
}

static inline void compile_text(int32_t id, const char *name)
{
    if (device.entry[id])
        return;
    uint64_t hash = hash_on(device.hash, device_text(device.texts, id));
    const char *path =
        arena_printf(device.arena, "%s/%016llx.so", device.cache, (unsigned long long)hash);
    if (!file_exists(path))
        compile_library(id, name, path);
    device.name[id] = arena_str(device.arena, str_from(name));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    *(void **)&device.entry[id] = dlsym(library, arena_printf(device.arena, "%s_entry", name));
    *(void **)&device.run[id] = dlsym(library, "device_run");
    assert_non_null(device.entry[id]);
}

static inline void device_open(void)
{
    device.arena = arena_new();
    device.texts = device_texts_new(device.arena);
    device.without = buf_new(device.arena);
    strcpy(device.folder, "/tmp/device_work_XXXXXX");
    assert_non_null(mkdtemp(device.folder));
    open_cache();
    must_run(arena_printf(device.arena,
                          "cc -std=gnu11 -O2 -fPIC -I. -c tests/unit/device_threads.c"
                          " -o %s/threads.o",
                          device.folder));
}

/* ---- items ---- */

typedef struct {
    const KernelCall *const *call; /* of the run, with real inputs */
    char **output;                 /* per op: the first output's bytes */
    char ***outputs;
    char **workspace;
    const DeviceWork *work;
    int32_t fault;
} Doing;

static inline void *address_of(Doing *doing, DevicePlace place)
{
    switch (place.kind) {
    case AT_INPUT: {
        const KernelCall *call = doing->call[place.op];
        for (int op = 0; op < place.op; op++) /* made by this very work */
            for (int o = 0; o < doing->call[op]->n_outputs; o++)
                if (doing->call[op]->output[o] == call->input[place.index])
                    return doing->outputs[op][o] + place.offset_bytes;
        return (char *)call->input[place.index]->data + place.offset_bytes;
    }
    case AT_OUTPUT:
        return doing->outputs[place.op][place.index] + place.offset_bytes;
    case AT_WORKSPACE:
        return doing->workspace[place.index] + place.offset_bytes;
    case AT_TABLE:
        return (char *)(uintptr_t)doing->work->table[place.index].bytes + place.offset_bytes;
    case AT_FAULT:
        return &doing->fault;
    }
    return NULL;
}

static inline void do_launch(Doing *doing, const DeviceLaunch *launch)
{
    uint64_t words[DEVICE_WORDS_MAX];
    assert_true(launch->n_words <= DEVICE_WORDS_MAX && launch->text < TEXTS_MAX);
    assert_true(launch->block[0] % 32 == 0 && launch->block[1] * launch->block[2] == 1);
    for (int w = 0; w < launch->n_words; w++) {
        const DeviceWord *word = &launch->word[w];
        if (word->kind == WORD_PLACE)
            words[w] = (uintptr_t)address_of(doing, word->place);
        else if (word->kind == WORD_I64)
            words[w] = (uint64_t)word->i64;
        else
            memcpy(&words[w], &word->f64, sizeof words[w]);
    }
    compile_text(launch->text, launch->name);
    if (launch->block[0] > device.threads[launch->text])
        device.threads[launch->text] = launch->block[0];
    void *args[] = {words};
    device.run[launch->text](device.entry[launch->text], args, launch->grid, launch->block[0],
                             launch->shared_bytes);
}

static inline double number_of(Dtype dtype, const void *base, int64_t at)
{
    double x;
    elements_load(dtype, (const char *)base + at * element_bytes(dtype), 1, 1, NUMBER_F64, &x);
    return x;
}

static inline double after_product(const DeviceMatmul *p, double x)
{
    if (p->epilogue == EPILOGUE_RELU)
        return x > 0 ? x : 0;
    if (p->epilogue == EPILOGUE_GELU)
        return x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

static inline void do_matmul(Doing *doing, const DeviceMatmul *p)
{
    const void *a = address_of(doing, p->a), *b = address_of(doing, p->b);
    const void *bias = p->has_bias ? address_of(doing, p->bias) : NULL;
    char *out = address_of(doing, p->out);
    for (int64_t batch = 0; batch < p->n_batch; batch++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                double sum = 0;
                for (int64_t k = 0; k < p->k; k++)
                    sum += number_of(p->dtype, a,
                                     batch * p->a_batch +
                                         (p->a_turned ? k * p->a_row + i : i * p->a_row + k)) *
                           number_of(p->dtype, b,
                                     batch * p->b_batch +
                                         (p->b_turned ? j * p->b_row + k : k * p->b_row + j));
                int64_t at = batch * p->out_batch + i * p->out_row + j;
                sum *= p->alpha;
                if (p->beta != 0)
                    sum += p->beta * number_of(p->dtype, out, at);
                if (bias)
                    sum += number_of(p->dtype, bias, j);
                sum = after_product(p, sum);
                elements_store(p->dtype, out + at * element_bytes(p->dtype), 1, NUMBER_F64, &sum);
            }
}

static inline void do_items(Doing *doing)
{
    const DeviceWork *work = doing->work;
    for (int i = 0; i < work->n_items; i++) {
        const DeviceItem *item = &work->item[i];
        if (item->kind == ITEM_LAUNCH)
            do_launch(doing, &item->launch);
        else if (item->kind == ITEM_MATMUL)
            do_matmul(doing, &item->matmul);
        else if (item->kind == ITEM_COPY)
            memcpy(address_of(doing, item->to), address_of(doing, item->from),
                   (size_t)item->n_bytes);
        else
            memset(address_of(doing, item->to), 0, (size_t)item->n_bytes);
    }
}

/* ---- a run of ops ---- */

static inline char *bordered(Arena *scratch, int64_t n_bytes)
{
    char *at = arena_alloc(scratch, (size_t)(n_bytes + 2 * BORDER));
    memset(at, POISON, (size_t)(n_bytes + 2 * BORDER));
    return at + BORDER;
}

static inline bool border_is_whole(const char *at, int64_t n_bytes)
{
    for (int i = 1; i <= BORDER; i++)
        if ((unsigned char)at[-i] != POISON || (unsigned char)at[n_bytes - 1 + i] != POISON)
            return false;
    return true;
}

static inline bool same_numbers(const Local *want, const char *got, Buf *wrong)
{
    int64_t n = shape_elements(&want->shape);
    if (!dtype_is_computed(want->dtype))
        return memcmp(want->data, got, (size_t)local_bytes(want)) == 0;
    Tolerance tolerance = tolerance_for(want->dtype, local_range(want));
    for (int64_t i = 0; i < n; i++) {
        double x = number_of(want->dtype, want->data, i), y = number_of(want->dtype, got, i);
        bool same = x == y || (isnan(x) && isnan(y)) ||
                    fabs(x - y) <= tolerance.atol + tolerance.rtol * fabs(x);
        if (!same) {
            buf_printf(wrong, "element %d is %g on the device, %g on the host", (int)i, y, x);
            return false;
        }
    }
    return true;
}

/* The call as device_work() may see it: with addresses that nobody may read. */
static inline KernelCall *unreadable(Arena *scratch, const KernelCall *call, const Local **seen,
                                     const Local **shadow, int *n_seen)
{
    KernelCall *out = arena_make(scratch, KernelCall);
    const Local **input = arena_array(scratch, const Local *, call->n_inputs);
    Local **output = arena_array(scratch, Local *, call->n_outputs);
    *out = *call;
    for (int i = 0; i < call->n_inputs + call->n_outputs; i++) {
        const Local *local = i < call->n_inputs ? call->input[i] : call->output[i - call->n_inputs];
        int s = 0;
        while (s < *n_seen && seen[s] != local)
            s++;
        if (local && s == *n_seen) {
            Local *copy = arena_make(scratch, Local);
            *copy = *local;
            copy->data = (void *)(uintptr_t)16;
            seen[s] = local;
            shadow[(*n_seen)++] = copy;
        }
        if (i < call->n_inputs)
            input[i] = local ? shadow[s] : NULL;
        else
            output[i - call->n_inputs] = local ? (Local *)(uintptr_t)shadow[s] : NULL;
    }
    out->input = input;
    out->output = output;
    return out;
}

/* Does the work of a run whose outputs the host has made, and compares those that are kept. */
static inline int on_device(const KernelCall *const *call, int n, const bool *kept, Buf *wrong)
{
    Arena *scratch = arena_new();
    const Local *seen[256], *shadow[256];
    const KernelCall **run = arena_array(scratch, const KernelCall *, n);
    int n_seen = 0;
    for (int op = 0; op < n; op++)
        run[op] = unreadable(scratch, call[op], seen, shadow, &n_seen);
    DeviceWork work;
    if (!device_work(scratch, device.texts, run, n, kept, &work)) {
        const Local *like = call[0]->n_inputs > 0 ? call[0]->input[0] : NULL;
        const char *what = arena_printf(scratch, "%s:%s", call[0]->kernel->name,
                                        like ? dtype_name(like->dtype) : "");
        if (!str_has_word(buf_str(&device.without), str_from(what)))
            buf_printf(&device.without, " %s", what);
        arena_free(scratch);
        return 0;
    }
    Doing doing = {.call = call, .work = &work};
    doing.outputs = arena_array(scratch, char **, n);
    doing.workspace = arena_array(scratch, char *, work.n_workspaces);
    for (int w = 0; w < work.n_workspaces; w++)
        doing.workspace[w] = bordered(scratch, work.workspace_bytes[w]);
    for (int op = 0; op < n; op++) {
        doing.outputs[op] = arena_array(scratch, char *, call[op]->n_outputs);
        for (int o = 0; o < call[op]->n_outputs; o++)
            if (call[op]->output[o])
                doing.outputs[op][o] = bordered(scratch, local_bytes(call[op]->output[o]));
    }
    do_items(&doing);
    device.n_items = work.n_items;
    device.n_done++;
    if (doing.fault != FAULT_NONE)
        buf_printf(wrong, "the device says fault %d", doing.fault);
    for (int w = 0; w < work.n_workspaces; w++)
        assert_true(border_is_whole(doing.workspace[w], work.workspace_bytes[w]));
    for (int op = 0; op < work.n_ops; op++)
        for (int o = 0; o < call[op]->n_outputs; o++) {
            const Local *want = call[op]->output[o];
            if (!want)
                continue;
            assert_true(border_is_whole(doing.outputs[op][o], local_bytes(want)));
            if ((kept[op] || op == work.n_ops - 1) &&
                !same_numbers(want, doing.outputs[op][o], wrong))
                break;
        }
    arena_free(scratch);
    return work.n_ops;
}

/* The host's kernel, then the device's work on the same parts. */
static inline bool on_both(const KernelCall *call, Error *err)
{
    KernelCall host = *call;
    host.kernel = call->kernel->row;
    if (!host.kernel->run(&host, err))
        return false;
    const KernelCall *run[] = {&host};
    Buf wrong = buf_new(call->scratch);
    on_device(run, 1, (bool[]){true}, &wrong);
    return wrong.n == 0 || error_kind(err, ERROR_RUN, "%s", wrong.s);
}

#endif
