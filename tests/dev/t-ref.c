/* What is ref's own: names, memory, NaN, and the contract of backend.h in double (t-contract holds
 * every backend to it in float, t-ref-slope and t-ref-forward make ref in double the oracle). */
#include <config.h>

#include "dev-check.h"

#include "../tap.h"
#include <math.h>
#include <string.h>

static void report(check_result result)
{
    tap_ok(result.ok, "%s", result.text);
}

static void rules(check_target target)
{
    int mixed = check_graph_find("mixed");

    for (int i = 0; check_graph_name(i) != NULL; i++)
        report(check_buckets(target, i));
    report(check_update(target, true));
    report(check_update(target, false));
    report(check_masks(target));
    report(check_hits(target));
    report(check_slots(target, mixed));
    report(check_learning(target, mixed));
    report(check_refusals(target));
    if (alloc_count(true) < 0)
        tap_skip("allocations", "they are counted with glibc only");
    else
        report(check_allocations(target, mixed, true));
}

/* Names, precisions, and what ref does not have. */
static void names(const tc_backend *ref)
{
    const tc_backend *found = NULL;
    tc_dev *dev = NULL;
    tc_graph *graph = check_graph(0);
    tc_step *step = NULL;
    tc_compile_options options = { .max_batch = 1, .precision = TC_BF16 };

    bool here = tc_backend_find(NULL, &found) == TC_OK && tc_backend_at(0) != NULL;
    tap_ok(here, "the fastest backend here: %s", here ? found->name : "none");
    tap_ok(tc_backend_find("abacus", &found) == TC_INVAL && strstr(tc_error_detail(), "ref"),
           "an unknown one: %s", tc_error_detail());
    bool cuda = false;
    for (int i = 0; tc_backend_at(i) != NULL; i++)
        cuda = cuda || strcmp(tc_backend_at(i)->name, "cuda") == 0;
    if (!cuda)
        tap_ok(tc_backend_find("cuda", &found) == TC_NOSUPPORT, "one not built in: %s",
               tc_error_detail());
    bool words = true;
    for (int p = TC_F32; p <= TC_F16; p++)
        words = words && tc_precision_find(tc_precision_name((tc_precision)p)) == p;
    tap_ok(words && tc_precision_find("f8") == -1, "precisions by word");
    tap_ok(ref->open(&(tc_dev_options){ .threads = 0 }, &dev) == TC_INVAL && dev == NULL,
           "no device without threads");
    bool ok = ref->open(&(tc_dev_options){ .threads = 2 }, &dev) == TC_OK;
    tap_ok(ok && ref->compile(dev, graph, &options, &step) == TC_NOSUPPORT && step == NULL &&
               strstr(tc_error_detail(), "bf16") != NULL,
           "no bf16: %s", tc_error_detail());
    options = (tc_compile_options){ .max_batch = 1, .training = true };
    tap_ok(ok && ref->compile(dev, graph, &options, &step) == TC_INVAL, "training needs buckets");
    options.n_buckets = 1;
    options.bound = (int64_t[]){ 0, 3 };
    tap_ok(ok && ref->compile(dev, graph, &options, &step) == TC_INVAL, "buckets cover everything");
    options = (tc_compile_options){ .max_batch = 1 };
    ok = ok && ref->compile(dev, graph, &options, &step) == TC_OK;
    tap_ok(ok && strstr(ref->choices(step), "1 of 2 threads"), "%s", ok ? ref->choices(step) : "");
    ref->step_free(step);
    ref->step_free(NULL);
    ref->close(dev);
    ref->close(NULL);
    tc_graph_free(graph);
}

/* Evaluation needs less memory than training: tensors share it over time. */
static void memory(const tc_backend *ref)
{
    tc_graph *graph = check_graph(check_graph_find("mixed"));
    tc_dev *dev = NULL;
    uint64_t train = 0, eval = 0, all = 0;
    int64_t bound[] = { 0, graph->param_count };
    tc_compile_options options = {
        .max_batch = 64, .training = true, .n_buckets = 1, .bound = bound
    };
    bool ok = ref->open(&(tc_dev_options){ .threads = 1 }, &dev) == TC_OK &&
              ref->estimate(dev, graph, &options, &train) == TC_OK;

    options.training = false;
    ok = ok && ref->estimate(dev, graph, &options, &eval) == TC_OK;
    for (int i = 0; i < graph->n_nodes; i++)
        all += (uint64_t)(graph->node[i].c * graph->node[i].h * graph->node[i].w) * 64 * 4;
    tap_ok(ok && eval < all && train < 2 * all && eval < train / 2,
           "memory shared over time: %llu bytes of outputs; evaluation takes %llu, training %llu",
           (unsigned long long)all, (unsigned long long)eval, (unsigned long long)train);
    ref->close(dev);
    tc_graph_free(graph);
}

/* A logit that is not a number is never a hit, and the loss shows it. */
static void not_a_number(const tc_backend *ref)
{
    tc_dev *dev = NULL;
    float logits[6] = { 1, NAN, 0, NAN, 2, 1 }, dlogits[6];
    tc_metrics m = { 0 };
    bool ok = ref->open(&(tc_dev_options){ .threads = 1 }, &dev) == TC_OK &&
              ref->criterion(dev, 2, 3, logits, (int32_t[]){ 1, 1 }, 1.0f, dlogits, &m) == TC_OK;

    tap_ok(ok && isnan(m.loss) && m.top1 == 0 && m.count == 2, "NaN: no hit, and the loss is NaN");
    ref->close(dev);
}

int main(void)
{
    const tc_backend *ref = NULL;

    if (!tap_ok(tc_backend_find("ref", &ref) == TC_OK, "ref is here"))
        return tap_done();
    names(ref);
    memory(ref);
    not_a_number(ref);
    rules((check_target){ .backend = ref, .precision = TC_F64, .tolerance = 1e-12 });
    return tap_done();
}
