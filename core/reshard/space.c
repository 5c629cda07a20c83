#include "core/reshard/space.h"

/* ---- slots of two shardings ---- */

/* Where digits end, as the product of the sizes minor to it; descending, without 1. */
static int add_borders(const Cut *cut, int64_t *border, int n)
{
    int64_t stride = 1;
    for (int i = (int)cut->n - 1; i > 0; i--) {
        stride *= cut->digit[i].size;
        int at = 0;
        while (at < n && border[at] > stride)
            at++;
        if (at < n && border[at] == stride)
            continue;
        for (int k = n++; k > at; k--)
            border[k] = border[k - 1];
        border[at] = stride;
    }
    return n;
}

/* The sizes between all borders of two cuts; 0 if they do not nest. */
static int shared_digits(const Cut *a, const Cut *b, int64_t *size)
{
    int64_t border[2 * DIGITS_MAX], whole = cut_size(a);
    int n = add_borders(b, border, add_borders(a, border, 0));
    if (n >= DIGITS_MAX)
        return 0;
    for (int i = 0; i <= n; i++) {
        int64_t major = i > 0 ? border[i - 1] : whole, minor = i < n ? border[i] : 1;
        if (minor == 0 || major % minor != 0)
            return 0;
        size[i] = major / minor;
    }
    return n + 1;
}

/* The atoms of a cut on digits of these sizes. Returns false if these digits cannot express it. */
static bool place_on(const Cut *cut, const int64_t *size, int n, const Mesh *mesh, int first,
                     Layout *layout)
{
    Cut part[DIGITS_MAX], joined;
    const Cut *parts[DIGITS_MAX];
    AtomSet lost;
    cut_split(cut, size, n, mesh, part, &lost);
    for (int i = 0; i < n; i++) {
        parts[i] = &part[i];
        if (part[i].n > 1)
            return false;
    }
    if (lost || !cut_concat(parts, n, mesh, &joined) || !cut_equal(&joined, cut))
        return false;
    for (int i = 0; i < n; i++)
        for (int k = 0; part[i].n && k < part[i].digit[0].n; k++)
            layout->place[part[i].digit[0].atom[k]] = place_in(first + i, k);
    return true;
}

static void add_slots(Space *space, int dim, int form, const int64_t *size, int n)
{
    for (int i = 0; i < n; i++)
        space->slot[space->n_slots++] =
            (Slot){.size = size[i], .dim = (uint8_t)dim, .form = (uint8_t)form};
}

static void put_digit(Layout *layout, int slot, const Digit *digit)
{
    for (int k = 0; k < digit->n; k++)
        layout->place[digit->atom[k]] = place_in(slot, k);
}

static void add_form(Space *space, int dim, int form, const Cut *cut, Layout *layout)
{
    for (int i = 0; i < cut->n; i++) {
        put_digit(layout, space->n_slots, &cut->digit[i]);
        add_slots(space, dim, form, &cut->digit[i].size, 1);
    }
}

static void add_dim(Space *space, int dim, const Cut *from, const Cut *to, const Mesh *mesh)
{
    if (from->n == 1 && to->n == 1 && cut_is_plain(from) && cut_is_plain(to)) {
        put_digit(&space->from, space->n_slots, from->digit);
        put_digit(&space->to, space->n_slots, to->digit);
        add_slots(space, dim, 0, &from->digit->size, 1);
        return;
    }
    int64_t size[DIGITS_MAX];
    int first = space->n_slots, n = shared_digits(from, to, size);
    Layout source = space->from, target = space->to;
    if (n > 0 && place_on(from, size, n, mesh, first, &source) &&
        place_on(to, size, n, mesh, first, &target)) {
        space->from = source;
        space->to = target;
        add_slots(space, dim, 0, size, n);
        return;
    }
    int64_t whole = cut_size(from);
    space->two_forms = true;
    space->unit /= whole > 0 ? (double)whole : 1; /* the unused form counts as whole */
    add_form(space, dim, 0, from, &space->from);
    add_form(space, dim, 1, to, &space->to);
}

static void add_atoms(Space *space, const Sharding *from, const Sharding *to, const Mesh *mesh)
{
    space->n_atoms = mesh->n_atoms;
    for (int a = 0; a < mesh->n_atoms; a++) {
        space->size[a] = mesh->atoms[a].size;
        space->of_mesh[a] = (AtomSet)1 << a;
        space->runs_on[a] = a > 0 && mesh->atoms[a].axis == mesh->atoms[a - 1].axis;
        space->reduce[a] = from->partial[a];
        if (from->partial[a] != REDUCE_NONE)
            space->from.place[a] = ATOM_PARTIAL;
        if (to->partial[a] != REDUCE_NONE) {
            space->to.place[a] = ATOM_PARTIAL;
            space->kept |= (AtomSet)1 << a;
        }
    }
}

/* Neither end shards it, but a layout may. */
static bool may_park(const Cut *from, const Cut *to)
{
    return cut_size(from) > 1 && cut_is_whole(from) && cut_is_whole(to);
}

/* The largest of the spare dims; -1 if there is none. */
static int spare_dim(const Sharding *from, const Sharding *to, const Mesh *mesh)
{
    int best = -1;
    for (int d = 0; d < from->n_dims; d++) {
        int64_t size = cut_size(&from->dim[d]);
        if (may_park(&from->dim[d], &to->dim[d]) && size % mesh->n_devices == 0 &&
            (best < 0 || size > cut_size(&from->dim[best])))
            best = d;
    }
    return best;
}

/* Atom a is right behind the one before it, or both are partial by the same reduction, or both
 * unused. */
static bool side_by_side(const Space *space, const Layout *layout, int a)
{
    uint16_t before = layout->place[a - 1], place = layout->place[a];
    if (place_cuts(before) && place_cuts(place))
        return place_slot(before) == place_slot(place) && place_at(before) + 1 == place_at(place);
    return before == place && space->reduce[a] == space->reduce[a - 1];
}

static void find_joined(Space *space)
{
    memset(space->whole, 0, sizeof space->whole);
    for (int a = 0, first = 0; a < space->n_atoms; a++) {
        space->joined[a] = a > 0 && space->runs_on[a] && side_by_side(space, &space->from, a) &&
                           side_by_side(space, &space->to, a);
        first = space->joined[a] ? first : a;
        space->whole[first] |= (AtomSet)1 << a;
        for (int b = first + 1; b <= a; b++)
            space->whole[b] = space->whole[first];
    }
}

/* The usable atoms, renumbered. */
static void leave_out(Space *space, AtomSet without)
{
    int n = 0;
    AtomSet kept = space->kept;
    Layout from = space->from, to = space->to;
    space->kept = 0;
    for (int a = 0; a < space->n_atoms; a++) {
        if (without >> a & 1 && from.place[a] == ATOM_UNUSED && to.place[a] == ATOM_UNUSED)
            continue;
        space->size[n] = space->size[a];
        space->of_mesh[n] = space->of_mesh[a];
        space->runs_on[n] =
            n > 0 && space->runs_on[a] && space->of_mesh[n - 1] << 1 == space->of_mesh[n];
        space->reduce[n] = space->reduce[a];
        space->from.place[n] = from.place[a];
        space->to.place[n] = to.place[a];
        space->kept |= (AtomSet)(kept >> a & 1) << n++;
    }
    for (int a = n; a < space->n_atoms; a++)
        space->from.place[a] = space->to.place[a] = ATOM_UNUSED;
    space->n_atoms = n;
}

void space_of(const Sharding *from, const Sharding *to, const Mesh *mesh, AtomSet without,
              double element_bytes, bool wide, Space *out)
{
    *out = (Space){.n_dims = (int)from->n_dims, .unit = element_bytes};
    add_atoms(out, from, to, mesh);
    int largest = spare_dim(from, to, mesh);
    for (int d = 0; d < from->n_dims; d++) {
        const Cut *a = &from->dim[d], *b = &to->dim[d];
        bool parks = may_park(a, b), left_out = parks && !wide && largest >= 0 && d != largest;
        out->narrow |= left_out;
        if (left_out || (!parks && cut_is_whole(a) && cut_is_whole(b))) {
            out->unit *= (double)cut_size(a);
            continue;
        }
        add_dim(out, d, a, b, mesh);
        out->slot[out->n_slots - 1].spare = parks && cut_size(a) % mesh->n_devices == 0;
    }
    if (without)
        leave_out(out, without);
    find_joined(out);
    space_set_goal(out);
}

/* The first atoms of those that are one, renumbered. */
static Layout join_layout(const Space *space, const Layout *layout, AtomSet firsts,
                          const int *joined)
{
    Layout out = {.moved = layout->moved};
    Lists lists;
    space_lists(space, layout, &lists);
    for (int a = 0; a < space->n_atoms; a++)
        if (layout->place[a] == ATOM_PARTIAL)
            out.place[joined[a]] = ATOM_PARTIAL;
    for (int s = 0; s < space->n_slots; s++)
        for (int i = 0, n = 0; i < lists.n[s]; i++)
            if (firsts >> lists.atom[s][i] & 1)
                out.place[joined[lists.atom[s][i]]] = place_in(s, n++);
    return out;
}

/* The middle of the longest row of atoms that are one; -1 if all are apart. */
static int longest_middle(const Space *space, AtomSet firsts)
{
    int middle = -1, most = 1;
    for (int a = 0, first = 0; a < space->n_atoms; a++) {
        first = firsts >> a & 1 ? a : first;
        if (a - first + 1 > most) {
            most = a - first + 1;
            middle = first + most / 2;
        }
    }
    return middle;
}

/* Atoms that are not one with the atom before them. */
static AtomSet firsts_of(const Space *space, int most)
{
    AtomSet firsts = 0;
    int n = 0;
    for (int a = 0; a < space->n_atoms; a++)
        if (!space->joined[a])
            firsts |= (AtomSet)1 << a, n++;
    for (int a = 1; a < space->n_atoms && n < most; a++)
        if (space->joined[a] && (space->far >> a & 1) != (space->far >> (a - 1) & 1))
            firsts |= (AtomSet)1 << a, n++;
    for (int middle; n < most && (middle = longest_middle(space, firsts)) >= 0; n++)
        firsts |= (AtomSet)1 << middle;
    return firsts;
}

bool space_join(const Space *space, int most, Space *out)
{
    int joined[ATOMS_MAX] = {0}, n = 0;
    AtomSet firsts = firsts_of(space, most);
    *out = *space;
    out->kept = 0;
    for (int a = 0; a < space->n_atoms; a++) {
        if (!(firsts >> a & 1) && n > 0) {
            out->size[n - 1] *= space->size[a];
            out->of_mesh[n - 1] |= space->of_mesh[a];
        } else {
            out->size[n] = space->size[a];
            out->of_mesh[n] = space->of_mesh[a];
            out->runs_on[n] = space->runs_on[a];
            out->reduce[n++] = space->reduce[a];
        }
        joined[a] = n > 0 ? n - 1 : 0;
        if (space->kept >> a & 1)
            out->kept |= (AtomSet)1 << joined[a];
    }
    out->n_atoms = n;
    out->from = join_layout(space, &space->from, firsts, joined);
    out->to = join_layout(space, &space->to, firsts, joined);
    find_joined(out);
    space_set_goal(out);
    return n < space->n_atoms;
}

AtomSet space_of_mesh(const Space *space, AtomSet atoms)
{
    AtomSet out = 0;
    for (int a = 0; a < space->n_atoms; a++)
        if (atoms >> a & 1)
            out |= space->of_mesh[a];
    return out;
}

/* ---- layouts ---- */

void space_lists(const Space *space, const Layout *layout, Lists *out)
{
    memset(out->n, 0, (size_t)space->n_slots);
    for (int a = 0; a < space->n_atoms; a++) {
        uint16_t place = layout->place[a];
        if (!place_cuts(place))
            continue;
        out->atom[place_slot(place)][place_at(place)] = (uint8_t)a;
        out->n[place_slot(place)]++;
    }
}

bool layout_holds(const Space *space, const Layout *layout)
{
    for (int a = 0; a < space->n_atoms; a++)
        if (place_held(layout->place[a]))
            return true;
    return false;
}

Sharding space_sharding(const Space *space, const Layout *layout, const Sharding *like,
                        const Mesh *mesh)
{
    Sharding out = {.n_dims = like->n_dims};
    Lists lists;
    space_lists(space, layout, &lists);
    int used[DIMS_MAX] = {0};
    for (int s = 0; s < space->n_slots; s++)
        if (lists.n[s] > 0)
            used[space->slot[s].dim] = space->slot[s].form;
    for (int d = 0; d < like->n_dims; d++)
        out.dim[d] = cut_whole(cut_size(&like->dim[d]));
    bool begun[DIMS_MAX] = {false};
    for (int s = 0; s < space->n_slots; s++) {
        const Slot *slot = &space->slot[s];
        if (slot->form != used[slot->dim])
            continue;
        Cut *cut = &out.dim[slot->dim];
        if (!begun[slot->dim])
            *cut = (Cut){0};
        begun[slot->dim] = true;
        Digit *digit = &cut->digit[cut->n++];
        digit->size = slot->size;
        for (int i = 0; i < lists.n[s]; i++)
            digit->n += (uint8_t)mesh_list_set(mesh, space->of_mesh[lists.atom[s][i]],
                                               digit->atom + digit->n);
    }
    for (int d = 0; d < like->n_dims; d++)
        if (begun[d])
            cut_canonical(&out.dim[d], mesh);
    for (int a = 0; a < space->n_atoms; a++)
        for (int b = 0; layout->place[a] == ATOM_PARTIAL && b < mesh->n_atoms; b++)
            if (space->of_mesh[a] >> b & 1)
                out.partial[b] = space->reduce[a];
    return out;
}

int space_run(const Space *space, const uint8_t *atom, int n, int first)
{
    int end = first + 1;
    while (end < n && atom[end] == atom[end - 1] + 1 && space->runs_on[atom[end]])
        end++;
    return end;
}

bool space_boundary(const Space *space, int slot, const uint8_t *atom, int n, int k)
{
    if (space->padded || k == 0 || k == n)
        return true;
    int64_t parts = 1;
    for (int first = 0; first < k;) {
        int end = space_run(space, atom, n, first);
        for (int i = first; i < end; i++)
            parts *= space->size[atom[i]];
        if (end > k)
            return space->slot[slot].size % parts == 0;
        first = end;
    }
    return true;
}

int64_t space_chunk(const Space *space, int slot, const uint8_t *atom, int n)
{
    int64_t size = space->slot[slot].size;
    for (int first = 0; first < n;) {
        int end = space->padded ? n : space_run(space, atom, n, first);
        int64_t parts = 1;
        for (int i = first; i < end; i++)
            parts *= space->size[atom[i]];
        size = size / parts + (size % parts != 0);
        first = end;
    }
    return size;
}

/* ---- the target ---- */

/* What a rank holds of the target, and would hold if every atom sharded it: without padding, which
 * a step need not carry. */
static void set_sizes(Space *space)
{
    space->goal_bytes = space->floor_bytes = space->unit;
    for (int s = 0; s < space->n_slots; s++) {
        space->goal_bytes *= (double)space->slot[s].size / (double)space->slot[s].goal_parts;
        space->floor_bytes *= (double)space->slot[s].size;
    }
    int64_t parts = 1;
    for (int a = 0; a < space->n_atoms; a++)
        parts *= space->size[a];
    space->even = true;
    for (int s = 0; s < space->n_slots; s++)
        space->even &= space->slot[s].size % parts == 0;
    for (int a = 0; a < space->n_atoms; a++)
        if (!(space->kept >> a & 1))
            space->floor_bytes /= (double)space->size[a];
}

void space_set_goal(Space *space)
{
    for (int s = 0; s < space->n_slots; s++) {
        space->slot[s].goal_parts = 1;
        space->slot[s].n_goal = 0;
    }
    for (int a = 0; a < space->n_atoms; a++) {
        uint16_t place = space->to.place[a];
        if (!place_cuts(place))
            continue;
        Slot *slot = &space->slot[place_slot(place)];
        slot->goal[place_at(place)] = (uint8_t)a;
        slot->goal_parts *= space->size[a];
        slot->n_goal++;
    }
    for (int s = 0; s < space->n_slots; s++)
        for (int i = 0, parts = 1; i < space->slot[s].n_goal; i++) {
            space->goal_before[space->slot[s].goal[i]] = parts;
            parts *= (int)space->size[space->slot[s].goal[i]];
        }
    set_sizes(space);
}

void space_price(Space *space, const Pricing *pricing)
{
    space->pricing = *pricing;
    space->far = 0;
    for (int a = 0; a < space->n_atoms; a++)
        if (space->of_mesh[a] & pricing->far)
            space->far |= (AtomSet)1 << a;
}
