/* onnx_fields.h - numbers of the onnx.proto fields that describe how a model is distributed over
 * devices. */
#ifndef CORE_SESSION_ONNX_FIELDS_H
#define CORE_SESSION_ONNX_FIELDS_H

enum {
    FIELD_MODEL_IR = 1,
    FIELD_MODEL_GRAPH = 7,
    FIELD_MODEL_CONFIGURATION = 26,

    FIELD_GRAPH_NODE = 1,

    FIELD_NODE_INPUT = 1,
    FIELD_NODE_OUTPUT = 2,
    FIELD_NODE_KIND = 4,
    FIELD_NODE_DEVICES = 10,

    /* DeviceConfigurationProto */
    CONFIGURATION_NAME = 1,
    CONFIGURATION_N = 2,

    /* NodeDeviceConfigurationProto */
    NODE_CONFIGURATION = 1,
    NODE_SPEC = 2,
    NODE_STAGE = 3,

    /* ShardingSpecProto */
    SPEC_TENSOR = 1,
    SPEC_DEVICE = 2,
    SPEC_GROUP = 3,
    SPEC_DIM = 4,

    /* IntIntListEntryProto */
    GROUP_KEY = 1,
    GROUP_DEVICE = 2,

    /* ShardedDimProto */
    DIM_AXIS = 1,
    DIM_SIMPLE = 2,

    /* SimpleShardedDimProto */
    SIMPLE_VALUE = 1,
    SIMPLE_PARAM = 2,
    SIMPLE_SHARDS = 3
};

#endif
