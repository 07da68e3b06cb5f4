#ifndef TC_TESTS_LOADER_PICTURES_H
#define TC_TESTS_LOADER_PICTURES_H
/* A data set of drawn pictures: most of 32 x 32, a few larger, one that is no picture. */
#include "../image/pictures.h"
#include "../store/set.h"

#define SPOILT 7 /* record that cannot be decoded */

static inline tc_raster drawn(uint64_t id)
{
    static const int64_t large[3][2] = { { 340, 256 }, { 90, 300 }, { 61, 47 } };

    if (id % 8 == 5)
        return picture_draw(large[id / 8 % 3][0], large[id / 8 % 3][1], id);
    return picture_draw(32, 32, id);
}

static inline void picture_record(uint64_t id, tc_shard_entry *entry, tc_buffer *data)
{
    static char name[32];
    tc_raster r = drawn(id);

    snprintf(name, sizeof name, "p/%llu.jpg", (unsigned long long)id);
    *entry = (tc_shard_entry){
        .label = (int32_t)(id % 2), .width = (uint32_t)r.w, .height = (uint32_t)r.h, .name = name
    };
    if (id == SPOILT)
        tc_buffer_append(data, "GIF89a: not what it says", 24);
    else
        tc_jpeg_encode(&r, 90, false, data);
    free(r.data);
}

/* The whole picture of a record as a decoder sees it; data is NULL where it cannot. */
static inline tc_raster decoded(uint64_t id)
{
    tc_decoder *decoder = NULL;
    tc_buffer data = { 0 };
    tc_shard_entry entry;
    tc_image_info info;
    tc_raster view, copy = { 0 };

    picture_record(id, &entry, &data);
    if (tc_decoder_create(0, &decoder) == TC_OK &&
        tc_decoder_open(decoder, data.data, data.bytes, &info) == TC_OK &&
        tc_decoder_crop(decoder, (tc_rect){ 0, 0, info.w, info.h }, &view) == TC_OK) {
        copy = picture_new(info.w, info.h);
        for (int64_t y = 0; y < info.h; y++)
            memcpy(copy.data + y * copy.stride, view.data + y * view.stride, (size_t)copy.stride);
    }
    tc_decoder_destroy(decoder);
    tc_buffer_free(&data);
    return copy;
}
#endif
