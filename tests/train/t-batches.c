/*
 * k ranks of batch b give the gradient of one rank of batch k*b, with BN in evaluation mode (its
 * training statistics are per device, on purpose).
 */
#include <config.h>

#include "allreduce/allreduce.h"
#include "base/mem.h"
#include "base/rng.h"
#include "comm/comm.h"
#include "dev/dev.h"
#include "nn/model.h"

#include "../tap-mpi.h"
#include <math.h>
#include <stdlib.h>

enum { SIZE = 32, CLASSES = 10, BATCH = 2 };

static void draw(int64_t first, int64_t count, uint8_t *images, int32_t *labels)
{
    for (int64_t i = 0; i < count; i++) {
        tc_rng rng = tc_rng_make(5, TC_STREAM_TEST, (uint64_t)(first + i), 0);
        for (int64_t k = 0; k < SIZE * SIZE * 3; k++)
            images[i * SIZE * SIZE * 3 + k] = (uint8_t)tc_rng_below(&rng, 256);
        labels[i] = (int32_t)tc_rng_below(&rng, CLASSES);
    }
}

/* Gradient of the mean loss over `total` pictures, of pictures [first, first + count) alone. */
static tc_status gradient(const tc_graph *graph, int64_t first, int64_t count, int64_t total,
                          float *out)
{
    static uint8_t images[64 * SIZE * SIZE * 3];
    static float logits[64 * CLASSES], dlogits[64 * CLASSES];
    static int32_t labels[64];
    const tc_backend *ref = NULL;
    tc_dev *dev = NULL;
    tc_step *step = NULL;
    int64_t bound[] = { 0, graph->param_count };
    const tc_compile_options compile = {
        .max_batch = count, .precision = TC_F32, .n_buckets = 1, .bound = bound, .training = true
    };
    const tc_slice slice = { .count = count, .images = images, .labels = labels };
    const tc_step_events events = { 0 };
    tc_metrics metrics;
    float *weights = NULL, *stats = NULL;
    tc_status status = tc_backend_find("ref", &ref);

#define TRY(call)        \
    if (status == TC_OK) \
    status = (call)
    TRY(tc_alloc(graph->param_count, sizeof(float), "weights", &weights));
    TRY(tc_alloc(graph->stat_count, sizeof(float), "statistics", &stats));
    TRY(ref->open(&(tc_dev_options){ .threads = 1 }, &dev));
    TRY(ref->compile(dev, graph, &compile, &step));
    if (status == TC_OK) {
        draw(first, count, images, labels);
        tc_graph_init_weights(graph, 3, weights);
        for (int64_t i = 0; i < graph->stat_count; i++)
            stats[i] = 0.4f + 0.2f * (float)(i % 7);
        /* gamma 0 in a block's last BN would hide most of the network */
        for (int p = 0; p < graph->n_params; p++)
            if (graph->param[p].init == TC_INIT_CONSTANT)
                for (int64_t k = 0; k < graph->param[p].count; k++)
                    weights[graph->param[p].offset + k] = 0.5f + 0.1f * (float)(k % 3);
    }
    TRY(ref->write(step, TC_VEC_WEIGHTS, 0, graph->param_count, TC_F32, weights));
    TRY(ref->write(step, TC_VEC_STATS, 0, graph->stat_count, TC_F32, stats));
    TRY(ref->place(step, 0, &slice));
    TRY(ref->forward(step, 0, TC_FORWARD_EVAL));
    TRY(ref->read(step, TC_VEC_LOGITS, 0, count * CLASSES, TC_F32, logits));
    TRY(ref->criterion(dev, count, CLASSES, logits, labels, 1.0f / (float)total, dlogits,
                       &metrics));
    TRY(ref->write(step, TC_VEC_DLOGITS, 0, count * CLASSES, TC_F32, dlogits));
    TRY(ref->backward(step, 0, &events));
    for (int64_t i = 0; status == TC_OK && i < graph->param_count; i++)
        out[i] = ref->host_gradients(step)[i];
#undef TRY
    if (step != NULL)
        ref->step_free(step);
    if (dev != NULL)
        ref->close(dev);
    tc_free(stats);
    tc_free(weights);
    return status;
}

int main(int argc, char **argv)
{
    tc_comm *comm = NULL;
    tc_graph *graph = NULL;
    tc_allreduce *sum = NULL;
    float *mine = NULL, *whole = NULL;
    double diff = 0.0, norm = 0.0;

    if (tc_comm_init(&argc, &argv, &comm) != TC_OK)
        return 1;
    const tc_model_options model = { .name = "resnet20", .classes = CLASSES, .size = SIZE };
    const tc_allreduce_options options = { .algorithm = "multicolor", .arity = -1 };
    int64_t rank = tc_comm_rank(comm), ranks = tc_comm_size(comm);
    if (!tap_ok_all(tc_model_build(&model, &graph) == TC_OK, "the network is built"))
        return tap_done_all();
    int64_t n = graph->param_count;
    bool ok = tc_alloc(n, sizeof *mine, "gradient", &mine) == TC_OK &&
              tc_alloc(n, sizeof *whole, "gradient", &whole) == TC_OK;
    ok = ok && gradient(graph, rank * BATCH, BATCH, ranks * BATCH, mine) == TC_OK;
    tap_ok_all(ok, "every rank has its share's gradient");
    ok = tc_allreduce_create(comm, &options, 1, &n, &sum) == TC_OK &&
         tc_allreduce_run(sum, 0, mine) == TC_OK;
    tap_ok_all(ok, "and the sum of all");
    ok = gradient(graph, 0, ranks * BATCH, ranks * BATCH, whole) == TC_OK;
    for (int64_t i = 0; i < n; i++) {
        diff += ((double)mine[i] - whole[i]) * ((double)mine[i] - whole[i]);
        norm += (double)whole[i] * whole[i];
    }
    if (rank == 0)
        printf("# %lld ranks: norm %g, relative difference %.3g\n", (long long)ranks, sqrt(norm),
               sqrt(diff / norm));
    tap_ok_all(ok && norm > 0.0 && sqrt(diff / norm) <= 1e-5,
               "it is the gradient of one rank with the whole batch, within 1e-5");
    tc_allreduce_destroy(sum);
    tc_graph_free(graph);
    tc_free(mine);
    tc_free(whole);
    return tap_done_all();
}
