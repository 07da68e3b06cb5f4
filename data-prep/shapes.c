#include <config.h>

#include "data-prep/shapes.h"

#include <math.h>

/* Every figure keeps inside the unit circle and has about half of its area, so that neither the
 * amount of foreground nor its reach gives the class away. */

static bool disc(double x, double y)
{
    return x * x + y * y <= 0.8 * 0.8;
}

static bool ring(double x, double y)
{
    double square = x * x + y * y;

    return square >= 0.5 * 0.5 && square <= 0.95 * 0.95;
}

static bool square(double x, double y)
{
    return fmax(fabs(x), fabs(y)) <= 0.7;
}

static bool triangle(double x, double y)
{
    /* Equilateral, a corner at the top: three half planes at half the circumscribed radius. */
    return y >= -0.5 && y + sqrt(3.0) * fabs(x) <= 1.0;
}

static bool star(double x, double y)
{
    const double outer = 1.0, inner = 0.42, point = M_PI / 5.0; /* half the angle of one point */
    double r = sqrt(x * x + y * y), angle = fabs(remainder(atan2(y, x), 2.0 * point));

    /* Folded into half a point: is (r, angle) on the inner side of the edge tip -> notch? */
    double px = r * cos(angle), py = r * sin(angle);
    double nx = inner * cos(point), ny = inner * sin(point);
    return (px - outer) * ny - py * (nx - outer) <= 0.0;
}

static bool cross(double x, double y)
{
    double small = fmin(fabs(x), fabs(y)), large = fmax(fabs(x), fabs(y));

    return small <= 0.26 && large <= 0.92;
}

static bool stripes(double x, double y)
{
    double band = x / 0.56 - floor(x / 0.56);

    return x * x + y * y <= 0.95 * 0.95 && (band < 0.25 || band >= 0.75);
}

static bool checker(double x, double y)
{
    bool odd = fabs(fmod(floor(x / 0.4) + floor(y / 0.4), 2.0)) > 0.5;

    return fmax(fabs(x), fabs(y)) <= 0.8 && !odd;
}

static bool crescent(double x, double y)
{
    double bite = (x - 0.42) * (x - 0.42) + y * y;

    return x * x + y * y <= 0.95 * 0.95 && bite >= 0.7 * 0.7;
}

static bool arrow(double x, double y)
{
    bool shaft = x >= -0.95 && x <= 0.1 && fabs(y) <= 0.2;
    bool head = x >= 0.05 && x <= 0.95 && fabs(y) <= 0.75 * (0.95 - x) / 0.9;

    return shaft || head;
}

static bool spiral(double x, double y)
{
    double r = sqrt(x * x + y * y), turn = r / 0.5 - atan2(y, x) / (2.0 * M_PI);

    return r <= 0.97 && turn - floor(turn) < 0.5;
}

static bool dumbbell(double x, double y)
{
    double dx = fabs(x) - 0.58;

    return dx * dx + y * y <= 0.4 * 0.4 || (fabs(x) <= 0.58 && fabs(y) <= 0.13);
}

static const tc_shape shapes[TC_SHAPES] = {
    { "disc", disc },         { "ring", ring },   { "square", square },   { "triangle", triangle },
    { "star", star },         { "cross", cross }, { "stripes", stripes }, { "checker", checker },
    { "crescent", crescent }, { "arrow", arrow }, { "spiral", spiral },   { "dumbbell", dumbbell },
};

const tc_shape *tc_shape_get(int label)
{
    return &shapes[label];
}
