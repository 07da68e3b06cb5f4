#ifndef TC_ALLREDUCE_ENGINE_H
#define TC_ALLREDUCE_ENGINE_H
/**
 * @file engine.h
 * Carry plans out: the chunks of all flows of all buckets in flight.
 *
 * Flow:  tc_engine_create() -> { tc_engine_start(), tc_engine_progress() … } -> tc_engine_destroy()
 * Used by: allreduce.c.   Split into engine.c (requests, waiting, buckets) and flow.c (one flow's
 * chunks).
 *
 * A chunk of a flow is posted when its window has room and what its step needs has been done there;
 * it arrives when MPI is through with it; where it must be added or widened, it waits in a slot of
 * the flow's stage until its turn has come and is then taken.  Each step counts the floats done.
 */
#include "allreduce/allreduce_impl.h"
#include "allreduce/plan.h"
#include "comm/comm_mpi.h"
#include "comm/watch.h"

typedef struct {
    int step;       /* in the flow's steps; their number past the end */
    int64_t at;     /* floats of the vector: where the next chunk begins */
    int64_t chunks; /* passed so far; chunk c has slot c % window */
} tc_cursor;

typedef struct {
    int bucket, number; /* number: in the plan */
    int window, first_slot;
    int64_t slot_floats; /* room of a slot of the stage */
    tc_cursor post, arrive, take;
    char *stage; /* (window, slot_floats) floats or narrow ones; or NULL */
    bool queued; /* in the queue of chunks to take */
} tc_flow;

typedef struct {
    const char *name;
    size_t bytes; /* of a float on the wire */
    MPI_Datatype type;
    void (*narrow)(void *wire, const float *vector, int64_t n); /* NULL where nothing is lost */
    void (*widen)(float *vector, const void *wire, int64_t n);  /* likewise */
    void (*add)(float *vector, const void *wire, int64_t n);
} tc_wire;

/** wire.c: what floats become on their way. */
tc_wire tc_wire_get(tc_wire_type type);

typedef struct {
    const tc_plan *plan; /* without flows where the bucket's algorithm blocks */
    tc_wire wire;
    int64_t chunk; /* floats */
    int window, first_tag;
    int64_t count;
    float *dst;
    const float *src;
    tc_flow *flow; /* (plan->n_flows) */
    int flows_left;
    int64_t *done; /* (plan->n_steps) each step has done its floats up to here */
} tc_bucket;

struct tc_engine {
    MPI_Comm comm;
    int n, n_flows, n_slots;
    tc_bucket *bucket; /* (n) */
    tc_flow *flow;     /* (n_flows) bucket by bucket */
    int *flow_of;      /* (n_slots) */
    bool *busy;        /* (n_slots) the slot's transfer has not completed */
    int *queue;        /* (n_flows) ring of flows that have a chunk to take */
    int next_queued, n_queued;
    /* The transfers in flight, without gaps, and room for the caller's request at the end. */
    MPI_Request *request; /* (n_slots + 1) */
    int *slot;            /* (n_slots + 1) */
    int *completed;       /* (n_slots + 1) what Testsome reports */
    int n_requests;
    tc_watch watch; /* how long nothing has moved */
    tc_arena arena;
};

/* engine.c */

/** Take all memory for the plans of ctx->variant, which stay where they are.  Local; destroy what
 *  is half built, too. */
tc_status tc_engine_create(tc_allreduce *ctx);
void tc_engine_destroy(tc_allreduce *ctx);
tc_status tc_engine_start(tc_allreduce *ctx, int b, const float *src, float *dst);
/** Returns after a bucket has been finished or extra has completed, as the mode says. */
tc_status tc_engine_progress(tc_allreduce *ctx, tc_progress_mode mode, tc_request *extra,
                             bool *extra_done_p, bool *moved_p);

/** Queue the flow if it has a chunk to take. */
void tc_engine_queue(tc_engine *e, tc_flow *f);

/* flow.c */

/** The chunks of all steps of this flow, and the floats of the largest. */
int64_t tc_flow_chunks(const tc_engine *e, const tc_flow *f, int64_t *largest_p);

/** Forget the last vector; returns whether there is anything to do. */
bool tc_flow_reset(tc_engine *e, tc_flow *f);

/** Post what may be posted. */
tc_status tc_flow_post(tc_engine *e, tc_flow *f);

/** The transfer of this slot has completed. */
tc_status tc_flow_arrive(tc_engine *e, tc_flow *f, int slot);

/** Take the next chunk out of the stage, if its turn has come. */
tc_status tc_flow_take(tc_engine *e, tc_flow *f);

bool tc_flow_can_take(const tc_engine *e, const tc_flow *f);
bool tc_flow_is_done(const tc_engine *e, const tc_flow *f);

#endif
