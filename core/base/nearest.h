/* nearest.h - finds the name most like a given text, for "did you mean".
 *
 *     Nearest nearest = nearest_to(given, 3);  names at a distance of 3 or more are no hint, nor
 *                                              those of which half of a short text is different
 *     for (..)
 *         nearest_try(&nearest, name);
 *     if (nearest.name) ..
 */
#ifndef CORE_BASE_NEAREST_H
#define CORE_BASE_NEAREST_H

#include "core/base/str.h"

typedef struct {
    Str given;
    int distance;     /* of the best name so far; only nearer names replace it */
    const char *name; /* NULL if no name was near enough */
} Nearest;

static inline Nearest nearest_to(Str given, int distance)
{
    int half = (int)(given.n < INT32_MAX ? (given.n + 1) / 2 + 1 : INT32_MAX);
    return (Nearest){given, half < distance ? half : distance, NULL};
}

static inline void nearest_try(Nearest *nearest, const char *name)
{
    int distance = str_distance(nearest->given, str_from(name));
    if (distance >= nearest->distance)
        return;
    nearest->distance = distance;
    nearest->name = name;
}

#endif
