#include "core/plan/reshard.h"

#include "core/base/intern.h"
#include "core/base/vec.h"

#include <assert.h>

/* The states a search may look at; beyond, the straight way is taken. Real cases need some tens. */
enum { STATES_MAX = 1000 };

typedef struct {
    int32_t sharding, before; /* before: state this one was reached from, -1 at the start */
    int n_steps;
    double us;
    bool done;
    Step step; /* the last one */
} State;

struct Resharder {
    Arena *arena;
    const Mesh *mesh;
    const Machine *machine;
    Shardings *shardings;
    Intern *asked;
    Vec(const ReshardPath *) paths; /* by id in asked */
};

typedef struct {
    Resharder *resharder;
    Arena *scratch;
    Dtype dtype;
    const Sharding *target;
    AtomSet unit[ATOMS_MAX]; /* by atom: those of its axis that source and target never part */
    int32_t at;              /* the state being expanded */
    Sharding from;
    Vec(State) states;
    Intern *seen; /* sharding id -> state */
} Search;

Resharder *resharder_new(Arena *arena, const Mesh *mesh, const Machine *machine,
                         Shardings *shardings)
{
    Resharder *resharder = arena_make(arena, Resharder);
    *resharder = (Resharder){.arena = arena, .mesh = mesh, .machine = machine};
    resharder->shardings = shardings;
    resharder->asked = intern_new(arena);
    return resharder;
}

static void price(const Search *search, Step *step, const Sharding *from, const Sharding *to)
{
    const Mesh *mesh = search->resharder->mesh;
    if (step->kind == STEP_SLICE || mesh_atoms_size(mesh, step->atoms) <= 1)
        return;
    const Sharding *held = step->kind == STEP_ALL_GATHER ? to : from;
    step->bytes = dtype_bytes(search->dtype, sharding_local_elements(held, mesh, 0));
    Price priced =
        price_step(search->resharder->machine, mesh, step->kind, step->atoms, step->bytes);
    step->wire_bytes = priced.wire_bytes;
    step->us = priced.us;
}

static bool better(const State *new, const State *old)
{
    double slack = 1e-9 * (1 + old->us);
    if (new->us < old->us - slack || new->us > old->us + slack)
        return new->us < old->us;
    return new->n_steps != old->n_steps ? new->n_steps < old->n_steps
                                        : new->step.kind < old->step.kind;
}

/* Offers the state `to`, reached by one step from the state being expanded. */
static void offer(Search *search, StepKind kind, AtomSet atoms, const Sharding *to)
{
    int32_t id = shardings_put(search->resharder->shardings, to);
    State state = {.sharding = id, .before = search->at};
    const State *from = &search->states.at[search->at];
    state.step = (Step){.kind = kind, .atoms = atoms, .from = from->sharding, .to = id};
    price(search, &state.step, &search->from, to);
    state.us = from->us + state.step.us;
    state.n_steps = from->n_steps + 1;

    int32_t place = intern_put(search->seen, &id, sizeof id);
    if (place == search->states.n)
        vec_push(search->scratch, &search->states, state);
    else if (!search->states.at[place].done && better(&state, &search->states.at[place]))
        search->states.at[place] = state;
}

static void offer_dim(Search *search, StepKind kind, AtomSet atoms, int dim, const Cut *cut)
{
    Sharding to = search->from;
    to.dim[dim] = *cut;
    offer(search, kind, atoms, &to);
}

static void clear_partial(Sharding *sharding, AtomSet atoms)
{
    for (int a = 0; a < ATOMS_MAX; a++)
        if (atoms >> a & 1)
            sharding->partial[a] = REDUCE_NONE;
}

/* Atoms partial with the same reduce op as atom a. */
static AtomSet same_reduce(const Sharding *sharding, AtomSet among, int a)
{
    AtomSet set = 0;
    for (int b = 0; b < ATOMS_MAX; b++)
        if (among >> b & 1 && sharding->partial[b] == sharding->partial[a])
            set |= (AtomSet)1 << b;
    return set;
}

/* What must be reduced: at once, axis by axis, and scattered onto dims that the target cuts so. */
static void reduce_moves(Search *search)
{
    const Mesh *mesh = search->resharder->mesh;
    const Sharding *from = &search->from, *target = search->target;
    AtomSet due = sharding_partials(from) & ~sharding_partials(target);
    for (int a = 0; a < mesh->n_atoms; a++) {
        if (!(due >> a & 1))
            continue;
        AtomSet alike = same_reduce(from, due, a);
        AtomSet unit = alike & search->unit[a];
        Sharding to = *from;
        clear_partial(&to, alike);
        offer(search, STEP_ALL_REDUCE, alike, &to);
        to = *from;
        clear_partial(&to, unit);
        offer(search, STEP_ALL_REDUCE, unit, &to);

        for (int d = 0; d < from->n_dims; d++) {
            AtomSet had = cut_atoms(&from->dim[d]);
            Cut cut = cut_without(&target->dim[d], ~(had | alike), mesh);
            AtomSet added = cut_atoms(&cut) & ~had;
            if (!added || !cut_refines(&cut, &from->dim[d], mesh))
                continue;
            to = *from;
            clear_partial(&to, added);
            to.dim[d] = cut;
            offer(search, STEP_REDUCE_SCATTER, added, &to);
        }
    }
}

static void slice_moves(Search *search)
{
    const Mesh *mesh = search->resharder->mesh;
    const Sharding *from = &search->from;
    AtomSet used = sharding_atoms(from) | sharding_partials(from);
    for (int d = 0; d < from->n_dims; d++) {
        AtomSet had = cut_atoms(&from->dim[d]);
        Cut cut = cut_without(&search->target->dim[d], used & ~had, mesh);
        if (!cut_equal(&cut, &from->dim[d]) && cut_refines(&cut, &from->dim[d], mesh))
            offer_dim(search, STEP_SLICE, 0, d, &cut);
    }
}

static void gather_without(Search *search, int dim, AtomSet drop)
{
    const Cut *had = &search->from.dim[dim];
    Cut cut = cut_without(had, drop, search->resharder->mesh);
    AtomSet gone = cut_atoms(had) & ~cut_atoms(&cut);
    if (gone && cut_refines(had, &cut, search->resharder->mesh))
        offer_dim(search, STEP_ALL_GATHER, gone, dim, &cut);
}

static void gather_moves(Search *search)
{
    const Mesh *mesh = search->resharder->mesh;
    for (int d = 0; d < search->from.n_dims; d++) {
        AtomSet had = cut_atoms(&search->from.dim[d]);
        if (!had)
            continue;
        gather_without(search, d, ~(AtomSet)0);
        gather_without(search, d, ~cut_atoms(&search->target->dim[d]));
        for (int a = 0; a < mesh->n_atoms; a++)
            if (had >> a & 1)
                gather_without(search, d, search->unit[a]);
    }
}

/* The same atoms on other digits of a dim, or moved from the minor end of one dim to another's. */
static void all_to_all_moves(Search *search)
{
    const Mesh *mesh = search->resharder->mesh;
    const Sharding *from = &search->from, *target = search->target;
    for (int d = 0; d < from->n_dims; d++) {
        AtomSet had = cut_atoms(&from->dim[d]);
        Cut cut = cut_without(&target->dim[d], ~had, mesh);
        if (had && cut_atoms(&cut) == had && !cut_equal(&cut, &from->dim[d]))
            offer_dim(search, STEP_ALL_TO_ALL, had, d, &cut);

        for (int i = 0; i < from->n_dims; i++) {
            AtomSet there = cut_atoms(&from->dim[i]);
            if (i == d || !there)
                continue;
            Cut gain = cut_without(&target->dim[d], ~(had | there), mesh);
            AtomSet moved = cut_atoms(&gain) & ~had;
            Cut rest = cut_without(&from->dim[i], moved, mesh);
            if (!moved || cut_atoms(&rest) != (there & ~moved) ||
                !cut_refines(&from->dim[i], &rest, mesh) ||
                !cut_refines(&gain, &from->dim[d], mesh))
                continue;
            Sharding to = *from;
            to.dim[d] = gain;
            to.dim[i] = rest;
            offer(search, STEP_ALL_TO_ALL, moved, &to);
        }
    }
}

static int cheapest_open(const Search *search)
{
    int best = -1;
    for (int i = 0; i < search->states.n; i++)
        if (!search->states.at[i].done &&
            (best < 0 || better(&search->states.at[i], &search->states.at[best])))
            best = i;
    return best;
}

static ReshardPath *path_to(Search *search, int state)
{
    Arena *arena = search->resharder->arena;
    ReshardPath *path = arena_make(arena, ReshardPath);
    path->n_steps = search->states.at[state].n_steps;
    Step *steps = arena_array(arena, Step, path->n_steps);
    for (int i = path->n_steps - 1; i >= 0; i--) {
        steps[i] = search->states.at[state].step;
        path->us += steps[i].us;
        path->wire_bytes += steps[i].wire_bytes;
        state = search->states.at[state].before;
    }
    path->step = steps;
    return path;
}

/* Atoms a and a+1 stand behind each other in one digit, or are both partial, or both unused. */
static bool side_by_side(const Sharding *sharding, int a)
{
    for (int d = 0; d < sharding->n_dims; d++)
        for (int i = 0; i < sharding->dim[d].n; i++) {
            const Digit *digit = &sharding->dim[d].digit[i];
            for (int k = 0; k < digit->n; k++)
                if (digit->atom[k] == a)
                    return k + 1 < digit->n && digit->atom[k + 1] == a + 1;
                else if (digit->atom[k] == a + 1)
                    return false;
        }
    return sharding->partial[a] == sharding->partial[a + 1];
}

/* A path never takes an axis apart that neither end does: collectives work on whole axes. */
static void find_units(Search *search, const Sharding *from)
{
    const Mesh *mesh = search->resharder->mesh;
    for (int first = 0; first < mesh->n_atoms;) {
        int end = first + 1;
        while (end < mesh->n_atoms && mesh->atoms[end].axis == mesh->atoms[first].axis &&
               side_by_side(from, end - 1) && side_by_side(search->target, end - 1))
            end++;
        for (int a = first; a < end; a++)
            search->unit[a] = (((AtomSet)1 << (end - first)) - 1) << first;
        first = end;
    }
}

static void step_on(Search *search, StepKind kind, AtomSet atoms, const Sharding *to)
{
    const State *from = &search->states.at[search->at];
    State state = {.before = search->at, .n_steps = from->n_steps + 1};
    state.sharding = shardings_put(search->resharder->shardings, to);
    state.step = (Step){.kind = kind, .atoms = atoms, .from = from->sharding, .to = state.sharding};
    price(search, &state.step, &search->from, to);
    state.us = from->us + state.step.us;
    search->at = search->states.n;
    search->from = *to;
    vec_push(search->scratch, &search->states, state);
}

/* Reduces what is due, gathers the dims that differ whole, slices them: always legal. */
static const ReshardPath *straight_path(Search *search)
{
    search->at = 0;
    search->from = *shardings_at(search->resharder->shardings, search->states.at[0].sharding);
    const Sharding *target = search->target;
    for (int a = 0; a < search->resharder->mesh->n_atoms; a++) {
        AtomSet due = sharding_partials(&search->from) & ~sharding_partials(target);
        Sharding to = search->from;
        if (!(due >> a & 1))
            continue;
        AtomSet alike = same_reduce(&search->from, due, a);
        clear_partial(&to, alike);
        step_on(search, STEP_ALL_REDUCE, alike, &to);
    }
    for (int slicing = 0; slicing <= 1; slicing++)
        for (int d = 0; d < target->n_dims; d++) {
            Sharding to = search->from;
            AtomSet had = cut_atoms(&to.dim[d]);
            if (cut_equal(&to.dim[d], &target->dim[d]) || (!slicing && !had))
                continue;
            to.dim[d] = slicing ? target->dim[d] : cut_whole(cut_size(&to.dim[d]));
            step_on(search, slicing ? STEP_SLICE : STEP_ALL_GATHER, slicing ? 0 : had, &to);
        }
    return path_to(search, search->at);
}

/* Dijkstra. Gathering everything and slicing is always offered, so the target is always reached. */
static const ReshardPath *search_path(Search *search, int32_t from, int32_t to)
{
    find_units(search, shardings_at(search->resharder->shardings, from));
    vec_push(search->scratch, &search->states, (State){.sharding = from, .before = -1});
    intern_put(search->seen, &from, sizeof from);
    for (;;) {
        int at = cheapest_open(search);
        if (search->states.n >= STATES_MAX)
            return straight_path(search);
        assert(at >= 0);
        search->states.at[at].done = true;
        if (search->states.at[at].sharding == to)
            return path_to(search, at);
        search->at = at;
        search->from = *shardings_at(search->resharder->shardings, search->states.at[at].sharding);
        slice_moves(search);
        gather_moves(search);
        reduce_moves(search);
        all_to_all_moves(search);
    }
}

const ReshardPath *reshard(Resharder *resharder, Dtype dtype, int32_t from, int32_t to)
{
    struct {
        int32_t dtype, from, to;
    } key = {(int32_t)dtype, from, to};
    int32_t id = intern_put(resharder->asked, &key, sizeof key);
    if (id < resharder->paths.n)
        return resharder->paths.at[id];

    Sharding target = *shardings_at(resharder->shardings, to);
    Search search = {.resharder = resharder, .dtype = dtype, .target = &target};
    search.scratch = arena_new();
    search.seen = intern_new(search.scratch);
    const ReshardPath *path = search_path(&search, from, to);
    arena_free(search.scratch);
    vec_push(resharder->arena, &resharder->paths, path);
    return path;
}
