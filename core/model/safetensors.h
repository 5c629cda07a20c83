/* safetensors.h - weights as checkpoints hold them: named tensors in mapped files, never copied.
 *
 * A file is 8 bytes of length, a JSON object of that length, and the elements:
 *
 *     {"model.norm.weight": {"dtype": "BF16", "shape": [4096], "data_offsets": [0, 8192]}, ..}
 *
 * Offsets count from the end of the JSON (https://huggingface.co/docs/safetensors). A folder holds
 * one checkpoint: all its files *.safetensors. A file of numpy.savez is read too: a zip file, an
 * array a member.
 */
#ifndef CORE_MODEL_SAFETENSORS_H
#define CORE_MODEL_SAFETENSORS_H

#include "core/base/file.h"
#include "core/base/vec.h"
#include "core/model/dtype.h"
#include "core/model/shape.h"

typedef struct {
    const char *name;
    Dtype dtype;
    Shape shape;
    Str bytes; /* as many as type and shape say; little-endian, perhaps unaligned */
} SafeTensor;

typedef struct {
    const char *path;
    Vec(FileMap) maps;
    Vec(SafeTensor) tensors; /* by name */
} SafeTensors;

/* Opens a file, or all files of a folder. Names live in the arena, bytes in the maps; ends with
 * safetensors_close(), also after an error. ERROR_UNREADABLE names the file and, where there is
 * one, the tensor: no such file, not this format, elements outside of the file, a name twice. */
bool safetensors_open(Arena *arena, const char *path, SafeTensors *out, Error *err);
void safetensors_close(SafeTensors *tensors);

const SafeTensor *safetensors_find(const SafeTensors *tensors, const char *name); /* NULL */

#endif
