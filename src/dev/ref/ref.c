/* The reference backend: plain C, one thread, single and double precision. */
#include <config.h>

#include "dev/ref/engine.h"

#include "base/mem.h"
#include <unistd.h>

struct tc_dev {
    tc_dev_options options;
};

extern const tc_backend tc_backend_ref;

static const ref_engine *engine(tc_step *step)
{
    return ((ref_head *)step)->engine;
}

/* NULL, with tc_fail()'s text, for a precision that this backend lacks. */
static const ref_engine *find_engine(tc_precision precision)
{
    if (precision == TC_F32)
        return &ref_f32_engine;
    if (precision == TC_F64)
        return &ref_f64_engine;
    tc_fail(TC_NOSUPPORT, "backend ref: precision %s; it has f32 and f64",
            ref_precision(precision));
    return NULL;
}

static tc_status probe(int *count_p)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    *count_p = cores > 0 ? (int)cores : 1;
    return TC_OK;
}

static tc_status open_device(const tc_dev_options *options, tc_dev **dev_p)
{
    tc_dev *dev;

    if (options->ordinal < 0 || options->threads < 1)
        return tc_fail(TC_INVAL, "backend ref: device %d with %d threads", options->ordinal,
                       options->threads);
    tc_status status = tc_alloc(1, sizeof *dev, "ref: device", &dev);
    if (status != TC_OK)
        return status;
    dev->options = *options;
    *dev_p = dev;
    return TC_OK;
}

static void close_device(tc_dev *dev)
{
    tc_free(dev);
}

static tc_status host_alloc(size_t bytes, void **ptr_p)
{
    return tc_alloc((int64_t)bytes, 1, "ref: host memory", ptr_p);
}

static void host_free(void *ptr)
{
    tc_free(ptr);
}

static tc_status estimate(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                          uint64_t *bytes_p)
{
    const ref_engine *e = find_engine(options->precision);

    (void)dev;
    return e ? e->estimate(graph, options, bytes_p) : TC_NOSUPPORT;
}

static tc_status compile(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                         tc_step **step_p)
{
    const ref_engine *e = find_engine(options->precision);

    return e ? e->compile(graph, options, dev->options.threads, step_p) : TC_NOSUPPORT;
}

static void step_free(tc_step *step)
{
    if (step != NULL)
        engine(step)->step_free(step);
}

static tc_status place(tc_step *step, int slot, const tc_slice *slice)
{
    return engine(step)->place(step, slot, slice);
}

static tc_status forward(tc_step *step, int slot, tc_forward_mode mode)
{
    return engine(step)->forward(step, slot, mode);
}

static tc_status metrics(tc_step *step, tc_metrics *metrics_p)
{
    engine(step)->metrics(step, metrics_p);
    return TC_OK;
}

static tc_status backward(tc_step *step, int slot, const tc_step_events *events)
{
    return engine(step)->backward(step, slot, events);
}

static tc_status train(tc_step *step, int slot, float scale, const tc_step_events *events)
{
    return engine(step)->train(step, slot, scale, events);
}

static float *host_gradients(tc_step *step)
{
    return engine(step)->host_gradients(step);
}

static tc_status update(tc_step *step, int b, const float *sum, const tc_sgd *sgd)
{
    return engine(step)->update(step, b, sum, sgd);
}

static tc_status read_vector(tc_step *step, tc_vector vec, int64_t offset, int64_t count,
                             tc_precision type, void *out)
{
    return engine(step)->read(step, vec, offset, count, type, out);
}

static tc_status write_vector(tc_step *step, tc_vector vec, int64_t offset, int64_t count,
                              tc_precision type, const void *in)
{
    return engine(step)->write(step, vec, offset, count, type, in);
}

static tc_status criterion(tc_dev *dev, int64_t n, int64_t classes, const float *logits,
                           const int32_t *labels, float scale, float *dlogits,
                           tc_metrics *metrics_p)
{
    (void)dev;
    if (n < 0 || classes < 1)
        return tc_fail(TC_INVAL, "ref: %lld rows of %lld classes", (long long)n,
                       (long long)classes);
    tc_status status = ref_check_labels(n, classes, labels);
    if (status == TC_OK)
        ref_f32_cross_entropy(n, classes, logits, labels, scale, dlogits, metrics_p);
    return status;
}

static const char *choices(tc_step *step)
{
    return engine(step)->choices(step);
}

const tc_backend tc_backend_ref = {
    .name = "ref",
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .estimate = estimate,
    .compile = compile,
    .step_free = step_free,
    .place = place,
    .forward = forward,
    .metrics = metrics,
    .backward = backward,
    .train = train,
    .host_gradients = host_gradients,
    .update = update,
    .read = read_vector,
    .write = write_vector,
    .criterion = criterion,
    .choices = choices,
};
