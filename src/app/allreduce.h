#ifndef TC_APP_ALLREDUCE_H
#define TC_APP_ALLREDUCE_H
/* The parts of tricolor-allreduce; for the files of this folder alone. */
#include "allreduce/spec.h"
#include "timing/timing.h"
#include <jansson.h>

enum { MAX_SIZES = 256, MAX_CANDIDATES = 256, SPEC_SIZE = 160 };

typedef enum { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON } tc_format;
typedef enum { TREES_NOT, TREES_TEXT, TREES_DOT } tc_trees;

typedef struct {
    const char *algorithms;  /* list of specs; "all", "mpi:all" stand for several */
    int64_t size[MAX_SIZES]; /* bytes of a message, multiples of 4 */
    int n_sizes;
    int warm_up, rounds, buckets, window;
    bool check;
    double bandwidth;       /* bytes a second and way; 0: none, < 0: measure it */
    bool measure_if_spread; /* where the ranks are on several hosts */
    tc_format format;
    tc_trees trees;       /* print trees instead of measuring */
    const char *choices;  /* NULL, or where auto keeps what it chose */
    const char *topology; /* NULL, or the file of hosts and their leaf switches */
    int64_t spoil;        /* for tests: this element is made wrong before the check; -1: none */
} tc_bench_options;

typedef struct {
    char text[SPEC_SIZE]; /* as the user named it */
    tc_allreduce_spec spec;
    tc_comm *comm;     /* its own where it needs one, else the world */
    tc_allreduce *ctx; /* of the size at hand */
    int64_t wrong;     /* -1: not checked */
    tc_timing timing;
} tc_candidate;

typedef struct {
    const tc_bench_options *options;
    tc_comm *comm;
    tc_candidate *candidate; /* (n) */
    int n;
    double bandwidth; /* what the bound is drawn from; 0: no bound */
    bool measured;
    json_t *json; /* rank 0 with FORMAT_JSON: what will be printed */
} tc_bench;

/* allreduce_list.c: from the words of the command line.  Local. */
tc_status tc_bench_read_list(const char *list, int window, tc_candidate *candidate, int *n_p);
tc_status tc_bench_read_bandwidth(const char *text, tc_bench_options *options);

/* allreduce_bench.c: verify, then time.  Collective. */
tc_status tc_bench_run(tc_comm *comm, const tc_bench_options *options);

/* allreduce_peer.c: MPI's own algorithms.  prepare: before MPI starts; comm: collective. */
tc_status tc_peer_prepare(void);
tc_status tc_peer_comm(tc_comm *world, int algorithm, tc_comm **comm_p);

/* allreduce_print.c: on rank 0; elsewhere they do nothing. */
void tc_bench_print_head(tc_bench *bench);
void tc_bench_print_row(tc_bench *bench, const tc_candidate *c, int64_t bytes);
tc_status tc_bench_print_end(tc_bench *bench);

#endif
