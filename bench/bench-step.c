/*
 * How many pictures a second does one device train on?
 *
 * Usage: bench-step [BACKEND [MODEL [BATCH [THREADS [STEPS]]]]]; default: the fastest backend here,
 * resnet20, 64, 1, 20.
 *
 * Verified first: on a batch of 8 the first loss and the gradient's norm agree with `ref` to 1e-4;
 * no time is printed otherwise.  Then every step is place, train and the update of every bucket, on
 * drawn pictures.  Times are of this process's CPU (all its threads), so that a shared machine
 * disturbs them less, and of the clock on the wall; the statistic is the median.
 */
#include <config.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "dev/dev.h"
#include "nn/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CLASSES      10
#define VERIFY_BATCH 8

/* A device with a network and one batch of pictures. */
typedef struct {
    const tc_backend *backend;
    const tc_graph *graph;
    tc_dev *dev;
    tc_step *step;
    int64_t batch;
    int64_t *bound;
    int n_buckets;
    uint8_t *images;
    int32_t *labels;
} device;

static tc_status draw(device *d)
{
    int64_t pixels = 3 * d->graph->node[0].h * d->graph->node[0].w;
    tc_rng rng = tc_rng_make(1, TC_STREAM_TEST, 0, 0);
    float *weights = NULL;

    tc_status status = tc_alloc(d->batch * pixels, 1, "pictures", &d->images);
    if (status == TC_OK)
        status = tc_alloc(d->batch, sizeof(int32_t), "labels", &d->labels);
    if (status == TC_OK)
        status = tc_alloc(d->graph->param_count, sizeof(float), "weights", &weights);
    if (status != TC_OK)
        return status;
    for (int64_t i = 0; i < d->batch * pixels; i++)
        d->images[i] = (uint8_t)tc_rng_u32(&rng);
    for (int64_t i = 0; i < d->batch; i++)
        d->labels[i] = (int32_t)(i % CLASSES);
    tc_graph_init_weights(d->graph, 1, weights);
    status = d->backend->write(d->step, TC_VEC_WEIGHTS, 0, d->graph->param_count, TC_F32, weights);
    tc_free(weights);
    return status;
}

static void shut(device *d)
{
    if (d->backend != NULL) {
        d->backend->step_free(d->step);
        d->backend->close(d->dev);
    }
    tc_free(d->bound);
    tc_free(d->images);
    tc_free(d->labels);
}

static tc_status start(const char *name, const tc_graph *graph, int64_t batch, int threads,
                       device *d)
{
    *d = (device){ .graph = graph, .batch = batch };
    tc_status status = tc_backend_find(name, &d->backend);
    if (status == TC_OK)
        status = tc_graph_buckets(graph, 1 << 20, &d->bound, &d->n_buckets);
    if (status == TC_OK)
        status = d->backend->open(&(tc_dev_options){ .threads = threads }, &d->dev);
    if (status != TC_OK)
        return status;
    tc_compile_options options = { .max_batch = batch,
                                   .precision = TC_F32,
                                   .training = true,
                                   .n_buckets = d->n_buckets,
                                   .bound = d->bound };
    status = d->backend->compile(d->dev, graph, &options, &d->step);
    return status == TC_OK ? draw(d) : status;
}

static tc_status train(device *d, bool update)
{
    tc_slice slice = { d->batch, d->images, d->labels, NULL };
    tc_sgd sgd = { .lr = 0.01f, .momentum = 0.9f, .weight_decay = 1e-4f, .nesterov = true };

    tc_status status = d->backend->place(d->step, 0, &slice);
    if (status == TC_OK)
        status = d->backend->train(d->step, 0, 1.0f / (float)d->batch, NULL);
    for (int b = 0; b < d->n_buckets && status == TC_OK && update; b++)
        status = d->backend->update(d->step, b, d->backend->host_gradients(d->step), &sgd);
    return status;
}

/* The loss and the norm of the gradient of one step of a backend. */
static tc_status figures(const char *name, const tc_graph *graph, double out[2])
{
    device d = { 0 };
    tc_metrics metrics = { 0 };
    double sum = 0;

    tc_status status = start(name, graph, VERIFY_BATCH, 1, &d);
    if (status == TC_OK)
        status = train(&d, false);
    if (status == TC_OK)
        status = d.backend->metrics(d.step, &metrics);
    for (int64_t i = 0; i < graph->param_count && status == TC_OK; i++)
        sum += (double)d.backend->host_gradients(d.step)[i] * d.backend->host_gradients(d.step)[i];
    out[0] = metrics.loss;
    out[1] = sqrt(sum);
    shut(&d);
    return status;
}

static tc_status verify(const char *name, const tc_graph *graph)
{
    double mine[2], ref[2];

    tc_status status = figures(name, graph, mine);
    if (status == TC_OK)
        status = figures("ref", graph, ref);
    if (status != TC_OK)
        return status;
    for (int i = 0; i < 2; i++)
        if (!(fabs(mine[i] - ref[i]) <= 1e-4 * ref[i]))
            return tc_fail(TC_NUMERIC, "WRONG: %s %.8g, ref %.8g", i ? "gradient" : "loss", mine[i],
                           ref[i]);
    printf("verified: loss %.6f (ref %.6f), gradient's norm %.6f (ref %.6f)\n", mine[0], ref[0],
           mine[1], ref[1]);
    return TC_OK;
}

static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static tc_status measure(const char *name, const tc_graph *graph, int64_t batch, int threads,
                         int steps)
{
    device d = { 0 };
    double *cpu = NULL, *wall = NULL;

    tc_status status = start(name, graph, batch, threads, &d);
    if (status == TC_OK)
        status = tc_alloc(steps, sizeof *cpu, "times", &cpu);
    if (status == TC_OK)
        status = tc_alloc(steps, sizeof *wall, "times", &wall);
    for (int i = -2; i < steps && status == TC_OK; i++) { /* two to warm up */
        double c = cpu_now(), w = tc_now();
        status = train(&d, true);
        if (i >= 0 && status == TC_OK) {
            cpu[i] = cpu_now() - c;
            wall[i] = tc_now() - w;
        }
    }
    if (status == TC_OK) {
        qsort(cpu, (size_t)steps, sizeof *cpu, ascending);
        qsort(wall, (size_t)steps, sizeof *wall, ascending);
        double n = (double)batch, mid = cpu[steps / 2] / threads;
        printf(
            "# %s\n# model batch threads steps cpu_ms wall_ms images/s(cpu) images/s(wall) best\n",
            d.backend->choices(d.step));
        printf("%s %lld %d %d %.2f %.2f %.1f %.1f %.1f\n", graph->name, (long long)batch, threads,
               steps, 1e3 * mid, 1e3 * wall[steps / 2], n / mid, n / wall[steps / 2],
               n / (cpu[0] / threads));
    }
    tc_free(cpu);
    tc_free(wall);
    shut(&d);
    return status;
}

static int64_t number(int argc, char **argv, int i, int64_t otherwise)
{
    return argc > i ? strtoll(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    tc_model_options options = { .name = argc > 2 ? argv[2] : "resnet20", .classes = CLASSES };
    int64_t batch = number(argc, argv, 3, 64), threads = number(argc, argv, 4, 1);
    int64_t steps = number(argc, argv, 5, 20);
    tc_graph *graph = NULL;

    if (batch < 1 || threads < 1 || steps < 1 || steps > 1000000) {
        fprintf(stderr, "usage: bench-step [BACKEND [MODEL [BATCH [THREADS [STEPS]]]]]\n");
        return 2;
    }
    tc_status status = tc_model_build(&options, &graph);
    if (status == TC_OK)
        status = verify(name, graph);
    if (status == TC_OK)
        status = measure(name, graph, batch, (int)threads, (int)steps);
    if (status != TC_OK)
        fprintf(stderr, "bench-step: %s\n", tc_error_detail());
    tc_graph_free(graph);
    return status == TC_OK ? 0 : 1;
}
