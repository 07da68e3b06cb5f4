#include <config.h>

#include "allreduce/engine.h"
#include "allreduce/sum.h"

static void to_bf16(void *wire, const float *vector, int64_t n)
{
    tc_sum_kernels_best()->to_bf16(wire, vector, n);
}

static void from_bf16(float *vector, const void *wire, int64_t n)
{
    tc_sum_kernels_best()->from_bf16(vector, wire, n);
}

static void add_bf16(float *vector, const void *wire, int64_t n)
{
    tc_sum_kernels_best()->sum_bf16(vector, wire, n);
}

static void to_f16(void *wire, const float *vector, int64_t n)
{
    tc_sum_kernels_best()->to_f16(wire, vector, n);
}

static void from_f16(float *vector, const void *wire, int64_t n)
{
    tc_sum_kernels_best()->from_f16(vector, wire, n);
}

static void add_f16(float *vector, const void *wire, int64_t n)
{
    tc_sum_kernels_best()->sum_f16(vector, wire, n);
}

static void add_f32(float *vector, const void *wire, int64_t n)
{
    tc_sum_kernels_best()->sum_f32(vector, wire, n);
}

tc_wire tc_wire_get(tc_wire_type type)
{
    switch (type) {
    case TC_WIRE_BF16:
        return (tc_wire){ "bf16", 2, MPI_UNSIGNED_SHORT, to_bf16, from_bf16, add_bf16 };
    case TC_WIRE_F16:
        return (tc_wire){ "f16", 2, MPI_UNSIGNED_SHORT, to_f16, from_f16, add_f16 };
    case TC_WIRE_F32:
        break;
    }
    return (tc_wire){ "f32", sizeof(float), MPI_FLOAT, NULL, NULL, add_f32 };
}
