/* tricolor-allreduce: read the command line, start MPI, hand over to tc_bench_run(). */
#include <config.h>

#include "app/allreduce.h"
#include "app/launch.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"

#include <stdio.h>
#include <string.h>

const char *argp_program_version = "tricolor-allreduce " PACKAGE_VERSION;

static const char doc[] =
    "Check and time the allreduce algorithms on these ranks, in the columns of nccl-tests."
    "\vStart it alone or by mpirun, mpiexec or srun.  SIZE: bytes, with K, M or G (2^10, 2^20, "
    "2^30).  Exit status: 0 done, 1 failed or a sum is wrong, 2 wrong use.  See "
    "tricolor-allreduce(1).";

enum {
    OPT_SIZES = 0x100,
    OPT_BANDWIDTH,
    OPT_BUCKETS,
    OPT_FORMAT,
    OPT_SPOIL,
    OPT_WINDOW,
    OPT_CHOICES,
    OPT_TOPOLOGY,
    OPT_TREES,
    OPT_DOT
};

static const struct argp_option options[] = {
    { 0, 0, 0, 0, "Messages:", 1 },
    { "min-bytes", 'b', "SIZE", 0, "smallest message (default 64K)", 0 },
    { "max-bytes", 'e', "SIZE", 0, "largest message (default 8M)", 0 },
    { "factor", 'f', "N", 0, "each message N times as long as the one before (default 2)", 0 },
    { "sizes", OPT_SIZES, "SIZE,...", 0, "these messages, instead of -b, -e and -f", 0 },
    { "buckets", OPT_BUCKETS, "N", 0, "cut a message into N buckets, all in flight (default 1)",
      0 },

    { 0, 0, 0, 0, "Algorithms:", 2 },
    { "algorithms", 'a', "LIST", 0,
      "NAME or NAME:KEY=VALUE,... with commas between; all (default); auto: the fastest here; "
      "mpi:algorithm=N: Open MPI's N-th; mpi:all: each of them",
      0 },
    { "choices", OPT_CHOICES, "FILE", 0, "auto: keep what it chooses there, and look there first",
      0 },
    { "topology", OPT_TOPOLOGY, "FILE", 0, "lines `HOST SWITCH': trees and rings keep below one",
      0 },
    { "window", OPT_WINDOW, "N", 0, "chunks in flight a link, where an algorithm names none", 0 },

    { 0, 0, 0, 0, "Measuring:", 3 },
    { "warmup", 'w', "N", 0, "rounds before the timed ones (default 5)", 0 },
    { "iters", 'n', "N", 0, "timed rounds (default 20)", 0 },
    { "check", 'c', "0|1", 0, "check the sums first (default 1); a wrong one is not timed", 0 },
    { "bandwidth", OPT_BANDWIDTH, "RATE", 0,
      "of a link, each way, for the bound: 200Mbit, 1.2GB, measure, none (default: measured where "
      "the ranks are on several hosts)",
      0 },

    { 0, 0, 0, 0, "Results:", 4 },
    { "format", OPT_FORMAT, "text|csv|json", 0, "of the results (default text)", 0 },

    { "print-trees", OPT_TREES, 0, 0,
      "print the tree of every color of what has trees, and measure nothing", 0 },
    { "dot", OPT_DOT, 0, 0, "the same as graphs for Graphviz", 0 },

    { "spoil", OPT_SPOIL, "ELEMENT", OPTION_HIDDEN, "for tests: make one sum wrong", 0 },
    { 0, 0, 0, 0, 0, 0 },
};

typedef struct {
    tc_bench_options bench;
    int64_t least, most, factor;
    const char *sizes;
} arguments;

static tc_status set_int(const char *name, const char *arg, int low, int high, int *x_p)
{
    int64_t x = 0;
    tc_status status = tc_parse_size(name, arg, low, high, &x);

    if (status == TC_OK)
        *x_p = (int)x;
    return status;
}

static tc_status set_format(const char *arg, tc_format *format_p)
{
    static const char *const word[] = { "text", "csv", "json" };

    for (int i = 0; i < 3; i++)
        if (strcmp(arg, word[i]) == 0) {
            *format_p = (tc_format)i;
            return TC_OK;
        }
    return tc_fail(TC_INVAL, "--format=%s: unknown; it may be: text, csv, json", arg);
}

static tc_status set_option(int key, const char *arg, arguments *a)
{
    int flag = 0;
    tc_status status;

    switch (key) {
    case 'b':
        return tc_parse_size("--min-bytes", arg, 4, INT64_C(1) << 40, &a->least);
    case 'e':
        return tc_parse_size("--max-bytes", arg, 4, INT64_C(1) << 40, &a->most);
    case 'f':
        return tc_parse_size("--factor", arg, 2, INT64_C(1) << 40, &a->factor);
    case 'w':
        return set_int("--warmup", arg, 0, 1 << 20, &a->bench.warm_up);
    case 'n':
        return set_int("--iters", arg, 1, 1 << 20, &a->bench.rounds);
    case 'c':
        status = set_int("--check", arg, 0, 1, &flag);
        a->bench.check = flag;
        return status;
    case OPT_BUCKETS:
        return set_int("--buckets", arg, 1, 4096, &a->bench.buckets);
    case OPT_WINDOW:
        return set_int("--window", arg, 0, 1 << 20, &a->bench.window);
    case OPT_BANDWIDTH:
        return tc_bench_read_bandwidth(arg, &a->bench);
    case OPT_FORMAT:
        return set_format(arg, &a->bench.format);
    case OPT_SPOIL:
        return tc_parse_size("--spoil", arg, 0, INT64_C(1) << 40, &a->bench.spoil);
    }
    return TC_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;

    switch (key) {
    case 'a':
        a->bench.algorithms = arg;
        return 0;
    case OPT_SIZES:
        a->sizes = arg;
        return 0;
    case OPT_TREES:
        a->bench.trees = TREES_TEXT;
        return 0;
    case OPT_DOT:
        a->bench.trees = TREES_DOT;
        return 0;
    case OPT_CHOICES:
        a->bench.choices = arg;
        return 0;
    case OPT_TOPOLOGY:
        a->bench.topology = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': there is nothing to give here but options", arg);
        return EINVAL;
    case 'b':
    case 'e':
    case 'f':
    case 'w':
    case 'n':
    case 'c':
    case OPT_BUCKETS:
    case OPT_WINDOW:
    case OPT_BANDWIDTH:
    case OPT_FORMAT:
    case OPT_SPOIL:
        if (set_option(key, arg, a) == TC_OK)
            return 0;
        argp_error(state, "%s", tc_error_detail());
        return EINVAL;
    }
    return ARGP_ERR_UNKNOWN;
}

static tc_status add_size(tc_bench_options *o, int64_t bytes)
{
    if (o->n_sizes == MAX_SIZES)
        return tc_fail(TC_INVAL, "more than %d sizes of messages", MAX_SIZES);
    o->size[o->n_sizes++] = bytes - bytes % (int64_t)sizeof(float);
    return TC_OK;
}

static tc_status list_sizes(arguments *a)
{
    char copy[4096], *save = NULL;
    tc_status status = TC_OK;
    int64_t bytes = 0;

    if (a->sizes == NULL) {
        if (a->least > a->most)
            return tc_fail(TC_INVAL, "--min-bytes=%lld is more than --max-bytes=%lld",
                           (long long)a->least, (long long)a->most);
        for (bytes = a->least; bytes <= a->most && status == TC_OK; bytes *= a->factor)
            status = add_size(&a->bench, bytes);
        return status;
    }
    if (strlen(a->sizes) >= sizeof copy)
        return tc_fail(TC_INVAL, "--sizes: more than %zu characters", sizeof copy - 1);
    strcpy(copy, a->sizes);
    for (char *word = strtok_r(copy, ",", &save); word && status == TC_OK;
         word = strtok_r(NULL, ",", &save)) {
        status = tc_parse_size("--sizes", word, 4, INT64_C(1) << 40, &bytes);
        if (status == TC_OK)
            status = add_size(&a->bench, bytes);
    }
    if (status == TC_OK && a->bench.n_sizes == 0)
        status = tc_fail(TC_INVAL, "--sizes: name at least one");
    return status;
}

static tc_status check(void *input)
{
    arguments *a = input;
    tc_candidate *candidate = NULL;
    int n = 0;
    bool peers = false;
    tc_status status = list_sizes(a);

    if (status == TC_OK)
        status = tc_alloc(MAX_CANDIDATES, sizeof *candidate, "candidates", &candidate);
    if (status == TC_OK)
        status = tc_bench_read_list(a->bench.algorithms, a->bench.window, candidate, &n);
    for (int i = 0; i < n && status == TC_OK; i++)
        peers = peers || candidate[i].spec.mpi_algorithm > 0;
    tc_free(candidate);
    return status == TC_OK && peers ? tc_peer_prepare() : status;
}

int main(int argc, char **argv)
{
    static const struct argp argp = { options, parse, 0, doc, 0, 0, 0 };
    static arguments a = { .bench = { .algorithms = "all",
                                      .warm_up = 5,
                                      .rounds = 20,
                                      .buckets = 1,
                                      .check = true,
                                      .bandwidth = -1.0,
                                      .measure_if_spread = true,
                                      .spoil = -1 },
                           .least = 65536,
                           .most = 8 << 20,
                           .factor = 2 };
    tc_comm *comm = NULL;
    int rc = tc_app_read(&argp, argc, argv, &a, "tricolor-allreduce", check);

    if (rc != 0)
        return rc - 1;
    tc_status status = tc_comm_init(&argc, &argv, &comm);
    if (status == TC_OK)
        status = tc_bench_run(comm, &a.bench);
    return tc_exit(comm, status);
}
