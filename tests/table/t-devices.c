/* One rank: any number of devices, either table, uneven devices, failures, times, evaluation. */
#include <config.h>

#include "../tap.h"
#include "fakes.h"
#include "rig.h"

#include "base/clock.h"
#include "base/log.h"
#include "nn/model.h"
#include "table/cores.h"

#include <stdlib.h>
#include <string.h>

static bool same(const rig *r, const float *a, const float *b)
{
    return a && b && memcmp(a, b, 2 * (size_t)r->graph->param_count * sizeof *a) == 0;
}

static bool same_metrics(const tc_metrics *a, const tc_metrics *b)
{
    return a->loss == b->loss && a->count == b->count && a->top1 == b->top1 && a->top5 == b->top5;
}

/* The fake network is exact: grouping may not change a bit. */
static void test_grouping(rig *r)
{
    static const int devices[] = { 1, 2, 3, 4 };
    static const char *const kinds[] = { "optimized", "baseline" };
    tc_table_options options = rig_options(r, "optimized", 1, 1);
    tc_metrics want, got;
    float *reference = rig_run(r, &options, 0, 1, &want);

    tap_ok(reference && want.count == RIG_STEPS * RIG_BATCH, "one device trains");
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < 4; i++) {
            options = rig_options(r, kinds[k], devices[i], 1);
            float *result = rig_run(r, &options, 0, 1, &got);
            tap_ok(same(r, reference, result) && same_metrics(&want, &got),
                   "%s, %d devices, %d buckets: the same bits as one device", kinds[k], devices[i],
                   r->n);
            free(result);
        }
    fake.jitter_us = 400;
    fake.slow_ordinal = 1;
    fake.slow_us = 300;
    for (int turn = 0; turn < 4; turn++) {
        options = rig_options(r, "optimized", 2 + turn, 1);
        options.batch = RIG_BATCH / options.devices;
        if (options.batch * options.devices != RIG_BATCH)
            continue;
        float *result = rig_run(r, &options, 0, 1, &got);
        tap_ok(same(r, reference, result) && same_metrics(&want, &got),
               "%d uneven devices: the same bits", options.devices);
        free(result);
    }
    tap_ok(fake_breaches == 0 && fake_open == 0, "the backend's rules were kept, all was closed");
    free(reference);
}

static bool replicas_equal(rig *r, int devices)
{
    size_t n = (size_t)r->graph->param_count;
    float *first = calloc(n, sizeof *first), *other = calloc(n, sizeof *other);
    bool equal = first && other && tc_table_read(r->table, 0, TC_VEC_WEIGHTS, first) == TC_OK;

    for (int d = 1; d < devices && equal; d++)
        equal = tc_table_read(r->table, d, TC_VEC_WEIGHTS, other) == TC_OK &&
                memcmp(first, other, n * sizeof *first) == 0;
    free(first);
    free(other);
    return equal;
}

/* Every picture of an epoch of 100 counts once, the padding never; logits come device by device. */
static void test_evaluate(rig *r, const char *kind)
{
    tc_table_options options = rig_options(r, kind, 3, 1);
    float *logits = calloc(RIG_BATCH * FAKE_CLASSES, sizeof *logits);
    float *alone = calloc(RIG_BATCH * FAKE_CLASSES, sizeof *alone);
    tc_metrics sum, one = { 0 };
    tc_table_times times;
    int64_t count = 0, top1 = 0, top5 = 0;
    bool ok = rig_open(r, &options, 0, 1, 100) == TC_OK && rig_train(r, 0, &sum) == TC_OK;

    tc_table_take_times(r->table, &times);
    for (int64_t step = 0; step < 6 && ok; step++) {
        ok = tc_table_evaluate(r->table, r->loader, step, &one, NULL) == TC_OK;
        count += one.count;
        top1 += one.top1;
        top5 += one.top5;
    }
    tap_ok(ok && count == 100 && top1 == 10 && top5 == 50, "%s: 100 pictures in 6 steps, each once",
           kind);
    tap_ok(one.count == 0 && one.loss == 0, "%s: a step of padding alone counts nothing", kind);
    tap_ok(replicas_equal(r, 3), "%s: all devices evaluate the same weights", kind);
    ok = tc_table_evaluate(r->table, r->loader, 1, &one, logits) == TC_OK;
    float *weights = rig_result(r);
    rig_close(r);

    options = rig_options(r, kind, 1, 1);
    options.training = false;
    ok = ok && rig_open(r, &options, 0, 1, 100) == TC_OK &&
         tc_table_write(r->table, TC_VEC_WEIGHTS, weights) == TC_OK &&
         tc_table_evaluate(r->table, r->loader, 1, &sum, alone) == TC_OK;
    tap_ok(ok && memcmp(logits, alone, RIG_BATCH * FAKE_CLASSES * sizeof *logits) == 0 &&
               same_metrics(&one, &sum),
           "%s: 3 devices give the logits of one, in order", kind);
    tap_ok(tc_table_train(r->table, r->loader, 0, &(tc_sgd){ .lr = 1 }, &one) == TC_INVAL,
           "%s: a table for evaluation refuses to train", kind);
    rig_close(r);
    free(weights);
    free(logits);
    free(alone);
}

/* A failure that is not fatal: the step ends, with the status and the text of its cause. */
static void test_failures(rig *r, const char *kind)
{
    tc_table_options options = rig_options(r, kind, 3, 1);
    tc_metrics sum;
    tc_status status;

    fake.loader_step = 1;
    fake.loader_device = 2;
    fake.loader_status = TC_IO;
    rig_open(r, &options, 0, 1, 1000);
    status = rig_train(r, 0, &sum);
    tap_ok(status == TC_IO && strstr(tc_error_detail(), "fake loader"),
           "%s: a slice that cannot be had: %s", kind, tc_error_detail());
    tap_ok(rig_train(r, 2, &sum) == TC_OK, "%s: the table goes on afterwards", kind);
    fake.loader_step = 0;
    tap_ok(tc_table_evaluate(r->table, r->loader, 0, &sum, NULL) == TC_IO &&
               tc_table_evaluate(r->table, r->loader, 1, &sum, NULL) == TC_OK,
           "%s: evaluation hands the loader's status on", kind);
    rig_close(r);
    tap_ok(fake_breaches == 0 && fake_open == 0, "%s: and the backend's rules were kept", kind);
    fake_reset();

    for (int fatal = 0; fatal < 2; fatal++) {
        fake.train_call = 1;
        fake.train_ordinal = 1;
        fake.train_status = fatal ? TC_DEVICE : TC_NUMERIC;
        rig_open(r, &options, 0, 1, 1000);
        status = rig_train(r, 0, &sum);
        tap_ok(status == fake.train_status && strstr(tc_error_detail(), "device 1"),
               "%s: a device that fails in the middle of backward (%s): %s", kind,
               tc_strstatus(fake.train_status), tc_error_detail());
        rig_close(r);
        tap_ok(fake_breaches == 0 && fake_open == 0, "%s: and everything is closed", kind);
        fake_reset();
    }
    fake.open_status = TC_DEVICE;
    status = tc_table_create(&options, &r->table);
    tap_ok(status == TC_DEVICE && r->table == NULL && fake_open == 0,
           "%s: a device that does not open leaves nothing behind", kind);
    fake_reset();
}

static void test_options(rig *r)
{
    tc_table_options good = rig_options(r, "optimized", 1, 1), o;
    tc_table *table = NULL;
    int64_t bound[] = { 0, 5 };

    o = good, o.kind = "torch";
    tap_ok(tc_table_create(&o, &table) == TC_INVAL && strstr(tc_error_detail(), "baseline"),
           "an unknown kind is refused with the known ones");
    o = good, o.devices = 0;
    tap_ok(tc_table_create(&o, &table) == TC_INVAL, "no device is refused");
    o = good, o.n_buckets = 1, o.bound = bound;
    tap_ok(tc_table_create(&o, &table) == TC_INVAL, "buckets that miss parameters are refused");
    tc_graph *heads = NULL;
    tc_model_options model = { .name = "googlenetbn", .classes = 2, .aux = TC_AUX_TRAIN };
    int64_t whole[] = { 0, 0 };
    if (tc_model_build(&model, &heads) != TC_OK)
        abort();
    whole[1] = heads->param_count;
    o = rig_options(r, "baseline", 1, 1), o.graph = heads, o.n_buckets = 1, o.bound = whole;
    tap_ok(tc_table_create(&o, &table) == TC_INVAL && strstr(tc_error_detail(), "main loss alone"),
           "a second loss that trains is refused by the baseline");
    tc_graph_free(heads);
    tap_ok(table == NULL, "and the output is untouched");
    tc_table_destroy(NULL);
    if (!tap_ok(tc_table_create(&good, &table) == TC_OK, "good options are taken"))
        return;
    tap_ok(!tc_table_overlaps(table) && strstr(tc_table_choices(table), "exact sums"),
           "choices: %s", tc_table_choices(table));
    tc_table_destroy(table);
}

/* Statistics are every device's own; what is written goes to all. */
static void test_vectors(rig *r, const char *kind)
{
    tc_table_options options = rig_options(r, kind, 3, 1);
    float *stats = calloc((size_t)r->graph->stat_count, sizeof *stats);
    tc_metrics sum;
    bool counted = true, written = true;

    if (!stats || rig_open(r, &options, 0, 1, 1000) != TC_OK || rig_train(r, 0, &sum) != TC_OK)
        abort();
    for (int d = 0; d < 3; d++)
        counted = tc_table_read(r->table, d, TC_VEC_STATS, stats) == TC_OK &&
                  stats[0] == RIG_STEPS && counted;
    tap_ok(counted, "%s: each device has seen %d steps", kind, RIG_STEPS);
    stats[0] = 100;
    written =
        tc_table_write(r->table, TC_VEC_STATS, stats) == TC_OK && rig_train(r, 3, &sum) == TC_OK;
    for (int d = 0; d < 3; d++)
        written = tc_table_read(r->table, d, TC_VEC_STATS, stats) == TC_OK &&
                  stats[0] == 100 + RIG_STEPS && written;
    tap_ok(written, "%s: what is written reaches every device", kind);
    tap_ok(tc_table_read(r->table, 3, TC_VEC_STATS, stats) == TC_INVAL &&
               tc_table_read(r->table, -1, TC_VEC_STATS, stats) == TC_INVAL,
           "%s: devices that are not there are refused", kind);
    rig_close(r);
    free(stats);
}

/* Devices open and compute on the processors chosen for them. */
static void test_binding(rig *r)
{
    tc_table_options options = rig_options(r, "optimized", 1, 1);
    int core = -1, n = 0;
    tc_metrics sum;

    if (tc_cores_choose(0, 1, 1, 1, &core, &n) != TC_OK || n != 1) {
        tap_skip("a device bound to its processor", "hwloc finds none");
        return;
    }
    fake.bound = 1;
    options.cores = &core;
    bool ok = rig_open(r, &options, 0, 1, 1000) == TC_OK && rig_train(r, 0, &sum) == TC_OK;
    tap_ok(ok && fake_breaches == 0 && strstr(tc_table_choices(r->table), "bound"),
           "a device bound to processor %d: %s", core, tc_table_choices(r->table));
    rig_close(r);
    core = 1 << 20;
    fake.bound = 0;
    tap_ok(rig_open(r, &options, 0, 1, 1000) == TC_OK,
           "a processor that is not there is a warning, not a failure");
    rig_close(r);
}

/* The parts lie within the whole, and a late device does not count as reduction. */
static void test_times(rig *r, const char *kind)
{
    tc_table_options options = rig_options(r, kind, 2, 1);
    tc_table_times t, again;
    tc_metrics sum;
    double start, wall, parts;

    fake.slow_ordinal = 1;
    fake.slow_us = 4000;
    rig_open(r, &options, 0, 1, 1000);
    tc_table_take_times(r->table, &t);
    start = tc_now();
    rig_train(r, 0, &sum);
    wall = tc_now() - start;
    tc_table_take_times(r->table, &t);
    tc_table_take_times(r->table, &again);
    parts = t.data + t.place + t.forward + t.backward + t.reduce + t.comm + t.update;
    tap_ok(parts <= wall && parts > 0.3 * wall, "%s: parts %.4f s of %.4f s", kind, parts, wall);
    tap_ok(t.backward >= 0.9 * RIG_STEPS * r->n * 4e-3,
           "%s: backward %.4f s is the slowest device's", kind, t.backward);
    tap_ok(t.reduce < 0.5 * t.backward, "%s: reduce %.4f s holds no waiting", kind, t.reduce);
    tap_ok(again.backward == 0 && again.place == 0, "%s: the times were taken", kind);
    rig_close(r);
    fake_reset();
}

int main(void)
{
    rig many, one;

    tc_log_set_level(TC_LOG_WARN);
    fake_reset();
    rig_graph(&many, fake_graph(), 100);
    rig_graph(&one, fake_graph(), 0);
    tap_ok(many.n > 3 && one.n == 1, "%d buckets and 1", many.n);
    test_grouping(&many);
    fake_reset();
    test_grouping(&one);
    fake_reset();
    test_options(&many);
    test_binding(&many);
    for (int k = 0; k < 2; k++) {
        const char *kind = k == 0 ? "optimized" : "baseline";
        test_vectors(&many, kind);
        test_evaluate(&many, kind);
        tap_ok(fake_breaches == 0 && fake_open == 0, "%s: rules kept, all closed", kind);
        test_failures(&many, kind);
        test_times(&many, kind);
    }
    rig_free_graph(&many);
    rig_free_graph(&one);
    return tap_done();
}
