/*
 * The arithmetic of the exchange at sizes that no test can move: ImageNet's 1,281,167 records of
 * 140 GB, more than 2^31 bytes from rank to rank, more than 2^32 records.
 */
#include <config.h>

#include "store/exchange.h"

#include "../tap.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define IMAGENET UINT64_C(1281167)
#define ROUND    (UINT64_C(64) << 20)

/* 5 to 215 kB, 110 kB on average: 140.9 GB. */
static uint32_t size_of(uint64_t id)
{
    return 5000 + (uint32_t)((id * UINT64_C(0x9E3779B97F4A7C15) >> 20) % 210001);
}

/* ---- orders ---- */

static tc_store_order order_of(uint64_t records, uint64_t block, uint64_t ranks, uint64_t epoch)
{
    tc_store_order order = {
        .records = records, .block = block, .ranks = ranks, .seed = 3, .shuffle = true
    };

    tc_store_order_begin(&order, epoch);
    return order;
}

/* Positions of which holder, place and record do not lead back to them; near the ends and all over.
 */
static int64_t lost_positions(const tc_store_order *order)
{
    tc_rng rng = tc_rng_make(1, TC_STREAM_TEST, order->records, order->ranks);
    int64_t lost = 0;

    for (int i = 0; i < 20000; i++) {
        uint64_t pos = (uint64_t)tc_rng_below(&rng, (int64_t)order->records);
        if (i < 1000)
            pos = (uint64_t)i;
        else if (i < 2000)
            pos = order->records - 1 - (uint64_t)(i - 1000);
        int r = tc_store_order_holder(order, pos);
        uint64_t local = tc_store_order_local(order, pos);
        uint64_t record = tc_store_order_record(order, pos);
        lost += r < 0 || (uint64_t)r >= order->ranks || local >= tc_store_order_count(order, r) ||
                tc_store_order_at(order, r, local) != pos || record >= order->records ||
                tc_store_order_position(order, record) != pos;
    }
    return lost;
}

static void orders(void)
{
    static const uint64_t records[] = { IMAGENET, (UINT64_C(1) << 32) + 77,
                                        (UINT64_C(1) << 40) + 12345 };
    static const uint64_t ranks[] = { 1, 4, 7, 256 };

    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++)
        for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++) {
            tc_store_order order = order_of(records[i], 96, ranks[k], 17);
            uint64_t sum = 0, least = UINT64_MAX, most = 0;
            for (int r = 0; r < (int)ranks[k]; r++) {
                uint64_t n = tc_store_order_count(&order, r);
                sum += n;
                least = n < least ? n : least;
                most = n > most ? n : most;
            }
            tap_ok(lost_positions(&order) == 0 && sum == records[i] && most - least <= 96,
                   "%llu records over %llu ranks: every position leads back to itself",
                   (unsigned long long)records[i], (unsigned long long)ranks[k]);
        }
}

/* ---- pieces ---- */

static void pieces(void)
{
    static const int ranks[] = { 2, 3, 4, 64, 1000, 100000 };
    static const uint64_t rounds[] = { 1, 1000, ROUND, UINT64_C(1) << 31, UINT64_C(1) << 40 };
    bool ok = true;

    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
        for (size_t k = 0; k < sizeof rounds / sizeof rounds[0]; k++) {
            uint64_t n = (unsigned)ranks[i];
            uint64_t piece = tc_rounds_piece(ranks[i], rounds[k], UINT64_C(140) << 30);
            ok = ok && piece > TC_HEAD_WIRE && piece * n <= INT_MAX &&
                 (piece == TC_PIECE_LEAST || piece * n <= rounds[k]);
        }
    tap_ok(ok, "counts and displacements of a round are ints, for 2 to 100000 ranks");
    tap_ok(tc_exchange_bytes(4, ROUND, UINT64_C(140000000000), 320292) ==
                   2 * ROUND + UINT64_C(320292) * 8 &&
               tc_exchange_bytes(1, ROUND, UINT64_C(140000000000), IMAGENET) == IMAGENET * 4,
           "the buffers of four ranks: two rounds and two lists");
    tc_slots s = { .bytes = tc_slots_size(UINT64_C(140000000000) / IMAGENET) };
    tap_ok(s.bytes == TC_SLOT_MOST && tc_slots_for(&s, (UINT64_C(1) << 40) + 1) == (1 << 29) + 1 &&
               tc_slots_memory(&s, UINT64_C(68359375)) == UINT64_C(68359375) * 2052,
           "140 GB in slots of 2048 bytes: 68 million, 140.3 GB");
}

/* What comes of a stream of `count` records of `bytes` each: rounds; 0: a rule was broken. */
static uint64_t rounds_of(uint64_t count, uint64_t bytes, uint64_t piece, uint64_t *sum_p)
{
    uint64_t left = 0, next = 0, rounds = 0, in = 0, came = 0, sum = 0;

    while (left > 0 || next < count) {
        uint64_t used = 0;
        for (;;) {
            tc_cut cut = tc_rounds_cut(left, next < count ? bytes : 0, piece - used);
            if (cut.bytes == 0)
                break;
            if (cut.head != (in == 0)) /* what the receiver makes of it */
                return 0;
            if (cut.head) {
                used += TC_HEAD_WIRE;
                next++;
                left = in = bytes;
            }
            used += cut.bytes;
            left -= cut.bytes;
            in -= cut.bytes;
            came += in == 0;
        }
        if (used == 0 || used > piece)
            return 0;
        sum += used;
        rounds++;
    }
    *sum_p = sum;
    return came == count ? rounds : 0;
}

static void long_streams(void)
{
    uint64_t sum = 0, piece = tc_rounds_piece(4, ROUND, UINT64_C(140000000000));
    uint64_t rounds = rounds_of(80073, 109275, piece, &sum);

    tap_ok(sum == 80073 * (UINT64_C(109275) + TC_HEAD_WIRE) && sum > INT32_MAX &&
               rounds == (sum + piece - 1) / piece,
           "%.2f GB to one of four ranks: %llu rounds of 16 MiB", (double)sum / 1e9,
           (unsigned long long)rounds);
    rounds = rounds_of(3, INT32_MAX, UINT64_C(1) << 29, &sum);
    tap_ok(rounds == 13 && sum == 3 * (INT32_MAX + (uint64_t)TC_HEAD_WIRE),
           "records of 2^31 - 1 bytes");
    rounds = rounds_of((UINT64_C(1) << 32) / 64, 1, TC_PIECE_LEAST, &sum);
    tap_ok(rounds == (UINT64_C(1) << 32) / 64 / 2, "records of one byte, two in the least piece");
    for (uint64_t bytes = 1; bytes < 200; bytes++)
        if (rounds_of(50, bytes, TC_PIECE_LEAST, &sum) == 0 || sum != 50 * (bytes + TC_HEAD_WIRE)) {
            tap_ok(false, "records of %llu bytes in the least pieces", (unsigned long long)bytes);
            return;
        }
    tap_ok(true, "records of 1 to 199 bytes in the least pieces");
}

/* ---- a whole exchange, without the bytes ---- */

#define NONE UINT32_MAX

typedef struct {
    uint32_t next;        /* record */
    uint64_t bytes, left; /* of the one at hand */
    uint64_t sum;
} stream;

typedef struct {
    int ranks;
    tc_slots slots;         /* their size only */
    const uint64_t *pos[2]; /* (IMAGENET) of each record, before and after */
    uint32_t *link;         /* (IMAGENET) the record behind it in its stream */
    stream *stream;         /* (ranks, ranks): from, to */
    uint64_t *used, *end;   /* (ranks) slots now, and due at the end */
    uint64_t rounds, longest;
} model;

static void start(model *m)
{
    size_t n = (size_t)m->ranks;
    tc_store_order order = order_of(IMAGENET, 64, n, 0);

    m->stream = calloc(n * n, sizeof *m->stream);
    m->used = calloc(n, sizeof *m->used);
    m->end = calloc(n, sizeof *m->end);
    for (size_t i = 0; i < n * n; i++)
        m->stream[i].next = NONE;
    for (uint32_t id = IMAGENET; id-- > 0;) {
        int from = tc_store_order_holder(&order, m->pos[0][id]);
        int to = tc_store_order_holder(&order, m->pos[1][id]);
        stream *s = &m->stream[from * m->ranks + to];
        m->used[from] += tc_slots_for(&m->slots, size_of(id));
        m->end[to] += tc_slots_for(&m->slots, size_of(id));
        if (from == to)
            continue;
        m->link[id] = s->next;
        s->next = id;
        s->sum += size_of(id) + TC_HEAD_WIRE;
        m->longest = s->sum > m->longest ? s->sum : m->longest;
    }
}

/* The next piece of a stream; *freed_p and *taken_p: slots at its ends.  Returns its bytes. */
static uint64_t send_piece(model *m, stream *s, uint64_t piece, uint64_t *freed_p,
                           uint64_t *taken_p)
{
    uint64_t slot = m->slots.bytes, used = 0;

    for (;;) {
        tc_cut cut = tc_rounds_cut(s->left, s->next != NONE ? size_of(s->next) : 0, piece - used);
        if (cut.bytes == 0)
            return used;
        if (cut.head) {
            s->bytes = s->left = size_of(s->next);
            s->next = m->link[s->next];
            used += TC_HEAD_WIRE;
        }
        uint64_t at = s->bytes - s->left, to = at + cut.bytes;
        s->left -= cut.bytes;
        used += cut.bytes;
        *freed_p += to / slot - at / slot + (s->left == 0 && to % slot != 0);
        *taken_p += tc_slots_for(&m->slots, to) - tc_slots_for(&m->slots, at);
    }
}

/* Run the rounds; returns the bytes that move; *over_p: how far a rank came above what is due, as a
 * share of the slack that it has. */
static uint64_t move(model *m, uint64_t piece, double *over_p)
{
    uint64_t moved = 0, sent = 1;
    uint64_t *room = calloc((size_t)m->ranks, sizeof *room);

    for (int r = 0; r < m->ranks; r++)
        room[r] = m->used[r] > m->end[r] ? m->used[r] : m->end[r];
    *over_p = 0.0;
    for (m->rounds = 0; sent > 0; m->rounds += sent > 0) {
        sent = 0;
        for (int a = 0; a < m->ranks; a++)
            for (int b = 0; b < m->ranks; b++) {
                uint64_t freed = 0, taken = 0;
                sent += send_piece(m, &m->stream[a * m->ranks + b], piece, &freed, &taken);
                m->used[a] -= freed;
                m->used[b] += taken;
            }
        for (int r = 0; r < m->ranks; r++) {
            double slack = (double)(tc_rounds_slots(room[r], (uint64_t)m->ranks) - room[r]);
            double over = ((double)m->used[r] - (double)room[r]) / slack;
            *over_p = over > *over_p ? over : *over_p;
        }
        moved += sent;
    }
    free(room);
    return moved;
}

static void exchanges(void)
{
    static const int ranks[] = { 2, 4, 16, 64, 256 };
    tc_store_order before = order_of(IMAGENET, 64, 1, 0), after = order_of(IMAGENET, 64, 1, 1);
    uint64_t *pos = calloc(2 * IMAGENET, sizeof *pos), all = 0;
    uint32_t *link = calloc(IMAGENET, sizeof *link);

    for (uint64_t id = 0; id < IMAGENET; id++) {
        pos[id] = tc_store_order_position(&before, id);
        pos[IMAGENET + id] = tc_store_order_position(&after, id);
        all += size_of(id);
    }
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        model m = { .ranks = ranks[i],
                    .slots = { .bytes = tc_slots_size(all / IMAGENET) },
                    .pos = { pos, pos + IMAGENET },
                    .link = link };
        uint64_t piece = tc_rounds_piece(m.ranks, ROUND, all);
        double over, expect = (double)all * (m.ranks - 1) / m.ranks;
        start(&m);
        double moved = (double)move(&m, piece, &over);
        bool arrived = memcmp(m.used, m.end, (size_t)m.ranks * sizeof *m.used) == 0;
        tap_ok(
            arrived && over <= 1.0 && moved > 0.98 * expect && moved < 1.02 * expect &&
                m.rounds == (m.longest + piece - 1) / piece,
            "%d ranks: %.1f of %.1f GB move in %llu rounds, at most %.2f GB from one to another, "
            "%.0f %% of the spare slots",
            m.ranks, moved / 1e9, (double)all / 1e9, (unsigned long long)m.rounds,
            (double)m.longest / 1e9, 100.0 * over);
        free(m.stream);
        free(m.used);
        free(m.end);
    }
    free(pos);
    free(link);
}

int main(void)
{
    orders();
    pieces();
    long_streams();
    exchanges();
    return tap_done();
}
