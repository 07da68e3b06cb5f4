/* Parts of the reference backend that know no precision. */
#include <config.h>

#include "dev/ref/engine.h"

#include "base/mem.h"

int64_t ref_plan(ref_life *life, int n)
{
    int64_t length = 0, align = TC_ALIGN; /* elements: enough for any of their sizes */

    for (int i = 0; i < n; i++) {
        ref_life *me = &life[i];
        if (me->count == 0) {
            me->offset = -1;
            continue;
        }
        me->count = (me->count + align - 1) / align * align;
        me->offset = 0;
        for (int j = 0; j < i; j++) {
            const ref_life *other = &life[j];
            if (other->offset >= 0 && other->from <= me->to && me->from <= other->to &&
                other->offset < me->offset + me->count &&
                me->offset < other->offset + other->count) {
                me->offset = other->offset + other->count;
                j = -1; /* moved up: look at all of them again */
            }
        }
        if (me->offset + me->count > length)
            length = me->offset + me->count;
    }
    return length;
}

const char *ref_precision(tc_precision precision)
{
    switch (precision) {
    case TC_F32:
        return "f32";
    case TC_F64:
        return "f64";
    case TC_BF16:
        return "bf16";
    case TC_F16:
        return "f16";
    }
    return "unknown";
}

tc_status ref_check_labels(int64_t n, int64_t classes, const int32_t *labels)
{
    for (int64_t i = 0; i < n; i++)
        if (labels[i] < -1 || labels[i] >= classes)
            return tc_fail(TC_INVAL,
                           "ref: label %d of picture %lld of the slice is not -1 or a class in "
                           "0..%lld",
                           labels[i], (long long)i, (long long)classes - 1);
    return TC_OK;
}
