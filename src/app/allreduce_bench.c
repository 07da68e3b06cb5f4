#include <config.h>

#include "app/allreduce.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define FLOAT ((int64_t)sizeof(float))

/* One size of message. */
typedef struct {
    tc_bench *bench;
    tc_known *known;
    float *x;       /* (count) */
    int64_t *count; /* (buckets) floats of each */
    int *timed;     /* (n) candidates that are right */
    int n_timed;
} trial;

/* Sum x, all buckets in flight at once. */
static tc_status sum(const trial *t, tc_allreduce *ctx)
{
    tc_status status = TC_OK;
    float *x = t->x;
    int done = TC_NONE;

    for (int b = 0; b < t->bench->options->buckets && status == TC_OK; x += t->count[b++])
        status = tc_allreduce_start(ctx, b, x);
    for (int b = 0; b < t->bench->options->buckets && status == TC_OK; b++)
        status = tc_allreduce_progress(ctx, TC_BLOCK, NULL, &done, NULL);
    return status;
}

static tc_status run(void *arg, int i)
{
    const trial *t = arg;

    return sum(t, t->bench->candidate[t->timed[i]].ctx);
}

static tc_status verify(trial *t, tc_candidate *c, int64_t count)
{
    static const double roundoff[] = { 0x1p-24, 0x1p-8, 0x1p-11 }; /* by wire type */
    const tc_bench_options *o = t->bench->options;

    tc_known_fill(t->known, t->x, count);
    tc_status status = sum(t, c->ctx);
    if (o->spoil >= 0 && o->spoil < count && tc_comm_rank(c->comm) == tc_comm_size(c->comm) - 1)
        t->x[o->spoil] += 1.0f;
    if (status == TC_OK)
        status = tc_known_check(t->known, t->x, count, roundoff[c->spec.options.wire], &c->wrong);
    return status;
}

static tc_status prepare(trial *t, int64_t count)
{
    tc_bench *bench = t->bench;
    int buckets = bench->options->buckets;
    tc_status status = TC_OK;

    for (int b = 0; b < buckets; b++)
        t->count[b] = count / buckets + (b < count % buckets);
    t->n_timed = 0;
    for (int i = 0; i < bench->n && status == TC_OK; i++) {
        tc_candidate *c = &bench->candidate[i];
        c->wrong = -1;
        status = tc_allreduce_create(c->comm, &c->spec.options, buckets, t->count, &c->ctx);
        if (status == TC_OK && bench->options->check)
            status = verify(t, c, count);
        if (c->wrong <= 0)
            t->timed[t->n_timed++] = i;
    }
    memset(t->x, 0, (size_t)count * sizeof *t->x); /* zeros stay zeros, however often summed */
    return status;
}

static tc_status try_size(trial *t, int64_t bytes)
{
    tc_bench *bench = t->bench;
    tc_timing timing[MAX_CANDIDATES];
    tc_status status = prepare(t, bytes / FLOAT);

    if (status == TC_OK)
        status = tc_timing_turns(bench->comm, t->n_timed, bench->options->warm_up,
                                 bench->options->rounds, run, t, timing);
    for (int i = 0; i < t->n_timed && status == TC_OK; i++)
        bench->candidate[t->timed[i]].timing = timing[i];
    for (int i = 0; i < bench->n; i++) {
        if (status == TC_OK)
            tc_bench_print_row(bench, &bench->candidate[i], bytes);
        tc_allreduce_destroy(bench->candidate[i].ctx);
        bench->candidate[i].ctx = NULL;
    }
    return status;
}

static tc_status try_sizes(tc_bench *bench, trial *t)
{
    const tc_bench_options *o = bench->options;
    int64_t most = 0, wrong = 0;

    for (int i = 0; i < o->n_sizes; i++)
        most = o->size[i] > most ? o->size[i] : most;
    tc_status status = tc_alloc(most / FLOAT, sizeof *t->x, "the message", &t->x);
    if (status == TC_OK)
        status = tc_alloc(o->buckets, sizeof *t->count, "bucket sizes", &t->count);
    if (status == TC_OK)
        status = tc_alloc(bench->n, sizeof *t->timed, "candidates", &t->timed);
    status = tc_comm_agree(bench->comm, status);
    if (status == TC_OK)
        status = tc_known_create(bench->comm, &t->known);
    for (int i = 0; i < o->n_sizes && status == TC_OK; i++) {
        status = try_size(t, o->size[i]);
        for (int c = 0; c < bench->n; c++)
            wrong += bench->candidate[c].wrong > 0;
    }
    if (status == TC_OK)
        status = tc_bench_print_end(bench);
    if (status == TC_OK && wrong > 0)
        status = tc_fail(TC_FORMAT, "%lld of the sums are wrong: see the column `wrong'",
                         (long long)wrong);
    return status;
}

static tc_status set_up(tc_bench *bench)
{
    const tc_bench_options *o = bench->options;
    tc_status status = TC_OK;

    for (int i = 0; i < bench->n && status == TC_OK; i++) {
        tc_candidate *c = &bench->candidate[i];
        c->comm = bench->comm;
        c->spec.options.cache = o->choices;
        c->spec.options.topology = o->topology;
        if (c->spec.mpi_algorithm > 0)
            status = tc_peer_comm(bench->comm, c->spec.mpi_algorithm, &c->comm);
    }
    bench->bandwidth = o->bandwidth;
    bench->measured =
        o->bandwidth < 0.0 && (!o->measure_if_spread || tc_comm_host_count(bench->comm) > 1);
    if (o->bandwidth < 0.0)
        bench->bandwidth = 0.0;
    if (status == TC_OK && bench->measured && o->trees == TREES_NOT)
        status = tc_timing_goodput(bench->comm, &bench->bandwidth);
    return status;
}

/* Of the algorithms that have trees, for the first size. */
static tc_status print_trees(tc_bench *bench)
{
    const tc_bench_options *o = bench->options;
    int64_t count = o->size[0] / FLOAT;
    int printed = 0;
    tc_status status = TC_OK;

    for (int i = 0; i < bench->n && status == TC_OK; i++) {
        tc_candidate *c = &bench->candidate[i];
        status = tc_allreduce_create(c->comm, &c->spec.options, 1, &count, &c->ctx);
        if (status != TC_OK ||
            strcmp(tc_allreduce_of_bucket(c->ctx, 0).algorithm, "multicolor") != 0)
            continue;
        printed++;
        if (tc_comm_rank(c->comm) == 0) {
            printf("%s %s: %s\n", o->trees == TREES_DOT ? "//" : "#", c->text,
                   tc_allreduce_choices(c->ctx));
            status = tc_allreduce_print_trees(c->ctx, stdout, o->trees == TREES_DOT);
        }
        status = tc_comm_agree(bench->comm, status);
    }
    if (status == TC_OK && printed == 0)
        status = tc_fail(TC_INVAL, "--algorithms: none of them has trees: only multicolor does");
    return status;
}

tc_status tc_bench_run(tc_comm *comm, const tc_bench_options *options)
{
    tc_bench bench = { .options = options, .comm = comm };
    trial t = { .bench = &bench };
    tc_status status =
        tc_alloc(MAX_CANDIDATES, sizeof *bench.candidate, "candidates", &bench.candidate);

    if (status == TC_OK)
        status =
            tc_bench_read_list(options->algorithms, options->window, bench.candidate, &bench.n);
    status = tc_comm_agree(comm, status);
    if (status == TC_OK)
        status = set_up(&bench);
    if (status == TC_OK && options->trees != TREES_NOT) {
        status = print_trees(&bench);
    } else if (status == TC_OK) {
        tc_bench_print_head(&bench);
        status = try_sizes(&bench, &t);
    }
    tc_known_destroy(t.known);
    tc_free(t.timed);
    tc_free(t.count);
    tc_free(t.x);
    for (int i = 0; i < bench.n; i++) {
        tc_allreduce_destroy(bench.candidate[i].ctx);
        if (bench.candidate[i].comm != comm)
            tc_comm_destroy(bench.candidate[i].comm);
    }
    tc_free(bench.candidate);
    json_decref(bench.json);
    return status;
}
