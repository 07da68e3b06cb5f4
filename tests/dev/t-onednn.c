/* What is onednn's own, beyond the contract that t-contract.c holds every backend to. */
#include <config.h>

#include "dev-check.h"

#include "../tap.h"
#include <string.h>

/* What onednn lacks is refused by name, what it has is described. */
static void names(const tc_backend *b)
{
    tc_dev *dev = NULL;
    tc_graph *graph = check_graph(check_graph_find("mixed"));
    tc_step *step = NULL;
    int64_t bound[] = { 0, 3 };
    tc_compile_options options = { .max_batch = 2, .precision = TC_F16 };
    int count = 0;

    tc_status status = b->probe(&count);
    tap_ok(status == TC_OK && count >= 1, "%d devices", count);
    tap_ok(b->open(&(tc_dev_options){ .threads = 0 }, &dev) == TC_INVAL && dev == NULL,
           "no device without threads: %s", tc_error_detail());
    bool ok = b->open(&(tc_dev_options){ .threads = 2 }, &dev) == TC_OK;
    tap_ok(ok && b->compile(dev, graph, &options, &step) == TC_NOSUPPORT && step == NULL &&
               strstr(tc_error_detail(), "f32"),
           "no f16: %s", tc_error_detail());
    options = (tc_compile_options){ .max_batch = 2, .training = true };
    tap_ok(ok && b->compile(dev, graph, &options, &step) == TC_INVAL, "training needs buckets: %s",
           tc_error_detail());
    options.n_buckets = 1;
    options.bound = bound;
    tap_ok(ok && b->compile(dev, graph, &options, &step) == TC_INVAL,
           "buckets cover everything: %s", tc_error_detail());
    options = (tc_compile_options){ .max_batch = 2 };
    ok = ok && b->compile(dev, graph, &options, &step) == TC_OK;
    tap_ok(ok && strstr(b->choices(step), "oneDNN") && strstr(b->choices(step), "2 threads"), "%s",
           ok ? b->choices(step) : tc_error_detail());
    b->step_free(step);
    b->step_free(NULL);
    b->close(dev);
    b->close(NULL);
    tc_graph_free(graph);
}

/* The estimate is what compile() takes; evaluation takes less, because tensors share memory. */
static void memory(const tc_backend *b)
{
    tc_graph *graph = check_graph(check_graph_find("mixed"));
    tc_dev *dev = NULL;
    uint64_t train = 0, eval = 0;
    int64_t bound[] = { 0, graph->param_count };
    tc_compile_options options = {
        .max_batch = 64, .training = true, .n_buckets = 1, .bound = bound
    };
    bool ok = b->open(&(tc_dev_options){ .threads = 1 }, &dev) == TC_OK &&
              b->estimate(dev, graph, &options, &train) == TC_OK;

    options.training = false;
    ok = ok && b->estimate(dev, graph, &options, &eval) == TC_OK;
    tap_ok(ok && eval > 0 && eval < train / 2, "evaluation takes %llu bytes, training %llu",
           (unsigned long long)eval, (unsigned long long)train);
    b->close(dev);
    tc_graph_free(graph);
}

int main(void)
{
    const tc_backend *b = NULL;

    if (!tap_ok(tc_backend_find("onednn", &b) == TC_OK, "onednn is here"))
        return tap_done();
    names(b);
    memory(b);
    return tap_done();
}
