/* The same package from C: buffers, views, both forms of a call, and what an error looks like. */
#include <examples.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

/* Every arraygpu function gives a status; the message of the last failure is the thread's. */
static void must(agpu_status status, const char *what) {
    if (status != AGPU_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, agpu_status_name(status), agpu_last_error_message());
        ++failures;
    }
}

static void check(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "not so: %s\n", what);
        ++failures;
    }
}

int main(void) {
    const float x[5] = {1, 2, 3, 4, 5}, y[5] = {1, 2, 3, 4, 8};
    agpu_buffer *bx = NULL, *by = NULL, *made = NULL;
    agpu_view vx, vy, vz, part;
    float rmse = 0, host[5] = {0, 0, 0, 0, 0};
    int64_t count = 0;

    /* NULL: the process's default context. */
    must(agpu_buffer_create(NULL, AGPU_F32, 5, &bx), "create x");
    must(agpu_buffer_create(NULL, AGPU_F32, 5, &by), "create y");
    must(agpu_buffer_view(bx, &vx), "view x");
    must(agpu_buffer_view(by, &vy), "view y");
    must(agpu_copy_from_host(vx, x, 5), "copy x");
    must(agpu_copy_from_host(vy, y, 5), "copy y");

    must(examples_rmse(NULL, vx, vy, &rmse), "rmse");
    check(fabsf(rmse - sqrtf(9.0f / 5.0f)) < 1e-6f, "rmse is sqrt(9 / 5)");

    /* `_new` makes the result; it belongs to us. */
    must(examples_forward_difference_new(NULL, vy, &made), "forward_difference_new");
    must(agpu_buffer_count(made, &count), "count");
    check(count == 4, "the difference of 5 elements has 4");
    must(agpu_buffer_view(made, &vz), "view the result");
    must(agpu_copy_to_host(host, vz, 4), "copy the result");
    check(host[0] == 1 && host[1] == 1 && host[2] == 1 && host[3] == 4, "differences 1 1 1 4");

    /* Into memory that we already have, a view of every second element. */
    must(agpu_view_slice(vy, 0, 0, 5, 2, &part), "slice y");
    must(examples_forward_difference(NULL, part, (agpu_view){.buffer = made, .rank = 1, .extent = {2}, .stride = {1}}), "forward_difference");
    must(agpu_copy_to_host(host, vz, 2), "copy the result");
    check(host[0] == 2 && host[1] == 5, "differences 2 5");

    /* An error: a status, a message with function, argument and sizes, and nothing is written. */
    must(agpu_view_slice(vy, 0, 0, 4, 1, &part), "slice y");
    rmse = -1;
    check(examples_rmse(NULL, vx, part, &rmse) == AGPU_ERROR_SHAPE, "rmse of 5 and 4 elements is an error of shape");
    check(rmse == -1, "the result of a failed call is untouched");
    printf("as it should be: %s\n", agpu_last_error_message());
    check(strstr(agpu_last_error_message(), "rmse") && strchr(agpu_last_error_message(), '5') && strchr(agpu_last_error_message(), '4'),
          "the message has the function and both sizes");
    check(examples_forward_difference_new(NULL, part, NULL) == AGPU_ERROR_INVALID_ARGUMENT, "nowhere to put the result");

    must(agpu_buffer_free(made), "free the result");
    must(agpu_buffer_free(bx), "free x");
    must(agpu_buffer_free(by), "free y");
    check(agpu_buffer_free(by) == AGPU_ERROR_INVALID_HANDLE, "a second free is an error, not a crash");
    printf("plain_c: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures == 0 ? 0 : 1;
}
