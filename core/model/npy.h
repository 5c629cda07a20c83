/* npy.h - an array as numpy.save() writes it.
 *
 *     \x93NUMPY  major minor  length of the header (2 bytes, 4 from version 2 on)
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 8), }  blanks  newline
 *     the elements
 *
 * Source: numpy/lib/format.py. Little-endian numbers and bools; complex numbers become floats with
 * a last dim of 2, the real and the imaginary parts, as models have them here.
 */
#ifndef CORE_MODEL_NPY_H
#define CORE_MODEL_NPY_H

#include "core/model/onnx.h"

/* The array, without a name; its elements lie in `bytes`, or in the arena where the file has them
 * in Fortran's order. ERROR_UNREADABLE names the file. */
bool npy_read(Arena *arena, const char *file, Str bytes, OnnxTensor *out, Error *err);

#endif
