#include "core/peers/nnscaler/eval_anno.h"

#include "core/peers/nnscaler/anno_named.h"
#include "core/space/anno_partition.h"
#include "core/rules/one_op.h"
#include "core/rules/registry.h"

/* A request of anno.infer or anno.partition. */
typedef struct {
    Arena *arena;
    Str op; /* empty if not given */
    const Anno **candidate;
    AnnoInput *input;
    AnnoArg *arg;
    int n_candidates, n_inputs, n_args;
    bool named;        /* the candidates come from the operator's name */
    const Json *attrs; /* NULL if not given */
    AnnoMatch match;
} AnnoRequest;

/* ---- writing ---- */

static Json *json_anno(Arena *arena, const Anno *anno)
{
    Buf text = buf_new(arena);
    anno_format(anno, &text);
    return json_from_str(buf_str(&text));
}

static Json *json_space(Arena *arena, const Anno *anno)
{
    AnnoPlace *place;
    int n = anno_space(arena, anno, &place);
    Json *list = json_array();
    for (int i = 0; i < n; i++)
        json_add(list, json_ints((int64_t[]){place[i].input, place[i].dim}, 2));
    return list;
}

static void set_meta(Json *object, const AnnoTensor *tensor)
{
    json_set_bool(object, "ignored", tensor->ignored);
    Json *names = json_array();
    for (int i = 0; i < tensor->n_no_grad; i++)
        json_add(names, json_from_str(tensor->no_grad[i]));
    json_set(object, "no_grad_reduce", names);
    json_set_bool(object, "no_grad_reduce_all", tensor->no_grad_reduce_all);
}

/* A range; in nnScaler a scalar has shape [1]. */
static Json *json_piece(const AnnoPiece *piece, bool with_range)
{
    Box box = piece->range;
    if (box.n == 0) {
        box.n = 1;
        box.hi[0] = 1;
    }
    int64_t size[X_MAX];
    for (int d = 0; d < box.n; d++)
        size[d] = box.hi[d] - box.lo[d];
    Json *object = json_object();
    json_set(object, "shape", json_ints(size, box.n));
    if (!with_range)
        return object;
    Json *range = json_object();
    json_set(range, "start", json_ints(box.lo, box.n));
    json_set(range, "end", json_ints(box.hi, box.n));
    json_set(object, "range", range);
    json_set(object, "part", json_ints((int64_t[]){piece->part, piece->n_parts}, 2));
    return object;
}

static Json *json_shape(const Shape *shape)
{
    AnnoPiece whole = {.range.n = (int)shape->n_dims};
    memcpy(whole.range.hi, shape->dim, sizeof shape->dim);
    return json_piece(&whole, false);
}

/* ---- reading ---- */

static bool read_inputs(AnnoRequest *request, const Json *list, Error *err)
{
    if (list && !json_is_array(list))
        return error_set(err, "`inputs` must be a list");
    request->n_inputs = json_size(list);
    request->input = arena_array(request->arena, AnnoInput, request->n_inputs);
    for (int i = 0; i < request->n_inputs; i++) {
        const Json *shape = json_get(json_at(list, i), "shape");
        if (!shape)
            continue;
        request->input[i].is_tensor = true;
        if (!one_op_shape_json(shape, 0, &request->input[i].shape, err) ||
            !shape_check(&request->input[i].shape, err))
            return false;
    }
    return true;
}

static void read_args(AnnoRequest *request)
{
    request->n_args = json_size(request->attrs);
    request->arg = arena_array(request->arena, AnnoArg, request->n_args);
    for (int i = 0; i < request->n_args; i++) {
        const char *name = json_key_at(request->attrs, i);
        const Json *value = json_get(request->attrs, name);
        request->arg[i] = (AnnoArg){.name = str_from(name),
                                    .is_int = json_is_int(value) || json_is_bool(value),
                                    .value = json_int(value, json_bool(value, false))};
    }
}

static bool read_candidate(AnnoRequest *request, int i, Str text, Error *err)
{
    Source source = {"annos", text};
    request->candidate[i] = anno_parse(request->arena, &source, err);
    return request->candidate[i] != NULL;
}

/* The candidates of a named operator; returns how many, or -1. */
static int find_candidates(const AnnoRequest *request, const Json *json, const char *const **out,
                           Error *err)
{
    if (str_eq(json_str(json_get(json, "system"), ""), STR("nnscaler")))
        return anno_named(request->arena, request->op, request->input, request->n_inputs,
                          json_get(json, "inputs"), request->attrs, out, err);
    const Operator *row = registry_find(registry_new(request->arena), request->op);
    if (!row || !row->anno || !row->anno->annos) {
        error_kind(err, ERROR_UNKNOWN_OP, "operator '%.*s' has no annotation",
                   STR_ARG(request->op));
        return -1;
    }
    int n = 0;
    for (*out = row->anno->annos; (*out)[n];)
        n++;
    return n;
}

static bool read_candidates(AnnoRequest *request, const Json *json, Error *err)
{
    const Json *annos = json_get(json, "annos");
    const char *const *text = NULL;
    request->named = !annos;
    request->n_candidates = annos ? json_size(annos) : find_candidates(request, json, &text, err);
    if (request->n_candidates < 0)
        return false;
    request->candidate = arena_array(request->arena, const Anno *, request->n_candidates);
    for (int i = 0; i < request->n_candidates; i++)
        if (!read_candidate(request, i, annos ? json_str(json_at(annos, i), "") : str_from(text[i]),
                            err))
            return false;
    return true;
}

static bool read_request(AnnoRequest *request, Arena *arena, const Json *json, Error *err)
{
    *request = (AnnoRequest){
        .arena = arena, .op = json_str(json_get(json, "op"), ""), .attrs = json_get(json, "attrs")};
    if (!read_inputs(request, json_get(json, "inputs"), err))
        return false;
    read_args(request);
    return read_candidates(request, json, err) &&
           anno_match(arena, request->candidate, request->n_candidates, request->input,
                      request->n_inputs, request->arg, request->n_args, &request->match, err);
}

/* ---- the verbs ---- */

static bool eval_parse_tensor(Arena *arena, Str text, Json *answer, Error *err)
{
    Source source = {"tensor_anno", text};
    AnnoTensor tensor;
    if (!anno_parse_tensor(arena, &source, &tensor, err))
        return false;
    Buf canonical = buf_new(arena);
    anno_format_tensor(&tensor, &canonical);
    json_set(answer, "anno", json_from_str(buf_str(&canonical)));
    set_meta(answer, &tensor);
    return true;
}

static bool eval_parse(Arena *arena, const Json *json, Json *answer, Error *err)
{
    const Json *tensor = json_get(json, "tensor_anno");
    if (json_is_string(tensor))
        return eval_parse_tensor(arena, json_str(tensor, ""), answer, err);
    if (!json_is_string(json_get(json, "anno")))
        return error_set(err, "anno.parse needs `anno` or `tensor_anno`");

    Source source = {"anno", json_str(json_get(json, "anno"), "")};
    const Anno *anno = anno_parse(arena, &source, err);
    if (!anno)
        return false;
    json_set(answer, "anno", json_anno(arena, anno));
    json_set(answer, "space", json_space(arena, anno));
    json_set_int(answer, "n_inputs", anno->n_inputs);
    json_set_int(answer, "n_outputs", anno->n_outputs);
    Json *inputs = json_array();
    for (int i = 0; i < anno->n_inputs; i++) {
        Json *input = json_object();
        set_meta(input, &anno->tensor[i]);
        json_add(inputs, input);
    }
    json_set(answer, "inputs", inputs);
    return true;
}

static bool eval_infer(Arena *arena, const Json *json, Json *answer, Error *err)
{
    AnnoRequest request;
    if (!read_request(&request, arena, json, err))
        return false;
    const Anno *anno = request.match.anno;
    json_set(answer, "anno", json_anno(arena, anno));
    Json *outputs = json_array();
    for (int o = 0; o < anno->n_outputs; o++)
        json_add(outputs, anno->tensor[anno->n_inputs + o].ignored
                              ? json_null()
                              : json_shape(&request.match.output[o]));
    json_set(answer, "outputs", outputs);
    json_set(answer, "space", json_space(arena, anno));
    return true;
}

static Json *json_splits(const AnnoPartition *partition, Arena *arena, int from, int to)
{
    Json *list = json_array();
    for (int i = from; i < to; i++) {
        Buf text = buf_new(arena);
        anno_split_format(&partition->split[i], &text);
        json_add(list, json_from_str(buf_str(&text)));
    }
    return list;
}

static Json *json_pieces(const AnnoPartition *partition, int64_t piece, int from, int to)
{
    const AnnoMatch *match = partition->match;
    Json *list = json_array();
    for (int i = from; i < to; i++) {
        bool present =
            i < match->anno->n_inputs ? match->input[i].is_tensor : !match->anno->tensor[i].ignored;
        AnnoPiece held = anno_piece(partition, i, piece);
        json_add(list, present ? json_piece(&held, true) : json_null());
    }
    return list;
}

/* The attributes of a piece of the op. */
static Json *piece_attrs(const AnnoRequest *request, const AnnoPartition *partition,
                         const AnnoArg *args)
{
    Json *attrs = request->attrs ? json_copy(request->attrs) : json_object();
    for (int i = 0; i < request->n_args; i++) {
        const char *name = json_key_at(request->attrs, i);
        Json *value =
            anno_named_piece(request->op, partition, name, json_get(request->attrs, name));
        if (value)
            json_set(attrs, name, value);
        else if (args[i].is_int && args[i].value != request->arg[i].value)
            json_set_int(attrs, name, args[i].value);
    }
    return attrs;
}

static bool eval_partition(Arena *arena, const Json *json, Json *answer, Error *err)
{
    AnnoRequest request;
    AnnoPartition partition;
    if (!read_request(&request, arena, json, err))
        return false;
    const int64_t idx = json_int(json_get(json, "idx"), -1),
                  dim = json_int(json_get(json, "dim"), 0);
    if (idx < 0 || idx > OPERANDS_MAX || dim < -DIMS_MAX || dim > DIMS_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "there is no such operand or dim");
    AnnoArg *args = arena_array(arena, AnnoArg, request.n_args);
    if (!anno_partition(arena, &request.match, (int)idx, (int)dim,
                        json_int(json_get(json, "num"), 0), request.named, &partition, err) ||
        !anno_piece_args(&partition, request.arg, request.n_args, args, err) ||
        !anno_piece_check(arena, &partition, request.candidate, request.n_candidates, args,
                          request.n_args, err))
        return false;

    const Anno *anno = request.match.anno;
    int n_inputs = anno->n_inputs, n_operands = anno->n_inputs + anno->n_outputs;
    json_set(answer, "anno", json_anno(arena, anno));
    Json *rule = json_object(), *parts = json_array();
    json_set(rule, "inputs", json_splits(&partition, arena, 0, n_inputs));
    json_set(rule, "outputs", json_splits(&partition, arena, n_inputs, n_operands));
    json_set(answer, "rule", rule);
    for (int64_t piece = 0; piece < partition.num; piece++) {
        Json *part = json_object();
        json_set(part, "inputs", json_pieces(&partition, piece, 0, n_inputs));
        json_set(part, "outputs", json_pieces(&partition, piece, n_inputs, n_operands));
        json_set(part, "attrs", piece_attrs(&request, &partition, args));
        json_add(parts, part);
    }
    json_set(answer, "parts", parts);
    return true;
}

bool eval_anno(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    if (strcmp(verb, "anno.parse") == 0)
        return eval_parse(arena, request, answer, err);
    if (strcmp(verb, "anno.infer") == 0)
        return eval_infer(arena, request, answer, err);
    if (strcmp(verb, "anno.partition") == 0)
        return eval_partition(arena, request, answer, err);
    return error_kind(err, ERROR_UNSUPPORTED, "there is no verb '%s'", verb);
}
