#include "core/search/prices.h"

#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/plan/routed.h"
#include "core/reshard/alike.h"
#include "core/reshard/floor.h"
#include "core/reshard/measured.h"
#include "core/reshard/set_prices.h"

#include <math.h>

typedef struct {
    int32_t machine, dtype, from, to;
    float fill;
} PriceKey;

/* A machine, with what finds moves on it: by whole axes, and as plans have them. */
typedef struct {
    const Machine *machine;
    Resharder *resharder, *settler;
} PricedMachine;

/* What is known of a move, each found from the one before: a formula's bound, a path of whole axes,
 * the bound of a smaller problem, the path that a plan makes. */
typedef enum { BOUNDED, WHOLE_AXES, TIGHTENED, SETTLED } Known;

/* Of moves that are alike (core/reshard/alike.h), or of one. */
typedef struct {
    double us;        /* a lower bound until it is settled */
    double found_us;  /* of the best path found; INFINITY: none */
    double joined_us; /* UNKNOWN: not asked for yet */
    int64_t changed;  /* the number of its last change */
    Known known;
    bool shared;
} MovePrice;

enum { UNKNOWN = -1, NOTHING = -1 };

/* In place of a machine, for what is no move of its own: a time, whose bits are in `from` and `to`;
 * two moves, by their ids there (`from` NOTHING: one), together, or the cheaper of both. */
enum { FIXED = -1, TOGETHER = -2, CHEAPER = -3 };

struct PricesAsked {
    Vec(PricedMachine) on; /* by the number of a machine */
    Intern *moves;
    Vec(int32_t) price_of; /* by id of a move: in `price`; NOTHING: it is made of others */
    Intern *alike;
    Vec(int32_t) price_of_alike; /* UNKNOWN: each has its own */
    Vec(MovePrice) price;
    int64_t n_changes;
    Intern *machines, *tunings, *both; /* that were asked about */
    Intern *collectives;               /* of a kind, over atoms: */
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

/* What tells machines apart: 0 is the one of the prices. Names are compared as
 * pointers: those of a file that was read again count as others. */
static int32_t machine_key(const Prices *prices, const Machine *machine)
{
    Machine plain = *machine;
    int32_t key[2] = {0};
    plain.tuning = NULL;
    key[0] = intern_put(prices->asked->machines, &plain, sizeof plain);
    if (machine->tuning)
        key[1] = 1 + intern_put(prices->asked->tunings, machine->tuning, sizeof *machine->tuning);
    return intern_put(prices->asked->both, key, sizeof key);
}

static void add_machine(Prices *prices, const Machine *machine)
{
    ReshardOptions options = reshard_defaults();
    PricedMachine on = {.machine = machine};
    options.whole_axes = options.exact_bounds = true;
    on.resharder = resharder_new(prices->arena, prices->mesh, machine, prices->shardings);
    resharder_options(on.resharder, &options);
    on.settler = resharder_new(prices->arena, prices->mesh, machine, prices->shardings);
    vec_push(prices->arena, &prices->asked->on, on);
}

Prices *prices_new(Arena *arena, const Mesh *mesh, const Machine *machine, AtomSet fixed)
{
    Prices *prices = arena_make(arena, Prices);
    *prices = (Prices){.arena = arena,
                       .mesh = copy_mesh(arena, mesh),
                       .machine = copy_machine(arena, machine),
                       .fixed = fixed,
                       .shardings = shardings_new(arena)};
    prices->asked = arena_make(arena, struct PricesAsked);
    *prices->asked = (struct PricesAsked){.moves = intern_new(arena),
                                          .alike = intern_new(arena),
                                          .machines = intern_new(arena),
                                          .tunings = intern_new(arena),
                                          .both = intern_new(arena),
                                          .collectives = intern_new(arena)};
    machine_key(prices, machine);
    add_machine(prices, prices->machine);
    prices->resharder = prices->asked->on.at[0].resharder;
    return prices;
}

int32_t prices_machine(Prices *prices, const Machine *machine)
{
    int32_t id = machine_key(prices, machine);
    for (int32_t i = prices->asked->on.n; i <= id; i++)
        add_machine(prices, copy_machine(prices->arena, machine));
    return id;
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

bool prices_have_bounds(const Prices *prices)
{
    return prices->mesh->n_atoms <= FLOOR_ATOMS_EXACT;
}

bool prices_are_of(const Prices *prices, const Mesh *mesh, const Machine *machine, AtomSet fixed)
{
    return prices->fixed == fixed && same_mesh(prices->mesh, mesh) &&
           machine_key(prices, machine) == 0;
}

#define SAME 1e-9 /* a path is proven that exceeds its bound by no more than this part */

enum { SIZES = 480 }; /* from 64 bytes to a TiB, each GROWTH times the one before */
#define GROWTH 1.05

/* The least time of a byte in a collective of any size. A price does not fall with the bytes, so
 * that sizes GROWTH apart tell those between. */
static double byte_us(Prices *prices, int32_t machine, StepKind kind, AtomSet atoms)
{
    struct PricesAsked *asked = prices->asked;
    int32_t key[3] = {machine, (int32_t)kind, (int32_t)atoms};
    int32_t id = intern_put(asked->collectives, key, sizeof key);
    if (id == asked->byte_us.n) {
        double least = INFINITY, bytes = 64;
        for (int i = 0; i < SIZES; i++, bytes *= GROWTH) {
            Price price = price_step(asked->on.at[machine].machine, prices->mesh, kind, atoms,
                                     (int64_t)bytes);
            least = fmin(least, price.us / (GROWTH * bytes));
        }
        vec_push(prices->arena, &asked->byte_us, least);
    }
    return asked->byte_us.at[id];
}

static double joined_us(Prices *prices, int32_t machine, const ReshardPath *path)
{
    double us = 0;
    for (int i = 0; i < path->n_steps; i++) {
        const Step *step = &path->step[i];
        bool joins = step->kind == STEP_ALL_GATHER || step->kind == STEP_ALL_REDUCE ||
                     step->kind == STEP_REDUCE_SCATTER;
        us += joins ? fmin(step->us,
                           (double)step->bytes * byte_us(prices, machine, step->kind, step->atoms))
                    : step->us;
    }
    return us;
}

/* Gives its number among the prices. */
static int32_t add_price(Prices *prices, MovePrice price)
{
    vec_push(prices->arena, &prices->asked->price, price);
    return prices->asked->price.n - 1;
}

static MovePrice *price_at(const Prices *prices, int32_t id)
{
    return &prices->asked->price.at[prices->asked->price_of.at[id]];
}

static const PriceKey *asked_at(const Prices *prices, int32_t id)
{
    return intern_key(prices->asked->moves, id, NULL);
}

static const PricedMachine *on_of(const Prices *prices, const PriceKey *move)
{
    return &prices->asked->on.at[move->machine];
}

static const ReshardPath *path_of(Prices *prices, Resharder *resharder, const PriceKey *move)
{
    return reshard_filled(resharder, (Dtype)move->dtype, move->from, move->to, prices->fixed,
                          (double)move->fill);
}

static bool meets_bound(const ReshardPath *path)
{
    return path->bound_us >= path->us * (1 - SAME);
}

/* The price of a path of whole axes. */
static MovePrice price_of_whole_axes(const ReshardPath *path)
{
    bool settled = meets_bound(path);
    return (MovePrice){.us = settled ? path->us : path->bound_us,
                       .found_us = path->us,
                       .joined_us = UNKNOWN,
                       .known = settled ? SETTLED : WHOLE_AXES};
}

/* The price of a move that was not asked for before: a bound of those that are alike, if there is
 * one, else a path of whole axes. */
static int32_t find_price(Prices *prices, const PriceKey *move)
{
    struct PricesAsked *asked = prices->asked;
    uint64_t key[ALIKE_WORDS + 1];
    double element_bytes = (double)dtype_bytes((Dtype)move->dtype, 8) / 8 * (double)move->fill;
    const Sharding *from = shardings_at(prices->shardings, move->from);
    const Sharding *to = shardings_at(prices->shardings, move->to);
    int n = reshard_alike(from, to, prices->mesh, prices->fixed, element_bytes, key);
    key[n] = (uint64_t)move->machine;
    int32_t alike = n > 0 ? intern_put(asked->alike, key, sizeof *key * (size_t)(n + 1)) : UNKNOWN;
    if (alike >= 0 && alike < asked->price_of_alike.n && asked->price_of_alike.at[alike] != UNKNOWN)
        return asked->price_of_alike.at[alike];
    bool first = alike >= 0 && alike == asked->price_of_alike.n;
    MovePrice price = {.found_us = INFINITY, .joined_us = UNKNOWN, .shared = first};
    if (first)
        price.us = reshard_bound_us(on_of(prices, move)->resharder, (Dtype)move->dtype, move->from,
                                    move->to, prices->fixed, (double)move->fill);
    if (first && price.us <= 0 && prices_have_bounds(prices)) {
        price.found_us = price.joined_us = 0; /* slices alone */
        price.known = SETTLED;
    } else if (!first || price.us <= 0) {
        const ReshardPath *path = path_of(prices, on_of(prices, move)->resharder, move);
        price = price_of_whole_axes(path);
        price.shared = first && path->proven;
    }
    int32_t at = add_price(prices, price);
    if (first)
        vec_push(prices->arena, &asked->price_of_alike, price.shared ? at : UNKNOWN);
    return at;
}

/* Of what is made of two others. */
static int32_t put_of_two(Prices *prices, int32_t how, int32_t a, int32_t b)
{
    PriceKey key = {.machine = how, .from = a, .to = b};
    int32_t id = intern_put(prices->asked->moves, &key, sizeof key);
    if (id == prices->asked->price_of.n)
        vec_push(prices->arena, &prices->asked->price_of, NOTHING);
    return id;
}

int32_t prices_fixed(Prices *prices, double us)
{
    PriceKey key = {.machine = FIXED};
    memcpy(&key.from, &us, sizeof us);
    int32_t id = intern_put(prices->asked->moves, &key, sizeof key);
    if (id == prices->asked->price_of.n) {
        int32_t at = add_price(prices, (MovePrice){us, us, us, .known = SETTLED});
        vec_push(prices->arena, &prices->asked->price_of, at);
    }
    return id;
}

int32_t prices_cheaper(Prices *prices, int32_t a, int32_t b)
{
    return put_of_two(prices, CHEAPER, a, b);
}

static int32_t ask_plain(Prices *prices, const PriceKey *move)
{
    int32_t id = intern_put(prices->asked->moves, move, sizeof *move);
    if (id == prices->asked->price_of.n) {
        int32_t price = find_price(prices, move);
        vec_push(prices->arena, &prices->asked->price_of, price);
    }
    return id;
}

int32_t prices_ask(Prices *prices, int32_t machine, Dtype dtype, int32_t from, int32_t to,
                   double fill)
{
    PriceKey move = {machine, (int32_t)dtype, from, to, (float)fill}, exchange = move;
    const Sharding *before = shardings_at(prices->shardings, from);
    const Sharding *after = shardings_at(prices->shardings, to);
    bool from_halos = sharding_has_halo(before);
    if (!from_halos && !sharding_has_halo(after))
        return ask_plain(prices, &move);
    Sharding between = from_halos ? sharding_settled(before) : sharding_without_halo(after);
    int32_t plain = shardings_put(prices->shardings, &between);
    *(from_halos ? &exchange.to : &exchange.from) = plain;
    *(from_halos ? &move.from : &move.to) = plain;
    double us = path_of(prices, on_of(prices, &exchange)->settler, &exchange)->us;
    int32_t rest = move.from == move.to
                       ? NOTHING
                       : prices_ask(prices, machine, dtype, move.from, move.to, fill);
    return put_of_two(prices, TOGETHER, rest, prices_fixed(prices, us));
}

/* The move is made on that path. */
static void settle_on(Prices *prices, int32_t id, const ReshardPath *path)
{
    MovePrice *price = price_at(prices, id);
    MovePrice settled = {.us = path->us,
                         .found_us = path->us,
                         .joined_us = joined_us(prices, asked_at(prices, id)->machine, path),
                         .changed = ++prices->asked->n_changes,
                         .known = SETTLED,
                         .shared = price->shared && path->proven};
    if (price->shared && !settled.shared) /* those alike stay as they are */
        prices->asked->price_of.at[id] = add_price(prices, settled);
    else
        *price = settled;
}

static void settle(Prices *prices, int32_t id)
{
    const PriceKey *move = asked_at(prices, id);
    settle_on(prices, id, path_of(prices, on_of(prices, move)->settler, move));
}

static void find_whole_axes(Prices *prices, int32_t id)
{
    MovePrice *price = price_at(prices, id);
    const PriceKey *move = asked_at(prices, id);
    const ReshardPath *path = path_of(prices, on_of(prices, move)->resharder, move);
    price->known = WHOLE_AXES;
    price->found_us = path->us;
    if (path->proven && price->us >= path->us * (1 - SAME))
        settle_on(prices, id, path);
}

static void find_bound(Prices *prices, int32_t id)
{
    MovePrice *price = price_at(prices, id);
    const PriceKey *move = asked_at(prices, id);
    double least = reshard_least_us(on_of(prices, move)->resharder, (Dtype)move->dtype, move->from,
                                    move->to, prices->fixed, (double)move->fill, price->found_us);
    if (least > price->us) {
        price->us = least;
        price->changed = ++prices->asked->n_changes;
    }
    price->known = price->us >= price->found_us * (1 - SAME) ? SETTLED : TIGHTENED;
}

bool prices_settle_soon(const Prices *prices)
{
    return prices->mesh->n_atoms < RELAXED_ATOMS_MIN;
}

/* Of what is made of two: its parts; false: it is a price of its own. */
static bool is_of_two(const Prices *prices, int32_t id, PriceKey *of)
{
    if (prices->asked->price_of.at[id] != NOTHING)
        return false;
    *of = *asked_at(prices, id);
    return true;
}

/* The part that counts is improved: of two together both. */
static bool improve_two(Prices *prices, const PriceKey *of, bool improve(Prices *, int32_t))
{
    if (of->machine == CHEAPER)
        return improve(prices, prices_us(prices, of->from) <= prices_us(prices, of->to) ? of->from
                                                                                        : of->to);
    bool first = of->from != NOTHING && improve(prices, of->from);
    return improve(prices, of->to) || first;
}

bool prices_tighten(Prices *prices, int32_t id)
{
    PriceKey of;
    if (is_of_two(prices, id, &of))
        return improve_two(prices, &of, prices_tighten);
    Known before = price_at(prices, id)->known;
    if (before < SETTLED && prices_settle_soon(prices)) {
        settle(prices, id);
        return true;
    }
    if (before == BOUNDED)
        find_whole_axes(prices, id);
    if (price_at(prices, id)->known == WHOLE_AXES && price_at(prices, id)->shared)
        find_bound(prices, id);
    return price_at(prices, id)->known > before;
}

bool prices_settle(Prices *prices, int32_t id)
{
    PriceKey of;
    if (is_of_two(prices, id, &of))
        return improve_two(prices, &of, prices_settle);
    if (price_at(prices, id)->known == SETTLED)
        return false;
    if (!prices_tighten(prices, id))
        settle(prices, id);
    return true;
}

const Resharder *prices_settler(const Prices *prices)
{
    return prices->asked->on.at[0].settler;
}

static void take(Prices *prices, const PriceKey *move, const ReshardPath *path)
{
    if (sharding_has_halo(shardings_at(prices->shardings, move->from)) ||
        sharding_has_halo(shardings_at(prices->shardings, move->to)))
        return; /* its parts are settled when they are asked for */
    int32_t id = intern_find(prices->asked->moves, move, sizeof *move);
    const MovePrice *price = id < 0 ? NULL : price_at(prices, id);
    if (price && (price->known < SETTLED || path->us < price->us * (1 - SAME)))
        settle_on(prices, id, path);
}

void prices_take(Prices *prices, const Plan *plan)
{
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *move = &plan->moved->reshards[i];
        const Sharding *from = shardings_at(plan->shardings, move->from);
        const Sharding *to = shardings_at(plan->shardings, move->to);
        double fill = routed_move_fill(plan->routed, move->tensor, from, to, plan->mesh);
        PriceKey asked = {prices_machine(prices, plan_machine_of(plan, move->to_devices)),
                          plan->inferred->dtype[move->tensor],
                          shardings_put(prices->shardings, from),
                          shardings_put(prices->shardings, to), (float)fill};
        if (move->from_devices == move->to_devices)
            take(prices, &asked, move->path);
    }
}

int64_t prices_changes(const Prices *prices)
{
    return prices->asked->n_changes;
}

bool prices_changed(const Prices *prices, int32_t id, int64_t since)
{
    PriceKey of;
    if (is_of_two(prices, id, &of))
        return prices_changed(prices, of.to, since) ||
               (of.from != NOTHING && prices_changed(prices, of.from, since));
    return price_at(prices, id)->changed > since;
}

static double of_two(const PriceKey *of, double a, double b)
{
    return of->machine == CHEAPER ? fmin(a, b) : a + b;
}

double prices_us(const Prices *prices, int32_t id)
{
    PriceKey of;
    if (is_of_two(prices, id, &of))
        return of_two(&of, of.from == NOTHING ? 0 : prices_us(prices, of.from),
                      prices_us(prices, of.to));
    return price_at(prices, id)->us;
}

double prices_joined_us(Prices *prices, int32_t id)
{
    PriceKey of;
    if (is_of_two(prices, id, &of))
        return of_two(&of, of.from == NOTHING ? 0 : prices_joined_us(prices, of.from),
                      prices_joined_us(prices, of.to));
    const PriceKey *move = asked_at(prices, id);
    MovePrice *price = price_at(prices, id);
    if (price->joined_us < 0)
        price->joined_us =
            joined_us(prices, move->machine, path_of(prices, on_of(prices, move)->resharder, move));
    return price->joined_us;
}

bool prices_is_free(const Prices *prices, int32_t id)
{
    PriceKey of;
    if (is_of_two(prices, id, &of)) {
        bool a = of.from == NOTHING || prices_is_free(prices, of.from);
        bool b = prices_is_free(prices, of.to);
        return of.machine == CHEAPER ? a || b : a && b;
    }
    const MovePrice *price = price_at(prices, id);
    return price->known == SETTLED && price->us <= 0;
}

bool prices_free(Prices *prices, int32_t machine, Dtype dtype, int32_t from, int32_t to,
                 double fill)
{
    return from == to || prices_is_free(prices, prices_ask(prices, machine, dtype, from, to, fill));
}
