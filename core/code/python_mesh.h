/* python_mesh.h - writes a mesh into Python modules: its shape, its devices, and the parts of it
 * that hold values. */
#ifndef CORE_CODE_PYTHON_MESH_H
#define CORE_CODE_PYTHON_MESH_H

#include "core/code/python_fold.h"
#include "core/code/values.h"

/* "# gpt2.onnx on dp=2, tp=4: a dimscope plan, for JAX.": the first line of a module. */
void python_title(const Session *session, const char *system, Buf *out);

/* "MESH_SHAPE = (2, 4)", and below it MESH_DIM_NAMES; without the last line break. */
void python_mesh_axes(const Mesh *mesh, Buf *out);

/* "range(8)", "[0, 2, 4]": the devices of a part of the mesh, in its order. */
void python_devices(const Mesh *mesh, SubMesh part, Buf *out);

/* "pp=0" in quotes; empty for the whole mesh. */
void python_part_name(const Plan *plan, int part, Buf *out);

/* For each name, writes the parts of the mesh that hold it, as ("pp=0", "pp=1"), unless it is on
 * the whole mesh. Returns how many names are on several parts. */
int python_parts(const Plan *plan, const CodeValues *values, Arena *arena, PythonEntries *out);

#endif
