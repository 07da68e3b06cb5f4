#include <config.h>

#include "fakes.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fake_knobs fake;
atomic_int fake_breaches, fake_open;

enum { PIXELS = FAKE_SIZE * FAKE_SIZE * 3 };

void fake_reset(void)
{
    fake = (fake_knobs){ .loader_step = -1,
                         .loader_device = -1,
                         .train_call = -1,
                         .train_ordinal = -1,
                         .slow_ordinal = -1 };
    atomic_store(&fake_breaches, 0);
    atomic_store(&fake_open, 0);
}

static void breach(const char *what)
{
    fprintf(stderr, "# breach: %s\n", what);
    atomic_fetch_add(&fake_breaches, 1);
}

static void delay(uint32_t *state, int ordinal)
{
    *state = *state * 1664525u + 1013904223u;
    if (fake.jitter_us > 0)
        tc_sleep_us((*state >> 8) % (uint32_t)fake.jitter_us);
    if (ordinal >= 0 && ordinal == fake.slow_ordinal)
        tc_sleep_us(fake.slow_us);
}

/* ---- the loader ---- */

typedef struct {
    uint8_t *images;
    int32_t *labels;
    float *offset;
    uint64_t *ids;
    uint32_t random;
    bool out;
} fake_slot;

struct tc_loader {
    int rank, devices;
    int64_t batch, global_batch, total;
    fake_slot *slot; /* (devices) */
};

static void *must(void *ptr)
{
    if (!ptr)
        abort();
    return ptr;
}

tc_loader *fake_loader(int rank, int devices, int64_t batch, int64_t global_batch, int64_t total)
{
    tc_loader *l = must(calloc(1, sizeof *l));

    *l = (tc_loader){ rank, devices, batch, global_batch, total, NULL };
    l->slot = must(calloc((size_t)devices, sizeof *l->slot));
    for (int d = 0; d < devices; d++) {
        l->slot[d].images = must(calloc((size_t)batch, PIXELS));
        l->slot[d].labels = must(calloc((size_t)batch, sizeof(int32_t)));
        l->slot[d].offset = must(calloc((size_t)batch, 3 * sizeof(float)));
        l->slot[d].ids = must(calloc((size_t)batch, sizeof(uint64_t)));
        l->slot[d].random = (uint32_t)(rank * 100 + d);
    }
    return l;
}

void fake_loader_free(tc_loader *l)
{
    for (int d = 0; d < l->devices; d++) {
        free(l->slot[d].images);
        free(l->slot[d].labels);
        free(l->slot[d].offset);
        free(l->slot[d].ids);
    }
    free(l->slot);
    free(l);
}

tc_status tc_loader_get(tc_loader *l, int64_t step, int device, tc_loader_slice *slice_p,
                        double *wait_p)
{
    fake_slot *s = &l->slot[device];
    int64_t first = step * l->global_batch + (l->rank * l->devices + device) * l->batch;
    double start = tc_now();
    int64_t valid = 0;

    delay(&s->random, -1);
    *wait_p = tc_now() - start;
    if (step == fake.loader_step && device == fake.loader_device)
        return tc_fail(fake.loader_status, "the fake loader was told to fail");
    if (s->out)
        breach("a slice was asked for again before it was released");
    for (int64_t i = 0; i < l->batch; i++) {
        int64_t p = first + i;
        bool padding = p >= l->total;
        for (int64_t j = 0; j < PIXELS; j++)
            s->images[i * PIXELS + j] = padding ? 0 : (uint8_t)((p * 7919 + j * j * 31 + 5) % 251);
        s->labels[i] = padding ? -1 : (int32_t)(p % FAKE_CLASSES);
        for (int c = 0; c < 3; c++)
            s->offset[i * 3 + c] = padding ? 0 : (float)((p + c) % 4);
        s->ids[i] = padding ? UINT64_MAX : (uint64_t)p;
        valid += !padding;
    }
    s->out = true;
    atomic_fetch_add(&fake_open, 1);
    *slice_p = (tc_loader_slice){ l->batch, valid, s->images, s->labels, s->offset, s->ids };
    return TC_OK;
}

void tc_loader_release(tc_loader *l, int64_t step, int device)
{
    fake_slot *s = &l->slot[device];

    (void)step;
    if (!s->out)
        breach("a slice was released twice");
    s->out = false;
    atomic_fetch_sub(&fake_open, 1);
    /* Whoever still looks at it will see it. */
    memset(s->images, 0xee, (size_t)l->batch * PIXELS);
    memset(s->labels, 0x7e, (size_t)l->batch * sizeof *s->labels);
    memset(s->offset, 0x7e, (size_t)l->batch * 3 * sizeof *s->offset);
}

/* ---- the backend ---- */

struct tc_dev {
    pthread_t owner;
    int ordinal, calls;
    uint32_t random;
};

struct tc_step {
    tc_dev *dev;
    tc_compile_options o;
    int64_t params, stats, classes;
    float *weights, *gradients, *momentum, *statistics, *logits, *dlogits;
    tc_slice slot[TC_SLOTS]; /* read when the step runs, as a queue of copies would */
    int ran;                 /* slot of the last forward, -1 */
    tc_metrics metrics;
    struct {
        const float *sum;
        tc_sgd sgd;
        bool due;
    } * update; /* (n_buckets) queued */
};

static void check_owner(const tc_dev *dev)
{
    if (!pthread_equal(dev->owner, pthread_self()))
        breach("a device was called by another thread than its own");
}

/* Every call sees the effect of all earlier ones: run the queue. */
static void run_queue(tc_step *s)
{
    check_owner(s->dev);
    for (int b = s->o.n_buckets - 1; b >= 0; b--) {
        if (!s->update[b].due)
            continue;
        for (int64_t i = s->o.bound[b]; i < s->o.bound[b + 1]; i++) {
            s->momentum[i] = s->update[b].sgd.momentum * s->momentum[i] + s->update[b].sum[i];
            s->weights[i] -= s->update[b].sgd.lr * s->momentum[i];
        }
        s->update[b].due = false;
    }
}

static tc_status fake_probe(int *count_p)
{
    *count_p = 64;
    return TC_OK;
}

static tc_status fake_dev_open(const tc_dev_options *options, tc_dev **dev_p)
{
    if (options->ordinal == 1 && fake.open_status != TC_OK)
        return tc_fail(fake.open_status, "the fake device was told not to open");
    cpu_set_t set;
    if (fake.bound > 0 &&
        (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) != fake.bound))
        breach("a device opens before its thread is bound");
    *dev_p = must(calloc(1, sizeof **dev_p));
    (*dev_p)->owner = pthread_self();
    (*dev_p)->ordinal = options->ordinal;
    (*dev_p)->random = (uint32_t)options->ordinal;
    atomic_fetch_add(&fake_open, 1);
    return TC_OK;
}

static void fake_dev_close(tc_dev *dev)
{
    if (!dev)
        return;
    check_owner(dev);
    free(dev);
    atomic_fetch_sub(&fake_open, 1);
}

static tc_status fake_host_alloc(size_t bytes, void **ptr_p)
{
    tc_status status = tc_alloc((int64_t)bytes, 1, "host memory", ptr_p);

    if (status == TC_OK)
        atomic_fetch_add(&fake_open, 1);
    return status;
}

static void fake_host_free(void *ptr)
{
    tc_free(ptr);
    atomic_fetch_sub(&fake_open, 1);
}

static tc_status fake_estimate(tc_dev *dev, const tc_graph *graph,
                               const tc_compile_options *options, uint64_t *bytes_p)
{
    (void)options;
    check_owner(dev);
    *bytes_p = 12 * (uint64_t)graph->param_count;
    return TC_OK;
}

static tc_status fake_compile(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                              tc_step **step_p)
{
    tc_step *s = must(calloc(1, sizeof *s));
    size_t n = (size_t)graph->param_count, bounds = (size_t)options->n_buckets + 1;
    size_t outputs = (size_t)(options->max_batch * graph->classes);

    check_owner(dev);
    s->dev = dev;
    s->o = *options;
    s->o.bound =
        memcpy(must(malloc(bounds * sizeof(int64_t))), options->bound, bounds * sizeof(int64_t));
    s->params = graph->param_count;
    s->stats = graph->stat_count;
    s->classes = graph->classes;
    s->weights = must(calloc(n, sizeof(float)));
    s->gradients = must(calloc(n, sizeof(float)));
    s->momentum = must(calloc(n, sizeof(float)));
    s->statistics = must(calloc((size_t)graph->stat_count + 1, sizeof(float)));
    s->logits = must(calloc(outputs, sizeof(float)));
    s->dlogits = must(calloc(outputs, sizeof(float)));
    s->update = must(calloc((size_t)options->n_buckets, sizeof *s->update));
    s->ran = -1;
    atomic_fetch_add(&fake_open, 1);
    *step_p = s;
    return TC_OK;
}

static void fake_step_free(tc_step *s)
{
    if (!s)
        return;
    check_owner(s->dev);
    free((void *)s->o.bound);
    free(s->weights);
    free(s->gradients);
    free(s->momentum);
    free(s->statistics);
    free(s->logits);
    free(s->dlogits);
    free(s->update);
    free(s);
    atomic_fetch_sub(&fake_open, 1);
}

static tc_status fake_place(tc_step *s, int slot, const tc_slice *slice)
{
    check_owner(s->dev);
    if (slot < 0 || slot >= TC_SLOTS || slice->count < 1 || slice->count > s->o.max_batch)
        breach("place: slot or count out of range");
    s->slot[slot] = *slice;
    return TC_OK;
}

/* logits[p][c] = pixel + offset + weight[c], small whole numbers to begin with. */
static tc_status fake_forward(tc_step *s, int slot, tc_forward_mode mode)
{
    const tc_slice *x = &s->slot[slot];

    run_queue(s);
    if (mode == TC_FORWARD_TRAIN)
        s->statistics[0] += 1;
    memset(&s->metrics, 0, sizeof s->metrics);
    for (int64_t p = 0; p < x->count; p++) {
        for (int64_t c = 0; c < s->classes; c++)
            s->logits[p * s->classes + c] = (float)(x->images[p * PIXELS + c * 7] % 13) +
                                            (x->offset ? x->offset[p * 3 + c % 3] : 0) +
                                            s->weights[c];
        if (x->labels[p] < 0)
            continue;
        if (x->labels[p] >= s->classes)
            breach("a label out of range: memory of a released slice?");
        s->metrics.count++;
        s->metrics.loss += s->logits[p * s->classes];
        s->metrics.top1 += x->labels[p] == 0;
        s->metrics.top5 += x->labels[p] < 5;
    }
    s->ran = slot;
    return TC_OK;
}

static tc_status fake_metrics(tc_step *s, tc_metrics *metrics_p)
{
    run_queue(s);
    *metrics_p = s->metrics;
    return TC_OK;
}

static tc_status fake_criterion(tc_dev *dev, int64_t n, int64_t classes, const float *logits,
                                const int32_t *labels, float scale, float *dlogits,
                                tc_metrics *metrics_p)
{
    check_owner(dev);
    memset(metrics_p, 0, sizeof *metrics_p);
    for (int64_t p = 0; p < n; p++) {
        for (int64_t c = 0; c < classes; c++)
            dlogits[p * classes + c] = labels[p] < 0 ? 0 : scale * logits[p * classes + c];
        if (labels[p] < 0)
            continue;
        metrics_p->count++;
        metrics_p->loss += logits[p * classes];
        metrics_p->top1 += labels[p] == 0;
        metrics_p->top5 += labels[p] < 5;
    }
    return TC_OK;
}

static tc_status fake_backward(tc_step *s, int slot, const tc_step_events *events)
{
    tc_dev *dev = s->dev;
    bool fails = dev->calls++ == fake.train_call && dev->ordinal == fake.train_ordinal;

    run_queue(s);
    if (s->ran != slot)
        breach("backward of another slot than the last forward's");
    for (int b = s->o.n_buckets - 1; b >= 0; b--) {
        if (fails && b < s->o.n_buckets / 2)
            return tc_fail(fake.train_status, "the fake device was told to fail");
        for (int64_t i = s->o.bound[b]; i < s->o.bound[b + 1]; i++) {
            float g = 0;
            for (int64_t p = 0; p < s->slot[slot].count; p++)
                g += s->dlogits[p * s->classes + i % s->classes];
            s->gradients[i] = g * (float)(1 + i % 3);
        }
        delay(&dev->random, dev->ordinal);
        if (fake.before_bucket)
            fake.before_bucket(dev->ordinal, b);
        if (events && events->bucket)
            events->bucket(events->arg, b);
    }
    return TC_OK;
}

static tc_status fake_train(tc_step *s, int slot, float scale, const tc_step_events *events)
{
    tc_metrics metrics;

    fake_forward(s, slot, TC_FORWARD_TRAIN);
    fake_criterion(s->dev, s->slot[slot].count, s->classes, s->logits, s->slot[slot].labels, scale,
                   s->dlogits, &metrics);
    return fake_backward(s, slot, events);
}

static float *fake_host_gradients(tc_step *s)
{
    return s->gradients;
}

static tc_status fake_update(tc_step *s, int b, const float *sum, const tc_sgd *sgd)
{
    check_owner(s->dev);
    if (s->update[b].due)
        breach("update: bucket twice in a step");
    s->update[b].sum = sum;
    s->update[b].sgd = *sgd;
    s->update[b].due = true;
    return TC_OK;
}

static float *fake_vector(tc_step *s, tc_vector vec, int64_t *count)
{
    *count = vec == TC_VEC_STATS ? s->stats : s->params;
    switch (vec) {
    case TC_VEC_WEIGHTS:
        return s->weights;
    case TC_VEC_GRADIENTS:
        return s->gradients;
    case TC_VEC_MOMENTUM:
        return s->momentum;
    case TC_VEC_STATS:
        return s->statistics;
    default:
        *count = s->o.max_batch * s->classes;
        return vec == TC_VEC_LOGITS ? s->logits : s->dlogits;
    }
}

static tc_status fake_read(tc_step *s, tc_vector vec, int64_t offset, int64_t count,
                           tc_precision type, void *out)
{
    int64_t length;
    const float *v = fake_vector(s, vec, &length);

    run_queue(s);
    if (offset < 0 || offset + count > length || type != TC_F32)
        return tc_fail(TC_INVAL, "read: out of range");
    memcpy(out, v + offset, (size_t)count * sizeof *v);
    return TC_OK;
}

static tc_status fake_write(tc_step *s, tc_vector vec, int64_t offset, int64_t count,
                            tc_precision type, const void *in)
{
    int64_t length;
    float *v = fake_vector(s, vec, &length);

    run_queue(s);
    if (offset < 0 || offset + count > length || type != TC_F32)
        return tc_fail(TC_INVAL, "write: out of range");
    memcpy(v + offset, in, (size_t)count * sizeof *v);
    return TC_OK;
}

static const char *fake_choices(tc_step *s)
{
    check_owner(s->dev);
    return "exact sums";
}

const tc_backend fake_backend = {
    .name = "fake",
    .probe = fake_probe,
    .open = fake_dev_open,
    .close = fake_dev_close,
    .host_alloc = fake_host_alloc,
    .host_free = fake_host_free,
    .estimate = fake_estimate,
    .compile = fake_compile,
    .step_free = fake_step_free,
    .place = fake_place,
    .forward = fake_forward,
    .metrics = fake_metrics,
    .backward = fake_backward,
    .train = fake_train,
    .host_gradients = fake_host_gradients,
    .update = fake_update,
    .read = fake_read,
    .write = fake_write,
    .criterion = fake_criterion,
    .choices = fake_choices,
};

tc_graph *fake_graph(void)
{
    tc_graph *graph;
    tc_conv_spec conv = {
        .out = 30, .kernel = 3, .stride = 1, .pad = 1, .bias = true, .deviation = -1
    };
    int at;

    if (tc_graph_create("fake", FAKE_SIZE, FAKE_SIZE, &graph) != TC_OK)
        abort();
    at = tc_graph_relu(graph,
                       tc_graph_bn(graph, tc_graph_conv(graph, 0, "conv1", conv), "bn1", 1, 1e-5));
    conv.out = 13;
    at = tc_graph_relu(graph, tc_graph_conv(graph, at, "conv2", conv));
    at = tc_graph_fc(graph, tc_graph_global_avg(graph, at), "fc", FAKE_CLASSES, 0.01);
    tc_graph_loss(graph, at, 1);
    if (tc_graph_finish(graph) != TC_OK)
        abort();
    return graph;
}
