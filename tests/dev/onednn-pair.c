#include <config.h>

#include "onednn-pair.h"

#include "base/mem.h"
#include "base/rng.h"
#include "dev/dev.h"

#include <math.h>
#include <string.h>

tc_status pair_data_make(const tc_graph *graph, int64_t batch, uint64_t seed, pair_data *data)
{
    tc_rng rng = tc_rng_make(seed, TC_STREAM_TEST, 0, 0);
    int64_t pixels = 3 * graph->node[0].h * graph->node[0].w;

    *data = (pair_data){ .graph = graph, .batch = batch, .n_pixels = pixels };
    tc_status status = tc_alloc(batch * pixels, 1, "images", &data->images);
    if (status == TC_OK)
        status = tc_alloc(batch, sizeof(int32_t), "labels", &data->labels);
    if (status == TC_OK)
        status = tc_alloc(batch * 3, sizeof(float), "offsets", &data->offset);
    if (status == TC_OK)
        status = tc_alloc(graph->param_count, sizeof(float), "weights", &data->weights);
    if (status == TC_OK)
        status = tc_alloc(graph->stat_count, sizeof(float), "stats", &data->stats);
    if (status != TC_OK)
        return status;
    for (int64_t i = 0; i < batch * pixels; i++)
        data->images[i] = (uint8_t)tc_rng_u32(&rng);
    for (int64_t i = 0; i < batch; i++)
        data->labels[i] = (int32_t)tc_rng_below(&rng, graph->classes);
    for (int64_t i = 0; i < 3 * batch; i++)
        data->offset[i] = (float)(0.2 * tc_rng_normal(&rng));
    tc_graph_init_weights(graph, seed, data->weights);
    for (int i = 0; i < graph->n_params; i++)
        for (int64_t k = 0; k < graph->param[i].count; k++)
            data->weights[graph->param[i].offset + k] +=
                (float)((graph->param[i].n_dims == 1 ? 0.3 : 0.01) * tc_rng_normal(&rng));
    for (int i = 0; i < graph->n_stats; i++)
        for (int64_t c = 0; c < graph->stat[i].channels; c++) {
            float *mean = data->stats + graph->stat[i].offset + c;
            mean[0] = (float)(0.5 * tc_rng_normal(&rng));
            mean[graph->stat[i].channels] = (float)(0.5 + tc_rng_uniform(&rng));
        }
    return TC_OK;
}

void pair_data_free(pair_data *data)
{
    tc_free(data->images);
    tc_free(data->labels);
    tc_free(data->offset);
    tc_free(data->weights);
    tc_free(data->stats);
    *data = (pair_data){ 0 };
}

tc_slice pair_slice(const pair_data *data, int64_t count)
{
    return (tc_slice){ count, data->images, data->labels, data->offset };
}

static tc_status write_vector(const pair_side *side, tc_vector vec, const float *from,
                              int64_t count)
{
    double *wide = NULL;

    if (side->type == TC_F32)
        return side->backend->write(side->step, vec, 0, count, TC_F32, from);
    tc_status status = tc_alloc(count, sizeof *wide, "vector", &wide);
    for (int64_t i = 0; i < count && status == TC_OK; i++)
        wide[i] = from[i];
    if (status == TC_OK)
        status = side->backend->write(side->step, vec, 0, count, TC_F64, wide);
    tc_free(wide);
    return status;
}

tc_status pair_read(const pair_side *side, tc_vector vec, int64_t count, double *out)
{
    float *narrow = NULL;

    if (side->type == TC_F64)
        return side->backend->read(side->step, vec, 0, count, TC_F64, out);
    tc_status status = tc_alloc(count, sizeof *narrow, "vector", &narrow);
    if (status == TC_OK)
        status = side->backend->read(side->step, vec, 0, count, TC_F32, narrow);
    for (int64_t i = 0; i < count && status == TC_OK; i++)
        out[i] = narrow[i];
    tc_free(narrow);
    return status;
}

tc_status pair_open(const char *backend, tc_precision precision, const pair_data *data, int threads,
                    pair_side *side)
{
    const tc_graph *graph = data->graph;
    tc_dev_options options = { .ordinal = 0, .threads = threads };
    int64_t *bound = NULL;
    int n = 0;

    *side = (pair_side){ .type = precision == TC_F64 ? TC_F64 : TC_F32,
                         .rounded = precision == TC_BF16 };
    tc_status status = tc_backend_find(backend, &side->backend);
    if (status == TC_OK)
        status = tc_graph_buckets(graph, 4096, &bound, &n);
    side->n_buckets = n;
    if (status == TC_OK)
        status = side->backend->open(&options, &side->dev);
    tc_compile_options compile = { .max_batch = data->batch,
                                   .precision = precision,
                                   .n_buckets = n,
                                   .bound = bound,
                                   .training = true,
                                   .deterministic = true };
    if (status == TC_OK)
        status = side->backend->compile(side->dev, graph, &compile, &side->step);
    if (status == TC_OK)
        status = write_vector(side, TC_VEC_WEIGHTS, data->weights, graph->param_count);
    if (status == TC_OK)
        status = write_vector(side, TC_VEC_STATS, data->stats, graph->stat_count);
    tc_free(bound);
    return status;
}

void pair_close(pair_side *side)
{
    if (side->backend == NULL)
        return;
    side->backend->step_free(side->step);
    side->backend->close(side->dev);
    *side = (pair_side){ 0 };
}

double pair_distance(const double *a, const double *b, int64_t count)
{
    double diff = 0, norm = 0;

    for (int64_t i = 0; i < count; i++) {
        diff += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return diff == 0 ? 0 : sqrt(diff / norm);
}

static tc_status compare(const pair_side *ref, const pair_side *dut, tc_vector vec, int64_t count,
                         double *distance_p)
{
    double *a = NULL, *b = NULL;
    tc_status status = tc_alloc(count, sizeof *a, "vector", &a);

    if (status == TC_OK)
        status = tc_alloc(count, sizeof *b, "vector", &b);
    if (status == TC_OK)
        status = pair_read(dut, vec, count, a);
    if (status == TC_OK)
        status = pair_read(ref, vec, count, b);
    if (status == TC_OK)
        *distance_p = pair_distance(a, b, count);
    tc_free(a);
    tc_free(b);
    return status;
}

static tc_status compare_all(const pair_data *data, const pair_side *ref, const pair_side *dut,
                             int64_t count, pair_error *error)
{
    const tc_graph *graph = data->graph;
    tc_metrics a, b;

    tc_status status = dut->backend->metrics(dut->step, &a);
    if (status == TC_OK)
        status = ref->backend->metrics(ref->step, &b);
    if (status == TC_OK && !dut->rounded &&
        (a.count != b.count || a.top1 != b.top1 || a.top5 != b.top5))
        status = tc_fail(TC_NUMERIC, "hits differ: %lld %lld %lld and %lld %lld %lld",
                         (long long)a.count, (long long)a.top1, (long long)a.top5,
                         (long long)b.count, (long long)b.top1, (long long)b.top5);
    if (status == TC_OK)
        error->loss = pair_distance(&a.loss, &b.loss, 1);
    if (status == TC_OK)
        status = compare(ref, dut, TC_VEC_LOGITS, count * graph->classes, &error->logits);
    if (status == TC_OK)
        status = compare(ref, dut, TC_VEC_GRADIENTS, graph->param_count, &error->gradients);
    if (status == TC_OK)
        status = compare(ref, dut, TC_VEC_STATS, graph->stat_count, &error->stats);
    if (status == TC_OK)
        status = compare(ref, dut, TC_VEC_WEIGHTS, graph->param_count, &error->weights);
    return status;
}

static tc_status train_and_update(const pair_data *data, const pair_side *side)
{
    tc_slice slice = pair_slice(data, data->batch);
    tc_sgd sgd = { .lr = 0.05f, .momentum = 0.9f, .weight_decay = 0.01f, .nesterov = true };

    tc_status status = side->backend->place(side->step, 1, &slice);
    if (status == TC_OK)
        status = side->backend->train(side->step, 1, 1.0f / (float)data->batch, NULL);
    for (int b = 0; b < side->n_buckets && status == TC_OK; b++)
        status =
            side->backend->update(side->step, b, side->backend->host_gradients(side->step), &sgd);
    return status;
}

tc_status pair_train(const pair_data *data, const pair_side *ref, const pair_side *dut,
                     pair_error *error)
{
    tc_status status = train_and_update(data, ref);

    if (status == TC_OK)
        status = train_and_update(data, dut);
    if (status == TC_OK)
        status = compare_all(data, ref, dut, data->batch, error);
    return status;
}

static tc_status phases(const pair_data *data, const pair_side *side, tc_forward_mode mode,
                        int64_t count, const float *dlogits)
{
    tc_slice slice = pair_slice(data, count);

    tc_status status = side->backend->place(side->step, 0, &slice);
    if (status == TC_OK)
        status = side->backend->forward(side->step, 0, mode);
    if (status == TC_OK)
        status = write_vector(side, TC_VEC_DLOGITS, dlogits, count * data->graph->classes);
    if (status == TC_OK)
        status = side->backend->backward(side->step, 0, NULL);
    return status;
}

tc_status pair_phases(const pair_data *data, const pair_side *ref, const pair_side *dut,
                      tc_forward_mode mode, int64_t count, pair_error *error)
{
    tc_rng rng = tc_rng_make(17, TC_STREAM_TEST, 1, 0);
    float *dlogits = NULL;
    tc_status status = tc_alloc(count * data->graph->classes, sizeof *dlogits, "dlogits", &dlogits);

    for (int64_t i = 0; i < count * data->graph->classes && status == TC_OK; i++)
        dlogits[i] = (float)tc_rng_normal(&rng);
    if (status == TC_OK)
        status = phases(data, ref, mode, count, dlogits);
    if (status == TC_OK)
        status = phases(data, dut, mode, count, dlogits);
    if (status == TC_OK)
        status = compare_all(data, ref, dut, count, error);
    tc_free(dlogits);
    return status;
}
