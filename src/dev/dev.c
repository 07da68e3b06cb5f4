#include <config.h>

#include "dev/dev.h"

#include <stdio.h>
#include <string.h>

/* Each backend's folder brings its table. */
#if HAVE_DNNL
extern const tc_backend tc_backend_onednn;
#endif
extern const tc_backend tc_backend_ref;

/* The backends of this build, the fastest first. */
static const tc_backend *const backends[] = {
#if HAVE_DNNL
    &tc_backend_onednn,
#endif
    &tc_backend_ref,
    NULL,
};

/* Names that some build knows, so that "not built in" and "unknown" are told apart. */
static const char *const known[] = { "cuda", "onednn", "ref" };

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static const char *const precision_name[] = {
    [TC_F32] = "f32", [TC_F64] = "f64", [TC_BF16] = "bf16", [TC_F16] = "f16"
};

const tc_backend *tc_backend_at(int i)
{
    return i >= 0 && i < COUNT(backends) - 1 ? backends[i] : NULL;
}

static tc_status probe(const tc_backend *backend)
{
    int count = 0;
    tc_status status = backend->probe(&count);

    if (status != TC_OK)
        return status;
    if (count > 0)
        return TC_OK;
    return tc_fail(TC_NOSUPPORT, "backend %s: %s", backend->name, tc_error_detail());
}

/* The first that has a device; if none has, the last one's reason stands. */
static tc_status find_fastest(const tc_backend **backend_p)
{
    tc_status status = tc_fail(TC_NOSUPPORT, "this build has no backend");

    for (int i = 0; backends[i] != NULL; i++) {
        status = probe(backends[i]);
        if (status == TC_OK) {
            *backend_p = backends[i];
            return TC_OK;
        }
    }
    return status;
}

tc_status tc_backend_find(const char *name, const tc_backend **backend_p)
{
    if (name == NULL)
        return find_fastest(backend_p);
    for (int i = 0; backends[i] != NULL; i++) {
        if (strcmp(backends[i]->name, name) != 0)
            continue;
        tc_status status = probe(backends[i]);
        if (status == TC_OK)
            *backend_p = backends[i];
        return status;
    }
    char list[128] = "";
    for (int i = 0; backends[i] != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, " %s", backends[i]->name);
    }
    for (int i = 0; i < COUNT(known); i++)
        if (strcmp(known[i], name) == 0)
            return tc_fail(TC_NOSUPPORT, "backend %s is not built in; this build has:%s", name,
                           list);
    return tc_fail(TC_INVAL, "backend '%s' is not known; this build has:%s", name, list);
}

const char *tc_precision_name(tc_precision precision)
{
    return precision_name[precision];
}

int tc_precision_find(const char *word)
{
    for (int i = 0; i < COUNT(precision_name); i++)
        if (strcmp(precision_name[i], word) == 0)
            return i;
    return -1;
}
