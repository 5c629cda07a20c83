/* units.h - how people see bytes, times and counts. The only code that rounds for the screen. */
#ifndef CORE_BASE_UNITS_H
#define CORE_BASE_UNITS_H

#include "core/base/str.h"

void units_format_bytes(int64_t bytes, Buf *out); /* "12.0 MiB", "768 B" */
void units_format_us(double us, Buf *out);        /* "0.515 ms", "12.0 us", "1.50 s" */
/* The same as a text in the arena. */
const char *text_bytes(Arena *arena, int64_t bytes);
const char *text_us(Arena *arena, double us);

/* "12.8→14.2 ms": writes the unit once if both values have the same one. */
void units_format_bytes_pair(int64_t a, int64_t b, const char *between, Buf *out);
void units_format_us_pair(double a, double b, const char *between, Buf *out);
void units_format_count(int64_t count, Buf *out); /* "124,439,808" */
void units_format_flops(double flops, Buf *out);  /* "0.137 TFLOP" */
bool units_parse_bytes(Str text, int64_t *bytes); /* "74GiB" = "74G", "80GB" (1e9), "512" */
bool units_parse_us(Str text, double *us);        /* "5ms", "12us", "1.5s" */

#endif
