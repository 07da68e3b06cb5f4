/*
 * augmented DIR N: what the loader makes of N records of DIR/train, for another program to compare.
 *
 * To standard output, for every record (spread evenly over the set): int64 bytes, width, height;
 * then the drawn crop x, y, w, h and int64 flip; the JPEG; the training picture and the evaluation
 * picture, each (224,224,3) u8.
 */
#include <config.h>

#include "base/rng.h"
#include "loader/picture.h"
#include "shard/dataset.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 224, SHORTER = 256, SEED = 1, EPOCH = 0 };

static uint8_t train[SIZE * SIZE * 3], eval[SIZE * SIZE * 3];

static tc_status show(tc_loader_worker *worker, const tc_record *record)
{
    const tc_loader_options cut = { .augment = TC_AUGMENT_RANDOM_RESIZED,
                                    .size = SIZE,
                                    .seed = SEED };
    const tc_loader_options middle = { .augment = TC_AUGMENT_NONE, .size = SIZE };

    tc_status status = tc_loader_picture(worker, &cut, SHORTER, EPOCH, record, train);
    if (status == TC_OK)
        status = tc_loader_picture(worker, &middle, SHORTER, EPOCH, record, eval);
    if (status != TC_OK)
        return status;
    /* As the loader draws. */
    tc_rng rng = tc_rng_make(SEED, TC_STREAM_AUGMENT, EPOCH, record->id);
    bool flip = tc_rng_uniform(&rng) < 0.5;
    tc_rect r = tc_loader_random_crop(&rng, record->width, record->height);
    int64_t head[8] = {
        (int64_t)record->bytes, record->width, record->height, r.x, r.y, r.w, r.h, flip
    };
    if (fwrite(head, sizeof head, 1, stdout) != 1 ||
        fwrite(record->data, record->bytes, 1, stdout) != 1 ||
        fwrite(train, sizeof train, 1, stdout) != 1 || fwrite(eval, sizeof eval, 1, stdout) != 1)
        return tc_fail(TC_IO, "standard output cannot be written");
    return TC_OK;
}

int main(int argc, char **argv)
{
    const tc_loader_options options = { .augment = TC_AUGMENT_NONE, .size = SIZE };
    uint64_t n = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    tc_loader_worker worker = { 0 };
    tc_dataset *set = NULL;
    tc_shard *shard = NULL;
    tc_buffer data = { 0 };

    if (n == 0) {
        fprintf(stderr, "usage: augmented DIR N\n");
        return 2;
    }
    tc_status status = tc_dataset_read(argv[1], "train", &set);
    if (status == TC_OK)
        status = tc_loader_worker_create(&options, &worker);
    if (status == TC_OK && n > set->records)
        n = set->records;
    for (uint64_t i = 0; status == TC_OK && i < n; i++) {
        uint64_t id = i * set->records / n, k;
        uint32_t s;
        tc_dataset_locate(set, id, &s, &k);
        status = tc_dataset_open_shard(set, s, &shard);
        if (status == TC_OK)
            status = tc_shard_read(shard, k, &data);
        if (status == TC_OK) {
            const tc_shard_entry *entry = tc_shard_entry_at(shard, k);
            status = show(&worker, &(tc_record){ .data = data.data,
                                                 .bytes = data.bytes,
                                                 .id = id,
                                                 .width = entry->width,
                                                 .height = entry->height });
        }
        tc_shard_close(shard);
        shard = NULL;
    }
    if (status != TC_OK)
        fprintf(stderr, "augmented: %s\n", tc_error_detail());
    tc_buffer_free(&data);
    tc_loader_worker_destroy(&worker);
    tc_dataset_free(set);
    return status == TC_OK ? 0 : 1;
}
