#include <config.h>

#include "store/exchange.h"

#include "base/mem.h"
#include "comm/comm_mpi.h"

#include <string.h>

#define NUMBER         sizeof(uint64_t)
#define MIN_PIECE      64                  /* a number and some bytes: every round gets on */
#define MAX_ROUND      (UINT64_C(1) << 30) /* MPI counts and displacements are ints */
#define NUMBERS_A_RANK 6 /* ints: 2 told, 2 heard, and where its pieces lie in send and recv */

struct tc_stream_out {
    uint64_t next, end;  /* into the list */
    uint64_t left;       /* bytes of the record at hand */
    tc_slot_chain chain; /* that record */
};

struct tc_stream_in {
    uint64_t record, left;
    tc_slot_chain chain;
};

static uint64_t piece_bytes(int ranks, uint64_t round_bytes, uint64_t set_bytes)
{
    uint64_t round = round_bytes < MAX_ROUND ? round_bytes : MAX_ROUND;
    uint64_t piece = round / (unsigned)ranks;

    if (piece > set_bytes)
        piece = set_bytes; /* small sets need no large buffers */
    return piece > MIN_PIECE ? piece : MIN_PIECE;
}

uint64_t tc_exchange_bytes(int ranks, uint64_t round_bytes, uint64_t set_bytes)
{
    return ranks == 1 ? 0 : 2 * (unsigned)ranks * piece_bytes(ranks, round_bytes, set_bytes);
}

tc_status tc_exchange_allocate(tc_exchange *x, int ranks, uint64_t round_bytes, uint64_t set_bytes)
{
    x->ranks = ranks;
    x->piece = piece_bytes(ranks, round_bytes, set_bytes);
    if (ranks == 1)
        return TC_OK; /* nothing ever moves */
    tc_status status = tc_alloc(ranks, (size_t)x->piece, "send buffer of the exchange", &x->send);
    if (status == TC_OK)
        status = tc_alloc(ranks, (size_t)x->piece, "receive buffer of the exchange", &x->recv);
    if (status == TC_OK)
        status = tc_alloc(ranks, NUMBERS_A_RANK * sizeof *x->counts, "counts", &x->counts);
    if (status == TC_OK)
        status = tc_alloc(ranks, sizeof *x->out, "streams of the exchange", &x->out);
    if (status == TC_OK)
        status = tc_alloc(ranks, sizeof *x->in, "streams of the exchange", &x->in);
    return status;
}

void tc_exchange_free(tc_exchange *x)
{
    tc_free(x->send);
    tc_free(x->recv);
    tc_free(x->counts);
    tc_free(x->out);
    tc_free(x->in);
    tc_free(x->list);
    *x = (tc_exchange){ 0 };
}

static tc_status reserve_list(tc_exchange *x, uint64_t count)
{
    uint32_t *list;

    if (count <= x->room)
        return TC_OK;
    count += count / 16; /* later epochs hold a few more */
    tc_status status = tc_alloc((int64_t)count, sizeof *list, "list of records that move", &list);
    if (status != TC_OK)
        return status;
    tc_free(x->list);
    x->list = list;
    x->room = count;
    return TC_OK;
}

tc_status tc_exchange_plan(tc_exchange *x, const tc_comm *group, const tc_store_held *held,
                           const tc_store_order *to)
{
    int me = tc_comm_rank(group);
    uint64_t at = 0;

    if (x->ranks == 1)
        return TC_OK;
    tc_status status = reserve_list(x, held->records);
    if (status != TC_OK)
        return status;
    memset(x->out, 0, (size_t)x->ranks * sizeof *x->out);
    memset(x->in, 0, (size_t)x->ranks * sizeof *x->in);

    /* A counting sort by destination, with a second look at each record instead of a second list.
     */
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t i = 0; i < to->records; i++) {
            if (held->head[i] == TC_NO_SLOT)
                continue;
            int r = tc_store_order_holder(to, tc_store_order_position(to, i));
            if (r != me && pass == 1)
                x->list[x->out[r].end] = (uint32_t)i;
            x->out[r].end += r != me;
        }
        for (int r = 0; pass == 0 && r < x->ranks; r++) {
            uint64_t n = x->out[r].end;
            x->out[r].next = x->out[r].end = at;
            at += n;
        }
    }
    return TC_OK;
}

/* Put the next piece of a stream into to (room); returns its bytes. */
static uint64_t fill(tc_exchange *x, tc_stream_out *out, const tc_store_index *index,
                     tc_store_held *held, uint8_t *to, uint64_t room)
{
    uint64_t used = 0;

    for (;;) {
        if (out->left == 0) {
            if (out->next == out->end || room - used <= NUMBER)
                return used;
            uint64_t record = x->list[out->next++];
            uint32_t first = held->head[record];
            memcpy(to + used, &record, NUMBER);
            used += NUMBER;
            out->left = index->entries[record].bytes;
            out->chain = (tc_slot_chain){ .first = first, .at = first };
            held->head[record] = TC_NO_SLOT;
            held->records--;
            held->bytes -= out->left;
        }
        uint64_t n = out->left < room - used ? out->left : room - used;
        tc_slots_consume(&held->slots, &out->chain, to + used, n);
        used += n;
        out->left -= n;
        if (out->left > 0)
            return used;
        tc_slots_drop(&held->slots, &out->chain);
    }
}

/* Take the next piece of a stream. */
static tc_status unpack(tc_stream_in *in, const tc_store_index *index, tc_store_held *held,
                        const uint8_t *from, uint64_t bytes)
{
    while (bytes > 0) {
        if (in->left == 0) {
            if (bytes < NUMBER)
                return tc_fail(TC_FORMAT, "a record's number came in pieces");
            memcpy(&in->record, from, NUMBER);
            from += NUMBER;
            bytes -= NUMBER;
            if (in->record >= index->records || held->head[in->record] != TC_NO_SLOT)
                return tc_fail(TC_FORMAT, "record %llu came, which is no record or already here",
                               (unsigned long long)in->record);
            in->left = index->entries[in->record].bytes;
            in->chain = (tc_slot_chain){ TC_NO_SLOT, TC_NO_SLOT, 0 };
        }
        uint64_t n = in->left < bytes ? in->left : bytes;
        tc_status status = tc_slots_append(&held->slots, &in->chain, from, n);
        if (status != TC_OK)
            return status;
        from += n;
        bytes -= n;
        in->left -= n;
        if (in->left == 0) {
            held->head[in->record] = in->chain.first;
            held->records++;
            held->bytes += index->entries[in->record].bytes;
        }
    }
    return TC_OK;
}

/* One round; *more_p: whether any rank has more to send. */
static tc_status run_round(tc_exchange *x, tc_comm *group, const tc_store_index *index,
                           tc_store_held *held, bool *more_p, tc_status *kept)
{
    int ranks = x->ranks, more = 0;
    int *told = x->counts, *heard = told + 2 * ranks, *at = heard + 2 * ranks;
    int *send = at + ranks; /* counts; those to receive are gathered in `told` afterwards */

    for (int r = 0; r < ranks; r++) {
        at[r] = (int)((uint64_t)r * x->piece);
        send[r] = (int)fill(x, &x->out[r], index, held, x->send + (uint64_t)r * x->piece, x->piece);
        more |= x->out[r].left > 0 || x->out[r].next < x->out[r].end;
    }
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
        *kept = unpack(&x->in[r], index, held, x->recv + (uint64_t)r * x->piece, (uint64_t)told[r]);
    return TC_OK;
}

tc_status tc_exchange_run(tc_exchange *x, tc_comm *group, const tc_store_index *index,
                          tc_store_held *held)
{
    tc_status kept = TC_OK; /* of keeping what came; a failure does not end the rounds */
    bool more = x->ranks > 1;

    while (more) {
        tc_status status = run_round(x, group, index, held, &more, &kept);
        if (status != TC_OK)
            return status;
    }
    return kept;
}
