/* table.h - operators of ai.onnx.ml on tables of numbers; private to core/run/classical.
 *
 * A table is [rows, columns], or one row; columns are whole on every rank, rows are those of its
 * part. What needs strings, and some transforms behind a model, are refused by name.
 */
#ifndef CORE_RUN_CLASSICAL_TABLE_H
#define CORE_RUN_CLASSICAL_TABLE_H

#include "core/run/kernel.h"

#include <inttypes.h>

/* Columns of a table; 1 if it is a scalar. */
int64_t row_length(const Local *local);
/* Rows of `length` columns; 0 if it has no columns. */
int64_t row_count(const Local *local, int64_t length);

/* The length of an attribute that is a list of numbers; 0 for any other, and NULL. */
int list_length(const Attr *list);
/* Element i of one; whole numbers may be written without a point. */
double number_at(const Attr *list, int64_t i);

/* The place of a word among n names; n if it is none of them. */
int word_among(Str word, const char *const *names, int n);
/* The place of the first largest of n numbers. */
int largest(const double *x, int64_t n);

/* What is done to the scores of a row behind a model: attribute post_transform. */
typedef enum { LINK_NONE, LINK_LOGISTIC, LINK_SOFTMAX, LINK_COUNT } ScoreLink;

/* Returns false with *err for one that is not computed. */
bool read_link(const KernelCall *call, ScoreLink *out, Error *err);
/* Returns false with *err if there is any. */
bool no_transform(const KernelCall *call, Error *err);
/* Transforms n scores in place. */
void link_scores(ScoreLink kind, double *x, int n);
/* Stores the label of a row and its n scores, each where that output is wanted. */
void store_class(const KernelCall *call, int64_t row, double label, const double *score, int64_t n);

/* SVMClassifier, SVMRegressor, TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor. */
bool classify_vectors(const KernelCall *call, Error *err);
bool regress_vectors(const KernelCall *call, Error *err);
bool sum_trees(const KernelCall *call, Error *err);
bool classify_trees(const KernelCall *call, Error *err);
bool regress_trees(const KernelCall *call, Error *err);

#endif
