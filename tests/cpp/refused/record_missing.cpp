// says: decomposes into 3 elements
#include <arraygpu/expr.hpp>
struct body { float x, v; int kind; };
AGPU_RECORD(body, x, v)
