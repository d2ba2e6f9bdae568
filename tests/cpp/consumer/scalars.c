/* A program that calls nothing of the runtime itself: its linker may think that it does not need the runtime. */
#include <examples.h>

int main(void)
{
    agpu_view nothing = {0};
    float result;
    return examples_rmse(NULL, nothing, nothing, &result) == 0;
}
