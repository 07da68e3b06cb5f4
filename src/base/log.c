#include <config.h>

#include "base/log.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_PERIOD 10.0   /* s between lines where stderr is no terminal */
#define PROGRESS_REFRESH 0.1   /* s between redraws where it is */

/* The stated exception to "no mutable globals": who is speaking is a fact about the process. */
static struct {
    pthread_mutex_t lock;
    int rank;
    tc_log_level level;
    char host[64];
    bool line_open; /* a progress line without its newline */
    double last;    /* time of the last progress line */
} self = { .lock = PTHREAD_MUTEX_INITIALIZER, .rank = -1, .level = TC_LOG_INFO };

void tc_log_set_rank(int rank)
{
    pthread_mutex_lock(&self.lock);
    self.rank = rank;
    if (gethostname(self.host, sizeof self.host - 1) != 0)
        strcpy(self.host, "?");
    pthread_mutex_unlock(&self.lock);
}

void tc_log_set_level(tc_log_level level)
{
    pthread_mutex_lock(&self.lock);
    self.level = level;
    pthread_mutex_unlock(&self.lock);
}

static void write_all(const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(STDERR_FILENO, text, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* nobody is left to tell */
        text += n;
        bytes -= (size_t)n;
    }
}

/* Fill line[size] with prefix and message, cut to fit; returns the bytes, newline included. */
static size_t format_line(char *line, size_t size, const char *module, tc_log_level level,
                          const char *fmt, va_list ap)
{
    static const char *const mark[] = { "error: ", "warning: ", "", "debug: " };
    int n;

    if (self.rank >= 0 && level != TC_LOG_INFO)
        n = snprintf(line, size, "%stricolor: rank %d host %s %s: %s", self.line_open ? "\n" : "",
                     self.rank, self.host, module, mark[level]);
    else
        n = snprintf(line, size, "%stricolor: %s: %s", self.line_open ? "\n" : "", module,
                     mark[level]);
    if (n > 0 && (size_t)n < size)
        n += vsnprintf(line + n, size - (size_t)n, fmt, ap);
    if (n < 0)
        n = 0;
    if ((size_t)n > size - 2)
        n = (int)size - 2;
    line[n++] = '\n';
    return (size_t)n;
}

void tc_log(tc_log_level level, const char *module, const char *fmt, ...)
{
    char line[2048];
    int saved = errno;
    va_list ap;

    pthread_mutex_lock(&self.lock);
    if (level <= self.level && (level <= TC_LOG_WARN || self.rank <= 0)) {
        va_start(ap, fmt);
        size_t bytes = format_line(line, sizeof line, module, level, fmt, ap);
        va_end(ap);
        self.line_open = false;
        write_all(line, bytes);
    }
    pthread_mutex_unlock(&self.lock);
    errno = saved;
}

void tc_progress(bool done, const char *fmt, ...)
{
    char line[512];
    double now = tc_now();
    va_list ap;

    pthread_mutex_lock(&self.lock);
    bool terminal = isatty(STDERR_FILENO) == 1;
    double period = terminal ? PROGRESS_REFRESH : PROGRESS_PERIOD;
    if (self.rank <= 0 && self.level >= TC_LOG_INFO && (done || now - self.last >= period)) {
        int n = terminal ? snprintf(line, sizeof line, "\r\033[K") : 0;
        va_start(ap, fmt);
        n += vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
        va_end(ap);
        if ((size_t)n > sizeof line - 2)
            n = (int)sizeof line - 2;
        if (done || !terminal)
            line[n++] = '\n';
        self.line_open = terminal && !done;
        self.last = done ? 0.0 : now;
        write_all(line, (size_t)n);
    }
    pthread_mutex_unlock(&self.lock);
}
