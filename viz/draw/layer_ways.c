/* layer_ways.c - how lines reach the readers of values in the figure of a layer: straight down, in
 * one turn to the next rank, or in a lane at the left of the page past what is between. */
#include "viz/draw/layer.h"

/* Whether a vertical line at x between two ranks meets no module. */
static bool is_free(const LayerDrawing *layer, const DiagramPlace *place, double x, int from_rank,
                    int to_rank)
{
    for (int m = 0; m < layer->modules.n; m++) {
        int rank = layer->modules.at[m].rank;
        if (from_rank < rank && rank < to_rank && place[m].x - 1 < x &&
            x < place[m].x + place[m].w + 1)
            return false;
    }
    return true;
}

LayerWay layer_way(const LayerDrawing *layer, const DiagramPlace *place, double x, int v,
                   int reader)
{
    const LayerValue *value = &layer->values.at[v];
    DiagramPlace at = place[reader];
    int rank = layer->modules.at[reader].rank, from = layer_rank(layer, value);

    if (at.x <= x && x <= at.x + at.w && is_free(layer, place, x, from, rank))
        return LAYER_STRAIGHT;
    return rank == from + 1 ? LAYER_TURN : LAYER_LANE;
}

int layer_rank(const LayerDrawing *layer, const LayerValue *value)
{
    return value->maker < 0 ? -1 : layer->modules.at[value->maker].rank;
}

/* The last rank to which a value goes by a lane; -1 if it needs none. */
static int lane_end(const LayerDrawing *layer, const DiagramPlace *place, const double *x, int v)
{
    const LayerValue *value = &layer->values.at[v];
    int end = -1;

    for (int r = 0; x[v] >= 0 && r < value->readers.n; r++) {
        int reader = value->readers.at[r], rank = layer->modules.at[reader].rank;
        if (layer_way(layer, place, x[v], v, reader) == LAYER_LANE && rank > end)
            end = rank;
    }
    return end;
}

/* The first lane in which no value is between those ranks. */
static int free_lane(const LayerDrawing *layer, const int *lane, const int *end, int from, int to)
{
    for (int k = 0;; k++) {
        bool taken = false;
        for (int v = 0; v < layer->values.n; v++)
            taken |= lane[v] == k && layer_rank(layer, &layer->values.at[v]) < to && from < end[v];
        if (!taken)
            return k;
    }
}

int layer_lanes(const LayerDrawing *layer, const DiagramPlace *place, const double *x, int *lane)
{
    int n = 0, *end = arena_array(layer->draw->arena, int, layer->values.n + 1);

    for (int v = 0; v < layer->values.n; v++) {
        lane[v] = -1;
        end[v] = lane_end(layer, place, x, v);
    }
    for (int length = 1; length <= layer->n_ranks; length++) /* short ones are inside */
        for (int v = 0; v < layer->values.n; v++) {
            int from = layer_rank(layer, &layer->values.at[v]);
            if (end[v] < 0 || end[v] - from != length)
                continue;
            lane[v] = free_lane(layer, lane, end, from, end[v]);
            n = lane[v] + 1 > n ? lane[v] + 1 : n;
        }
    return n;
}
