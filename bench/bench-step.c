/*
 * How many pictures a second do devices train on, and where does the time go?
 *
 * Verified first, in a process of its own: on a small batch of small pictures the first loss and
 * the gradient's norm agree with `ref`; no time is printed otherwise.  Then every step is place,
 * train and the update of every bucket, on drawn pictures; the statistic is the median of the
 * slowest device, with the best beside it.  With several devices each runs in a thread of its own
 * on cores of its own, meeting at every step.  At the end one device takes a step apart and runs
 * every convolution alone: the share of each kind of work, and how near the step is to nothing but
 * its convolutions.  bench/step runs PyTorch beside it.
 */
#include <config.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "dev/dev.h"
#include "nn/model.h"

#include <argp.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TC_COMMIT
#define TC_COMMIT "unknown"
#endif

#define VERIFY_BATCH 8
#define MAX_DEVICES  64

typedef struct {
    const char *backend; /* NULL: the fastest here */
    tc_model_options model;
    tc_precision precision;
    int64_t batch, verify_size;
    int threads, devices, steps;
} settings;

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
        d->labels[i] = (int32_t)(i % d->graph->classes);
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

static tc_status start(const char *name, const tc_graph *graph, int64_t batch,
                       tc_precision precision, int threads, device *d)
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
                                   .precision = precision,
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

/* ---- Verification ---- */

/* The loss and the norm of the gradient of one step of a backend. */
static tc_status figures(const char *name, tc_precision precision, const tc_graph *graph,
                         double out[2])
{
    device d = { 0 };
    tc_metrics metrics = { 0 };
    double sum = 0;

    tc_status status = start(name, graph, VERIFY_BATCH, precision, 1, &d);
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

static tc_status verify(const settings *s)
{
    tc_model_options model = s->model;
    double mine[2], ref[2], bound = s->precision == TC_F32 ? 1e-4 : 2e-2;
    tc_graph *graph = NULL;

    model.size = s->verify_size;
    tc_status status = tc_model_build(&model, &graph);
    if (status == TC_OK)
        status = figures(s->backend, s->precision, graph, mine);
    if (status == TC_OK)
        status = figures("ref", TC_F32, graph, ref);
    for (int i = 0; i < 2 && status == TC_OK; i++)
        if (!(fabs(mine[i] - ref[i]) <= bound * ref[i]))
            status = tc_fail(TC_NUMERIC, "WRONG: %s %.8g, ref %.8g", i ? "gradient" : "loss",
                             mine[i], ref[i]);
    if (status == TC_OK)
        printf("# verified at %lld pixels: loss %.6f (ref %.6f), gradient's norm %.6f (ref %.6f)\n",
               (long long)s->verify_size, mine[0], ref[0], mine[1], ref[1]);
    tc_graph_free(graph);
    return status;
}

/* In a child, so that its memory does not count and no thread of OpenMP is left from it. */
static tc_status verify_apart(const settings *s)
{
    int state = 0;

    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        tc_status status = verify(s);
        if (status != TC_OK)
            fprintf(stderr, "bench-step: %s\n", tc_error_detail());
        fflush(stdout);
        _exit(status == TC_OK ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &state, 0) != pid)
        return tc_fail(TC_IO, "no process for the verification");
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return tc_fail(TC_NUMERIC, "not verified: no times");
    return TC_OK;
}

/* ---- Measurement ---- */

/* One device in its thread. */
typedef struct {
    const settings *s;
    const tc_graph *graph;
    pthread_barrier_t *meet;
    int index;
    double *seconds; /* [steps] */
    tc_status status;
    char error[256], choices[512];
    tc_profile profile;
    bool profiled; /* the backend has told */
} worker;

/* Keep the thread, and OpenMP's threads that it starts, on cores of its own where they suffice. */
static void bind(int index, int threads, int devices)
{
    cpu_set_t all, own;
    int seen = 0;

    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < threads * devices)
        return;
    CPU_ZERO(&own);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && seen++ / threads == index)
            CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof own, &own);
}

static void *work(void *arg)
{
    worker *w = arg;
    const settings *s = w->s;
    device d = { 0 };

    bind(w->index, s->threads, s->devices);
    w->status = start(s->backend, w->graph, s->batch, s->precision, s->threads, &d);
    for (int i = -2; i < s->steps; i++) { /* two to warm up */
        pthread_barrier_wait(w->meet);
        double begin = tc_now();
        if (w->status == TC_OK)
            w->status = train(&d, true);
        if (i >= 0)
            w->seconds[i] = tc_now() - begin;
    }
    pthread_barrier_wait(w->meet);
    if (w->status == TC_OK)
        snprintf(w->choices, sizeof w->choices, "%s", d.backend->choices(d.step));
    if (w->status == TC_OK && w->index == 0 && d.backend->profile != NULL) {
        w->status = train(&d, true); /* the last step's weights are loaded, as in any step */
        if (w->status == TC_OK)
            w->status = d.backend->profile(d.step, 0, 1.0f / (float)s->batch, &w->profile);
        w->profiled = w->status == TC_OK;
    }
    if (w->status != TC_OK)
        snprintf(w->error, sizeof w->error, "%s", tc_error_detail());
    shut(&d);
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_shares(const tc_profile *p)
{
    double sum = 0;

    for (int i = 0; i < p->n; i++)
        sum += p->part[i].seconds;
    printf("# share of a step\n");
    for (int i = 0; i < p->n; i++)
        printf("#   %-28s %9.2f ms %5.1f %%\n", p->part[i].what, 1e3 * p->part[i].seconds,
               100 * p->part[i].seconds / sum);
}

static void print(const settings *s, const tc_graph *graph, worker *w)
{
    struct rusage usage = { 0 };
    double *slowest = w[0].seconds;

    getrusage(RUSAGE_SELF, &usage); /* before the shares: KiB */
    for (int d = 1; d < s->devices; d++)
        for (int i = 0; i < s->steps; i++)
            slowest[i] = w[d].seconds[i] > slowest[i] ? w[d].seconds[i] : slowest[i];
    qsort(slowest, (size_t)s->steps, sizeof *slowest, ascending);
    double mid = slowest[s->steps / 2], pictures = (double)(s->batch * s->devices);
    printf("# %s\n", w[0].choices);
    if (w[0].profiled)
        print_shares(&w[0].profile);
    printf("# model precision size batch threads devices steps step_ms images/s best_images/s "
           "peak_MiB bare_conv_ms of_bare\n");
    printf("%s %s %lld %lld %d %d %d %.2f %.2f %.2f %.0f ", graph->name,
           tc_precision_name(s->precision), (long long)graph->node[0].h, (long long)s->batch,
           s->threads, s->devices, s->steps, 1e3 * mid, pictures / mid, pictures / slowest[0],
           (double)usage.ru_maxrss / 1024);
    if (w[0].profiled)
        printf("%.2f %.3f\n", 1e3 * w[0].profile.bare, w[0].profile.bare / mid);
    else
        printf("- -\n");
}

static tc_status measure(const settings *s)
{
    tc_graph *graph = NULL;
    worker *w = NULL;
    pthread_t thread[MAX_DEVICES];
    pthread_barrier_t meet;

    tc_status status = tc_model_build(&s->model, &graph);
    if (status == TC_OK)
        status = tc_alloc(s->devices, sizeof *w, "devices", &w);
    for (int d = 0; d < s->devices && status == TC_OK; d++) {
        w[d] = (worker){ .s = s, .graph = graph, .meet = &meet, .index = d };
        status = tc_alloc(s->steps, sizeof(double), "times", &w[d].seconds);
    }
    if (status != TC_OK || pthread_barrier_init(&meet, NULL, (unsigned)s->devices) != 0)
        goto done;
    for (int d = 0; d < s->devices; d++)
        if (pthread_create(&thread[d], NULL, work, &w[d]) != 0) {
            fprintf(stderr, "bench-step: no thread for device %d\n", d);
            exit(1); /* the others wait at the barrier */
        }
    for (int d = 0; d < s->devices; d++)
        pthread_join(thread[d], NULL);
    pthread_barrier_destroy(&meet);
    for (int d = 0; d < s->devices && status == TC_OK; d++)
        if (w[d].status != TC_OK)
            status = tc_fail(w[d].status, "device %d: %s", d, w[d].error);
    if (status == TC_OK)
        print(s, graph, w);
done:
    for (int d = 0; w != NULL && d < s->devices; d++)
        tc_free(w[d].seconds);
    tc_free(w);
    tc_graph_free(graph);
    return status;
}

/* ---- Options ---- */

static const struct argp_option options[] = {
    { "backend", 'k', "NAME", 0, "onednn, ref, cuda; default: the fastest here", 0 },
    { "model", 'm', "NAME", 0, "default: resnet20", 0 },
    { "precision", 'p', "WORD", 0, "f32 (default), bf16, f16", 0 },
    { "batch", 'b', "N", 0, "pictures a device (64)", 0 },
    { "size", 's', "PIXELS", 0, "height and width; default: the model's own", 0 },
    { "classes", 'c', "N", 0, "default: 10 below 64 pixels, else 1000", 0 },
    { "threads", 't', "N", 0, "threads a device (1)", 0 },
    { "devices", 'd', "N", 0, "devices (1)", 0 },
    { "steps", 'n', "N", 0, "timed steps (20)", 0 },
    { "verify-size", 'V', "PIXELS", 0, "of the pictures to verify with; default: at most 64", 0 },
    { 0 }
};

static int64_t number(struct argp_state *state, const char *arg, int64_t low, int64_t high)
{
    char *end = NULL;
    long long v = strtoll(arg, &end, 10);

    if (end == arg || *end != '\0' || v < low || v > high)
        argp_error(state, "'%s' is not a number from %lld to %lld", arg, (long long)low,
                   (long long)high);
    return v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    settings *s = state->input;

    switch (key) {
    case 'k':
        s->backend = arg;
        return 0;
    case 'm':
        s->model.name = arg;
        return 0;
    case 'p':
        if (tc_precision_find(arg) < 0)
            argp_error(state, "precision '%s' is not known", arg);
        s->precision = (tc_precision)tc_precision_find(arg);
        return 0;
    case 'b':
        s->batch = number(state, arg, 2, 1 << 20);
        return 0;
    case 's':
        s->model.size = number(state, arg, 1, 1 << 14);
        return 0;
    case 'c':
        s->model.classes = number(state, arg, 2, 1 << 24);
        return 0;
    case 't':
        s->threads = (int)number(state, arg, 1, 4096);
        return 0;
    case 'd':
        s->devices = (int)number(state, arg, 1, MAX_DEVICES);
        return 0;
    case 'n':
        s->steps = (int)number(state, arg, 1, 1000000);
        return 0;
    case 'V':
        s->verify_size = number(state, arg, 1, 1 << 14);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    settings s = { .model = { .name = "resnet20" },
                   .precision = TC_F32,
                   .batch = 64,
                   .threads = 1,
                   .devices = 1,
                   .steps = 20 };
    const struct argp argp = { options, parse, NULL, "Time training steps of a network.", 0, 0, 0 };

    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, &s) != 0)
        return 2;
    if (s.model.size == 0)
        s.model.size = tc_model_size(s.model.name);
    if (s.model.classes == 0)
        s.model.classes = s.model.size < 64 ? 10 : 1000;
    if (s.verify_size == 0)
        s.verify_size = s.model.size < 64 ? s.model.size : 64;
    printf("# bench-step %s\n", TC_COMMIT);
    tc_status status = verify_apart(&s);
    if (status == TC_OK)
        status = measure(&s);
    if (status != TC_OK)
        fprintf(stderr, "bench-step: %s\n", tc_error_detail());
    return status == TC_OK ? 0 : 1;
}
