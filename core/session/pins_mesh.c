#include "core/session/pins_read.h"

#include <inttypes.h>

bool pins_is_mesh(Str word)
{
    static const char *const words[] = {"Mesh", "AbstractMesh",     "DeviceMesh", "ProcessMesh",
                                        "mesh", "init_device_mesh", "make_mesh"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(pins_last(word), str_from(words[i])))
            return true;
    return false;
}

void pins_put_alias(PinsText *text, char sign, Str name, const PinsMesh *mesh)
{
    Buf key = buf_new(text->scratch);
    buf_putc(&key, sign);
    buf_add(&key, name);
    int32_t id = names_intern(text->aliases, buf_str(&key));
    while (text->meshes.n <= id)
        vec_push(text->scratch, &text->meshes, (PinsMesh){0});
    text->meshes.at[id] = *mesh;
}

/* ---- reading one ----
 * items of a call, a list or an object, in which a size is said in one of these ways:
 *     'dp': 2, dp=2, "dp"=2          shape: [2, 4], axis_sizes=(2, 4), (2, 4)
 *     dim_names=['dp', 'tp']         [[0, 1], [2, 3]]                                        */

typedef struct {
    PinsText *text;
    Scan *scan;
    PinsMesh mesh;
    int n_names, n_sizes;
} MeshText;

static bool too_many(MeshText *m)
{
    error_set(m->scan->err, "a mesh has at most %d axes", PINS_AXES_MAX);
    error_at(m->scan->err, m->scan->source, m->scan->at);
    return false;
}

static bool add_size(MeshText *m, int64_t size)
{
    if (m->n_sizes == PINS_AXES_MAX)
        return too_many(m);
    m->mesh.size[m->n_sizes++] = size;
    return true;
}

static bool add_name(MeshText *m, Str name)
{
    if (m->n_names == PINS_AXES_MAX)
        return too_many(m);
    m->mesh.name[m->n_names++] = name;
    return true;
}

static char close_of(char open)
{
    return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

/* Reads "[2, 4]", after the opening bracket. */
static bool read_sizes(MeshText *m, char close)
{
    while (!pins_accept(m->scan, close)) {
        int64_t size;
        pins_peek(m->scan);
        if (!scan_int(m->scan, &size) || !add_size(m, size))
            return false;
        pins_accept(m->scan, ',');
    }
    return true;
}

/* Reads "['dp', 'tp']", or the names without quotes, as Paddle prints them; after the opening
 * bracket. */
static bool read_names(MeshText *m, char close)
{
    while (!pins_accept(m->scan, close)) {
        Str name = {"", 0};
        if (pins_at_string(m->scan)) {
            if (!pins_string(m->text->scratch, m->scan, m->text->mlir, &name))
                return false;
        } else if ((name = pins_word(m->scan)).n == 0) {
            return scan_fail(m->scan, "expected the name of an axis");
        }
        if (!add_name(m, name))
            return false;
        pins_accept(m->scan, ',');
    }
    return true;
}

/* Reads [[0, 1], [2, 3]] after the opening bracket: the size of each level. */
static bool read_nested(MeshText *m, char close, int depth)
{
    int64_t n = 0;
    int at = m->n_sizes;
    if (depth > PINS_AXES_MAX || !add_size(m, 0))
        return too_many(m);
    for (; !pins_accept(m->scan, close); n++) {
        int64_t device;
        char open = pins_peek(m->scan);
        if (open == '[' || open == '(') {
            pins_accept(m->scan, open);
            m->n_sizes = at + 1; /* its neighbours have the same length */
            if (!read_nested(m, close_of(open), depth + 1))
                return false;
        } else if (!scan_int(m->scan, &device)) {
            return false;
        }
        pins_accept(m->scan, ',');
    }
    m->mesh.size[at] = n;
    return true;
}

static bool is_one_of(Str key, const char *words)
{
    return str_has_word(str_from(words), key);
}

static bool read_items(MeshText *m, char close, int depth);

/* Reads the value after "key=" or "key:". */
static bool read_keyed(MeshText *m, Str key)
{
    char open = pins_peek(m->scan);
    int64_t size;
    bool list = open == '[' || open == '(';
    if (is_one_of(key, "shape axis_sizes axis_shapes mesh_shape") && list) {
        pins_accept(m->scan, open);
        m->n_sizes = 0;
        return read_sizes(m, close_of(open));
    }
    if (is_one_of(key, "dim_names axis_names mesh_dim_names") && list) {
        pins_accept(m->scan, open);
        m->n_names = 0;
        return read_names(m, close_of(open));
    }
    if (pins_at_number(m->scan))
        return scan_int(m->scan, &size) && add_name(m, key) && add_size(m, size);
    return pins_skip(m->scan, ",");
}

static bool read_bracket(MeshText *m, char open, int depth)
{
    pins_accept(m->scan, open);
    char c = pins_peek(m->scan);
    if (open == '[' && m->n_sizes == 0 && (c == '[' || is_digit(c)))
        return read_nested(m, ']', 1);
    if (open == '(' && m->n_sizes == 0 && is_digit(c))
        return read_sizes(m, ')');
    return read_items(m, close_of(open), depth + 1);
}

static bool read_item(MeshText *m, int depth)
{
    char c = pins_peek(m->scan);
    Str key = {"", 0};
    if (c == '(' || c == '[' || c == '{' || c == '<')
        return read_bracket(m, c, depth);
    if (pins_at_string(m->scan)) {
        if (!pins_string(m->text->scratch, m->scan, m->text->mlir, &key))
            return false;
    } else {
        key = pins_word(m->scan);
    }
    if (key.n > 0 && (pins_accept(m->scan, ':') || pins_accept(m->scan, '=')))
        return read_keyed(m, key);
    return pins_skip(m->scan, ",");
}

static bool read_items(MeshText *m, char close, int depth)
{
    if (depth > PINS_AXES_MAX)
        return scan_fail(m->scan, "brackets of a mesh are nested more than %d deep", depth);
    while (!pins_accept(m->scan, close)) {
        size_t at = m->scan->at;
        if (!read_item(m, depth))
            return false;
        if (!pins_accept(m->scan, ',') && pins_peek(m->scan) != close)
            return pins_expect(m->scan, close);
        if (m->scan->at == at)
            return scan_fail(m->scan, "a mesh ends with '%c'", close);
    }
    return true;
}

/* ---- matching with our axes ---- */

static void format_mesh(const PinsMesh *mesh, Buf *out)
{
    for (int i = 0; i < mesh->n; i++) {
        buf_puts(out, i ? "," : "");
        text_printable(mesh->name[i], out);
        buf_printf(out, "%s%" PRId64, mesh->name[i].n ? "=" : "", mesh->size[i]);
    }
}

/* Whether the mesh has the same sizes in the same order as ours. */
static bool is_alike(const PinsText *text, const PinsMesh *mesh)
{
    bool alike = mesh->n == text->mesh->n_axes;
    for (int i = 0; alike && i < mesh->n; i++)
        alike = mesh->size[i] == text->mesh->axes[i].size;
    return alike;
}

/* Matches the axes by name; *n_known counts those that our mesh has. */
static bool match_names(const PinsText *text, PinsMesh *mesh, int *n_known)
{
    bool all = true;
    *n_known = 0;
    for (int i = 0; i < mesh->n; i++) {
        int axis = mesh->axis[i] = mesh_find_axis(text->mesh, mesh->name[i]);
        *n_known += axis >= 0;
        all &= axis >= 0 ? text->mesh->axes[axis].size == mesh->size[i] : mesh->size[i] == 1;
        for (int k = 0; k < i; k++)
            all &= axis < 0 || mesh->axis[k] != axis;
    }
    return all;
}

static bool fail_mesh(PinsText *text, Scan *scan, const PinsMesh *mesh, size_t at)
{
    Buf theirs = buf_new(text->scratch), ours = buf_new(text->scratch);
    format_mesh(mesh, &theirs);
    mesh_format(text->mesh, &ours);
    text->fatal = true;
    error_kind(scan->err, ERROR_CONFLICT, "the text is for the mesh %s, but this mesh is %s",
               theirs.n ? theirs.s : "one device", ours.s);
    error_hint(scan->err, "--mesh sets the mesh of the plan");
    error_at(scan->err, scan->source, at);
    return false;
}

static bool match(PinsText *text, Scan *scan, PinsMesh *mesh, size_t at)
{
    int n_known;
    if (match_names(text, mesh, &n_known))
        return true;
    if (n_known > 0 || !is_alike(text, mesh))
        return fail_mesh(text, scan, mesh, at);
    text->renamed = true;
    for (int i = 0; i < mesh->n; i++)
        mesh->axis[i] = i;
    return true;
}

bool pins_mesh_use(PinsText *text, Scan *scan, const PinsMesh *mesh, size_t at)
{
    PinsMesh matched = *mesh;
    if (!match(text, scan, &matched, at))
        return false;
    text->axes = matched;
    text->has_mesh = true;
    return true;
}

bool pins_mesh_read(PinsText *text, Scan *scan, int depth)
{
    MeshText m = {.text = text, .scan = scan};
    pins_word(scan);
    char open = pins_peek(scan);
    size_t at = scan->at;
    if (open != '(' && open != '[' && open != '{' && open != '<')
        return scan_fail(scan, "expected a mesh");
    bool nested = open == '[';
    pins_accept(scan, open);
    if (nested && (pins_peek(scan) == '[' || pins_at_number(scan))) {
        if (!read_nested(&m, ']', 1))
            return false;
    } else if (!read_items(&m, close_of(open), depth)) {
        return false;
    }
    if (m.n_sizes == 0) /* its form does not tell the sizes */
        return true;
    m.mesh.n = m.n_sizes;
    if (m.n_names != m.n_sizes)
        memset(m.mesh.name, 0, sizeof m.mesh.name);
    return pins_mesh_use(text, scan, &m.mesh, at);
}

int pins_axis(const PinsText *text, Str name, Error *err)
{
    for (int i = 0; text->has_mesh && i < text->axes.n; i++)
        if (text->axes.name[i].n > 0 && str_eq(text->axes.name[i], name))
            return text->axes.axis[i] < 0 ? -2 : text->axes.axis[i];
    return mesh_need_axis(text->mesh, name, err);
}
