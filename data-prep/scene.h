#ifndef TC_DATA_PREP_SCENE_H
#define TC_DATA_PREP_SCENE_H
/**
 * @file scene.h
 * One picture of the drawn set: a figure of the label's class at a random place, size, angle and
 * colour on a textured background, with clutter, an obstacle now and then, and noise.
 *
 * Foreground and background colours are drawn alike, so a figure is as often the darker as the
 * lighter part: the mean picture of every class is the same gray, and a linear classifier on the
 * pixels has little to hold on to.
 *
 * Used by: data-prep (tricolor-draw).
 */
#include "image/image.h"

/**
 * Draw picture @p id.  The numbers come from the stream (seed, TC_STREAM_DRAW, id) alone, so the
 * picture depends on no other one, nor on threads.   Thread-safe: yes.   Blocks: no.
 *
 * @param label  Class, 0 <= label < TC_SHAPES.
 * @param out    Square raster, filled.
 */
void tc_scene_draw(uint64_t seed, uint64_t id, int label, const tc_raster *out);

#endif
