/* Every backend of the build in fp32, held against ref in double and the contract of backend.h. */
#include <config.h>

#include "dev-check.h"

#include "../tap.h"
#include <string.h>

static void report(const tc_backend *backend, check_result result)
{
    tap_ok(result.ok, "%s: %s", backend->name, result.text);
}

int main(void)
{
    int mixed = check_graph_find("mixed"), heads = check_graph_find("heads");

    for (int k = 0; tc_backend_at(k) != NULL; k++) {
        const tc_backend *b = tc_backend_at(k), *found = NULL;
        bool ref = strcmp(b->name, "ref") == 0;
        check_target target = { .backend = b, .precision = TC_F32, .tolerance = ref ? 2e-5 : 2e-4 };
        if (tc_backend_find(b->name, &found) != TC_OK) {
            tap_skip(b->name, tc_error_detail());
            continue;
        }
        for (int i = 0; check_graph_name(i) != NULL; i++)
            report(b, check_layers(target, i));
        for (int i = 0; check_graph_name(i) != NULL; i++)
            report(b, check_buckets(target, i));
        for (int i = 0; check_graph_name(i) != NULL; i++)
            if (i != heads) /* DLOGITS are the main loss's alone */
                report(b, check_phases(target, i));
        report(b, check_update(target, true));
        report(b, check_update(target, false));
        report(b, check_masks(target));
        report(b, check_hits(target));
        report(b, check_slots(target, mixed));
        report(b, check_learning(target, mixed));
        report(b, check_refusals(target));
        if (alloc_count(true) < 0)
            tap_skip("allocations", "they are counted with glibc only");
        else /* oneDNN's primitives allocate inside when they are executed */
            report(b, check_allocations(target, mixed, ref));
        check_target deep = target;
        deep.tolerance = 1e-3;
        report(b, check_model(deep, &(tc_model_options){ .name = "resnet20", .classes = 10 }, 4));
    }
    return tap_done();
}
