#include "core/base/zip.h"

#define ZLIB_CONST
#include <zlib.h>

#include <inttypes.h>

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MAX = 65535,
    DEFLATE_MOST = 1032,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1,
    ZIP64_FIELD = 1
};

/* ---- numbers of the file ---- */

static uint64_t number_at(Str bytes, uint64_t at, int n)
{
    uint64_t out = 0;
    for (int i = n - 1; i >= 0; i--)
        out = out << 8 | (unsigned char)bytes.s[at + (uint64_t)i];
    return out;
}

static bool has_mark(Str bytes, uint64_t at, uint64_t n, const char *mark)
{
    return n <= bytes.n && at <= bytes.n - n && memcmp(bytes.s + at, mark, 4) == 0;
}

static bool fail(const Zip *zip, Error *err, const char *what)
{
    error_kind(err, ERROR_UNREADABLE, "%s", what);
    error_in_file(err, zip->source->name);
    return false;
}

static bool fail_member(const Zip *zip, const ZipMember *member, Error *err, const char *what)
{
    error_kind(err, ERROR_UNREADABLE, "member '%.*s' %s", STR_ARG(member->name), what);
    error_in_file(err, zip->source->name);
    return false;
}

/* ---- the directory ---- */

typedef struct {
    uint64_t at, bytes, members;
} Directory;

/* With zip64 the end is told by a longer record, which a locator before the short one names. */
static bool read_end64(Str bytes, uint64_t end, Directory *out)
{
    if (end < LOCATOR_BYTES || !has_mark(bytes, end - LOCATOR_BYTES, LOCATOR_BYTES, "PK\6\7"))
        return false;
    uint64_t at = number_at(bytes, end - LOCATOR_BYTES + 8, 8);
    if (!has_mark(bytes, at, END64_BYTES, "PK\6\6"))
        return false;
    *out = (Directory){number_at(bytes, at + 48, 8), number_at(bytes, at + 40, 8),
                       number_at(bytes, at + 32, 8)};
    return true;
}

static bool find_directory(const Zip *zip, Directory *out, Error *err)
{
    Str bytes = zip->source->text;
    uint64_t least = bytes.n > END_BYTES + COMMENT_MAX ? bytes.n - END_BYTES - COMMENT_MAX : 0;
    for (uint64_t at = bytes.n; at >= END_BYTES && at - END_BYTES >= least; at--) {
        uint64_t end = at - END_BYTES;
        if (!has_mark(bytes, end, END_BYTES, "PK\5\6") ||
            end + END_BYTES + number_at(bytes, end + 20, 2) != bytes.n)
            continue;
        *out = (Directory){number_at(bytes, end + 16, 4), number_at(bytes, end + 12, 4),
                           number_at(bytes, end + 10, 2)};
        bool large = out->at == UINT32_MAX || out->bytes == UINT32_MAX || out->members == 0xFFFF;
        if (large && !read_end64(bytes, end, out) && out->members != 0xFFFF)
            break;
        return true;
    }
    fail(zip, err, "the zip file ends without its directory: it is truncated");
    return error_hint(err, "copy or save the archive again");
}

typedef struct {
    uint64_t packed, size, local;
} ZipPlace;

/* The extra field 1 of a member has, in this order, those numbers that are too large for the
 * directory's own fields. */
static bool read_zip64(Str extra, ZipPlace *place)
{
    uint64_t *const numbers[] = {&place->size, &place->packed, &place->local};
    while (extra.n >= 4) {
        uint64_t id = number_at(extra, 0, 2), n = number_at(extra, 2, 2), used = 0;
        if (n > extra.n - 4)
            return false;
        for (int i = 0; id == ZIP64_FIELD && i < 3; i++) {
            if (*numbers[i] != UINT32_MAX)
                continue;
            if (n - used < 8)
                return false;
            *numbers[i] = number_at(extra, 4 + used, 8);
            used += 8;
        }
        extra = (Str){extra.s + 4 + n, extra.n - 4 - n};
    }
    return true;
}

/* Whether the name stays in the folder into which a zip is unpacked. */
static bool is_inside(Str name)
{
    bool inside = name.n > 0 && name.s[0] != '/' && !memchr(name.s, '\0', name.n) &&
                  !memchr(name.s, '\\', name.n);
    for (Str rest = name; inside && rest.n > 0;)
        inside = !str_eq(str_take(&rest, '/'), STR(".."));
    return inside;
}

/* The bytes behind the local header, whose name and extra field may be longer than the directory's.
 */
static bool find_bytes(const Zip *zip, const ZipPlace *place, ZipMember *member, Error *err)
{
    Str bytes = zip->source->text;
    if (!has_mark(bytes, place->local, LOCAL_BYTES, "PK\3\4"))
        return fail_member(zip, member, err, "is not where the directory says");
    uint64_t start = place->local + LOCAL_BYTES + number_at(bytes, place->local + 26, 2) +
                     number_at(bytes, place->local + 28, 2);
    if (start > bytes.n || place->packed > bytes.n - start)
        return fail_member(zip, member, err, "ends behind the end of the file");
    member->packed = (Str){bytes.s + start, (size_t)place->packed};
    return true;
}

static bool check_member(const Zip *zip, const ZipMember *member, uint64_t method, uint64_t flags,
                         Error *err)
{
    if (!is_inside(member->name))
        return fail_member(zip, member, err, "is named by a path that leaves the archive");
    if (flags & ENCRYPTED)
        return fail_member(zip, member, err, "is encrypted");
    if (method != STORED && method != DEFLATED)
        return fail_member(zip, member, err, "is packed otherwise than stored or deflated");
    if (!member->deflated && member->size != member->packed.n)
        return fail_member(zip, member, err, "is stored, but has two sizes");
    if (member->size / DEFLATE_MOST > member->packed.n)
        return fail_member(zip, member, err, "says that it is larger than deflate can pack");
    return true;
}

/* Reads the member at *at of the directory, and moves on to the next one. */
static bool read_member(Zip *zip, Arena *arena, Str directory, uint64_t *at, Error *err)
{
    if (!has_mark(directory, *at, CENTRAL_BYTES, "PK\1\2"))
        return fail(zip, err, "the directory of the zip file is damaged");
    Str entry = {directory.s + *at, directory.n - *at};
    uint64_t n_name = number_at(entry, 28, 2), n_extra = number_at(entry, 30, 2),
             n_comment = number_at(entry, 32, 2);
    if (n_name + n_extra + n_comment > entry.n - CENTRAL_BYTES)
        return fail(zip, err, "the directory of the zip file is damaged");
    Str name = {entry.s + CENTRAL_BYTES, (size_t)n_name};
    uint64_t method = number_at(entry, 10, 2);
    ZipPlace place = {number_at(entry, 20, 4), number_at(entry, 24, 4), number_at(entry, 42, 4)};
    ZipMember member = {.name = name, .crc = (uint32_t)number_at(entry, 16, 4)};
    member.deflated = method == DEFLATED;
    if (!read_zip64((Str){name.s + n_name, (size_t)n_extra}, &place))
        return fail_member(zip, &member, err, "has a damaged field of its size");
    member.size = place.size;
    if (!find_bytes(zip, &place, &member, err) ||
        !check_member(zip, &member, method, number_at(entry, 8, 2), err))
        return false;
    vec_push(arena, &zip->members, member);
    *at += CENTRAL_BYTES + n_name + n_extra + n_comment;
    return true;
}

bool zip_is(Str bytes)
{
    return str_starts(bytes, STR("PK\3\4"));
}

bool zip_open(Arena *arena, const Source *source, Zip *out, Error *err)
{
    Directory where = {0};
    *out = (Zip){.source = source};
    if (!find_directory(out, &where, err))
        return false;
    if (where.at > source->text.n || where.bytes > source->text.n - where.at)
        return fail(out, err, "the directory of the zip file lies outside of it");
    if (where.members > ZIP_MEMBERS_MAX)
        return fail(out, err, "the zip file has more than a million members");
    Str directory = {source->text.s + where.at, (size_t)where.bytes};
    uint64_t at = 0;
    for (uint64_t i = 0; i < where.members; i++)
        if (!read_member(out, arena, directory, &at, err))
            return false;
    return true;
}

/* ---- members ---- */

const ZipMember *zip_find(const Zip *zip, Str name)
{
    for (int i = 0; i < zip->members.n; i++)
        if (str_eq(zip->members.at[i].name, name))
            return &zip->members.at[i];
    return NULL;
}

const ZipMember *zip_find_end(const Zip *zip, const char *end)
{
    for (int i = 0; i < zip->members.n; i++)
        if (str_ends(zip->members.at[i].name, str_from(end)))
            return &zip->members.at[i];
    return NULL;
}

/* Inflates all of the member; deflate without zlib's header. */
static bool inflate_into(const ZipMember *member, char *out)
{
    z_stream stream = {.avail_in = 0};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    uint64_t in_left = member->packed.n, out_left = member->size;
    stream.next_in = (const Bytef *)member->packed.s;
    stream.next_out = (Bytef *)out;
    int code = Z_OK;
    while (code == Z_OK) {
        uInt in = in_left > UINT32_MAX ? UINT32_MAX : (uInt)in_left;
        uInt room = out_left > UINT32_MAX ? UINT32_MAX : (uInt)out_left;
        stream.avail_in = in;
        stream.avail_out = room;
        code = inflate(&stream, Z_NO_FLUSH);
        in_left -= in - stream.avail_in;
        out_left -= room - stream.avail_out;
    }
    inflateEnd(&stream);
    return code == Z_STREAM_END && out_left == 0;
}

static bool check_crc(const Zip *zip, const ZipMember *member, Str bytes, Error *err)
{
    uLong crc = crc32_z(0, (const Bytef *)bytes.s, bytes.n);
    return crc == member->crc ||
           fail_member(zip, member, err, "is damaged: its checksum is another one");
}

bool zip_view(Arena *arena, Zip *zip, const ZipMember *member, Str *out, Error *err)
{
    *out = member->packed;
    if (!member->deflated)
        return true;
    if (member->size > ZIP_INFLATED_MAX - zip->inflated)
        return fail_member(zip, member, err, "and those before it inflate to more than 4 GiB");
    zip->inflated += member->size;
    char *bytes = arena_alloc(arena, (size_t)member->size + 1);
    if (!inflate_into(member, bytes))
        return fail_member(zip, member, err, "cannot be inflated: it is damaged");
    *out = (Str){bytes, (size_t)member->size};
    return check_crc(zip, member, *out, err);
}

bool zip_read(Arena *arena, Zip *zip, const ZipMember *member, Str *out, Error *err)
{
    return zip_view(arena, zip, member, out, err) &&
           (member->deflated || check_crc(zip, member, *out, err));
}

/* ---- gzip ---- */

bool gzip_is(Str bytes)
{
    return bytes.n > 2 && bytes.s[0] == '\x1f' && bytes.s[1] == '\x8b';
}

/* Inflates into `out`, or (NULL) counts. False where the file is damaged or larger than `most`. */
static bool inflate_all(Str packed, char *out, uint64_t most, uint64_t *n)
{
    z_stream stream = {.avail_in = 0};
    char block[1 << 14] = {0};
    int code = inflateInit2(&stream, MAX_WBITS + 16);
    stream.next_in = (const Bytef *)packed.s;
    stream.avail_in = (uInt)packed.n;
    for (*n = 0; code == Z_OK && *n <= most;) {
        uint64_t room = out && most - *n < sizeof block ? most - *n : sizeof block;
        stream.next_out = (Bytef *)(out ? out + *n : block);
        stream.avail_out = (uInt)room;
        code = inflate(&stream, Z_NO_FLUSH);
        *n += room - stream.avail_out;
    }
    inflateEnd(&stream);
    return code == Z_STREAM_END && *n <= most;
}

bool gzip_read(Arena *arena, const Source *source, Str *out, Error *err)
{
    uint64_t n = 0, again = 0;
    Str packed = source->text; /* *out may be that of the source */
    if (packed.n > UINT32_MAX || !inflate_all(packed, NULL, ZIP_INFLATED_MAX, &n)) {
        error_kind(err, ERROR_UNREADABLE, "gzip: it is damaged, or larger than 4 GiB");
        error_in_file(err, source->name);
        return false;
    }
    char *bytes = arena_alloc(arena, (size_t)n + 1);
    *out = (Str){bytes, (size_t)n};
    inflate_all(packed, bytes, n + 1, &again); /* a byte of room, to see the end */
    bytes[n] = '\0';
    return true;
}
