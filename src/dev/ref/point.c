/* Operations that move or combine elements one by one: ReLU, add, concat. */
#include <config.h>

#include "dev/ref/step.h"

#include <string.h>

void REF(relu_forward)(tc_step *step, int i)
{
    const real *x = ref_in(step, i, 0);
    real *out = step->node[i].out;

    for (int64_t p = 0; p < step->count * ref_size(step, i); p++)
        out[p] = x[p] <= (real)0 ? (real)0 : x[p]; /* NaN goes through */
}

void REF(relu_backward)(tc_step *step, int i)
{
    const real *out = step->node[i].out, *dout = step->node[i].grad;
    real *din = ref_in_grad(step, i, 0);

    for (int64_t p = 0; din != NULL && p < step->count * ref_size(step, i); p++)
        din[p] += out[p] > (real)0 ? dout[p] : (real)0;
}

void REF(add_forward)(tc_step *step, int i)
{
    const real *a = ref_in(step, i, 0), *b = ref_in(step, i, 1);
    real *out = step->node[i].out;

    for (int64_t p = 0; p < step->count * ref_size(step, i); p++)
        out[p] = a[p] + b[p];
}

void REF(add_backward)(tc_step *step, int i)
{
    const real *dout = step->node[i].grad;

    for (int j = 0; j < 2; j++) {
        real *din = ref_in_grad(step, i, j);
        for (int64_t p = 0; din != NULL && p < step->count * ref_size(step, i); p++)
            din[p] += dout[p];
    }
}

void REF(concat_forward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i);
    real *out = step->node[i].out;

    for (int64_t n = 0; n < step->count; n++)
        for (int j = 0; j < node->n_in; j++) {
            int64_t size = ref_size(step, node->in[j]);
            memcpy(out, ref_in(step, i, j) + n * size, (size_t)size * sizeof *out);
            out += size;
        }
}

void REF(concat_backward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i);
    const real *dout = step->node[i].grad;

    for (int64_t n = 0; n < step->count; n++)
        for (int j = 0; j < node->n_in; j++) {
            int64_t size = ref_size(step, node->in[j]);
            real *din = ref_in_grad(step, i, j);
            for (int64_t p = 0; din != NULL && p < size; p++)
                din[n * size + p] += dout[p];
            dout += size;
        }
}
