/* The backend's table, and its devices. */
#include <config.h>

#include "dev/onednn/onednn.h"

#include <omp.h>
#include <sched.h>
#include <stdlib.h>

static tc_status probe(int *count_p)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    *count_p = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return TC_OK;
}

static void dev_close(tc_dev *dev)
{
    if (dev == NULL)
        return;
    if (dev->attr != NULL)
        dnnl_primitive_attr_destroy(dev->attr);
    if (dev->stream != NULL)
        dnnl_stream_destroy(dev->stream);
    if (dev->engine != NULL)
        dnnl_engine_destroy(dev->engine);
    tc_free(dev);
}

static tc_status dev_open(const tc_dev_options *options, tc_dev **dev_p)
{
    tc_dev *dev = NULL;

    if (options->threads < 1)
        return tc_fail(TC_INVAL, "onednn: device %d with %d threads", options->ordinal,
                       options->threads);
    tc_status status = tc_alloc(1, sizeof *dev, "onednn: device", &dev);
    if (status != TC_OK)
        return status;
    dev->ordinal = options->ordinal;
    dev->threads = options->threads;
    status = dn_kernels_find(getenv("TRICOLOR_SIMD"), &dev->kernels);
    if (status != TC_OK) {
        dev_close(dev);
        return status;
    }
    omp_set_num_threads(dev->threads); /* primitives remember the count they are created with */
    status = dn_check(dnnl_engine_create(&dev->engine, dnnl_cpu, 0), "engine", "the device");
    if (status == TC_OK)
        status = dn_check(dnnl_stream_create(&dev->stream, dev->engine, dnnl_stream_default_flags),
                          "stream", "the device");
    if (status == TC_OK)
        status = dn_check(dnnl_primitive_attr_create(&dev->attr), "attributes", "the device");
    if (status == TC_OK)
        status =
            dn_check(dnnl_primitive_attr_set_scratchpad_mode(dev->attr, dnnl_scratchpad_mode_user),
                     "attributes", "the device");
    if (status != TC_OK) {
        dev_close(dev);
        return status;
    }
    *dev_p = dev;
    return TC_OK;
}

static tc_status host_alloc(size_t bytes, void **ptr_p)
{
    if (bytes > INT64_MAX)
        return tc_fail(TC_NOMEM, "onednn: %zu bytes of host memory", bytes);
    return tc_alloc((int64_t)bytes, 1, "onednn: host memory", ptr_p);
}

static tc_status estimate(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                          uint64_t *bytes_p)
{
    omp_set_num_threads(dev->threads);
    return dn_estimate(dev, graph, options, bytes_p);
}

static tc_status compile(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                         tc_step **step_p)
{
    omp_set_num_threads(dev->threads);
    return dn_compile(dev, graph, options, step_p);
}

static tc_status criterion(tc_dev *dev, int64_t n, int64_t classes, const float *logits,
                           const int32_t *labels, float scale, float *dlogits,
                           tc_metrics *metrics_p)
{
    (void)dev;
    if (n < 0 || classes < 1)
        return tc_fail(TC_INVAL, "onednn: a criterion of %lld rows and %lld classes", (long long)n,
                       (long long)classes);
    for (int64_t i = 0; i < n; i++)
        if (labels[i] < -1 || labels[i] >= classes)
            return tc_fail(TC_INVAL, "onednn: row %lld has label %d, there are %lld classes",
                           (long long)i, (int)labels[i], (long long)classes);
    dn_softmax(n, classes, logits, classes, labels, scale, dlogits, classes, metrics_p);
    return TC_OK;
}

static const char *choices(tc_step *step)
{
    return step->choices;
}

const tc_backend tc_backend_onednn = {
    .name = "onednn",
    .probe = probe,
    .open = dev_open,
    .close = dev_close,
    .host_alloc = host_alloc,
    .host_free = tc_free,
    .estimate = estimate,
    .compile = compile,
    .step_free = dn_step_free,
    .place = dn_place,
    .forward = dn_forward,
    .metrics = dn_metrics,
    .backward = dn_backward,
    .train = dn_train,
    .host_gradients = dn_host_gradients,
    .update = dn_update,
    .read = dn_read,
    .write = dn_write,
    .criterion = criterion,
    .choices = choices,
    .profile = dn_profile,
};
