#include <config.h>

#include "app/allreduce.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef TC_COMMIT
#define TC_COMMIT "unknown"
#endif

/* What is said of one candidate at one size; seconds and bytes a second; 0: nothing known. */
typedef struct {
    double time, algbw, busbw, bound, ratio;
} figures;

/* Bus bandwidth as nccl-tests defines it.  The bound is that of one port a host: what all ranks of
 * a host need from the others has to come in through it. */
static figures figures_of(const tc_bench *bench, const tc_candidate *c, int64_t bytes)
{
    double n = tc_comm_size(bench->comm), hosts = tc_comm_host_count(bench->comm);
    double ports = hosts > 1.0 ? hosts : n, size = (double)bytes;
    figures f = { 0 };

    if (bench->bandwidth > 0.0)
        f.bound = 2.0 * (ports - 1.0) / ports * size / bench->bandwidth;
    if (c->wrong > 0)
        return f;
    f.time = c->timing.median;
    if (f.time > 0.0)
        f.algbw = size / f.time;
    f.busbw = f.algbw * 2.0 * (n - 1.0) / n;
    if (f.bound > 0.0)
        f.ratio = f.time / f.bound;
    return f;
}

static void print_text_head(const tc_bench *bench)
{
    const tc_bench_options *o = bench->options;

    printf(
        "# tricolor-allreduce %s, commit %s\n"
        "# %d ranks on %d hosts; %d warm-ups, %d rounds of the algorithms in turns, %d buckets at "
        "once, a barrier before each; median of the slowest rank\n",
        PACKAGE_VERSION, TC_COMMIT, tc_comm_size(bench->comm), tc_comm_host_count(bench->comm),
        o->warm_up, o->rounds, o->buckets);
    if (bench->bandwidth > 0.0)
        printf("# bound: of %.3f MB/s (%.1f Mbit/s) each way, %s\n", bench->bandwidth * 1e-6,
               bench->bandwidth * 8e-6,
               bench->measured ? "measured: two-way exchange in pairs, 32 KiB, 16 in flight"
                               : "given");
    printf("#%10s %11s %12s %10s %10s %6s %12s %6s  %s\n", "bytes", "count", "time_us", "algbw_GBs",
           "busbw_GBs", "wrong", "bound_us", "ratio", "algorithm");
}

static json_t *json_head(const tc_bench *bench)
{
    const tc_bench_options *o = bench->options;

    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:f, s:s, s:[]}", "program",
                     "tricolor-allreduce", "version", PACKAGE_VERSION, "commit", TC_COMMIT, "ranks",
                     tc_comm_size(bench->comm), "hosts", tc_comm_host_count(bench->comm), "warm_up",
                     o->warm_up, "rounds", o->rounds, "buckets", o->buckets, "statistic",
                     "median of the slowest rank, a barrier before each, algorithms in turns",
                     "bandwidth_bytes_per_s", bench->bandwidth, "bandwidth_from",
                     bench->measured          ? "measured"
                     : bench->bandwidth > 0.0 ? "given"
                                              : "none",
                     "results");
}

void tc_bench_print_head(tc_bench *bench)
{
    if (tc_comm_rank(bench->comm) != 0)
        return;
    if (bench->options->format == FORMAT_TEXT)
        print_text_head(bench);
    else if (bench->options->format == FORMAT_CSV)
        printf(
            "ranks,hosts,buckets,rounds,bandwidth_bytes_per_s,bytes,count,time_us,least_us,most_us,"
            "algbw_GBs,busbw_GBs,wrong,bound_us,ratio,algorithm,choices\n");
    else
        bench->json = json_head(bench);
    fflush(stdout);
}

/* A number, or a dash where there is none. */
static void cell(const char *format, int width, double value)
{
    if (value > 0.0)
        printf(format, width, value);
    else
        printf(" %*s", width, "-");
}

static void print_text_row(const tc_bench *bench, const tc_candidate *c, int64_t bytes)
{
    figures f = figures_of(bench, c, bytes);

    printf(" %10lld %11lld", (long long)bytes, (long long)bytes / (long long)sizeof(float));
    cell(" %*.1f", 12, f.time * 1e6);
    cell(" %*.3f", 10, f.algbw * 1e-9);
    cell(" %*.3f", 10, f.busbw * 1e-9);
    if (c->wrong >= 0)
        printf(" %6lld", (long long)c->wrong);
    else
        printf(" %6s", "-");
    cell(" %*.1f", 12, f.bound * 1e6);
    cell(" %*.3f", 6, f.ratio);
    printf("  %s", c->text);
    if (c->spec.mpi_algorithm == 0)
        printf("  (%s)", tc_allreduce_choices(c->ctx));
    printf("\n");
}

static void print_csv_row(const tc_bench *bench, const tc_candidate *c, int64_t bytes)
{
    const tc_bench_options *o = bench->options;
    figures f = figures_of(bench, c, bytes);

    printf("%d,%d,%d,%d,%.0f,%lld,%lld,", tc_comm_size(bench->comm),
           tc_comm_host_count(bench->comm), o->buckets, o->rounds, bench->bandwidth,
           (long long)bytes, (long long)bytes / (long long)sizeof(float));
    if (c->wrong > 0) /* no time of what is wrong */
        printf(",,,,,%lld,", (long long)c->wrong);
    else
        printf("%.3f,%.3f,%.3f,%.6f,%.6f,%s,", f.time * 1e6, c->timing.least * 1e6,
               c->timing.most * 1e6, f.algbw * 1e-9, f.busbw * 1e-9, c->wrong == 0 ? "0" : "");
    if (f.bound > 0.0)
        printf("%.3f,", f.bound * 1e6);
    else
        printf(",");
    if (f.ratio > 0.0)
        printf("%.4f", f.ratio);
    printf(",\"%s\",\"%s\"\n", c->text, tc_allreduce_choices(c->ctx));
}

static json_t *known_number(double value)
{
    return value > 0.0 ? json_real(value) : json_null();
}

static void add_json_row(const tc_bench *bench, const tc_candidate *c, int64_t bytes)
{
    figures f = figures_of(bench, c, bytes);
    bool timed = c->wrong <= 0;
    json_t *row = json_pack(
        "{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s}", "bytes", (json_int_t)bytes,
        "count", (json_int_t)(bytes / (int64_t)sizeof(float)), "time_us",
        known_number(f.time * 1e6), "least_us", known_number(timed ? c->timing.least * 1e6 : 0.0),
        "most_us", known_number(timed ? c->timing.most * 1e6 : 0.0), "algbw_GBs",
        known_number(f.algbw * 1e-9), "busbw_GBs", known_number(f.busbw * 1e-9), "wrong",
        c->wrong >= 0 ? json_integer(c->wrong) : json_null(), "bound_us",
        known_number(f.bound * 1e6), "ratio", known_number(f.ratio), "algorithm", c->text,
        "choices", tc_allreduce_choices(c->ctx));

    json_array_append_new(json_object_get(bench->json, "results"), row);
}

void tc_bench_print_row(tc_bench *bench, const tc_candidate *c, int64_t bytes)
{
    if (tc_comm_rank(bench->comm) != 0)
        return;
    if (bench->options->format == FORMAT_TEXT)
        print_text_row(bench, c, bytes);
    else if (bench->options->format == FORMAT_CSV)
        print_csv_row(bench, c, bytes);
    else
        add_json_row(bench, c, bytes);
    fflush(stdout);
}

tc_status tc_bench_print_end(tc_bench *bench)
{
    tc_status status = TC_OK;

    if (tc_comm_rank(bench->comm) == 0) {
        char *text = bench->json ? json_dumps(bench->json, JSON_INDENT(1)) : NULL;
        if (bench->options->format == FORMAT_JSON && text == NULL)
            status = tc_fail(TC_NOMEM, "the results could not be written as JSON");
        if (text != NULL)
            puts(text);
        free(text);
        if (status == TC_OK && (fflush(stdout) != 0 || ferror(stdout)))
            status = tc_fail(TC_IO, "standard output: cannot write the results");
    }
    return tc_comm_agree(bench->comm, status);
}
