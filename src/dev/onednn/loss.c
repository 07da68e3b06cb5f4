/* Softmax cross-entropy: loss, hits and the gradient of the logits. */
#include <config.h>

#include "dev/onednn/onednn.h"

#include <math.h>

/* Classes that beat the label: larger logits, and equal ones of lower class.  A logit that is not a
 * number beats everything and is beaten by everything. */
static int64_t rank_of(const float *logits, int64_t classes, int64_t label)
{
    float own = logits[label];
    int64_t ahead = 0;

    for (int64_t j = 0; j < label; j++)
        ahead += !(logits[j] < own);
    for (int64_t j = label + 1; j < classes; j++)
        ahead += !(logits[j] <= own);
    return classes > 1 && isnan(own) ? classes : ahead;
}

void dn_softmax(int64_t n, int64_t classes, const float *logits, int64_t step_logits,
                const int32_t *labels, float scale, float *dlogits, int64_t step_dlogits,
                tc_metrics *metrics_p)
{
    tc_metrics m = { 0 };

    for (int64_t i = 0; i < n; i++) {
        const float *row = logits + i * step_logits;
        float *d = dlogits == NULL ? NULL : dlogits + i * step_dlogits;
        int32_t label = labels[i];
        if (label < 0) {
            for (int64_t j = 0; d != NULL && j < classes; j++)
                d[j] = 0;
            continue;
        }
        float top = row[0];
        double sum = 0;
        for (int64_t j = 1; j < classes; j++)
            top = row[j] > top ? row[j] : top;
        for (int64_t j = 0; j < classes; j++)
            sum += expf(row[j] - top);
        double log_sum = log(sum);
        m.loss += log_sum - ((double)row[label] - top);
        m.count++;
        int64_t ahead = rank_of(row, classes, label);
        m.top1 += ahead < 1;
        m.top5 += ahead < (classes < 5 ? classes : 5);
        if (d == NULL)
            continue;
        float share = (float)(scale / sum);
        for (int64_t j = 0; j < classes; j++)
            d[j] = expf(row[j] - top) * share;
        d[label] = (float)(scale * (exp((double)row[label] - top - log_sum) - 1));
    }
    if (metrics_p != NULL)
        *metrics_p = m;
}
