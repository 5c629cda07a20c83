#include "core/reshard/measured.h"
#include "core/search/prices.h"

#include "core/base/intern.h"
#include "core/base/vec.h"

#include <math.h>

typedef struct {
    int32_t dtype, from, to;
    float fill;
} Asked;

struct PricesAsked {
    Intern *moves;
    Intern *machines, *tunings, *both; /* that were asked about */
    Vec(double) us, joined_us;
    Intern *collectives; /* of a kind, over atoms: */
    Vec(double) byte_us;
};

static const Mesh *copy_mesh(Arena *arena, const Mesh *mesh)
{
    Mesh *out = arena_make(arena, Mesh);
    *out = *mesh;
    for (int a = 0; a < mesh->n_axes; a++)
        out->axes[a].name = arena_str(arena, str_from(mesh->axes[a].name));
    if (mesh->devices) {
        int32_t *devices = arena_array(arena, int32_t, mesh->n_devices);
        memcpy(devices, mesh->devices, sizeof *devices * (size_t)mesh->n_devices);
        out->devices = devices;
    }
    return out;
}

static const Machine *copy_machine(Arena *arena, const Machine *machine)
{
    Machine *out = arena_make(arena, Machine);
    *out = *machine;
    if (machine->tuning) {
        Tuning *tuning = arena_make(arena, Tuning);
        *tuning = *machine->tuning;
        out->tuning = tuning;
    }
    if (machine->measured)
        out->measured = measured_copy(arena, machine->measured);
    return out;
}

/* The number of a machine among those asked about; 0: the one of the prices. Names are compared as
 * pointers: those of a file that was read again count as others. */
static int32_t machine_number(const Prices *prices, const Machine *machine)
{
    Machine plain = *machine;
    int32_t key[2] = {0};
    plain.tuning = NULL;
    key[0] = intern_put(prices->asked->machines, &plain, sizeof plain);
    if (machine->tuning)
        key[1] = 1 + intern_put(prices->asked->tunings, machine->tuning, sizeof *machine->tuning);
    return intern_put(prices->asked->both, key, sizeof key);
}

Prices *prices_new(Arena *arena, const Mesh *mesh, const Machine *machine, AtomSet fixed)
{
    Prices *prices = arena_make(arena, Prices);
    *prices = (Prices){.arena = arena,
                       .mesh = copy_mesh(arena, mesh),
                       .machine = copy_machine(arena, machine),
                       .fixed = fixed,
                       .shardings = shardings_new(arena)};
    prices->resharder = resharder_new(arena, prices->mesh, prices->machine, prices->shardings);
    ReshardOptions options = reshard_defaults();
    options.whole_axes = true;
    resharder_options(prices->resharder, &options);
    prices->asked = arena_make(arena, struct PricesAsked);
    *prices->asked = (struct PricesAsked){.moves = intern_new(arena),
                                          .machines = intern_new(arena),
                                          .tunings = intern_new(arena),
                                          .both = intern_new(arena),
                                          .collectives = intern_new(arena)};
    machine_number(prices, machine);
    return prices;
}

static bool same_mesh(const Mesh *a, const Mesh *b)
{
    bool same = a->n_axes == b->n_axes && a->n_devices == b->n_devices;
    for (int i = 0; same && i < a->n_axes; i++)
        same = a->axes[i].size == b->axes[i].size && strcmp(a->axes[i].name, b->axes[i].name) == 0;
    if (same && a->devices && b->devices)
        return memcmp(a->devices, b->devices, sizeof *a->devices * (size_t)a->n_devices) == 0;
    return same && !a->devices == !b->devices;
}

bool prices_are_of(const Prices *prices, const Mesh *mesh, const Machine *machine, AtomSet fixed)
{
    return prices->fixed == fixed && same_mesh(prices->mesh, mesh) &&
           machine_number(prices, machine) == 0;
}

enum { SIZES = 480 }; /* from 64 bytes to a TiB, each GROWTH times the one before */
#define GROWTH 1.05

/* The least time of a byte in a collective of any size. A price does not fall with the bytes, so
 * that sizes GROWTH apart tell those between. */
static double byte_us(Prices *prices, StepKind kind, AtomSet atoms)
{
    struct PricesAsked *asked = prices->asked;
    int32_t key[2] = {(int32_t)kind, (int32_t)atoms};
    int32_t id = intern_put(asked->collectives, key, sizeof key);
    if (id == asked->byte_us.n) {
        double least = INFINITY, bytes = 64;
        for (int i = 0; i < SIZES; i++, bytes *= GROWTH) {
            Price price = price_step(prices->machine, prices->mesh, kind, atoms, (int64_t)bytes);
            least = fmin(least, price.us / (GROWTH * bytes));
        }
        vec_push(prices->arena, &asked->byte_us, least);
    }
    return asked->byte_us.at[id];
}

static double joined_us(Prices *prices, const ReshardPath *path)
{
    double us = 0;
    for (int i = 0; i < path->n_steps; i++) {
        const Step *step = &path->step[i];
        bool joins = step->kind == STEP_ALL_GATHER || step->kind == STEP_ALL_REDUCE ||
                     step->kind == STEP_REDUCE_SCATTER;
        us += joins ? fmin(step->us, (double)step->bytes * byte_us(prices, step->kind, step->atoms))
                    : step->us;
    }
    return us;
}

int32_t prices_ask(Prices *prices, Dtype dtype, int32_t from, int32_t to, double fill)
{
    Asked asked = {(int32_t)dtype, from, to, (float)fill};
    int32_t id = intern_put(prices->asked->moves, &asked, sizeof asked);
    if (id == prices->asked->us.n) {
        const ReshardPath *path =
            reshard_filled(prices->resharder, dtype, from, to, prices->fixed, fill);
        vec_push(prices->arena, &prices->asked->us, path->us);
        vec_push(prices->arena, &prices->asked->joined_us, joined_us(prices, path));
    }
    return id;
}

double prices_us(const Prices *prices, int32_t id)
{
    return prices->asked->us.at[id];
}

double prices_joined_us(const Prices *prices, int32_t id)
{
    return prices->asked->joined_us.at[id];
}

bool prices_free(Prices *prices, Dtype dtype, int32_t from, int32_t to, double fill)
{
    return from == to || prices_us(prices, prices_ask(prices, dtype, from, to, fill)) <= 0;
}
