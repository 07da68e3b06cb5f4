/*
 * How do our allreduces compare with each other, with those of the MPI library, and with the bound
 * that the links set?   bench-allreduce --help
 *
 * All candidates are verified against the exact sum in a warm-up round; a wrong one is not timed.
 * Then they take turns, round by round, so that what else runs on the machine hits all of them; a
 * two-way exchange between pairs of ranks takes its turn too: its rate B gives the bound
 * 2 (n-1)/n S/B of an allreduce of S bytes.  The algorithms of the MPI library are chosen by its
 * control variable (MPI_T): see `controls`.
 */
#include <config.h>

#include "allreduce/allreduce.h"
#include "base/clock.h"
#include "base/mem.h"
#include "comm/comm_mpi.h"

#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TC_COMMIT
#define TC_COMMIT "unknown"
#endif

enum {
    MAX_CANDIDATES = 64,
    MAX_SIZES = 32,
    MAX_TURN = 16,              /* runs of a candidate in one round, for what is over at once */
    MESSAGE = 32768,            /* bytes: of the exchange */
    IN_FLIGHT = 16,             /* messages each way */
    EXCHANGE = 4 * 1024 * 1024, /* bytes each way */
};
#define TURN_SECONDS 0.05 /* repeat a candidate until its turn takes so long */
#define LONG_SECONDS 0.5  /* what --slow leaves out takes longer than that */
#define BASE_RANGE   1001 /* of the values summed: exact up to 2^24 / 1001 ranks */

typedef struct {
    const char *word; /* as given */
    int forced;       /* an algorithm of the MPI library, 0 its own choice; -1: one of ours */
    MPI_Comm comm;    /* forced >= 0 */
    tc_allreduce_options options;
    tc_allreduce *ctx;
    bool out; /* wrong, or the same as an earlier one */
    int64_t wrong;
    double first;     /* seconds of the warm-up, of the slowest rank */
    double *seconds;  /* (rounds * MAX_TURN) */
    int turn, runs;
} candidate;

typedef struct {
    const char *words[MAX_CANDIDATES];
    int64_t bytes[MAX_SIZES];
    int n_words, n_sizes, rounds;
    double slow, min_idle;
} arguments;

typedef struct {
    const arguments *arg;
    tc_comm *comm;
    candidate c[MAX_CANDIDATES];
    int n;
    int64_t count;   /* floats */
    float *x;        /* (count) */
    char *message;   /* (2, IN_FLIGHT, MESSAGE) */
    double *goodput; /* (rounds) bytes a second each way; of the slowest pair */
    double idle;     /* per cent, of the timed rounds */
} bench;

/* The control variables that choose an MPI library's algorithm, and their values' names. */
static const struct {
    const char *variable;
    const char *names[8];
} controls[] = {
    { "coll_tuned_allreduce_algorithm", /* Open MPI; needs coll_tuned_use_dynamic_rules=1 */
      { "default", "linear", "nonoverlapping", "recursive-doubling", "ring", "segmented-ring",
        "rabenseifner" } },
    { "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", /* MPICH */
      { "default", "nb", "smp", "recursive-doubling", "rabenseifner" } },
};
enum { N_CONTROLS = sizeof controls / sizeof controls[0] };

/* --- The MPI library's algorithms ------------------------------------------------------ */

#ifdef SMPI_H /* there smpirun --cfg=smpi/allreduce: chooses */
static int control(int *index_p)
{
    (void)index_p;
    return -1;
}

static tc_status force(int value)
{
    (void)value;
    return TC_OK;
}
#else
/* The library's row of `controls`, or -1. */
static int control(int *index_p)
{
    for (int i = 0; i < N_CONTROLS; i++)
        if (MPI_T_cvar_get_index(controls[i].variable, index_p) == MPI_SUCCESS)
            return i;
    return -1;
}

static tc_status force(int value)
{
    MPI_T_cvar_handle handle;
    int index, count;

    if (control(&index) < 0)
        return value == 0 ? TC_OK : tc_fail(TC_INVAL, "this MPI library lets nobody choose");
    TC_TRY_MPI(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    TC_TRY_MPI(MPI_T_cvar_write(handle, &value));
    TC_TRY_MPI(MPI_T_cvar_handle_free(&handle));
    return TC_OK;
}
#endif

static const char *forced_name(int value)
{
    int index, row = control(&index);

    if (value == 0)
        return "default";
    return row >= 0 && value < 8 && controls[row].names[value] ? controls[row].names[value] : "";
}

/* --- Candidates ------------------------------------------------------------------------ */

static tc_status read_option(candidate *c, const char *name, const char *value)
{
    char *end = "";
    long long number = strcmp(value, "n") == 0 ? INT_MAX : strtoll(value, &end, 10);

    if (*end != '\0' || number < 0)
        return tc_fail(TC_INVAL, "%s: '%s' is not a whole number", c->word, value);
    if (strcmp(name, "k") == 0)
        c->options.colors = (int)number;
    else if (strcmp(name, "d") == 0)
        c->options.arity = number == INT_MAX ? 0 : (int)number;
    else if (strcmp(name, "chunk") == 0)
        c->options.chunk = number;
    else if (strcmp(name, "window") == 0)
        c->options.window = (int)number;
    else
        return tc_fail(TC_INVAL, "%s: no option is called '%s': k, d, chunk, window", c->word,
                       name);
    return TC_OK;
}

/* "mpi", "mpi:4", "multicolor:k=4,d=2": cuts `text`, which stays with the candidate. */
static tc_status read_candidate(candidate *c, const char *word, char *text)
{
    char *save = NULL, *name = strtok_r(text, ":", &save);
    tc_status status = TC_OK;

    *c = (candidate){ .word = word, .forced = -1, .comm = MPI_COMM_NULL };
    c->options = (tc_allreduce_options){ .algorithm = name, .arity = -1 };
    if (name == NULL)
        return tc_fail(TC_INVAL, "an algorithm without a name");
    if (strcmp(name, "mpi") == 0) {
        char *number = strtok_r(NULL, "", &save);
        c->forced = number == NULL ? 0 : atoi(number);
        if (c->forced < 0 || c->forced > 7)
            return tc_fail(TC_INVAL, "%s: give mpi:0 to mpi:7", word);
        return TC_OK;
    }
    for (char *o = strtok_r(NULL, ",", &save); o != NULL && status == TC_OK;
         o = strtok_r(NULL, ",", &save)) {
        char *equals = strchr(o, '=');
        if (equals == NULL)
            return tc_fail(TC_INVAL, "%s: write options as k=4,d=2", word);
        *equals = '\0';
        status = read_option(c, o, equals + 1);
    }
    return status;
}

static tc_status open_candidate(bench *b, int i)
{
    candidate *c = &b->c[i];
    char *text = strdup(b->arg->words[i]);
    tc_status status = text ? read_candidate(c, b->arg->words[i], text)
                            : tc_fail(TC_NOMEM, "no memory for a word");

    if (status == TC_OK)
        status = tc_alloc(b->arg->rounds * MAX_TURN, sizeof *c->seconds, "times", &c->seconds);
    status = tc_comm_agree(b->comm, status);
    if (status == TC_OK && c->forced < 0)
        status = tc_allreduce_create(b->comm, &c->options, 1, &b->count, &c->ctx);
    if (status == TC_OK && c->forced >= 0) {
        /* Open MPI looks at the variable when a communicator is made, MPICH at every call. */
        status = tc_comm_agree(b->comm, force(c->forced));
        if (status == TC_OK)
            TC_TRY_MPI(MPI_Comm_dup(tc_comm_mpi(b->comm), &c->comm));
    }
    for (int e = 0; e < i && c->ctx != NULL; e++)
        c->out = c->out || (b->c[e].ctx != NULL && strcmp(tc_allreduce_choices(b->c[e].ctx),
                                                          tc_allreduce_choices(c->ctx)) == 0);
    c->options.algorithm = NULL; /* it pointed into the text */
    free(text);
    return status;
}

static void close_candidate(candidate *c)
{
    if (c->comm != MPI_COMM_NULL)
        MPI_Comm_free(&c->comm);
    tc_allreduce_destroy(c->ctx);
    tc_free(c->seconds);
}

/* --- Runs ------------------------------------------------------------------------------ */

static tc_status run_once(bench *b, candidate *c, double *seconds_p)
{
    tc_status status = TC_OK;

    if (c->forced >= 0)
        status = force(c->forced);
    if (status == TC_OK)
        status = tc_comm_barrier(b->comm);
    double began = tc_now();
    if (status == TC_OK && c->forced < 0)
        status = tc_allreduce_run(c->ctx, 0, b->x);
    else if (status == TC_OK)
        TC_TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, b->x, (int)b->count, MPI_FLOAT, MPI_SUM, c->comm));
    *seconds_p = tc_now() - began;
    return status;
}

static int base_value(int64_t i)
{
    return (int)(i * 31 % BASE_RANGE) - BASE_RANGE / 2;
}

/* The warm-up: verify, and see how long it takes. */
static tc_status try_candidate(bench *b, candidate *c)
{
    int n = tc_comm_size(b->comm), rank = tc_comm_rank(b->comm);
    double wrong = 0.0;

    for (int64_t i = 0; i < b->count; i++)
        b->x[i] = (float)(base_value(i) + rank);
    tc_status status = run_once(b, c, &c->first);
    for (int64_t i = 0; i < b->count; i++)
        wrong += b->x[i] != (float)(n * base_value(i) + n * (n - 1) / 2);
    if (status == TC_OK)
        status = tc_comm_sum(b->comm, &wrong, 1);
    if (status == TC_OK)
        status = tc_comm_max(b->comm, &c->first, 1);
    c->wrong = (int64_t)wrong;
    c->out = wrong > 0;
    c->turn = c->first > 0 && TURN_SECONDS / c->first < MAX_TURN ? (int)(TURN_SECONDS / c->first)
                                                                  : MAX_TURN;
    c->turn = c->turn < 1 ? 1 : c->turn;
    memset(b->x, 0, (size_t)b->count * sizeof *b->x); /* zeros stay zeros, however often summed */
    return status;
}

/* Each rank sends to its partner and receives from it, short messages, many in flight. */
static tc_status exchange(bench *b, double *bytes_per_second_p)
{
    int rank = tc_comm_rank(b->comm), partner = rank ^ 1;
    MPI_Comm comm = tc_comm_mpi(b->comm);
    MPI_Request request[2 * IN_FLIGHT];

    tc_status status = tc_comm_barrier(b->comm);
    double began = tc_now(), most = 0.0;
    if (status == TC_OK && partner < tc_comm_size(b->comm)) {
        for (int i = 0; i < 2 * IN_FLIGHT; i++)
            request[i] = MPI_REQUEST_NULL;
        for (int i = 0; i < EXCHANGE / MESSAGE; i++)
            for (int way = 0; way < 2; way++) {
                int slot = 2 * (i % IN_FLIGHT) + way;
                char *message = b->message + (int64_t)slot * MESSAGE;
                TC_TRY_MPI(MPI_Wait(&request[slot], MPI_STATUS_IGNORE));
                if (way == 0)
                    TC_TRY_MPI(
                        MPI_Irecv(message, MESSAGE, MPI_BYTE, partner, 1, comm, &request[slot]));
                else
                    TC_TRY_MPI(
                        MPI_Isend(message, MESSAGE, MPI_BYTE, partner, 1, comm, &request[slot]));
            }
        TC_TRY_MPI(MPI_Waitall(2 * IN_FLIGHT, request, MPI_STATUSES_IGNORE));
        most = tc_now() - began;
    }
    if (status == TC_OK)
        status = tc_comm_max(b->comm, &most, 1);
    *bytes_per_second_p = most > 0.0 ? EXCHANGE / most : 0.0;
    return status;
}

/* Clock ticks of all processors since the machine's start: of idleness, and together.  Time that
 * the hypervisor took is not idle. */
static void read_ticks(double *idle_p, double *all_p)
{
    double tick[8] = { 0 };
    FILE *f = fopen("/proc/stat", "r");

    *idle_p = *all_p = 0.0;
    if (f == NULL)
        return;
    if (fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &tick[0], &tick[1], &tick[2], &tick[3],
               &tick[4], &tick[5], &tick[6], &tick[7]) == 8)
        for (int i = 0; i < 8; i++) {
            *all_p += tick[i];
            *idle_p += i == 3 || i == 4 ? tick[i] : 0.0;
        }
    fclose(f);
}

static tc_status time_all(bench *b)
{
    double idle[2], all[2];
    tc_status status = TC_OK;

    read_ticks(&idle[0], &all[0]);
    for (int round = 0; round < b->arg->rounds && status == TC_OK; round++) {
        status = exchange(b, &b->goodput[round]);
        for (int i = 0; i < b->n && status == TC_OK; i++) {
            candidate *c = &b->c[i];
            if (c->out || c->turn == 0)
                continue;
            for (int t = 0; t < c->turn && status == TC_OK; t++)
                status = run_once(b, c, &c->seconds[c->runs++]);
        }
        read_ticks(&idle[1], &all[1]);
        b->idle = all[1] > all[0] ? 100.0 * (idle[1] - idle[0]) / (all[1] - all[0]) : 100.0;
        if (status == TC_OK)
            status = tc_comm_bcast(b->comm, &b->idle, sizeof b->idle, 0);
        if (b->idle < b->arg->min_idle)
            break;
    }
    return status;
}

/* --- Results --------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static void print_row(const bench *b, const candidate *c, double seconds, double goodput)
{
    double n = tc_comm_size(b->comm), bytes = (double)b->count * sizeof(float);
    double bound = goodput > 0 ? 2 * (n - 1) / n * bytes / goodput : 0.0;
    double algbw = bytes / seconds * 1e-9;

    printf("%10.0f %10lld ", bytes, (long long)b->count);
    if (c->wrong > 0)
        printf("%11s %9s %9s", "-", "-", "-");
    else
        printf("%11.1f %9.4f %9.4f", seconds * 1e6, algbw, algbw * 2 * (n - 1) / n);
    printf(" %6lld %4d %11.1f", (long long)c->wrong, c->runs ? c->runs : 1, bound * 1e6);
    if (c->wrong > 0 || bound <= 0)
        printf(" %6s", "-");
    else
        printf(" %6.3f", seconds / bound);
    if (c->forced >= 0)
        printf("  %-34s MPI's %s\n", c->word, forced_name(c->forced));
    else
        printf("  %-34s %s\n", c->word, tc_allreduce_choices(c->ctx));
}

static tc_status report(bench *b)
{
    double goodput = median(b->goodput, b->arg->rounds);
    bool printer = tc_comm_rank(b->comm) == 0;

    if (b->idle < b->arg->min_idle) {
        if (printer)
            printf("# busy: the processor was idle for %.0f %% only; not timed\n", b->idle);
        return TC_OK;
    }
    if (printer)
        printf("# goodput of a two-way exchange %.1f Mbit/s each way, processor idle %.0f %%\n",
               goodput * 8e-6, b->idle);
    for (int i = 0; i < b->n; i++) {
        candidate *c = &b->c[i];
        tc_status status = tc_comm_max(b->comm, c->seconds, c->runs);
        if (status != TC_OK)
            return status;
        if (printer && (!c->out || c->wrong > 0))
            print_row(b, c, c->runs ? median(c->seconds, c->runs) : c->first, goodput);
    }
    fflush(stdout);
    return TC_OK;
}

static tc_status try_all(bench *b)
{
    double best = 0.0, unused;
    tc_status status = exchange(b, &unused);

    for (int i = 0; i < b->n && status == TC_OK; i++) {
        candidate *c = &b->c[i];
        if (c->out)
            continue;
        status = try_candidate(b, c);
        if (!c->out && (best == 0.0 || c->first < best))
            best = c->first;
    }
    for (int i = 0; i < b->n && b->arg->slow > 0; i++)
        if (b->c[i].first > b->arg->slow * best && b->c[i].first > LONG_SECONDS &&
            b->c[i].forced != 0)
            b->c[i].turn = 0;
    return status;
}

static tc_status bench_size(const arguments *arg, tc_comm *comm, int64_t bytes)
{
    bench *b = NULL;
    tc_status status = tc_alloc(1, sizeof *b, "bench", &b);

    if (status == TC_OK) {
        *b = (bench){ .arg = arg, .comm = comm, .count = bytes / (int64_t)sizeof(float) };
        status = tc_alloc(b->count, sizeof *b->x, "vector", &b->x);
    }
    if (status == TC_OK)
        status = tc_alloc(2 * IN_FLIGHT, MESSAGE, "messages", &b->message);
    if (status == TC_OK)
        status = tc_alloc(arg->rounds, sizeof *b->goodput, "rates", &b->goodput);
    status = tc_comm_agree(comm, status);
    while (status == TC_OK && b->n < arg->n_words) {
        b->n++;
        status = open_candidate(b, b->n - 1);
    }
    if (status == TC_OK)
        status = try_all(b);
    if (status == TC_OK)
        status = time_all(b);
    if (status == TC_OK)
        status = report(b);
    for (int i = 0; b != NULL && i < b->n; i++)
        close_candidate(&b->c[i]);
    if (b != NULL) {
        tc_free(b->goodput);
        tc_free(b->message);
        tc_free(b->x);
    }
    tc_free(b);
    return status;
}

/* --- The command line -------------------------------------------------------------------- */

static const struct argp_option options[] = {
    { "bytes", 'b', "LIST", 0, "sizes of a message, with commas (65536,1048576,8388608)", 0 },
    { "rounds", 'r', "N", 0, "rounds in which all take their turns (7), after one of warm-up", 0 },
    { "slow", 's', "RATIO", 0,
      "what took half a second and RATIO times the fastest in the warm-up is not run again, but "
      "for the MPI library's own choice; 0 (the default): it is", 0 },
    { "min-idle", 'i', "PERCENT", 0, "print no times when the processor was less idle (0)", 0 },
    { 0 },
};

/* What is compared where nobody says what. */
static void take_all(arguments *arg)
{
    static const char *const trees[] = { "multicolor",           "multicolor:k=4,d=2",
                                         "multicolor:k=n,d=n",   "multicolor:k=n,d=4",
                                         "multicolor:k=n,d=2" };
    static const char *const peers[] = { "mpi",   "mpi:1", "mpi:2", "mpi:3",
                                         "mpi:4", "mpi:5", "mpi:6" };
    int index, row = control(&index);

    for (int i = 0; i < (int)(sizeof trees / sizeof trees[0]); i++)
        arg->words[arg->n_words++] = trees[i];
    for (int i = 0; tc_allreduce_name(i) != NULL; i++)
        if (strcmp(tc_allreduce_name(i), "mpi") != 0 && strcmp(tc_allreduce_name(i), "nccl") != 0 &&
            strcmp(tc_allreduce_name(i), "multicolor") != 0)
            arg->words[arg->n_words++] = tc_allreduce_name(i);
    for (int i = 0; i < 7 && (i == 0 || (row >= 0 && controls[row].names[i] != NULL)); i++)
        arg->words[arg->n_words++] = peers[i];
}

static void read_sizes(arguments *arg, const char *text, struct argp_state *state)
{
    for (arg->n_sizes = 0; *text != '\0' && arg->n_sizes < MAX_SIZES; text += *text == ',') {
        char *end;
        int64_t bytes = strtoll(text, &end, 10);
        if (end == text || (*end != ',' && *end != '\0') || bytes < 4 || bytes / 4 > INT_MAX)
            argp_error(state, "--bytes %s: give sizes from 4 to 8 GB with commas", text);
        arg->bytes[arg->n_sizes++] = bytes;
        text = end;
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arg = state->input;

    switch (key) {
    case 'b':
        read_sizes(arg, value, state);
        return 0;
    case 'r':
        arg->rounds = atoi(value);
        if (arg->rounds < 1 || arg->rounds > 1000)
            argp_error(state, "--rounds %s: give 1 to 1000", value);
        return 0;
    case 's':
        arg->slow = atof(value);
        return 0;
    case 'i':
        arg->min_idle = atof(value);
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

static const struct argp argp = {
    options, parse, "[ALGORITHM]...",
    "Time allreduces in turns, under mpirun, beside the bound that the links set.\v"
    "ALGORITHM: multicolor[:k=K,d=D,chunk=BYTES,window=W] (n: as many as ranks) or another of "
    "tricolor's; mpi: the MPI library's own choice; mpi:N: its N-th algorithm (for Open MPI "
    "OMPI_MCA_coll_tuned_use_dynamic_rules=1 must be set).  Without any: all of them.",
    NULL, NULL, NULL
};

int main(int argc, char **argv)
{
    arguments arg = { .rounds = 7, .bytes = { 65536, 1048576, 8388608 }, .n_sizes = 3 };
    tc_comm *comm = NULL;

    argp_parse(&argp, argc, argv, 0, NULL, &arg);
    tc_status status = tc_comm_init(&argc, &argv, &comm);
    if (status != TC_OK)
        return tc_exit(comm, status);
#ifndef SMPI_H
    int provided;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return tc_exit(comm, tc_fail(TC_MPI, "the MPI tools interface does not start"));
#endif
    if (arg.n_words == 0)
        take_all(&arg);
    if (tc_comm_rank(comm) == 0)
        printf("# bench-allreduce, tricolor %s, commit %s\n"
               "# %d ranks on %d hosts; 1 warm-up, %d rounds in turns; a barrier before each; "
               "median of the slowest rank\n"
               "#%9s %10s %11s %9s %9s %6s %4s %11s %6s  %-34s %s\n",
               PACKAGE_VERSION, TC_COMMIT, tc_comm_size(comm), tc_comm_host_count(comm),
               arg.rounds, "bytes", "count", "time_us", "algbw_GBs", "busbw_GBs", "wrong", "runs",
               "bound_us", "ratio", "algorithm", "choices");
    for (int i = 0; i < arg.n_sizes && status == TC_OK; i++)
        status = bench_size(&arg, comm, arg.bytes[i]);
#ifndef SMPI_H
    MPI_T_finalize();
#endif
    return tc_exit(comm, status);
}
