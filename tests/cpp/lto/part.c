/* What a program in C does with a package; the linker optimises across it and program.cpp. */
#include <examples.h>

/* y becomes a * x + y, of three elements each. */
agpu_status saxpy_of_three(float a, float *x, float *y)
{
    agpu_buffer *bx = NULL, *by = NULL;
    agpu_view vx, vy;
    agpu_status status = agpu_buffer_wrap(NULL, AGPU_F32, x, 3, &bx);
    if (!status) status = agpu_buffer_wrap(NULL, AGPU_F32, y, 3, &by);
    if (!status) status = agpu_buffer_view(bx, &vx);
    if (!status) status = agpu_buffer_view(by, &vy);
    if (!status) status = examples_saxpy(NULL, a, vx, vy, vy);
    agpu_buffer_free(bx);
    agpu_buffer_free(by);
    return status;
}
