/*
 * The only file that sees the difference between oneDNN 2.x (operation descriptors, memory
 * descriptors by value, implicit dilation) and 3.x (one call a primitive descriptor, memory
 * descriptors behind handles).
 */
#include <config.h>

#include "dev/onednn/onednn.h"

#include <string.h>

#define NEW_API (DNNL_VERSION_MAJOR >= 3)

tc_status dn_check(dnnl_status_t status, const char *what, const char *node)
{
    if (status == dnnl_success)
        return TC_OK;
    if (status == dnnl_out_of_memory)
        return tc_fail(TC_NOMEM, "onednn: %s of %s: out of memory", what, node);
    if (status == dnnl_unimplemented)
        return tc_fail(TC_NOSUPPORT, "onednn: %s of %s: not implemented for this shape", what,
                       node);
    return tc_fail(TC_DEVICE, "onednn: %s of %s failed with status %d", what, node, (int)status);
}

/* ---- Memory descriptors: `md` owns one, MD() gives what the calls take ---- */

#if NEW_API
typedef dnnl_memory_desc_t md;
typedef const_dnnl_memory_desc_t md_view;
#define MD(m) (m)
#else
typedef dnnl_memory_desc_t md;
typedef const dnnl_memory_desc_t *md_view;
#define MD(m) ((m).ndims ? &(m) : NULL)
#endif

static dnnl_data_type_t type_of(tc_precision type)
{
    return type == TC_BF16 ? dnnl_bf16 : dnnl_f32;
}

static void md_free(md *m)
{
#if NEW_API
    if (*m != NULL)
        dnnl_memory_desc_destroy(*m);
#endif
    memset(m, 0, sizeof *m);
}

static dnnl_status_t md_by_tag(md *m, int n_dims, const int64_t *dims, tc_precision type,
                               dnnl_format_tag_t tag)
{
    dnnl_dims_t d = { 0 };

    memcpy(d, dims, (size_t)n_dims * sizeof *d);
#if NEW_API
    return dnnl_memory_desc_create_with_tag(m, n_dims, d, type_of(type), tag);
#else
    return dnnl_memory_desc_init_by_tag(m, n_dims, d, type_of(type), tag);
#endif
}

static dnnl_status_t md_by_strides(md *m, int n_dims, const int64_t *dims, tc_precision type,
                                   const int64_t *strides)
{
    dnnl_dims_t d = { 0 }, s = { 0 };

    memcpy(d, dims, (size_t)n_dims * sizeof *d);
    memcpy(s, strides, (size_t)n_dims * sizeof *s);
#if NEW_API
    return dnnl_memory_desc_create_with_strides(m, n_dims, d, type_of(type), s);
#else
    return dnnl_memory_desc_init_by_strides(m, n_dims, d, type_of(type), s);
#endif
}

static dnnl_status_t md_of_layout(md *m, const dn_layout *layout)
{
    const int64_t dims[4] = { layout->n, layout->c, layout->h, layout->w };
    const int64_t strides[4] = { layout->step_n, layout->step_c, layout->step_h, layout->step_w };

    switch (layout->block) {
    case 0:
        return md_by_tag(m, 4, dims, layout->type, dnnl_format_tag_any);
    case 1:
        return md_by_strides(m, 4, dims, layout->type, strides);
    case 8:
        return md_by_tag(m, 4, dims, layout->type, dnnl_nChw8c);
    default:
        return md_by_tag(m, 4, dims, layout->type, dnnl_nChw16c);
    }
}

/* ---- Primitives ---- */

static tc_status make(dnnl_status_t desc_status, const char *what, const char *node, dn_prim *prim)
{
    prim->input = -1;
    tc_status status = dn_check(desc_status, what, node);
    if (status == TC_OK)
        status = dn_check(dnnl_primitive_create(&prim->prim, prim->desc), what, node);
    return status;
}

void dn_prim_free(dn_prim *prim)
{
    for (int i = 0; i < prim->n_args; i++) {
        if (i == prim->input)
            continue; /* one of by_slot[] */
        if (prim->arg[i].memory != NULL)
            dnnl_memory_destroy(prim->arg[i].memory);
    }
    for (int i = 0; i < TC_SLOTS; i++)
        if (prim->by_slot[i] != NULL)
            dnnl_memory_destroy(prim->by_slot[i]);
    if (prim->prim != NULL)
        dnnl_primitive_destroy(prim->prim);
    if (prim->desc != NULL)
        dnnl_primitive_desc_destroy(prim->desc);
    memset(prim, 0, sizeof *prim);
}

/* The descriptors of a convolution, and its geometry as oneDNN takes it. */
typedef struct {
    md src, dst, weights, bias;
    dnnl_dims_t stride, pad_before, pad_after, dilation;
} geometry;

/* @param type  of the weights or their gradient. */
static dnnl_status_t geometry_make(geometry *g, const dn_window *w, tc_precision type)
{
    const dn_layout *src = w->src, *dst = w->dst;
    const int64_t weights[4] = { dst->c, src->c, w->kh, w->kw };

    memset(g, 0, sizeof *g);
    g->stride[0] = w->stride_h;
    g->stride[1] = w->stride_w;
    g->pad_before[0] = w->pad_h;
    g->pad_before[1] = w->pad_w;
    g->pad_after[0] = (dst->h - 1) * w->stride_h + w->kh - src->h - w->pad_h;
    g->pad_after[1] = (dst->w - 1) * w->stride_w + w->kw - src->w - w->pad_w;
    dnnl_status_t status = md_of_layout(&g->src, src);
    if (status == dnnl_success)
        status = md_of_layout(&g->dst, dst);
    if (status == dnnl_success)
        status = md_by_tag(&g->weights, 4, weights, type, dnnl_format_tag_any);
    if (w->bias && status == dnnl_success)
        status = md_by_tag(&g->bias, 1, &dst->c, TC_F32, dnnl_a);
    return status;
}

static void geometry_free(geometry *g)
{
    md_free(&g->src);
    md_free(&g->dst);
    md_free(&g->weights);
    md_free(&g->bias);
}

tc_status dn_conv_forward(tc_dev *dev, const dn_window *window, const char *node, dn_prim *prim)
{
    geometry g;
    dnnl_status_t status = geometry_make(&g, window, window->src->type);

#if NEW_API
    if (status == dnnl_success)
        status = dnnl_convolution_forward_primitive_desc_create(
            &prim->desc, dev->engine, dnnl_forward_training, dnnl_convolution_direct, MD(g.src),
            MD(g.weights), MD(g.bias), MD(g.dst), g.stride, g.dilation, g.pad_before, g.pad_after,
            dev->attr);
#else
    dnnl_convolution_desc_t op;
    if (status == dnnl_success)
        status = dnnl_convolution_forward_desc_init(
            &op, dnnl_forward_training, dnnl_convolution_direct, MD(g.src), MD(g.weights),
            MD(g.bias), MD(g.dst), g.stride, g.pad_before, g.pad_after);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&prim->desc, &op, dev->attr, dev->engine, NULL);
#endif
    geometry_free(&g);
    return make(status, "convolution", node, prim);
}

tc_status dn_conv_backward_data(tc_dev *dev, const dn_window *window, const dn_prim *forward,
                                const char *node, dn_prim *prim)
{
    geometry g;
    dnnl_status_t status = geometry_make(&g, window, window->src->type);

#if NEW_API
    if (status == dnnl_success)
        status = dnnl_convolution_backward_data_primitive_desc_create(
            &prim->desc, dev->engine, dnnl_convolution_direct, MD(g.src), MD(g.weights), MD(g.dst),
            g.stride, g.dilation, g.pad_before, g.pad_after, forward->desc, dev->attr);
#else
    dnnl_convolution_desc_t op;
    if (status == dnnl_success)
        status = dnnl_convolution_backward_data_desc_init(&op, dnnl_convolution_direct, MD(g.src),
                                                          MD(g.weights), MD(g.dst), g.stride,
                                                          g.pad_before, g.pad_after);
    if (status == dnnl_success)
        status =
            dnnl_primitive_desc_create(&prim->desc, &op, dev->attr, dev->engine, forward->desc);
#endif
    geometry_free(&g);
    return make(status, "data gradient", node, prim);
}

tc_status dn_conv_backward_weights(tc_dev *dev, const dn_window *window, const dn_prim *forward,
                                   const char *node, dn_prim *prim)
{
    geometry g;
    dnnl_status_t status = geometry_make(&g, window, TC_F32);

#if NEW_API
    if (status == dnnl_success)
        status = dnnl_convolution_backward_weights_primitive_desc_create(
            &prim->desc, dev->engine, dnnl_convolution_direct, MD(g.src), MD(g.weights), MD(g.bias),
            MD(g.dst), g.stride, g.dilation, g.pad_before, g.pad_after, forward->desc, dev->attr);
#else
    dnnl_convolution_desc_t op;
    if (status == dnnl_success)
        status = dnnl_convolution_backward_weights_desc_init(
            &op, dnnl_convolution_direct, MD(g.src), MD(g.weights), MD(g.bias), MD(g.dst), g.stride,
            g.pad_before, g.pad_after);
    if (status == dnnl_success)
        status =
            dnnl_primitive_desc_create(&prim->desc, &op, dev->attr, dev->engine, forward->desc);
#endif
    geometry_free(&g);
    return make(status, "weight gradient", node, prim);
}

static dnnl_status_t md_of_matrix(md *m, const dn_matrix *matrix)
{
    const int64_t dims[2] = { matrix->rows, matrix->cols };
    const int64_t strides[2] = { matrix->step_row, matrix->step_col };

    return md_by_strides(m, 2, dims, TC_F32, strides);
}

tc_status dn_matmul(tc_dev *dev, const dn_matrix *a, const dn_matrix *b, bool bias,
                    const dn_matrix *dst, const char *node, dn_prim *prim)
{
    const int64_t row[2] = { 1, dst->cols };
    md ma, mb, mbias, mdst;

    memset(&ma, 0, sizeof ma);
    memset(&mb, 0, sizeof mb);
    memset(&mbias, 0, sizeof mbias);
    memset(&mdst, 0, sizeof mdst);
    dnnl_status_t status = md_of_matrix(&ma, a);
    if (status == dnnl_success)
        status = md_of_matrix(&mb, b);
    if (status == dnnl_success && bias)
        status = md_by_tag(&mbias, 2, row, TC_F32, dnnl_ab);
    if (status == dnnl_success)
        status = md_of_matrix(&mdst, dst);
#if NEW_API
    if (status == dnnl_success)
        status = dnnl_matmul_primitive_desc_create(&prim->desc, dev->engine, MD(ma), MD(mb),
                                                   MD(mbias), MD(mdst), dev->attr);
#else
    dnnl_matmul_desc_t op;
    if (status == dnnl_success)
        status = dnnl_matmul_desc_init(&op, MD(ma), MD(mb), MD(mbias), MD(mdst));
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&prim->desc, &op, dev->attr, dev->engine, NULL);
#endif
    md_free(&ma);
    md_free(&mb);
    md_free(&mbias);
    md_free(&mdst);
    return make(status, "matrix product", node, prim);
}

/* The layout that a primitive chose or was given for an argument; NULL: it takes none. */
static md_view arg_md(const dn_prim *prim, int arg)
{
    return dnnl_primitive_desc_query_md(prim->desc, dnnl_query_exec_arg_md, arg);
}

static tc_status reorder(tc_dev *dev, md_view from, md_view to, const char *node, dn_prim *prim)
{
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&prim->desc, from, dev->engine, to,
                                                              dev->engine, dev->attr);
    return make(status, "reorder", node, prim);
}

tc_status dn_weights_reorder(tc_dev *dev, const int64_t dims[4], const dn_prim *of, int arg,
                             bool back, const char *node, dn_prim *prim)
{
    md plain;
    md_view chosen = arg_md(of, arg);

    memset(&plain, 0, sizeof plain);
    tc_status status = dn_check(md_by_tag(&plain, 4, dims, TC_F32, dnnl_oihw), "weights", node);
    if (status == TC_OK && !dnnl_memory_desc_equal(MD(plain), chosen))
        status = back ? reorder(dev, chosen, MD(plain), node, prim)
                      : reorder(dev, MD(plain), chosen, node, prim);
    md_free(&plain);
    return status;
}

tc_status dn_reorder(tc_dev *dev, const dn_layout *from, const dn_layout *to, const char *node,
                     dn_prim *prim)
{
    md a, b;

    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    tc_status status = dn_check(md_of_layout(&a, from), "layout", node);
    if (status == TC_OK)
        status = dn_check(md_of_layout(&b, to), "layout", node);
    if (status == TC_OK)
        status = reorder(dev, MD(a), MD(b), node, prim);
    md_free(&a);
    md_free(&b);
    return status;
}

/* ---- Arguments ---- */

size_t dn_arg_bytes(const dn_prim *prim, int arg)
{
    if (prim->desc == NULL)
        return 0;
    md_view m = arg_md(prim, arg);
    return m == NULL ? 0 : dnnl_memory_desc_get_size(m);
}

bool dn_arg_layout(const dn_prim *prim, int arg, dn_layout *layout_p)
{
    md_view m = arg_md(prim, arg);
    int n_blocks = 0;
    dnnl_data_type_t data_type;
    const int64_t *dims, *strides, *blocks, *which;

    if (m == NULL)
        return false;
#if NEW_API
    dnnl_format_kind_t kind;
    const dnnl_dims_t *pd, *ps, *pb, *pi;
    if (dnnl_memory_desc_query(m, dnnl_query_format_kind, &kind) != dnnl_success ||
        kind != dnnl_blocked ||
        dnnl_memory_desc_query(m, dnnl_query_data_type, &data_type) != dnnl_success ||
        dnnl_memory_desc_query(m, dnnl_query_dims, &pd) != dnnl_success ||
        dnnl_memory_desc_query(m, dnnl_query_strides, &ps) != dnnl_success ||
        dnnl_memory_desc_query(m, dnnl_query_inner_nblks_s32, &n_blocks) != dnnl_success ||
        dnnl_memory_desc_query(m, dnnl_query_inner_blks, &pb) != dnnl_success ||
        dnnl_memory_desc_query(m, dnnl_query_inner_idxs, &pi) != dnnl_success)
        return false;
    dims = *pd;
    strides = *ps;
    blocks = *pb;
    which = *pi;
#else
    if (m->format_kind != dnnl_blocked)
        return false;
    data_type = m->data_type;
    dims = m->dims;
    strides = m->format_desc.blocking.strides;
    n_blocks = m->format_desc.blocking.inner_nblks;
    blocks = m->format_desc.blocking.inner_blks;
    which = m->format_desc.blocking.inner_idxs;
#endif
    if (n_blocks > 1 || (n_blocks == 1 && (which[0] != 1 || (blocks[0] != 8 && blocks[0] != 16))))
        return false;
    *layout_p = (dn_layout){ .type = data_type == dnnl_bf16 ? TC_BF16 : TC_F32,
                             .n = dims[0],
                             .c = dims[1],
                             .h = dims[2],
                             .w = dims[3],
                             .block = n_blocks ? (int)blocks[0] : 1,
                             .step_n = strides[0],
                             .step_c = strides[1],
                             .step_h = strides[2],
                             .step_w = strides[3] };
    return true;
}

static tc_status memory_make(tc_dev *dev, const dn_prim *prim, int arg, void *ptr,
                             dnnl_memory_t *memory_p)
{
    return dn_check(dnnl_memory_create(memory_p, arg_md(prim, arg), dev->engine, ptr), "memory",
                    "an argument");
}

tc_status dn_bind(tc_dev *dev, dn_prim *prim, int arg, void *ptr)
{
    dnnl_exec_arg_t *a = &prim->arg[prim->n_args];

    if (prim->desc == NULL)
        return TC_OK;
    tc_status status = memory_make(dev, prim, arg, ptr, &a->memory);
    if (status == TC_OK) {
        a->arg = arg;
        prim->n_args++;
    }
    return status;
}

tc_status dn_bind_input(tc_dev *dev, dn_prim *prim, int arg, void *const ptr[TC_SLOTS])
{
    tc_status status = TC_OK;

    if (prim->desc == NULL)
        return TC_OK;
    for (int i = 0; i < TC_SLOTS && status == TC_OK; i++)
        status = memory_make(dev, prim, arg, ptr[i], &prim->by_slot[i]);
    if (status == TC_OK) {
        prim->input = prim->n_args++;
        prim->arg[prim->input] = (dnnl_exec_arg_t){ arg, prim->by_slot[0] };
    }
    return status;
}

tc_status dn_run(tc_dev *dev, dn_prim *prim, int slot)
{
    if (prim->prim == NULL)
        return TC_OK;
    if (prim->input >= 0)
        prim->arg[prim->input].memory = prim->by_slot[slot];
    dnnl_status_t status = dnnl_primitive_execute(prim->prim, dev->stream, prim->n_args, prim->arg);
    if (status == dnnl_success)
        status = dnnl_stream_wait(dev->stream);
    return dn_check(status, "execution", "a primitive");
}

bool dn_has_bf16(void)
{
    return strncmp(dn_isa_name(), "avx512", 6) == 0;
}

const char *dn_isa_name(void)
{
    switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41:
        return "sse41";
    case dnnl_cpu_isa_avx:
        return "avx";
    case dnnl_cpu_isa_avx2:
        return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
        return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
        return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
        return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
        return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx:
        return "avx512_core_amx";
#if NEW_API
    case dnnl_cpu_isa_avx512_core_fp16:
        return "avx512_core_fp16";
    case dnnl_cpu_isa_avx2_vnni_2:
        return "avx2_vnni_2";
#endif
    default:
        return "another instruction set";
    }
}
