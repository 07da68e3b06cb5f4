/*
 * Whole networks on onednn: five steps of resnet20 beside `ref`, the same bits from run to run, two
 * devices in two threads, and no allocation in a step but oneDNN's own.
 */
#include <config.h>

#include "dev/dev.h"
#include "nn/model.h"

#include "../tap.h"
#include "onednn-pair.h"
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 8
#define STEPS 5

/* ---- Allocations, told apart by who asks ---- */

#ifdef __GLIBC__
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *ptr, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

static atomic_bool counting;
static atomic_llong calls_ours, calls_library;

/* oneDNN keeps the arguments of every execution in a C++ map, so it allocates through libstdc++. */
static void note(const void *caller)
{
    Dl_info info;

    if (!atomic_load(&counting))
        return;
    bool library = dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
                   (strstr(info.dli_fname, "libdnnl") || strstr(info.dli_fname, "libstdc++"));
    atomic_fetch_add(library ? &calls_library : &calls_ours, 1);
}

void *malloc(size_t bytes)
{
    note(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    note(__builtin_return_address(0));
    return __libc_calloc(count, size);
}

void *realloc(void *ptr, size_t bytes)
{
    note(__builtin_return_address(0));
    return __libc_realloc(ptr, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    note(__builtin_return_address(0));
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **ptr_p, size_t align, size_t bytes)
{
    note(__builtin_return_address(0));
    void *ptr = __libc_memalign(align, bytes);
    if (ptr == NULL)
        return 12; /* ENOMEM */
    *ptr_p = ptr;
    return 0;
}
#endif

/* ---- Steps ---- */

static tc_status make(const char *model, uint64_t seed, tc_graph **graph_p, pair_data *data)
{
    tc_model_options options = { .name = model, .classes = 10, .size = 0 };
    tc_status status = tc_model_build(&options, graph_p);

    return status == TC_OK ? pair_data_make(*graph_p, BATCH, seed, data) : status;
}

/* One step of training with every update; the sum of the losses. */
static tc_status step_once(const pair_data *data, const pair_side *side, double *loss_p)
{
    tc_slice slice = pair_slice(data, BATCH);
    tc_sgd sgd = { .lr = 0.02f, .momentum = 0.9f, .weight_decay = 1e-4f, .nesterov = true };
    const tc_backend *b = side->backend;
    tc_metrics metrics = { 0 };

    tc_status status = b->place(side->step, 0, &slice);
    if (status == TC_OK)
        status = b->train(side->step, 0, 1.0f / BATCH, NULL);
    for (int i = 0; i < side->n_buckets && status == TC_OK; i++)
        status = b->update(side->step, i, b->host_gradients(side->step), &sgd);
    if (status == TC_OK)
        status = b->metrics(side->step, &metrics);
    *loss_p = metrics.loss / BATCH;
    return status;
}

static void beside_ref(tc_precision precision, double bound)
{
    tc_graph *graph = NULL;
    pair_data data = { 0 };
    pair_side ref = { 0 }, dut = { 0 };
    double worst = 0, a = 0, b = 0, first = 0;

    tc_status status = make("resnet20", 3, &graph, &data);
    if (status == TC_OK)
        status = pair_open("ref", TC_F64, &data, 1, &ref);
    if (status == TC_OK)
        status = pair_open("onednn", precision, &data, 1, &dut);
    for (int i = 0; i < STEPS && status == TC_OK; i++) {
        status = step_once(&data, &ref, &a);
        if (status == TC_OK)
            status = step_once(&data, &dut, &b);
        worst = fmax(worst, fabs(a - b) / a);
        first = i == 0 ? a : first;
        printf("# step %d: ref %.7f onednn %.7f\n", i, a, b);
    }
    tap_ok(status == TC_OK && worst < bound && a < first && b < first,
           "resnet20 in %s, %d steps: the losses agree to %.1e, and fall%s",
           tc_precision_name(precision), STEPS, worst,
           status == TC_OK ? "" : tc_error_detail());
    pair_close(&ref);
    pair_close(&dut);
    pair_data_free(&data);
    tc_graph_free(graph);
}

/* ---- The same bits ---- */

typedef struct {
    uint64_t seed;
    int threads;
    pthread_barrier_t *together; /* NULL: alone */
    tc_status status;
    char error[256];
    double loss;
    uint64_t hash; /* of weights and statistics after STEPS */
} solo;

static uint64_t hash_vector(const pair_side *side, tc_vector vec, int64_t count, solo *s)
{
    uint64_t hash = 14695981039346656037u;
    double *v = calloc((size_t)count, sizeof *v);

    s->status = v == NULL ? TC_NOMEM : pair_read(side, vec, count, v);
    for (int64_t i = 0; i < count && s->status == TC_OK; i++) {
        uint64_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
    }
    free(v);
    return hash;
}

static void *run_solo(void *arg)
{
    solo *s = arg;
    tc_graph *graph = NULL;
    pair_data data = { 0 };
    pair_side side = { 0 };

    s->status = make("resnet20", s->seed, &graph, &data);
    if (s->status == TC_OK)
        s->status = pair_open("onednn", TC_F32, &data, s->threads, &side);
    if (s->together != NULL)
        pthread_barrier_wait(s->together);
    for (int i = 0; i < STEPS && s->status == TC_OK; i++)
        s->status = step_once(&data, &side, &s->loss);
    if (s->status == TC_OK)
        s->hash = hash_vector(&side, TC_VEC_WEIGHTS, graph->param_count, s);
    if (s->status == TC_OK)
        s->hash ^= 3 * hash_vector(&side, TC_VEC_STATS, graph->stat_count, s);
    if (s->status != TC_OK)
        snprintf(s->error, sizeof s->error, "%s", tc_error_detail());
    pair_close(&side);
    pair_data_free(&data);
    tc_graph_free(graph);
    return NULL;
}

static bool same(const solo *a, const solo *b)
{
    return a->status == TC_OK && b->status == TC_OK && a->hash == b->hash && a->loss == b->loss;
}

static void same_bits(void)
{
    pthread_barrier_t barrier;
    pthread_t thread[2];
    solo alone[2] = { { .seed = 5, .threads = 1 }, { .seed = 6, .threads = 1 } };
    solo again = alone[0], both[2] = { alone[0], alone[1] };
    solo team[2] = { { .seed = 5, .threads = 3 }, { .seed = 5, .threads = 3 } };

    run_solo(&alone[0]);
    run_solo(&alone[1]);
    run_solo(&again);
    tap_ok(same(&alone[0], &again), "the same run twice: the same bits %s", alone[0].error);
    tap_ok(alone[0].hash != alone[1].hash, "another seed: other bits");
    run_solo(&team[0]);
    run_solo(&team[1]);
    tap_ok(same(&team[0], &team[1]), "the same on three threads %s", team[0].error);
    tap_ok(fabs(team[0].loss - alone[0].loss) < 1e-4 * alone[0].loss,
           "and near one thread's loss: %.7f %.7f", team[0].loss, alone[0].loss);

    bool ok = pthread_barrier_init(&barrier, NULL, 2) == 0;
    for (int i = 0; i < 2; i++) {
        both[i].together = &barrier;
        ok = ok && pthread_create(&thread[i], NULL, run_solo, &both[i]) == 0;
    }
    for (int i = 0; i < 2 && ok; i++)
        pthread_join(thread[i], NULL);
    tap_ok(ok && same(&both[0], &alone[0]) && same(&both[1], &alone[1]),
           "two devices at once: the bits of each alone %s%s", both[0].error, both[1].error);
    pthread_barrier_destroy(&barrier);
}

/* ---- No allocation ---- */

static void no_allocation(int threads, tc_precision precision)
{
#ifdef __GLIBC__
    tc_graph *graph = NULL;
    pair_data data = { 0 };
    pair_side side = { 0 };
    double loss;
    void *volatile probe;

    atomic_store(&calls_ours, 0);
    atomic_store(&calls_library, 0);
    tc_status status = make("resnet20", 9, &graph, &data);
    if (status == TC_OK)
        status = pair_open("onednn", precision, &data, threads, &side);
    for (int i = 0; i < 4 && status == TC_OK; i++) {
        if (i == 2)
            atomic_store(&counting, true);
        status = step_once(&data, &side, &loss);
    }
    long long ours = atomic_load(&calls_ours), library = atomic_load(&calls_library);
    probe = malloc(1);
    bool counted = atomic_load(&calls_ours) == ours + 1;
    atomic_store(&counting, false);
    free(probe);
    tap_ok(status == TC_OK && ours == 0 && counted,
           "%d threads: no allocation after the second step but oneDNN's own: %lld, %lld", threads,
           ours, library);
    pair_close(&side);
    pair_data_free(&data);
    tc_graph_free(graph);
#else
    (void)threads;
    tap_skip("allocations", "they are counted with glibc only");
#endif
}

int main(void)
{
    no_allocation(1, TC_F32);
    no_allocation(3, TC_F32);
    no_allocation(1, TC_BF16);
    beside_ref(TC_F32, 1e-4);
    beside_ref(TC_BF16, 1e-2);
    same_bits();
    return tap_done();
}
