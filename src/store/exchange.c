#include <config.h>

#include "store/exchange.h"

#include "base/mem.h"
#include "comm/comm_mpi.h"

#include <string.h>

#define NONE           UINT32_MAX
#define NUMBERS_A_RANK 6 /* ints: 2 told, 2 heard, and where its pieces lie in send and recv */

struct tc_stream_out {
    uint32_t next;       /* record, by its old place; NONE: no more */
    uint64_t left;       /* bytes of the record at hand */
    tc_slot_chain chain; /* that record */
};

struct tc_stream_in {
    tc_record_head head;
    uint64_t left;
    tc_slot_chain chain;
};

uint64_t tc_exchange_bytes(int ranks, uint64_t round_bytes, uint64_t set_bytes, uint64_t room)
{
    uint64_t buffers = 2 * (unsigned)ranks * tc_rounds_piece(ranks, round_bytes, set_bytes);

    return (ranks > 1 ? buffers + room * sizeof(uint32_t) : 0) + room * sizeof(uint32_t);
}

tc_status tc_exchange_allocate(tc_exchange *x, const tc_comm *group, uint64_t round_bytes,
                               uint64_t set_bytes, uint64_t room)
{
    int ranks = tc_comm_size(group);
    int64_t n = (int64_t)room;

    x->ranks = ranks;
    x->me = tc_comm_rank(group);
    x->piece = tc_rounds_piece(ranks, round_bytes, set_bytes);
    tc_status status = tc_alloc(ranks, sizeof *x->out, "streams of the exchange", &x->out);
    if (status == TC_OK)
        status = tc_alloc(ranks, sizeof *x->in, "streams of the exchange", &x->in);
    if (status == TC_OK)
        status = tc_alloc(ranks, sizeof *x->due, "sums of the exchange", &x->due);
    if (status == TC_OK)
        status = tc_alloc(n, sizeof *x->local, "places of records that move", &x->local);
    if (status != TC_OK || ranks == 1)
        return status; /* records change their place only */
    status = tc_alloc(ranks, (size_t)x->piece, "send buffer of the exchange", &x->send);
    if (status == TC_OK)
        status = tc_alloc(ranks, (size_t)x->piece, "receive buffer of the exchange", &x->recv);
    if (status == TC_OK)
        status = tc_alloc(ranks, NUMBERS_A_RANK * sizeof *x->counts, "counts", &x->counts);
    if (status == TC_OK)
        status = tc_alloc(n, sizeof *x->list, "list of records that move", &x->list);
    return status;
}

void tc_exchange_free(tc_exchange *x)
{
    tc_free(x->send);
    tc_free(x->recv);
    tc_free(x->counts);
    tc_free(x->out);
    tc_free(x->in);
    tc_free(x->due);
    tc_free(x->list);
    tc_free(x->local);
    *x = (tc_exchange){ 0 };
}

void tc_exchange_plan(tc_exchange *x, tc_store_held *held, const tc_store_order *to)
{
    const tc_store_order *from = &held->order;

    x->to = *to;
    memset(x->out, 0, (size_t)x->ranks * sizeof *x->out);
    memset(x->in, 0, (size_t)x->ranks * sizeof *x->in);
    memset(x->due, 0, (size_t)x->ranks * sizeof *x->due);
    for (int r = 0; r < x->ranks; r++)
        x->out[r].next = NONE;
    for (uint64_t i = 0, n = tc_store_order_count(to, x->me); i < n; i++)
        held->next[i].slot = TC_NO_SLOT;

    for (uint64_t i = tc_store_order_count(from, x->me); i-- > 0;) {
        const tc_place *place = &held->place[i];
        uint64_t id = tc_store_order_record(from, tc_store_order_at(from, x->me, i));
        uint64_t pos = tc_store_order_position(to, id), local = tc_store_order_local(to, pos);
        int r = tc_store_order_holder(to, pos);
        x->due[r].slots += tc_slots_for(&held->slots, place->bytes);
        x->due[r].bytes += place->bytes;
        x->local[i] = (uint32_t)local;
        if (r == x->me) {
            held->next[local] = *place;
        } else { /* backwards, so that each list runs forwards */
            x->list[i] = x->out[r].next;
            x->out[r].next = (uint32_t)i;
        }
    }
}

tc_status tc_exchange_due(tc_exchange *x, tc_comm *group, tc_store_due *due)
{
    const int fields = sizeof *due / sizeof(uint64_t);

    TC_TRY_MPI(
        MPI_Reduce_scatter_block(x->due, due, fields, MPI_UINT64_T, MPI_SUM, tc_comm_mpi(group)));
    return TC_OK;
}

/* Take the next record of a stream, and write its head. */
static void begin(tc_exchange *x, int r, tc_store_held *held, uint8_t *to)
{
    tc_stream_out *out = &x->out[r];
    uint32_t i = out->next;
    tc_place *place = &held->place[i];
    const tc_record_head head = { .pos = tc_store_order_at(&x->to, r, x->local[i]),
                                  .bytes = place->bytes,
                                  .label = place->label,
                                  .width = place->width,
                                  .height = place->height };

    memcpy(to, &head, sizeof head);
    out->next = x->list[i];
    out->left = place->bytes;
    out->chain = (tc_slot_chain){ .first = place->slot, .at = place->slot };
    place->slot = TC_NO_SLOT;
    held->records--;
    held->bytes -= place->bytes;
}

/* Put the next piece of the stream to rank r into to (piece); returns its bytes. */
static uint64_t fill(tc_exchange *x, int r, tc_store_held *held, uint8_t *to)
{
    tc_stream_out *out = &x->out[r];
    uint64_t used = 0;

    for (;;) {
        uint64_t following = out->next != NONE ? held->place[out->next].bytes : 0;
        tc_cut cut = tc_rounds_cut(out->left, following, x->piece - used);
        if (cut.bytes == 0)
            return used;
        if (cut.head) {
            begin(x, r, held, to + used);
            used += TC_HEAD_WIRE;
        }
        tc_slots_consume(&held->slots, &out->chain, to + used, cut.bytes);
        used += cut.bytes;
        out->left -= cut.bytes;
        if (out->left == 0)
            tc_slots_drop(&held->slots, &out->chain);
    }
}

static tc_status check_head(const tc_exchange *x, const tc_store_held *held,
                            const tc_record_head *head)
{
    unsigned long long pos = head->pos;

    if (head->pos >= x->to.records || tc_store_order_holder(&x->to, head->pos) != x->me)
        return tc_fail(TC_FORMAT, "a record came for position %llu, which is not held here", pos);
    if (head->bytes == 0 || head->bytes > INT32_MAX)
        return tc_fail(TC_FORMAT, "a record of %u bytes came for position %llu", head->bytes, pos);
    if (held->next[tc_store_order_local(&x->to, head->pos)].slot != TC_NO_SLOT)
        return tc_fail(TC_FORMAT, "a second record came for position %llu", pos);
    return TC_OK;
}

/* A record has come to its end. */
static void keep(const tc_exchange *x, const tc_stream_in *in, tc_store_held *held)
{
    const tc_record_head *head = &in->head;

    held->next[tc_store_order_local(&x->to, head->pos)] = (tc_place){ .slot = in->chain.first,
                                                                      .bytes = head->bytes,
                                                                      .label = head->label,
                                                                      .width = head->width,
                                                                      .height = head->height };
    held->records++;
    held->bytes += head->bytes;
}

/* Take the next piece of a stream. */
static tc_status unpack(const tc_exchange *x, tc_stream_in *in, tc_store_held *held,
                        const uint8_t *from, uint64_t bytes)
{
    tc_status status = TC_OK;

    while (bytes > 0) {
        if (in->left == 0) {
            if (bytes <= TC_HEAD_WIRE)
                return tc_fail(TC_FORMAT, "the head of a record came in pieces");
            memcpy(&in->head, from, TC_HEAD_WIRE);
            from += TC_HEAD_WIRE;
            bytes -= TC_HEAD_WIRE;
            status = check_head(x, held, &in->head);
            in->left = in->head.bytes;
            in->chain = (tc_slot_chain){ TC_NO_SLOT, TC_NO_SLOT, 0 };
        }
        uint64_t n = in->left < bytes ? in->left : bytes;
        if (status == TC_OK)
            status = tc_slots_append(&held->slots, &in->chain, from, n);
        if (status != TC_OK)
            return status;
        from += n;
        bytes -= n;
        in->left -= n;
        if (in->left == 0)
            keep(x, in, held);
    }
    return TC_OK;
}

/* One round; *more_p: whether any rank has more to send. */
static tc_status run_round(tc_exchange *x, tc_comm *group, tc_store_held *held, bool *more_p,
                           tc_status *kept)
{
    int ranks = x->ranks, more = 0;
    int *told = x->counts, *heard = told + 2 * ranks, *at = heard + 2 * ranks;
    int *send = at + ranks; /* counts; those to receive are gathered in `told` afterwards */

    for (int r = 0; r < ranks; r++) {
        at[r] = (int)((uint64_t)r * x->piece);
        send[r] = (int)fill(x, r, held, x->send + (uint64_t)r * x->piece);
        more |= x->out[r].left > 0 || x->out[r].next != NONE;
        x->sent += (unsigned)send[r];
    }
    x->rounds++;
    for (int r = 0; r < ranks; r++) {
        told[2 * r] = send[r];
        told[2 * r + 1] = more;
    }
    TC_TRY_MPI(MPI_Alltoall(told, 2, MPI_INT, heard, 2, MPI_INT, tc_comm_mpi(group)));
    *more_p = false;
    for (int r = 0; r < ranks; r++) {
        told[r] = heard[2 * r];
        *more_p |= heard[2 * r + 1] != 0;
    }
    TC_TRY_MPI(MPI_Alltoallv(x->send, send, at, MPI_BYTE, x->recv, told, at, MPI_BYTE,
                             tc_comm_mpi(group)));
    for (int r = 0; *kept == TC_OK && r < ranks; r++)
        *kept = unpack(x, &x->in[r], held, x->recv + (uint64_t)r * x->piece, (uint64_t)told[r]);
    return TC_OK;
}

tc_status tc_exchange_run(tc_exchange *x, tc_comm *group, tc_store_held *held)
{
    tc_status kept = TC_OK; /* of keeping what came; a failure does not end the rounds */
    bool more = x->ranks > 1;

    while (more) {
        tc_status status = run_round(x, group, held, &more, &kept);
        if (status != TC_OK)
            return status;
    }
    tc_place *old = held->place;
    held->place = held->next;
    held->next = old;
    held->order = x->to;
    return kept;
}
