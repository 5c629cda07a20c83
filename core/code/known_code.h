/* known_code.h - the systems that peers export to, built in or not, so that an error can name what
 * this program was built without. */
#ifndef CORE_CODE_KNOWN_CODE_H
#define CORE_CODE_KNOWN_CODE_H

typedef struct {
    const char *peer;    /* "torch" */
    const char *formats; /* names of its ExportFormats: "dtensor vescale" */
} KnownCode;

/* Ended by a row without a peer. */
extern const KnownCode known_code[];

#endif
