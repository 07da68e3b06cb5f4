#ifndef TC_DATA_PREP_SHAPES_H
#define TC_DATA_PREP_SHAPES_H
/**
 * @file shapes.h
 * The classes of the drawn picture set, each a figure inside the unit circle.
 *
 * Used by: data-prep (tricolor-draw).
 */
#include <stdbool.h>

#define TC_SHAPES 12 /* figures to choose from */

typedef struct {
    const char *name; /* of the class, and of its folder */
    bool (*inside)(double x, double y);
} tc_shape;

/** Return figure @p label, 0 <= label < TC_SHAPES.  Never NULL. */
const tc_shape *tc_shape_get(int label);

#endif
