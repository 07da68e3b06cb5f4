#include <config.h>

#include "data-prep/scene.h"
#include "data-prep/shapes.h"

#include "base/rng.h"

#include <math.h>

#define SAMPLES     3 /* a pixel is the mean of SAMPLES x SAMPLES points */
#define WAVES       3 /* plane waves in the background's texture */
#define MAX_CLUTTER 4
#define CONTRAST    0.5 /* least distance of figure and ground, where black to white is 1.73 */

typedef struct {
    double c[3]; /* red, green, blue, 0..1 */
} colour;

/* The ground: a colour, a slope across the picture, and a few waves. */
typedef struct {
    colour base, slope_x, slope_y;
    struct {
        double kx, ky, phase;
        colour amplitude;
    } wave[WAVES];
} ground;

/* A blob or a stroke, in pixels. */
typedef struct {
    double x, y, dx, dy, radius;
    colour paint;
} clutter;

/* The figure, and a bar that may cover a part of it. */
typedef struct {
    const tc_shape *shape;
    double x, y, radius;       /* pixels */
    double axx, axy, ayx, ayy; /* picture to figure, per pixel */
    colour paint, slope;
    double bar_nx, bar_ny, bar_offset, bar_half; /* in the figure's frame; half 0: none */
    colour bar_paint;
} figure;

typedef struct {
    ground ground;
    figure figure;
    int n_clutter, n_behind; /* the first n_behind lie under the figure */
    clutter clutter[MAX_CLUTTER];
    double noise; /* deviation */
} scene;

static double between(tc_rng *rng, double low, double high)
{
    return low + (high - low) * tc_rng_uniform(rng);
}

static colour any_colour(tc_rng *rng, double low, double high)
{
    colour k;

    for (int i = 0; i < 3; i++)
        k.c[i] = between(rng, low, high);
    return k;
}

static double distance(const colour *a, const colour *b)
{
    double sum = 0.0;

    for (int i = 0; i < 3; i++)
        sum += (a->c[i] - b->c[i]) * (a->c[i] - b->c[i]);
    return sqrt(sum);
}

static ground make_ground(tc_rng *rng, double size)
{
    ground g = { .base = any_colour(rng, 0.08, 0.92) };
    double strength = between(rng, 0.0, 0.06);

    g.slope_x = any_colour(rng, -0.25 / size, 0.25 / size);
    g.slope_y = any_colour(rng, -0.25 / size, 0.25 / size);
    for (int i = 0; i < WAVES; i++) {
        double angle = between(rng, 0.0, 2.0 * M_PI);
        double k = 2.0 * M_PI * between(rng, 1.0, 7.0) / size;
        g.wave[i].kx = k * cos(angle);
        g.wave[i].ky = k * sin(angle);
        g.wave[i].phase = between(rng, 0.0, 2.0 * M_PI);
        g.wave[i].amplitude = any_colour(rng, -strength, strength);
    }
    return g;
}

static figure make_figure(tc_rng *rng, double size, int label, const colour *behind)
{
    figure f = { .shape = tc_shape_get(label) };
    double angle = between(rng, 0.0, 2.0 * M_PI), stretch = between(rng, 0.9, 1.11);
    double mirror = tc_rng_below(rng, 2) ? -1.0 : 1.0;

    f.radius = size * between(rng, 0.33, 0.48);
    double reach = fmax(0.0, size / 2.0 - 0.9 * f.radius);
    f.x = size / 2.0 + between(rng, -reach, reach);
    f.y = size / 2.0 + between(rng, -reach, reach);
    f.axx = cos(angle) / (f.radius * stretch);
    f.axy = sin(angle) / (f.radius * stretch);
    f.ayx = -sin(angle) * mirror * stretch / f.radius;
    f.ayy = cos(angle) * mirror * stretch / f.radius;
    do
        f.paint = any_colour(rng, 0.08, 0.92);
    while (distance(&f.paint, behind) < CONTRAST);
    f.slope = any_colour(rng, -0.06, 0.06);
    if (tc_rng_uniform(rng) < 0.2) { /* partly hidden by a bar across the outer half */
        double normal = between(rng, 0.0, 2.0 * M_PI);
        f.bar_nx = cos(normal);
        f.bar_ny = sin(normal);
        f.bar_offset = between(rng, 0.35, 0.8);
        f.bar_half = between(rng, 0.08, 0.2);
        f.bar_paint = any_colour(rng, 0.0, 1.0);
    }
    return f;
}

static scene make_scene(tc_rng *rng, double size, int label)
{
    scene s = { .ground = make_ground(rng, size) };

    s.figure = make_figure(rng, size, label, &s.ground.base);
    s.n_clutter = (int)tc_rng_below(rng, MAX_CLUTTER + 1);
    s.n_behind = s.n_clutter - (int)tc_rng_below(rng, s.n_clutter / 2 + 1);
    for (int i = 0; i < s.n_clutter; i++) {
        double angle = between(rng, 0.0, 2.0 * M_PI);
        double length = tc_rng_below(rng, 2) ? size * between(rng, 0.05, 0.25) : 0.0;
        s.clutter[i] = (clutter){
            .x = between(rng, 0.0, size),
            .y = between(rng, 0.0, size),
            .dx = length * cos(angle),
            .dy = length * sin(angle),
            .radius = size * between(rng, 0.015, 0.05),
            .paint = any_colour(rng, 0.0, 1.0),
        };
    }
    s.noise = between(rng, 0.0, 0.035);
    return s;
}

static colour ground_at(const ground *g, double x, double y, double size)
{
    colour k = g->base;

    for (int i = 0; i < 3; i++)
        k.c[i] += g->slope_x.c[i] * (x - size / 2.0) + g->slope_y.c[i] * (y - size / 2.0);
    for (int w = 0; w < WAVES; w++) {
        double height = sin(g->wave[w].kx * x + g->wave[w].ky * y + g->wave[w].phase);
        for (int i = 0; i < 3; i++)
            k.c[i] += g->wave[w].amplitude.c[i] * height;
    }
    return k;
}

static bool clutter_covers(const clutter *c, double x, double y)
{
    double rx = x - c->x, ry = y - c->y, square = c->dx * c->dx + c->dy * c->dy;
    double along = square > 0.0 ? fmin(1.0, fmax(0.0, (rx * c->dx + ry * c->dy) / square)) : 0.0;

    rx -= along * c->dx;
    ry -= along * c->dy;
    return rx * rx + ry * ry <= c->radius * c->radius;
}

/* Paint the figure's part of the point over *k: the figure itself, or the bar in front of it. */
static void figure_at(const figure *f, double x, double y, colour *k)
{
    double rx = x - f->x, ry = y - f->y;
    double u = f->axx * rx + f->axy * ry, v = f->ayx * rx + f->ayy * ry;

    if (u * u + v * v > 1.2 * 1.2)
        return;
    if (fabs(u * f->bar_nx + v * f->bar_ny - f->bar_offset) < f->bar_half) {
        *k = f->bar_paint;
    } else if (f->shape->inside(u, v)) {
        for (int i = 0; i < 3; i++)
            k->c[i] = f->paint.c[i] + f->slope.c[i] * u;
    }
}

/* The topmost colour at one point. */
static colour scene_at(const scene *s, double x, double y, colour k)
{
    for (int i = 0; i < s->n_behind; i++)
        if (clutter_covers(&s->clutter[i], x, y))
            k = s->clutter[i].paint;
    figure_at(&s->figure, x, y, &k);
    for (int i = s->n_behind; i < s->n_clutter; i++)
        if (clutter_covers(&s->clutter[i], x, y))
            k = s->clutter[i].paint;
    return k;
}

/* Can anything but the ground show within this pixel?  Generous: it only saves time. */
static bool scene_near(const scene *s, double x, double y)
{
    double rx = x - s->figure.x, ry = y - s->figure.y, reach = 1.5 * s->figure.radius + 1.0;

    if (rx * rx + ry * ry < reach * reach)
        return true;
    for (int i = 0; i < s->n_clutter; i++) {
        const clutter *c = &s->clutter[i];
        double far = hypot(c->dx, c->dy) + c->radius + 1.0;
        if (fabs(x - c->x) < far && fabs(y - c->y) < far)
            return true;
    }
    return false;
}

static uint8_t to_byte(double value)
{
    return (uint8_t)lround(255.0 * fmin(1.0, fmax(0.0, value)));
}

/* The mean colour of one pixel. */
static colour scene_pixel(const scene *s, double col, double row, double size)
{
    /* The ground is smooth: once a pixel is enough. */
    colour under = ground_at(&s->ground, col + 0.5, row + 0.5, size), sum = { { 0.0, 0.0, 0.0 } };

    if (!scene_near(s, col + 0.5, row + 0.5))
        return under;
    for (int point = 0; point < SAMPLES * SAMPLES; point++) {
        double x = col + (point % SAMPLES + 0.5) / SAMPLES;
        double y = row + (point / SAMPLES + 0.5) / SAMPLES;
        colour k = scene_at(s, x, y, under);
        for (int i = 0; i < 3; i++)
            sum.c[i] += k.c[i] / (SAMPLES * SAMPLES);
    }
    return sum;
}

void tc_scene_draw(uint64_t seed, uint64_t id, int label, const tc_raster *out)
{
    tc_rng layout = tc_rng_make(seed, TC_STREAM_DRAW, id, 0);
    tc_rng noise = tc_rng_make(seed, TC_STREAM_DRAW, id, 1);
    double size = (double)out->w;
    scene s = make_scene(&layout, size, label);

    for (int64_t row = 0; row < out->h; row++) {
        for (int64_t col = 0; col < out->w; col++) {
            uint8_t *pixel = out->data + row * out->stride + 3 * col;
            colour k = scene_pixel(&s, (double)col, (double)row, size);
            for (int i = 0; i < 3; i++)
                pixel[i] = to_byte(k.c[i] + s.noise * tc_rng_normal(&noise));
        }
    }
}
