/* Three elements through a package. */
#include <examples.h>
#include <stdio.h>

int main(void)
{
    float x[3] = {1, 2, 3}, y[3] = {10, 20, 30};
    agpu_buffer *bx = NULL, *by = NULL;
    agpu_view vx, vy;
    if (agpu_buffer_wrap(NULL, AGPU_F32, x, 3, &bx) || agpu_buffer_wrap(NULL, AGPU_F32, y, 3, &by)
        || agpu_buffer_view(bx, &vx) || agpu_buffer_view(by, &vy) || examples_saxpy(NULL, 2, vx, vy, vy)) {
        fprintf(stderr, "%s\n", agpu_last_error_message());
        return 1;
    }
    if (y[0] != 12 || y[1] != 24 || y[2] != 36) {
        fprintf(stderr, "%g %g %g\n", (double)y[0], (double)y[1], (double)y[2]);
        return 1;
    }
    return agpu_buffer_free(bx) || agpu_buffer_free(by);
}
