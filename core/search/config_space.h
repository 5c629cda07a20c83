/* config_space.h - the configurations of a training step on N devices.
 *
 * A configuration is a mesh of up to five axes and settings of the policy hybrid3d:
 *
 *     axes        pp stages, dp and ep samples (ep experts too), cp sequence, tp weights and
 *                 heads; their product is N. In three orders, or in the one of a mesh that is
 *                 given: the last has neighbouring devices
 *     batch       micro_batch samples on each rank, micro_batches a step: micro_batch *
 *                 micro_batches * dp * ep is the samples of a step
 *     schedule    and how many stages each device has (`virtual`)
 *     stages      whole layers: equally many, fewer at the ends; or as many as make the longest
 *                 stage shortest (config_bound.h)
 *     and         recompute, zero, sequence_parallel
 *
 * Not every product of these is one: heads, layers, experts, samples and the sequence have to
 * divide. What is left out, and why, is counted.
 */
#ifndef CORE_SEARCH_CONFIG_SPACE_H
#define CORE_SEARCH_CONFIG_SPACE_H

#include "core/plan/schedule.h"
#include "core/session/session.h"

/* ORDER CONFIG_AXIS */
typedef enum { CONFIG_PP, CONFIG_DP, CONFIG_CP, CONFIG_EP, CONFIG_TP, CONFIG_AXES } ConfigAxis;
/* Sets of axes: all, and those that shard a micro-batch. */
enum {
    CONFIG_AXES_ALL = (1 << CONFIG_AXES) - 1,
    CONFIG_AXES_SHARDING = 1 << CONFIG_CP | 1 << CONFIG_EP | 1 << CONFIG_TP
};
/* ORDER CONFIG_RECOMPUTE */
typedef enum { AGAIN_NONE, AGAIN_SELECTIVE, AGAIN_FULL, AGAIN_COUNT } ConfigAgain;
typedef enum { SPLIT_EQUAL, SPLIT_BY_TIME, SPLIT_COUNT } ConfigSplit;
enum { CONFIG_ORDERS = 3, CONFIG_ZEROS = 4, CONFIG_VIRTUAL_MAX = 8, CONFIG_UNITS_MAX = 8 };

typedef struct {
    int32_t size[CONFIG_AXES];
    int32_t micro_batch, micro_batches;
    uint8_t order;    /* of the axes: config_order() */
    uint8_t schedule; /* row of config_schedules */
    uint8_t virtual;  /* stages a device */
    uint8_t recompute, zero, sequence_parallel, split;
    uint8_t none; /* 0: configurations are keys, compared as bytes */
} Configuration;

typedef struct {
    const char *name;
    uint8_t least, most;  /* stages a device */
    bool in_a_v;          /* the second half of the stages goes back: `virtual` is not set */
    bool splits_backward; /* gradients of weights come later */
} ConfigSchedule;

extern const ConfigSchedule config_schedules[]; /* ended by one without a name; the first is of one
                                                   stage too */

/* What the model and the request allow. */
typedef struct {
    int64_t n_devices, samples;
    int64_t devices_per_node;
    int64_t sequence; /* 0: not known */
    int64_t experts;  /* stacked in one weight; 1: none */
    int n_layers;
    int64_t heads;                   /* the most that a weight has; 0: none are known */
    int64_t units[CONFIG_UNITS_MAX]; /* heads, and others that stay together */
    int n_units;
    int64_t pin[CONFIG_AXES];                   /* sizes that are given; 0: any */
    int64_t pin_micro_batch, pin_micro_batches; /* 0: any */
    int pin_virtual, pin_zero, pin_recompute, pin_sequence_parallel, pin_schedule; /* -1: any */
    int pin_order;                                                                 /* likewise */
} ConfigSpace;

/* Why something is left out. ORDER CONFIG_REASON */
typedef enum {
    LEFT_LAYERS,
    LEFT_HEADS,
    LEFT_EXPERTS,
    LEFT_SEQUENCE,
    LEFT_SAMPLES,
    LEFT_COUNT
} ConfigLeft;

const char *config_left_text(ConfigLeft reason); /* "more stages than layers" */

/* Configurations that differ in what is not in the key: a mesh and how its axes that shard a
 * micro-batch (cp, ep, tp) lie on the nodes, a micro-batch, what runs again, sequence parallelism.
 */
typedef struct {
    Configuration first; /* order, schedule, virtual, zero and split of the first of them */
} ConfigGroup;
typedef Vec(ConfigGroup) ConfigGroups;

/* Appends all groups; left: meshes by reason. Returns false with *err if there are more than a
 * machine can hold. */
bool config_groups(Arena *arena, const ConfigSpace *space, ConfigGroups *out,
                   int64_t left[LEFT_COUNT], Error *err);

/* The schedules and stages of a group; and of one of these the orders of axes and levels of ZeRO.
 * Each configuration of the group comes once. */
typedef void ConfigVisit(void *context, const Configuration *config);
void config_each_schedule(const ConfigSpace *space, const ConfigGroup *group, ConfigVisit *visit,
                          void *context);
void config_each_state(const ConfigSpace *space, const Configuration *config, ConfigVisit *visit,
                       void *context);
int64_t config_count_states(const ConfigSpace *space, const Configuration *config);
int64_t config_count(const ConfigSpace *space, const ConfigGroup *group);

/* Whether a configuration, which may be any, is one of the space. */
bool config_is_in(const ConfigSpace *space, const Configuration *config);

/* The order in which these axes stand so, major first; further ones stand between them. */
int config_order(const ConfigAxis *axis, int n);

int config_n_stages(const Configuration *config);
int config_lane(const Configuration *config, int stage);
int64_t config_samples_of(const Configuration *config); /* ranks of the batch: dp * ep */
/* Positions between neighbours along an axis of the mesh. */
int64_t config_stride(const Configuration *config, ConfigAxis axis);

/* "pp=16,dp=128,tp=8", of axes that have more than one device, and dp where hybrid3d finds
 * none of its own among them. names: of the axes, in the order of ConfigAxis; NULL: those. */
void config_mesh(const Configuration *config, const char *const *names, Buf *out);
/* "mb 2 x 16, 1f1b_interleaved v 4, zero 2, full, sp": the rest, for people. */
void config_text(const Configuration *config, Buf *out);
/* The settings of the policy, on top of those given. layers: of each stage, or NULL. */
bool config_settings(Arena *arena, const Configuration *config, const int *layers,
                     const PolicySettings *given, PolicySettings *out, Error *err);

const char *config_again_name(int recompute); /* "none" */

#endif
