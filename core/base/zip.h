/* zip.h - the members of a zip file in memory: stored ones are views, deflated ones are inflated.
 *
 * Read by the central directory at the end (APPNOTE 6.3.10, 4.3.12 and 4.3.16), with zip64. A
 * member is refused if it lies outside the file, is encrypted, is packed by another method, or has
 * an absolute path or one with "..". A member is inflated to exactly the size that the directory
 * gives, all of them together to at most ZIP_INFLATED_MAX bytes; deflate packs at most 1032 to 1,
 * so a larger size is a bomb.
 */
#ifndef CORE_BASE_ZIP_H
#define CORE_BASE_ZIP_H

#include "core/base/error.h"
#include "core/base/vec.h"

#define ZIP_INFLATED_MAX ((uint64_t)4 << 30)
enum { ZIP_MEMBERS_MAX = 1 << 20 };

typedef struct {
    Str name;      /* a view of the directory */
    Str packed;    /* its bytes in the file */
    uint64_t size; /* when unpacked */
    uint32_t crc;
    bool deflated;
} ZipMember;

typedef struct {
    const Source *source;
    Vec(ZipMember) members; /* as the directory lists them */
    uint64_t inflated;      /* bytes so far */
} Zip;

bool zip_is(Str bytes); /* begins like a zip file */

/* Returns false with ERROR_UNREADABLE and the file's name. */
bool zip_open(Arena *arena, const Source *source, Zip *out, Error *err);

const ZipMember *zip_find(const Zip *zip, Str name); /* NULL */
/* The only member whose name ends with `end`: the name of the top folder precedes it. */
const ZipMember *zip_find_end(const Zip *zip, const char *end);

/* Reads the bytes of a member and checks them against its checksum. */
bool zip_read(Arena *arena, Zip *zip, const ZipMember *member, Str *out, Error *err);
/* The same, but stored bytes are not checked, since there may be many. */
bool zip_view(Arena *arena, Zip *zip, const ZipMember *member, Str *out, Error *err);

/* ---- gzip: one file, packed (RFC 1952) ---- */

bool gzip_is(Str bytes);
/* Inflates it, to at most ZIP_INFLATED_MAX bytes. False with ERROR_UNREADABLE. */
bool gzip_read(Arena *arena, const Source *source, Str *out, Error *err);

#endif
