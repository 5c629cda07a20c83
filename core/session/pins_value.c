#include "core/session/pins_read.h"

#include <inttypes.h>

typedef PinsAxes Axes;

static bool read_value(PinsReader *r);

/* ---- axes ---- */

bool pins_fail_at(PinsReader *r, size_t at)
{
    error_at(r->scan->err, r->scan->source, at);
    return false;
}

size_t pins_here(PinsReader *r)
{
    pins_peek(r->scan);
    return r->scan->at;
}

static bool claim(PinsReader *r, const Axes *axes)
{
    for (int i = 0; i < axes->n; i++) {
        AtomSet atom = (AtomSet)1 << axes->atom[i];
        if (r->used & atom) {
            error_kind(r->scan->err, ERROR_CONFLICT, "axis '%s' is used twice",
                       r->text->mesh->axes[r->text->mesh->atoms[axes->atom[i]].axis].name);
            return pins_fail_at(r, axes->at);
        }
        r->used |= atom;
    }
    return true;
}

/* Appends the atoms of one of our axes; if `part`, ":(1)2" may follow. -2 is an axis with one
 * device. */
bool pins_add_axis(PinsReader *r, int axis, bool part, Axes *axes)
{
    Scan nothing = scan_begin(&(Source){"", STR("")}, r->scan->err);
    if (axis == -2) {
        int64_t pre, size;
        return !part || !pins_accept(r->scan, ':') ||
               (scan_char(r->scan, '(') && scan_int(r->scan, &pre) && scan_char(r->scan, ')') &&
                scan_int(r->scan, &size));
    }
    if (part)
        pins_peek(r->scan);
    return mesh_parse_part(r->text->mesh, axis, part ? r->scan : &nothing, axes->atom, &axes->n) ||
           pins_fail_at(r, axes->at);
}

static bool add_named(PinsReader *r, Str name, bool part, size_t at, Axes *axes)
{
    int axis = pins_axis(r->text, name, r->scan->err);
    return axis == -1 ? pins_fail_at(r, at) : pins_add_axis(r, axis, part, axes);
}

/* Reads an axis in quotes. */
static bool read_quoted(PinsReader *r, bool part, Axes *axes)
{
    Str name;
    size_t at = pins_here(r);
    return pins_string(r->text->scratch, r->scan, r->text->mlir, &name) &&
           add_named(r, name, part, at, axes);
}

static bool fail_rank(PinsReader *r, size_t at)
{
    error_kind(r->scan->err, ERROR_RANK, "the tensor has %" PRId64 " dims", r->out->shape.n_dims);
    return pins_fail_at(r, at);
}

/* flat: chunks are those of all axes at once, as in Shardy and JAX. */
bool pins_set_dim(PinsReader *r, int64_t d, const Axes *axes, bool flat)
{
    const Mesh *mesh = r->text->mesh;
    int64_t size;
    if (d >= r->out->shape.n_dims)
        return fail_rank(r, axes->at);
    Cut cut = cut_by(r->out->shape.dim[d], axes->atom, axes->n, mesh);
    r->out->sharding.dim[d] = cut;
    if (flat && cut_is_uneven(&cut, mesh) &&
        mesh_atoms_run(mesh, axes->atom, axes->n, &size) < axes->n) {
        error_kind(r->scan->err, ERROR_NOT_DIVISIBLE,
                   "the axes together do not divide dim %" PRId64 " of size %" PRId64, d,
                   r->out->shape.dim[d]);
        return pins_fail_at(r, axes->at);
    }
    return claim(r, axes);
}

static bool set_partial(PinsReader *r, const Axes *axes, ReduceOp reduce)
{
    for (int i = 0; i < axes->n; i++)
        r->out->sharding.partial[axes->atom[i]] = (uint8_t)reduce;
    return claim(r, axes);
}

/* The axis of ours for that axis number of the text; -2 if it has one device. */
bool pins_axis_of_number(PinsReader *r, int64_t number, int *out)
{
    const PinsText *text = r->text;
    int n = text->has_mesh ? text->axes.n : text->mesh->n_axes;
    if (number < 0 || number >= n)
        return error_kind(r->scan->err, ERROR_OUT_OF_RANGE,
                          "there is no axis %" PRId64 " in a mesh of %d axes", number, n);
    *out = text->has_mesh ? text->axes.axis[number] : (int)number;
    if (*out < 0)
        *out = -2;
    return true;
}

/* ---- dims_mapping: [0, -1], [[0,1], []] ---- */

static bool read_number(PinsReader *r, Axes *axes)
{
    int64_t number;
    int axis = 0;
    size_t at = pins_here(r);
    if (!scan_int(r->scan, &number))
        return false;
    if (number == -1)
        return true;
    return (pins_axis_of_number(r, number, &axis) || pins_fail_at(r, at)) &&
           pins_add_axis(r, axis, false, axes);
}

static bool read_mapping_dim(PinsReader *r, int64_t d)
{
    Axes axes = {.at = pins_here(r)};
    if (!pins_accept(r->scan, '['))
        return read_number(r, &axes) && pins_set_dim(r, d, &axes, false);
    while (!pins_accept(r->scan, ']')) {
        if (!read_number(r, &axes))
            return false;
        pins_accept(r->scan, ',');
    }
    return pins_set_dim(r, d, &axes, false);
}

bool pins_reduce(PinsReader *r, Str name, size_t at, ReduceOp *out)
{
    char lower[16] = "";
    Str last = pins_last(name);
    if (str_starts(last, STR("kRed"))) /* of Paddle's ReduceType */
        last = (Str){last.s + 4, last.n - 4};
    for (size_t i = 0; i < last.n && i + 1 < sizeof lower; i++)
        lower[i] = (char)(last.s[i] >= 'A' && last.s[i] <= 'Z' ? last.s[i] | 0x20 : last.s[i]);
    if (last.n < sizeof lower && reduce_from_name(str_from(lower), out))
        return true;
    error_kind(r->scan->err, ERROR_SYNTAX, "'%.*s' is not a reduction", STR_ARG(name));
    return pins_fail_at(r, at);
}

/* Reads [1], or {"1": "sum"}. */
static bool read_partial(PinsReader *r)
{
    bool object = pins_accept(r->scan, '{');
    char close = object ? '}' : ']';
    if (!object && !pins_expect(r->scan, '['))
        return false;
    while (!pins_accept(r->scan, close)) {
        Axes axes = {.at = pins_here(r)};
        ReduceOp reduce = REDUCE_SUM;
        bool quoted = pins_accept(r->scan, '"');
        if (!read_number(r, &axes) || (quoted && !pins_expect(r->scan, '"')))
            return false;
        if (object) {
            Str name = {"", 0};
            if (!pins_expect(r->scan, ':'))
                return false;
            size_t at = pins_here(r);
            if (pins_at_string(r->scan) ? !pins_string(r->text->scratch, r->scan, false, &name)
                                        : (name = pins_word(r->scan)).n == 0)
                return pins_expect(r->scan, '"');
            if (!pins_reduce(r, name, at, &reduce))
                return false;
        }
        if (!set_partial(r, &axes, reduce))
            return false;
        pins_accept(r->scan, ',');
    }
    return true;
}

/* Reads a dims_mapping after "[". */
static bool read_mapping(PinsReader *r, char close)
{
    int64_t d = 0;
    while (!pins_accept(r->scan, close)) {
        if (!read_mapping_dim(r, d++))
            return false;
        pins_accept(r->scan, ','); /* Paddle prints [[0] [] ] */
    }
    if (d != r->out->shape.n_dims)
        return fail_rank(r, r->scan->at - 1);
    return pins_peek(r->scan) != '{' || read_partial(r);
}

/* ---- PartitionSpec: P('dp', None), P(('dp', 'tp')), also as a bare tuple ---- */

static bool is_unconstrained(Str word)
{
    return str_starts(pins_last(word), STR("UNCONSTRAINED")) ||
           str_starts(pins_last(word), STR("Unconstrained"));
}

/* None | axis | (axis, ..) | UNCONSTRAINED */
static bool read_entry(PinsReader *r, int64_t d)
{
    Axes axes = {.at = pins_here(r)};
    char open = pins_peek(r->scan), close = open == '(' ? ')' : ']';
    if (pins_at_string(r->scan))
        return read_quoted(r, false, &axes) && pins_set_dim(r, d, &axes, true);
    if (open == '(' || open == '[') {
        pins_accept(r->scan, open);
        while (!pins_accept(r->scan, close)) {
            if (!read_quoted(r, false, &axes))
                return false;
            if (!pins_accept(r->scan, ',') && pins_peek(r->scan) != close)
                return pins_expect(r->scan, close);
        }
        return pins_set_dim(r, d, &axes, true);
    }
    Str word = pins_word(r->scan);
    if (is_unconstrained(word) && d < DIMS_MAX)
        r->out->free |= 1u << d;
    else if (!str_eq(word, STR("None")) && !str_eq(word, STR("null")))
        return word.n ? (error_kind(r->scan->err, ERROR_SYNTAX,
                                    "'%.*s' is neither an axis in quotes nor None", STR_ARG(word)),
                         pins_fail_at(r, axes.at))
                      : scan_fail(r->scan, "expected an axis in quotes, or None");
    return pins_set_dim(r, d, &axes, true);
}

/* {'tp'} or frozenset({'tp'}) or ('tp',) */
static bool read_name_set(PinsReader *r, Axes *axes)
{
    bool call = pins_word(r->scan).n > 0 && pins_expect(r->scan, '(');
    if (error_is_set(r->scan->err))
        return false;
    if (!(call && pins_peek(r->scan) == ')')) {
        char close = !call && pins_peek(r->scan) == '(' ? ')' : '}';
        if (!pins_expect(r->scan, close == ')' ? '(' : '{'))
            return false;
        while (!pins_accept(r->scan, close)) {
            if (!read_quoted(r, true, axes))
                return false;
            if (!pins_accept(r->scan, ',') && pins_peek(r->scan) != close)
                return pins_expect(r->scan, close);
        }
    }
    return !call || pins_expect(r->scan, ')');
}

/* Reads unreduced={'tp'}, reduced={..} or, of spmd_types' lies(), partial=('tp',). */
static bool read_spec_option(PinsReader *r)
{
    Axes axes = {.at = pins_here(r)};
    Str key = pins_word(r->scan);
    if (!pins_expect(r->scan, '=') || !read_name_set(r, &axes))
        return false;
    if (str_eq(key, STR("varies"))) /* its axes say no dim that they shard */
        return error_kind(r->scan->err, ERROR_UNSUPPORTED,
                          "it varies over axes that shard none of its dims") ||
               pins_fail_at(r, axes.at);
    return !str_has_word(STR("unreduced partial"), key) || set_partial(r, &axes, REDUCE_SUM);
}

/* Reads a PartitionSpec after "P(". */
static bool read_spec(PinsReader *r, char close)
{
    for (int64_t d = 0; !pins_accept(r->scan, close); d++) {
        Scan ahead = *r->scan;
        Str word = pins_word(&ahead);
        bool option = word.n > 0 && pins_peek(&ahead) == '=';
        if (option ? !read_spec_option(r) : !read_entry(r, d))
            return false;
        if (!pins_accept(r->scan, ',') && pins_peek(r->scan) != close)
            return pins_expect(r->scan, close);
    }
    return true;
}

/* ---- Shardy: <@mesh, [{"dp"}, {"tp":(1)2, ?}p1], replicated={..}, unreduced={..}> ---- */

static bool read_shardy_dim(PinsReader *r, int64_t d)
{
    Axes axes = {.at = pins_here(r)};
    int64_t priority = 0;
    if (!pins_expect(r->scan, '{'))
        return false;
    while (!pins_accept(r->scan, '}')) {
        if (pins_accept(r->scan, '?')) {
            if (d < DIMS_MAX)
                r->out->open |= 1u << d;
        } else if (!read_quoted(r, true, &axes)) {
            return false;
        }
        if (!pins_accept(r->scan, ',') && pins_peek(r->scan) != '}')
            return pins_expect(r->scan, '}');
    }
    if (r->scan->at < r->scan->source->text.n && r->scan->source->text.s[r->scan->at] == 'p') {
        r->scan->at++;
        if (!scan_int(r->scan, &priority))
            return false;
    }
    if (priority < 0 || priority > 1000000) {
        error_kind(r->scan->err, ERROR_OUT_OF_RANGE, "a priority is from 0 to 1000000");
        return pins_fail_at(r, axes.at);
    }
    if (d < DIMS_MAX)
        r->out->priority[d] = (int)priority;
    return pins_set_dim(r, d, &axes, true);
}

/* Reads the options after the list of dims. */
static bool read_shardy_options(PinsReader *r)
{
    for (;;) {
        Scan before = *r->scan;
        pins_accept(r->scan, ',');
        Axes axes = {.at = pins_here(r)};
        bool unreduced = pins_accept_text(r->scan, "unreduced");
        if (!unreduced && !pins_accept_text(r->scan, "replicated")) {
            *r->scan = before;
            return true;
        }
        if (!pins_expect(r->scan, '=') || !read_name_set(r, &axes))
            return false;
        if (unreduced ? !set_partial(r, &axes, REDUCE_SUM) : !claim(r, &axes))
            return false;
        for (int i = 0; !unreduced && i < axes.n; i++)
            r->out->replicated |= (AtomSet)1 << axes.atom[i];
    }
}

/* Reads a Shardy sharding after "[". */
static bool read_shardy(PinsReader *r)
{
    int64_t d = 0;
    while (!pins_accept(r->scan, ']')) {
        if (!read_shardy_dim(r, d++))
            return false;
        if (!pins_accept(r->scan, ',') && pins_peek(r->scan) != ']')
            return pins_expect(r->scan, ']');
    }
    if (d != r->out->shape.n_dims)
        return fail_rank(r, r->scan->at - 1);
    return read_shardy_options(r);
}

/* Uses the mesh that "@mesh" names. */
static bool use_mesh(PinsReader *r)
{
    PinsText *text = r->text;
    Str name;
    if (pins_at_string(r->scan) ? !pins_string(text->scratch, r->scan, true, &name)
                                : !(name = pins_word(r->scan), name.n > 0))
        return scan_fail(r->scan, "expected the name of a mesh");
    Buf key = buf_new(text->scratch);
    buf_putc(&key, '@');
    buf_add(&key, name);
    int32_t id = text->aliases ? names_find(text->aliases, buf_str(&key)) : -1;
    if (id >= 0 && id < text->meshes.n && text->meshes.at[id].n > 0) {
        text->axes = text->meshes.at[id];
        text->has_mesh = true;
    }
    return true;
}

/* Reads what follows "#" or "<"; of a list with a sharding per value the first. */
static bool read_sdy(PinsReader *r)
{
    if (pins_accept(r->scan, '#')) {
        bool per_value = pins_accept_text(r->scan, "sdy.sharding_per_value");
        if (!per_value && !pins_accept_text(r->scan, "sdy.sharding"))
            return scan_fail(r->scan, "expected #sdy.sharding");
        if (per_value && (!pins_expect(r->scan, '<') || !pins_expect(r->scan, '[')))
            return false;
        if (per_value)
            return read_sdy(r) && pins_skip(r->scan, "");
    }
    if (!pins_expect(r->scan, '<'))
        return false;
    if (pins_accept(r->scan, '@') ? !use_mesh(r) : !pins_mesh_read(r->text, r->scan, r->depth))
        return false;
    return pins_expect(r->scan, ',') && pins_expect(r->scan, '[') && read_shardy(r) &&
           pins_expect(r->scan, '>');
}

/* ---- wrappers of a sharding: DTensor(.., placements=(..)), NamedSharding(mesh=.., spec=..) ----
 */

/* Reads a shape: [8, 16], (8, 16), torch.Size([8, 16]) */
static bool read_shape(PinsReader *r, Shape *out)
{
    bool call = pins_word(r->scan).n > 0 && pins_accept(r->scan, '(');
    char open = pins_peek(r->scan), close = open == '(' ? ')' : ']';
    *out = (Shape){0};
    if (!pins_expect(r->scan, open == '(' ? '(' : '['))
        return false;
    while (!pins_accept(r->scan, close)) {
        int64_t size;
        pins_peek(r->scan);
        if (!scan_int(r->scan, &size))
            return false;
        if (out->n_dims == DIMS_MAX || size < 0)
            return scan_fail(r->scan, "a shape has at most %d sizes", DIMS_MAX);
        out->dim[out->n_dims++] = size;
        pins_accept(r->scan, ',');
    }
    return !call || pins_expect(r->scan, ')');
}

static bool set_shape(PinsReader *r)
{
    Shape shape;
    size_t at = pins_here(r);
    if (!read_shape(r, &shape))
        return false;
    if (shape.n_dims != r->out->shape.n_dims) {
        error_kind(r->scan->err, ERROR_RANK,
                   "it has %" PRId64 " dims in the text and %" PRId64 " in the model", shape.n_dims,
                   r->out->shape.n_dims);
        return pins_fail_at(r, at);
    }
    r->out->shape = shape;
    r->out->sharding = sharding_whole(&shape);
    r->out->shaped = true;
    return true;
}

static bool is_key(Str key, const char *words)
{
    return str_has_word(str_from(words), key);
}

/* Reads a positional argument. */
static bool read_positional(PinsReader *r, bool *found)
{
    Scan ahead = *r->scan;
    Str word = pins_word(&ahead);
    if (word.n > 0 && pins_is_mesh(word) && pins_peek(&ahead) == '(')
        return pins_mesh_read(r->text, r->scan, r->depth);
    char c = pins_peek(r->scan);
    if (*found || !(word.n > 0 || c == '[' || c == '(') || is_digit(c))
        return pins_skip(r->scan, ",");
    *found = true;
    return read_value(r);
}

static bool read_named(PinsReader *r, Str key, bool *found)
{
    if (is_key(key, "mesh device_mesh process_mesh"))
        return pins_mesh_read(r->text, r->scan, r->depth);
    if (is_key(key, "shape"))
        return set_shape(r);
    if (!*found && is_key(key, "spec sharding placements value partition_spec pspec")) {
        *found = true;
        return read_value(r);
    }
    return pins_skip(r->scan, ",");
}

/* Reads the arguments after "Name(". */
static bool read_call(PinsReader *r, size_t at)
{
    bool found = false;
    while (!pins_accept(r->scan, ')')) {
        Scan ahead = *r->scan;
        Str key = pins_word(&ahead);
        bool named = key.n > 0 && pins_accept(&ahead, '=');
        if (named)
            r->scan->at = ahead.at;
        if (named ? !read_named(r, key, &found) : !read_positional(r, &found))
            return false;
        if (!pins_accept(r->scan, ',') && pins_peek(r->scan) != ')')
            return pins_expect(r->scan, ')');
    }
    if (found)
        return true;
    error_kind(r->scan->err, ERROR_SYNTAX, "it has no sharding");
    return pins_fail_at(r, at);
}

/* Reads Spec(f32[8, 16](S(0)R)) after its "(". */
static bool read_torch_spec(PinsReader *r)
{
    pins_word(r->scan);
    return set_shape(r) && pins_expect(r->scan, '(') &&
           pins_placements(r, ')', true, r->scan->at - 1) && pins_expect(r->scan, ')');
}

/* Reads {"dims_mapping": [0, -1], "partial": [1]} after "{". */
static bool read_object(PinsReader *r)
{
    while (!pins_accept(r->scan, '}')) {
        Str key = {"", 0};
        if (pins_at_string(r->scan)) {
            if (!pins_string(r->text->scratch, r->scan, false, &key))
                return false;
        } else {
            key = pins_word(r->scan);
        }
        if (!pins_expect(r->scan, ':'))
            return false;
        if (is_key(key, "process_mesh mesh device_mesh")) {
            if (!pins_mesh_read(r->text, r->scan, r->depth))
                return false;
        } else if (is_key(key, "shape")) {
            if (!set_shape(r))
                return false;
        } else if (is_key(key,
                          "dims_mapping dim_mappings dims_mappings placements spec sharding")) {
            if (!read_value(r))
                return false;
        } else if (is_key(key, "partial")) {
            if (!read_partial(r))
                return false;
        } else if (!pins_skip(r->scan, ",")) {
            return false;
        }
        if (!pins_accept(r->scan, ',') && pins_peek(r->scan) != '}')
            return pins_expect(r->scan, '}');
    }
    return true;
}

/* ---- all of them ---- */

static bool fail_value(PinsReader *r, size_t at)
{
    error_kind(r->scan->err, ERROR_SYNTAX, "this is not a sharding in a known notation");
    error_hint(r->scan->err, "[Shard(0), Replicate()], P('dp', None), [0, -1], [{\"dp\"}, {}]: "
                             "see dimscope help pins");
    return pins_fail_at(r, at);
}

/* Reads ((8, 16), (Shard(0), R)) after the first bracket. */
static bool read_pair(PinsReader *r, char close)
{
    if (!set_shape(r) || !pins_expect(r->scan, ',') || !read_value(r))
        return false;
    r->out->ours = true;
    pins_accept(r->scan, ',');
    return pins_expect(r->scan, close);
}

/* Reads a list after "[" or "(". */
static bool read_list(PinsReader *r, char close, size_t at)
{
    char c = pins_peek(r->scan);
    Scan ahead = *r->scan;
    Str word = pins_word(&ahead);
    if (c == '{')
        return read_shardy(r);
    if (c == '(' && pins_accept(&ahead, '(') &&
        (pins_at_number(&ahead) || pins_peek(&ahead) == ')'))
        return read_pair(r, close);
    if (is_digit(c) || c == '-')
        return read_mapping(r, close);
    if (c == '[') { /* [[0, 1], []] or [["dp", "tp"], null] */
        ahead.at++;
        pins_peek(&ahead);
        return pins_at_string(&ahead) ? read_spec(r, close) : read_mapping(r, close);
    }
    if (word.n > 0 && pins_is_placement(word))
        return pins_placements(r, close, false, at);
    if (c == close && r->out->shape.n_dims > 0)
        return pins_placements(r, close, false, at); /* too few */
    if (pins_at_string(r->scan) || c == '(' || c == close || is_unconstrained(word) ||
        str_eq(word, STR("None")) || str_eq(word, STR("null")))
        return read_spec(r, close);
    return word.n > 0 ? pins_placements(r, close, false, at) : fail_value(r, at);
}

/* Reads the value in quotes: "[Shard(dim=0), Replicate()]". */
static bool read_inner(PinsReader *r)
{
    Str inner;
    size_t at = pins_here(r);
    if (!pins_string(r->text->scratch, r->scan, r->text->mlir, &inner))
        return false;
    Error err = {0};
    Source source = {r->scan->source->name, inner};
    Scan scan = scan_begin(&source, &err);
    PinsReader own = *r;
    own.scan = &scan;
    bool ok = read_value(&own) && (pins_peek(&scan), scan_end(&scan));
    r->used = own.used;
    if (ok)
        return true;
    error_kind(r->scan->err, err.kind, "%s", err.text);
    return pins_fail_at(r, at);
}

static bool read_word(PinsReader *r)
{
    size_t at = pins_here(r);
    Str word = pins_word(r->scan), last = pins_last(word);
    if (str_eq(word, STR("None")) || str_eq(word, STR("null"))) {
        r->out->none = true;
        return true;
    }
    bool call = pins_peek(r->scan) == '(';
    if (!call && !pins_is_placement(word))
        return fail_value(r, at);
    if (call && str_has_word(STR("P PartitionSpec lies"), last)) {
        pins_accept(r->scan, '(');
        return read_spec(r, ')');
    }
    if (pins_is_placement(word)) {
        r->scan->at = at;
        return pins_placements(r, '\0', false, at);
    }
    pins_accept(r->scan, '(');
    Scan ahead = *r->scan;
    bool spec = str_eq(last, STR("Spec")) && pins_word(&ahead).n > 0 && pins_peek(&ahead) == '[';
    return spec ? read_torch_spec(r) : read_call(r, at);
}

static bool read_value(PinsReader *r)
{
    size_t at = pins_here(r);
    char c = pins_peek(r->scan);
    if (r->depth == PINS_NEST_MAX)
        return scan_fail(r->scan, "brackets of a sharding are nested more than %d deep", r->depth);
    r->depth++;
    bool ok;
    if (c == '[' || c == '(') {
        pins_accept(r->scan, c);
        ok = read_list(r, c == '(' ? ')' : ']', at);
    } else if (c == '{') {
        pins_accept(r->scan, c);
        ok = read_object(r);
    } else if (pins_at_string(r->scan)) {
        ok = read_inner(r);
    } else if (c == '#' || c == '<') {
        ok = read_sdy(r);
    } else {
        ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ? read_word(r)
                                                                          : fail_value(r, at);
    }
    r->depth--;
    return ok;
}

bool pins_value(PinsText *text, Scan *scan, PinsValue *out)
{
    PinsReader r = {.text = text, .scan = scan, .out = out};
    out->sharding = sharding_whole(&out->shape);
    return read_value(&r);
}
