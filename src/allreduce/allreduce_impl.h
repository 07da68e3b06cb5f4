#ifndef TC_ALLREDUCE_ALLREDUCE_IMPL_H
#define TC_ALLREDUCE_ALLREDUCE_IMPL_H
/* What an algorithm sees of a context, and what it brings; for the files of this folder alone. */
#include "allreduce/allreduce.h"
#include "allreduce/places.h"
#include "allreduce/plan.h"

typedef struct tc_engine tc_engine;

typedef struct {
    const char *name;
    bool has_trees; /* of options.colors and options.arity */
    /* One of the two: what this rank does, carried out by the engine (plan.h) … */
    void (*plan)(const tc_allreduce *ctx, const tc_allreduce_options *o, tc_plan *plan);
    /* … or a sum that blocks until it is there. */
    tc_status (*sum)(const tc_allreduce *ctx, int64_t count, const float *src, float *dst);
} tc_allreduce_algorithm;

extern const tc_allreduce_algorithm tc_allreduce_multicolor, tc_allreduce_mpi, tc_allreduce_ring,
    tc_allreduce_rabenseifner, tc_allreduce_doubling;

/* How some of the buckets are summed. */
typedef struct {
    const tc_allreduce_algorithm *algorithm;
    tc_allreduce_options options; /* defaults filled in */
    tc_plan plan;                 /* empty where the algorithm blocks */
} tc_variant;

/** Find the algorithm, check the options and fill in the defaults for these ranks.  Local.
 *  @retval TC_INVAL */
tc_status tc_allreduce_resolve(tc_comm *comm, const tc_allreduce_options *options, tc_variant *v);

bool tc_variant_is_same(const tc_variant *a, const tc_variant *b);

struct tc_allreduce {
    tc_engine *engine;
    tc_comm *comm;
    tc_places places;
    int n, n_variants;
    tc_variant *variant; /* (n) no two of the first n_variants are equal */
    int *variant_of;     /* (n) each bucket's */
    int64_t *count;      /* (n) floats of each bucket */
    bool *in_flight;     /* (n) started, not yet reported as done */
    int *finished;       /* (n) ring of buckets that are done, not yet reported */
    int n_in_flight, n_finished, next_finished;
    char choices[1024];
};

/** Queue bucket b to be reported as done. */
void tc_allreduce_finish(tc_allreduce *ctx, int b);

#endif
