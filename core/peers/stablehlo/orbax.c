#include "core/peers/stablehlo/orbax.h"

#include "core/base/json.h"

#include <inttypes.h>

/* ---- names ---- */

/* States of an optimizer have the names of parameters inside of theirs. */
static bool is_of_model(Str name)
{
    while (name.n > 0) {
        Str part = str_take(&name, '.');
        if (str_eq(part, STR("opt")) || str_starts(part, STR("opt_state")) ||
            str_starts(part, STR("optim")))
            return false;
    }
    return true;
}

/* The value of a base64 digit; -1: it is none. */
static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* "cGFyYW1z": "params". False: it is no base64. */
static bool decode_base64(Str text, Buf *out)
{
    uint32_t bits = 0;
    int n = 0;
    while (text.n > 0 && text.s[text.n - 1] == '=')
        text.n--;
    for (size_t i = 0; i < text.n; i++) {
        int digit = digit_of(text.s[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        n += 6;
        if (n >= 8) {
            n -= 8;
            buf_putc(out, (char)(bits >> n & 0xFF));
        }
    }
    return true;
}

static void put_quoted(Str text, Buf *out)
{
    Json *json = json_from_str(text);
    json_write(json, out);
    json_free(json);
}

static void put_name(Str name, Buf *out)
{
    buf_puts(out, out->n > 1 ? ", " : "");
    put_quoted(name, out);
    buf_puts(out, ": ");
}

/* ---- _sharding ---- */

static bool is_sharding(Str text)
{
    return str_starts(str_trim(text), STR("{")) && str_find(text, STR("sharding_type")) >= 0;
}

/* None, "dp", ["dp", "tp"] as an entry of a PartitionSpec. */
static void put_entry(const Json *entry, Buf *out)
{
    if (!json_is_array(entry)) {
        Str axis = json_str(entry, "");
        if (axis.n > 0)
            put_quoted(axis, out);
        else
            buf_puts(out, "None");
        return;
    }
    buf_puts(out, "(");
    for (int i = 0; i < json_size(entry); i++) {
        put_quoted(json_str(json_at(entry, i), ""), out);
        buf_puts(out, ",");
    }
    buf_puts(out, ")");
}

/* NamedSharding(mesh=Mesh("dp": 2), spec=P("dp", None)) */
static void put_named(const Json *sharding, Buf *out)
{
    const Json *sizes = json_get(sharding, "shape"), *axes = json_get(sharding, "axis_names");
    const Json *spec = json_get(sharding, "partition_spec");
    buf_puts(out, "NamedSharding(mesh=Mesh(");
    for (int i = 0; i < json_size(axes); i++) {
        put_quoted(json_str(json_at(axes, i), ""), out);
        buf_printf(out, ": %" PRId64 ",", json_int(json_at(sizes, i), 0));
    }
    buf_puts(out, "), spec=P(");
    for (int i = 0; i < json_size(spec); i++) {
        put_entry(json_at(spec, i), out);
        buf_puts(out, ",");
    }
    buf_puts(out, "))");
}

static bool read_sharding(PinsText *text, Scan *scan)
{
    Json *root = json_parse(scan->source, scan->err);
    Buf made = buf_new(text->scratch), name = buf_new(text->scratch);
    if (!root)
        return false;
    buf_puts(&made, "{");
    for (const char *key = NULL; (key = json_key_after(root, key));) {
        Source inner = {scan->source->name, json_str(json_get(root, key), "")};
        Json *sharding = json_parse(&inner, NULL);
        name.n = 0;
        if (decode_base64(str_from(key), &name) && is_of_model(buf_str(&name)) &&
            json_is_array(json_get(sharding, "partition_spec"))) {
            put_name(buf_str(&name), &made);
            put_named(sharding, &made);
        }
        json_free(sharding);
    }
    buf_puts(&made, "}");
    json_free(root);
    return pins_made_read(text, scan, &made);
}

/* ---- _METADATA, array_metadatas ---- */

static bool is_tree(Str text)
{
    return str_starts(str_trim(text), STR("{")) &&
           (str_find(text, STR("\"tree_metadata\"")) >= 0 ||
            str_find(text, STR("\"array_metadatas\"")) >= 0);
}

static bool refuse_tree(PinsText *text, Scan *scan)
{
    (void)text;
    error_kind(scan->err, ERROR_UNSUPPORTED,
               "its write_shape is what a process wrote of an array, which replicas share too: it "
               "does not tell a sharding");
    return error_hint(scan->err, "the file _sharding of the checkpoint does, or its folder");
}

const PinsForm orbax_pins[] = {
    {"orbax", is_sharding, read_sharding}, {"orbax tree", is_tree, refuse_tree}, {0}};
