/*
 * How long does an allreduce take on a simulated cluster?   Run by bench/sim-allreduce.
 *
 * Every candidate is verified on real vectors first; a wrong one gets no time.  Then it is timed
 * once, which is enough where nothing is random: all ranks start at the same moment, and the last
 * one to end counts.  The vectors of the timed run are folded onto a few pages, so that 64 ranks of
 * 100 MB fit into one process; their sums are not taken but charged: a sum over S bytes of terms
 * takes S / --sum-rate.  The sums of MPI's own algorithms are charged likewise, by an operation.
 */
#include <config.h>

#include "allreduce/engine.h"
#include "allreduce/spec.h"
#include "base/mem.h"
#include "comm/comm_mpi.h"
#include "timing/timing.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_CANDIDATES = 64, MAX_SIZES = 32 };
#define ROUNDOFF 0x1p-24
#define LEAD     1e-3 /* seconds from the agreement on a start to the start */

typedef struct {
    const char *words[MAX_CANDIDATES];
    const char *peer; /* what MPI's own allreduce is called */
    double bytes[MAX_SIZES], rate;
    double verify;
    int n_words, n_sizes;
} arguments;

/* How a sum is taken; SimGrid gives every rank variables of its own. */
static struct {
    double rate; /* GB/s of terms; 0: sums take no time */
    bool real;
} sums = { .real = true };

/* --- Sums ------------------------------------------------------------------------------ */

static void charge(int64_t floats)
{
    if (sums.rate > 0.0)
        smpi_execute((double)floats * sizeof(float) / (sums.rate * 1e9));
}

static void add(float *vector, const void *wire, int64_t n)
{
    const float *term = wire;

    charge(n);
    for (int64_t i = 0; sums.real && i < n; i++)
        vector[i] += term[i];
}

/* The linker puts this in the place of the library's function: see sim/local.mk. */
tc_wire __wrap_tc_wire_get(tc_wire_type type);
tc_wire __wrap_tc_wire_get(tc_wire_type type)
{
    (void)type; /* the others are for networks that are slower than sums */
    return (tc_wire){ "f32", sizeof(float), MPI_FLOAT, NULL, NULL, add };
}

/* The same as an operation of MPI. */
static void add_operation(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    add(inout, in, *length);
}

/* --- One candidate --------------------------------------------------------------------- */

typedef struct {
    tc_comm *comm;
    const arguments *arg;
    const char *name;
    bool own; /* of tricolor */
    tc_allreduce_options options;
    MPI_Op op;
    int64_t wrong;
    double seconds;
} candidate;

/* As tricolor-allreduce reads it, but k=n is a color a rank. */
static tc_status read_candidate(const char *word, candidate *c)
{
    tc_allreduce_spec spec;
    char text[160];
    const char *all = strstr(word, "k=n");

    if (all != NULL)
        snprintf(text, sizeof text, "%.*sk=%d%s", (int)(all - word), word, tc_comm_size(c->comm),
                 all + strlen("k=n"));
    else
        snprintf(text, sizeof text, "%s", word);
    tc_status status = tc_allreduce_spec_parse(text, &spec);

    if (status != TC_OK)
        return status;
    c->options = spec.options;
    c->own = strcmp(spec.options.algorithm, "mpi") != 0;
    c->name = c->own ? word : c->arg->peer;
    return TC_OK;
}

/* y <- the sum of x; for our own allreduce x and y are the same. */
static tc_status run(candidate *c, tc_allreduce *ctx, const float *x, float *y, int64_t count)
{
    if (c->own)
        return tc_allreduce_run(ctx, 0, y);
    TC_TRY_MPI(MPI_Allreduce(x, y, (int)count, MPI_FLOAT, c->op, tc_comm_mpi(c->comm)));
    return TC_OK;
}

static tc_status verify(candidate *c)
{
    int64_t count = (int64_t)(c->arg->verify / sizeof(float));
    float *x = NULL;
    tc_known *known = NULL;
    tc_allreduce *ctx = NULL;
    tc_status status = tc_alloc(2 * count, sizeof *x, "vector", &x);

    if (status == TC_OK)
        status = tc_known_create(c->comm, &known);
    status = tc_comm_agree(c->comm, status);
    if (status == TC_OK && c->own)
        status = tc_allreduce_create(c->comm, &c->options, 1, &count, &ctx);
    if (status == TC_OK) {
        float *y = c->own ? x : x + count;
        tc_known_fill(known, x, count);
        sums.real = true;
        status = run(c, ctx, x, y, count);
        if (status == TC_OK)
            status = tc_known_check(known, y, count, ROUNDOFF, &c->wrong);
    }
    tc_allreduce_destroy(ctx);
    tc_known_destroy(known);
    tc_free(x);
    return status;
}

/* Wait for a moment at which every rank is ready. */
static tc_status start_together(tc_comm *comm, double *began_p)
{
    *began_p = MPI_Wtime();
    tc_status status = tc_comm_max(comm, began_p, 1);
    *began_p += LEAD;
    double left = *began_p - MPI_Wtime();
    struct timespec wait = { (time_t)left, (long)(fmod(left, 1.0) * 1e9) };
    nanosleep(&wait, NULL);
    return status;
}

static tc_status time_one(candidate *c, int64_t count, float *x, float *y)
{
    tc_allreduce *ctx = NULL;
    double began;
    tc_status status = TC_OK;

    if (c->own)
        status = tc_allreduce_create(c->comm, &c->options, 1, &count, &ctx);
    if (status == TC_OK)
        status = start_together(c->comm, &began);
    if (status == TC_OK) {
        sums.real = false;
        sums.rate = c->arg->rate;
        status = run(c, ctx, x, y, count);
        c->seconds = MPI_Wtime() - began;
        sums.rate = 0.0;
    }
    if (status == TC_OK)
        status = tc_comm_max(c->comm, &c->seconds, 1);
    tc_allreduce_destroy(ctx);
    return status;
}

static void print_row(const candidate *c, int64_t count)
{
    if (tc_comm_rank(c->comm) != 0)
        return;
    printf("%d\t%g\t%lld\t%.9g\t%lld\t%s\t%s\n", tc_comm_size(c->comm), c->arg->rate,
           (long long)count * (long long)sizeof(float), c->wrong ? 0.0 : c->seconds,
           (long long)c->wrong, c->own ? "own" : "peer", c->name);
    fflush(stdout);
}

static tc_status run_candidate(candidate *c)
{
    tc_status status = verify(c);

    for (int i = 0; i < c->arg->n_sizes && status == TC_OK; i++) {
        int64_t count = (int64_t)(c->arg->bytes[i] / sizeof(float));
        size_t bytes = (size_t)count * sizeof(float);
        float *x = SMPI_SHARED_MALLOC(bytes), *y = SMPI_SHARED_MALLOC(bytes);
        if (c->wrong == 0)
            status = time_one(c, count, x, c->own ? x : y);
        if (status == TC_OK)
            print_row(c, count);
        SMPI_SHARED_FREE(x);
        SMPI_SHARED_FREE(y);
    }
    if (status == TC_OK && c->wrong > 0)
        status = tc_fail(TC_FORMAT, "%s: %lld wrong sums", c->name, (long long)c->wrong);
    return status;
}

/* --- The command line -------------------------------------------------------------------- */

static const struct argp_option options[] = {
    { "bytes", 'b', "LIST", 0, "sizes, with commas (65536,1048576)", 0 },
    { "sum-rate", 'r', "GB/s", 0, "charge sums at so many bytes of terms a second; 0: not (0)", 0 },
    { "peer", 'p', "NAME", 0, "what smpirun --cfg=smpi/allreduce: has chosen for `mpi'", 0 },
    { "verify", 'v', "BYTES", 0, "of the vector that is really summed before (65536)", 0 },
    { 0 },
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arg = state->input;
    char *end;

    switch (key) {
    case 'b':
        for (arg->n_sizes = 0; *value != '\0'; value = end + (*end == ',')) {
            double bytes = strtod(value, &end);
            if (end == value || !(bytes >= 4 && bytes < 0x1p31) || arg->n_sizes == MAX_SIZES)
                argp_error(state, "--bytes %s: give up to %d sizes from 4 to 2^31", value,
                           MAX_SIZES);
            arg->bytes[arg->n_sizes++] = bytes;
        }
        return 0;
    case 'r':
        arg->rate = strtod(value, &end);
        if (end == value || *end != '\0' || !(arg->rate >= 0))
            argp_error(state, "--sum-rate %s: give GB/s, or 0", value);
        return 0;
    case 'p':
        arg->peer = value;
        return 0;
    case 'v':
        arg->verify = strtod(value, &end);
        if (end == value || *end != '\0' || !(arg->verify >= 4 && arg->verify < 0x1p31))
            argp_error(state, "--verify %s: give bytes, from 4 to 2^31", value);
        return 0;
    case ARGP_KEY_ARG:
        if (arg->n_words == MAX_CANDIDATES)
            argp_error(state, "at most %d algorithms", MAX_CANDIDATES);
        arg->words[arg->n_words++] = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = { options,
                                      parse,
                                      "ALGORITHM...",
                                      "Time allreduces on a simulated cluster, under smpirun.\v"
                                      "Prints, separated by tabs: ranks, GB/s of sums, bytes, "
                                      "seconds, wrong sums, own or peer, algorithm.",
                                      NULL,
                                      NULL,
                                      NULL };
    arguments arg = { .bytes = { 65536, 1048576 }, .n_sizes = 2, .verify = 65536, .peer = "mpi" };
    candidate c = { .arg = &arg };

    argp_parse(&argp, argc, argv, 0, NULL, &arg);
    tc_status status = tc_comm_init(&argc, &argv, &c.comm);
    if (status != TC_OK)
        return tc_exit(c.comm, status);
    if (MPI_Op_create(add_operation, 1, &c.op) != MPI_SUCCESS)
        return tc_exit(c.comm, tc_fail(TC_MPI, "an operation cannot be made"));
    for (int i = 0; i < arg.n_words && status == TC_OK; i++) {
        c.wrong = 0;
        status = read_candidate(arg.words[i], &c);
        if (status == TC_OK)
            status = run_candidate(&c);
    }
    MPI_Op_free(&c.op);
    return tc_exit(c.comm, status);
}
