/* Softmax cross-entropy and hits. */
#include <config.h>

#include "dev/ref/step.h"

#include <math.h>
#include <string.h>

/* Classes that stand before the label's: larger logits, and equal ones of lower number.  Anything
 * compared with NaN stands before, so that a NaN is never a hit. */
static int64_t classes_ahead(int64_t classes, const real *logits, int32_t label)
{
    int64_t ahead = 0;

    for (int64_t c = 0; c < classes; c++)
        if (c != label)
            ahead += c < label ? !(logits[c] < logits[label]) : !(logits[c] <= logits[label]);
    return ahead;
}

void REF(cross_entropy)(int64_t n, int64_t classes, const real *logits, const int32_t *labels,
                        double scale, real *dlogits, tc_metrics *metrics)
{
    tc_metrics sums = { 0 };
    int64_t top = classes < 5 ? classes : 5;

    for (int64_t i = 0; i < n; i++, logits += classes) {
        real *dl = dlogits ? dlogits + i * classes : NULL;
        if (labels[i] < 0) {
            if (dl != NULL)
                memset(dl, 0, (size_t)classes * sizeof *dl);
            continue;
        }
        double largest = logits[0], sum = 0.0;
        for (int64_t c = 1; c < classes; c++)
            largest = logits[c] > largest ? logits[c] : largest;
        for (int64_t c = 0; c < classes; c++)
            sum += exp(logits[c] - largest);
        for (int64_t c = 0; dl != NULL && c < classes; c++)
            dl[c] = (real)(scale * (exp(logits[c] - largest) / sum - (c == labels[i])));
        int64_t ahead = classes_ahead(classes, logits, labels[i]);
        sums.loss += log(sum) - (logits[labels[i]] - largest);
        sums.count++;
        sums.top1 += ahead < 1;
        sums.top5 += ahead < top;
    }
    if (metrics != NULL)
        *metrics = sums;
}
