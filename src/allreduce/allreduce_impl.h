#ifndef TC_ALLREDUCE_ALLREDUCE_IMPL_H
#define TC_ALLREDUCE_ALLREDUCE_IMPL_H
/* What an algorithm sees of a context, and what it brings; for the files of this folder alone. */
#include "allreduce/allreduce.h"
#include "allreduce/places.h"
#include "allreduce/plan.h"

typedef struct tc_engine tc_engine;

typedef struct {
    const char *name;
    bool overlaps;
    bool has_trees; /* of options.colors and options.arity */
    /* What this rank does: for algorithms that are plans, carried out by the engine (plan.h). */
    void (*plan)(const tc_allreduce *ctx, tc_plan *plan);
    /* Local: takes all memory, writes ctx->choices.  The caller votes, and calls destroy also for
     * what is half built. */
    tc_status (*create)(tc_allreduce *ctx);
    void (*destroy)(tc_allreduce *ctx);
    /* Both report a finished bucket by tc_allreduce_finish(). */
    tc_status (*start)(tc_allreduce *ctx, int b, const float *src, float *dst);
    /* Returns after a bucket has been finished or extra has completed, as the mode says. */
    tc_status (*progress)(tc_allreduce *ctx, tc_progress_mode mode, tc_request *extra,
                          bool *extra_done_p, bool *moved_p);
} tc_allreduce_algorithm;

extern const tc_allreduce_algorithm tc_allreduce_multicolor, tc_allreduce_mpi, tc_allreduce_ring,
    tc_allreduce_rabenseifner, tc_allreduce_doubling;

struct tc_allreduce {
    const tc_allreduce_algorithm *algorithm;
    tc_engine *engine; /* NULL where the algorithm needs none */
    tc_comm *comm;
    tc_allreduce_options options; /* defaults filled in */
    tc_places places;
    int n;
    int64_t *count;  /* (n) floats of each bucket */
    bool *in_flight; /* (n) started, not yet reported as done */
    int *finished;   /* (n) ring of buckets that are done, not yet reported */
    int n_in_flight, n_finished, next_finished;
    char choices[160];
};

/** Queue bucket b to be reported as done. */
void tc_allreduce_finish(tc_allreduce *ctx, int b);

#endif
